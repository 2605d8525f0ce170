// SPDX-License-Identifier: GPL-2.0
/*
 * Flows at their sender: messages cut into segments, and how a flow ends: all
 * acknowledged, closed by its receiver, or given up.
 */
#include <linux/slab.h>

#include "assoc.h"
#include "flow_tx.h"
#include "output.h"
#include "path.h"
#include "report.h"
#include "sched.h"
#include "timer.h"

static struct kmem_cache *ltp_seg_cache;
static struct kmem_cache *ltp_flow_tx_cache;

/**
 * ltp_tx_init() - at module load
 *
 * Return: 0 or -ENOMEM
 */
int ltp_tx_init(void)
{
	ltp_seg_cache = KMEM_CACHE(ltp_seg, 0);
	ltp_flow_tx_cache = KMEM_CACHE(ltp_flow_tx, 0);
	if (ltp_seg_cache && ltp_flow_tx_cache)
		return 0;
	ltp_tx_exit();
	return -ENOMEM;
}

/**
 * ltp_tx_exit() - at module unload, with no socket left
 */
void ltp_tx_exit(void)
{
	kmem_cache_destroy(ltp_flow_tx_cache);
	kmem_cache_destroy(ltp_seg_cache);
}

/**
 * ltp_tx_setup() - initialise the sending half of a socket
 * @sk: the socket
 *
 * Context: the socket is known to nobody else.
 */
void ltp_tx_setup(struct sock *sk)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	const struct ltp_cc_ops *ops = tx->cc.ops;
	int i;

	memset(tx, 0, sizeof(*tx));
	INIT_LIST_HEAD(&tx->flows);
	for (i = 0; i < LTP_QUEUES; i++)
		INIT_LIST_HEAD(&tx->queue[i]);
	INIT_LIST_HEAD(&tx->in_flight);
	ltp_loss_init(&tx->loss);
	tx->cc.ops = ops ?: READ_ONCE(ltp_sock_net(sk)->conf.cc);
	tx->loss_at = U64_MAX;
}

static void ltp_flow_tx_put(struct ltp_flow_tx *flow)
{
	if (refcount_dec_and_test(&flow->ref))
		kmem_cache_free(ltp_flow_tx_cache, flow);
}

static void ltp_flow_tx_timer_put(struct ltp_timer *t)
{
	ltp_flow_tx_put(container_of(t, struct ltp_flow_tx, giveup));
}

/* ---- memory ---- */

static void ltp_tx_charge(struct sock *sk, int bytes)
{
	sk_wmem_queued_add(sk, bytes);
	sk_mem_charge(sk, bytes);
}

static void ltp_tx_uncharge(struct sock *sk, int bytes)
{
	sk_wmem_queued_add(sk, -bytes);
	sk_mem_uncharge(sk, bytes);
}

static int ltp_seg_mem(const struct ltp_seg *seg)
{
	return seg->skb->truesize + sizeof(*seg);
}

/**
 * ltp_seg_free() - forget a segment
 * @sk: socket
 * @seg: the segment, on a list and in its flow
 *
 * ltp_tx.flight is the caller's.
 *
 * Context: socket locked.
 */
void ltp_seg_free(struct sock *sk, struct ltp_seg *seg)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;

	if (seg->state == LTP_SEG_QUEUED)
		tx->fresh -= seg->len;
	else if (seg->state == LTP_SEG_LOST)
		tx->again -= seg->len;
	list_del(&seg->link);
	rb_erase(&seg->node, &seg->flow->segs);
	ltp_tx_uncharge(sk, ltp_seg_mem(seg));
	kfree_skb(seg->skb);
	kmem_cache_free(ltp_seg_cache, seg);
}

/* Forget all segments of a flow: the receiver wants no more of it. */
static void ltp_flow_tx_drop_segs(struct sock *sk, struct ltp_flow_tx *flow)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	struct rb_node *node;

	while ((node = rb_first(&flow->segs))) {
		struct ltp_seg *seg = rb_entry(node, struct ltp_seg, node);

		if (seg->state == LTP_SEG_IN_FLIGHT)
			tx->flight -= seg->len;
		ltp_seg_free(sk, seg);
	}
}

static void ltp_flow_tx_unlink(struct sock *sk, struct ltp_flow_tx *flow)
{
	if (!flow->linked)
		return;
	flow->linked = false;
	list_del(&flow->node);
	if (flow->giveup_ns) {
		flow->giveup_ns = 0;
		ltp_timer_stop(&flow->giveup);
	}
	ltp_flow_tx_drop_segs(sk, flow);
	ltp_tx_uncharge(sk, flow->mem);
	ltp_ackmap_free(&flow->map);
	bitmap_free(flow->close_parts);
	flow->close_parts = NULL;
	/* The program may still be writing it: then the rest is swallowed. */
	if (ltp_sk(sk)->tx.partial != flow)
		ltp_flow_tx_put(flow);
}

/**
 * ltp_flow_tx_end() - a flow has ended
 * @sk: socket
 * @flow: the flow, its map as the receiver has it; gone afterwards
 * @reason: why
 *
 * Context: socket locked.
 */
void ltp_flow_tx_end(struct sock *sk, struct ltp_flow_tx *flow,
		     enum ltp_close_reason reason)
{
	flow->reason = reason;
	ltp_report_queue(sk, flow);
	ltp_flow_tx_unlink(sk, flow);
}

/**
 * ltp_tx_purge() - drop all flows, the association has ended
 * @sk: socket
 *
 * Context: socket locked.
 */
void ltp_tx_purge(struct sock *sk)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	struct ltp_flow_tx *flow, *next;
	struct ltp_flow_tx *partial = tx->partial;

	tx->partial = NULL;
	if (partial && !partial->linked)
		ltp_flow_tx_put(partial);
	list_for_each_entry_safe(flow, next, &tx->flows, node)
		ltp_flow_tx_end(sk, flow, LTP_LOST);
	tx->loss_at = U64_MAX;
}

/**
 * ltp_tx_set_cc() - go on, or begin, with another congestion control
 * @sk: socket
 * @ops: the algorithm
 *
 * Context: socket locked.
 */
void ltp_tx_set_cc(struct sock *sk, const struct ltp_cc_ops *ops)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;

	if (!ltp_assoc_is_open(ltp_sk(sk)))
		tx->cc.ops = ops; /* it begins when the handshake is done */
	else if (!tx->sent)
		ltp_cc_init(&tx->cc, ops, tx->cc.mss, ltp_now(),
			    tx->loss.min_rtt_ns);
	else
		ltp_cc_switch(&tx->cc, ops, ltp_now(), tx->loss.min_rtt_ns);
}

/* ---- from the program ---- */

/**
 * ltp_tx_segsize() - bytes in a segment of the next flow
 * @sk: socket with an address
 *
 * Return: a multiple of LTP_GRAIN
 */
u32 ltp_tx_segsize(struct sock *sk)
{
	struct ltp_sock *lp = ltp_sk(sk);
	u32 size = ltp_path_mtu(sk) - ltp_path_overhead(lp);

	if (lp->segsize)
		size = min(size, lp->segsize);
	size = clamp_t(u32, size, LTP_SEG_MIN, LTP_SEG_MAX);
	return rounddown(size, LTP_GRAIN);
}

static void ltp_flow_tx_giveup_due(struct ltp_timer *t);

/**
 * ltp_tx_begin() - open a flow
 * @sk: connected socket; ltp_tx_may_begin() holds
 * @len: length of the message
 * @info: what the program wants of it
 *
 * It becomes ltp_tx.partial. Until something was copied ltp_tx_unbegin() can
 * take it back.
 *
 * Context: socket owned, may sleep.
 * Return: the flow or NULL if there is no memory
 */
struct ltp_flow_tx *ltp_tx_begin(struct sock *sk, u32 len,
				 const struct ltp_sndinfo *info)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	struct ltp_flow_tx *flow;
	u32 segs;

	flow = kmem_cache_zalloc(ltp_flow_tx_cache, GFP_KERNEL);
	if (!flow)
		return NULL;
	ltp_path_begin(sk);
	flow->seg_size = ltp_tx_segsize(sk);
	/* The path may take more than when the association began, or less. */
	tx->cc.mss = flow->seg_size;
	segs = (len - 1) / flow->seg_size + 1;
	flow->mem = sizeof(*flow) + ltp_ackmap_bytes(segs);
	if (ltp_ackmap_init(&flow->map, segs, GFP_KERNEL))
		goto free;
	if (!sk_wmem_schedule(sk, flow->mem))
		goto free_map;
	ltp_tx_charge(sk, flow->mem);
	refcount_set(&flow->ref, 1);
	flow->sk = sk;
	flow->segs = RB_ROOT;
	ltp_timer_setup(&flow->giveup, sk, ltp_flow_tx_giveup_due, &flow->ref,
			ltp_flow_tx_timer_put);
	flow->id = tx->next_flow++;
	flow->len = len;
	flow->unsent = segs;
	flow->tag = info->tag;
	flow->tolerant = info->flags & LTP_TOLERANT;
	if (flow->tolerant && info->critical)
		flow->ncrit = min((info->critical - 1) / flow->seg_size + 1,
				  segs);
	flow->start = flow->ncrit;
	if (info->giveup_us) {
		flow->giveup_ns = ltp_now() +
				  info->giveup_us * (u64)NSEC_PER_USEC;
		ltp_timer_start(&flow->giveup, flow->giveup_ns);
	}
	flow->linked = true;
	list_add_tail(&flow->node, &tx->flows);
	tx->partial = flow;
	ltp_mib_inc(sock_net(sk), LTP_MIB_FLOWS_SENT);
	return flow;

free_map:
	ltp_ackmap_free(&flow->map);
free:
	kmem_cache_free(ltp_flow_tx_cache, flow);
	return NULL;
}

/**
 * ltp_tx_unbegin() - forget a flow of which nothing was copied
 * @sk: socket
 * @flow: what ltp_tx_begin() returned last
 *
 * Context: socket owned since then.
 */
void ltp_tx_unbegin(struct sock *sk, struct ltp_flow_tx *flow)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;

	tx->partial = NULL;
	tx->next_flow--;
	ltp_flow_tx_unlink(sk, flow);
}

/*
 * Payloads share pages: an skb each would take half as much again, and when a
 * segment is sent again only its headers need a copy.
 */
static int ltp_tx_copy(struct sock *sk, struct sk_buff *skb, u32 len,
		       struct iov_iter *from)
{
	while (len) {
		struct page_frag *frag = sk_page_frag(sk);
		int i = skb_shinfo(skb)->nr_frags;
		u32 n;

		if (!sk_page_frag_refill(sk, frag))
			return -ENOBUFS;
		n = min(len, frag->size - frag->offset);
		if (copy_page_from_iter(frag->page, frag->offset, n, from) != n)
			return -EFAULT;
		if (skb_can_coalesce(skb, i, frag->page, frag->offset)) {
			skb_frag_size_add(&skb_shinfo(skb)->frags[i - 1], n);
		} else if (i < MAX_SKB_FRAGS) {
			get_page(frag->page);
			skb_fill_page_desc(skb, i, frag->page, frag->offset, n);
		} else {
			return -ENOBUFS;
		}
		frag->offset += n;
		len -= n;
		skb->len += n;
		skb->data_len += n;
		skb->truesize += n;
	}
	return 0;
}

static struct sk_buff *ltp_tx_alloc(struct sock *sk)
{
	struct sk_buff *skb = alloc_skb(LTP_HEADROOM, sk->sk_allocation);

	if (skb)
		skb_reserve(skb, LTP_HEADROOM);
	return skb;
}

static void ltp_tx_insert(struct ltp_flow_tx *flow, struct ltp_seg *seg)
{
	struct rb_node **p = &flow->segs.rb_node, *parent = NULL;

	while (*p) {
		parent = *p;
		if (seg->index < rb_entry(parent, struct ltp_seg, node)->index)
			p = &parent->rb_left;
		else
			p = &parent->rb_right;
	}
	rb_link_node(&seg->node, parent, p);
	rb_insert_color(&seg->node, &flow->segs);
}

/**
 * ltp_tx_find_seg() - a segment by its index
 * @flow: its flow
 * @index: its index
 *
 * Context: socket locked.
 * Return: the segment, NULL if it was acknowledged or is not copied yet
 */
struct ltp_seg *ltp_tx_find_seg(struct ltp_flow_tx *flow, u32 index)
{
	struct rb_node *node = flow->segs.rb_node;

	while (node) {
		struct ltp_seg *seg = rb_entry(node, struct ltp_seg, node);

		if (index == seg->index)
			return seg;
		node = index < seg->index ? node->rb_left : node->rb_right;
	}
	return NULL;
}

/**
 * ltp_tx_fill() - take the next segment of a message over from the program
 * @sk: socket
 * @flow: ltp_tx.partial, not completely copied
 * @msg: where the segment is read from: the one that ltp_flow_tx_next() says
 *
 * Context: socket owned, may sleep.
 * Return: bytes taken, -ENOBUFS, -EFAULT
 */
int ltp_tx_fill(struct sock *sk, struct ltp_flow_tx *flow, struct msghdr *msg)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	u32 len = min(flow->seg_size, flow->len - flow->copied), index;
	struct ltp_seg *seg;
	int err = -ENOBUFS;
	size_t left;

	if (ltp_flow_tx_over(flow)) {
		/* It ended before all of it was written. */
		iov_iter_advance(&msg->msg_iter, len);
		flow->copied += len;
		return len;
	}
	index = ltp_flow_tx_next(flow);
	len = min(flow->seg_size, flow->len - index * flow->seg_size);
	seg = kmem_cache_zalloc(ltp_seg_cache, sk->sk_allocation);
	if (!seg)
		return err;
	seg->skb = ltp_tx_alloc(sk);
	if (!seg->skb)
		goto free_seg;
	if (!sk_wmem_schedule(sk, ltp_seg_mem(seg) + len))
		goto free_skb;
	left = msg_data_left(msg);
	err = ltp_tx_copy(sk, seg->skb, len, &msg->msg_iter);
	if (err) {
		/* It may be tried again. */
		iov_iter_revert(&msg->msg_iter, left - msg_data_left(msg));
		goto free_skb;
	}
	seg->flow = flow;
	seg->len = len;
	seg->index = index;
	seg->critical = !flow->tolerant || seg->index < flow->ncrit;
	seg->state = LTP_SEG_QUEUED;
	ltp_tx_insert(flow, seg);
	/*
	 * A message's critical head comes first as it is. In LTP_Q_CRITICAL it
	 * would overtake the messages before it, and start its flow's clock.
	 */
	list_add_tail(&seg->link, &tx->queue[LTP_Q_FRESH]);
	ltp_tx_charge(sk, ltp_seg_mem(seg));
	tx->fresh += len;
	flow->copied += len;
	flow->taken++;
	return len;

free_skb:
	kfree_skb(seg->skb);
free_seg:
	kmem_cache_free(ltp_seg_cache, seg);
	return err;
}

/**
 * ltp_tx_filled() - the whole message has been taken over
 * @sk: socket
 * @flow: ltp_tx.partial
 *
 * Context: socket owned.
 */
void ltp_tx_filled(struct sock *sk, struct ltp_flow_tx *flow)
{
	ltp_sk(sk)->tx.partial = NULL;
	if (!flow->linked) {
		ltp_flow_tx_put(flow);
		ltp_assoc_fin(sk);
	}
}

/**
 * ltp_tx_unacked() - bytes of messages that the peer is not known to have
 * @sk: socket
 *
 * Context: socket locked.
 * Return: bytes
 */
u32 ltp_tx_unacked(const struct sock *sk)
{
	const struct ltp_flow_tx *flow;
	u64 bytes = 0;

	list_for_each_entry(flow, &ltp_sk(sk)->tx.flows, node)
		bytes += flow->copied -
			 min_t(u64, flow->copied, (u64)flow->map.count *
						   flow->seg_size);
	return min_t(u64, bytes, INT_MAX);
}

/* ---- the end of a flow ---- */

/**
 * ltp_tx_find() - an open flow by its id
 * @tx: sending half
 * @id: flow id
 *
 * Context: socket locked.
 * Return: the flow or NULL
 */
struct ltp_flow_tx *ltp_tx_find(struct ltp_tx *tx, u32 id)
{
	struct ltp_flow_tx *flow;

	list_for_each_entry(flow, &tx->flows, node)
		if (flow->id == id)
			return flow;
	return NULL;
}

static void ltp_tx_answer_close(struct sock *sk,
				const struct ltp_close_fields *c)
{
	struct ltp_close_ack ack = {
		.flow = cpu_to_be32(c->flow),
		.part = cpu_to_be32(c->part),
	};

	ltp_output_control(sk, LTP_CLOSE_ACK, 0, &ack, sizeof(ack));
}

static bool ltp_tx_close_fits(const struct ltp_flow_tx *flow,
			      const struct ltp_close_fields *c)
{
	const struct ltp_range *last = &c->range[c->ranges - 1];
	u32 most = DIV_ROUND_UP(flow->map.segs / 2 + 1, LTP_CLOSE_RANGES);

	return c->missing <= flow->map.segs && c->parts <= most &&
	       c->received <= flow->len &&
	       be32_to_cpu(last->first) + be32_to_cpu(last->count) <=
		       flow->map.segs &&
	       (!flow->close_parts ||
		(c->parts == flow->parts && c->missing == flow->missing &&
		 c->received == flow->received &&
		 c->reason == flow->close_reason));
}

/* A part that is new: do its holes fit those of the others, and the sums? */
static bool ltp_tx_part_agrees(const struct ltp_flow_tx *flow,
			       const struct ltp_close_fields *c)
{
	const struct ltp_range *last = &c->range[c->ranges - 1];
	u32 segs = flow->map.segs, missing = 0, i;
	bool first = !flow->close_parts, cut;

	for (i = 0; i < c->ranges; i++) {
		u32 count = be32_to_cpu(c->range[i].count);

		if (!first && !ltp_ackmap_has_all(&flow->map,
						  be32_to_cpu(c->range[i].first),
						  count))
			return false;
		missing += count;
	}
	if (!first)
		missing += segs - flow->map.count;
	if ((first ? 0 : flow->parts_got) + 1 < c->parts)
		return missing <= c->missing;
	cut = be32_to_cpu(last->first) + be32_to_cpu(last->count) == segs ||
	      (!first && !ltp_ackmap_test(&flow->map, segs - 1));
	return missing == c->missing &&
	       c->received == (u64)(segs - missing) * flow->seg_size -
			      (cut ? 0 : (u64)segs * flow->seg_size -
					 flow->len);
}

static void ltp_tx_missing(struct ltp_flow_tx *flow,
			   const struct ltp_close_fields *c)
{
	int i;

	for (i = 0; i < c->ranges; i++)
		ltp_ackmap_miss(&flow->map, be32_to_cpu(c->range[i].first),
				be32_to_cpu(c->range[i].count));
}

/**
 * ltp_tx_close() - the receiver has ended a flow, a part of its map came
 * @sk: socket
 * @c: the CLOSE packet
 * @now: the time
 *
 * Context: socket locked.
 * Return: 0 or a drop reason
 */
int ltp_tx_close(struct sock *sk, const struct ltp_close_fields *c, u64 now)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	struct ltp_flow_tx *flow = ltp_tx_find(tx, c->flow);

	if (!flow) {
		if (!ltp_before(c->flow, tx->next_flow))
			return LTP_MIB_DROP_FLOW_UNKNOWN;
		/* It is over here; our answer was lost. */
		ltp_tx_answer_close(sk, c);
		return 0;
	}
	if (!ltp_tx_close_fits(flow, c) ||
	    (c->reason != LTP_GAVE_UP && !flow->tolerant) ||
	    (c->reason == LTP_GAVE_UP && !flow->gave_up))
		return LTP_MIB_DROP_ACK_INVALID;
	if ((!flow->close_parts || !test_bit(c->part, flow->close_parts)) &&
	    !ltp_tx_part_agrees(flow, c))
		return LTP_MIB_DROP_ACK_INVALID;
	if (!flow->close_parts) {
		flow->close_parts = bitmap_zalloc(c->parts, GFP_ATOMIC);
		if (!flow->close_parts)
			return LTP_MIB_DROP_MEMORY; /* it is repeated */
		flow->parts = c->parts;
		flow->missing = c->missing;
		flow->received = c->received;
		flow->close_reason = c->reason;
		ltp_flow_tx_drop_segs(sk, flow);
		ltp_ackmap_assume(&flow->map);
	}
	ltp_tx_answer_close(sk, c);
	if (!__test_and_set_bit(c->part, flow->close_parts)) {
		flow->parts_got++;
		ltp_tx_missing(flow, c);
	}
	if (flow->parts_got == flow->parts)
		ltp_flow_tx_end(sk, flow, flow->close_reason);
	ltp_tx_push(sk);
	sk->sk_write_space(sk);
	ltp_assoc_fin(sk);
	return 0;
}

static void ltp_tx_send_giveup(struct sock *sk, struct ltp_flow_tx *flow)
{
	struct ltp_data data = {
		.flow = cpu_to_be32(flow->id),
		.len = cpu_to_be32(flow->len),
		.ncrit = cpu_to_be32(flow->ncrit),
		.seg_size = cpu_to_be16(flow->seg_size),
	};

	put_unaligned_be64(flow->tag, &data.tag);
	ltp_output_control(sk, LTP_GIVEUP, flow->tolerant ? LTP_F_TOLERANT : 0,
			   &data, sizeof(data));
}

/**
 * ltp_tx_give_up() - send no more of a flow, and say so until it is answered
 * @sk: socket
 * @flow: a flow that has not ended
 *
 * Context: socket locked.
 */
void ltp_tx_give_up(struct sock *sk, struct ltp_flow_tx *flow)
{
	flow->gave_up = true;
	ltp_flow_tx_drop_segs(sk, flow);
	ltp_tx_send_giveup(sk, flow);
	flow->giveup_ns = ltp_now() + ltp_loss_pto(&ltp_sk(sk)->tx.loss,
						   LTP_ACK_DELAY_NS);
	ltp_timer_start(&flow->giveup, flow->giveup_ns);
	ltp_assoc_rearm(sk, ltp_now());
}

static void ltp_flow_tx_giveup_due(struct ltp_timer *t)
{
	struct ltp_flow_tx *flow = container_of(t, struct ltp_flow_tx, giveup);

	if (!flow->linked || !flow->giveup_ns || flow->giveup_ns > ltp_now())
		return;
	ltp_tx_give_up(t->sk, flow);
	/* Its program may be waiting for room to write the rest of it. */
	t->sk->sk_write_space(t->sk);
}

/**
 * ltp_tx_timers_missed() - run timers that fired while the socket was owned
 * @sk: socket
 *
 * Context: socket locked.
 */
void ltp_tx_timers_missed(struct sock *sk)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	struct ltp_flow_tx *flow, *next;

	list_for_each_entry_safe(flow, next, &tx->flows, node)
		ltp_flow_tx_giveup_due(&flow->giveup);
	ltp_tx_paced(sk);
}
