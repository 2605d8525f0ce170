// SPDX-License-Identifier: GPL-2.0
/*
 * Flows at their receiver: segments in any order, the ACKs for them, Early
 * Close and the CLOSE that follows it.
 */
#include <linux/slab.h>
#include <net/inet_ecn.h>

#include "adapt.h"
#include "assoc.h"
#include "flow_rx.h"
#include "group.h"
#include "output.h"
#include "reader.h"
#include "sched.h"
#include "timer.h"

/* ltp_rx.ratio: payload in a byte of memory, in these units. */
#define LTP_RATIO_UNIT		256
#define LTP_RATIO_START		64
#define LTP_RATIO_MIN		16
#define LTP_RATIO_MAX		224

/* Parts of CLOSE that are sent at once and then waited for. */
#define LTP_CLOSE_BURST		32

static struct kmem_cache *ltp_flow_rx_cache;

/**
 * ltp_rx_init() - at module load
 *
 * Return: 0 or -ENOMEM
 */
int ltp_rx_init(void)
{
	ltp_flow_rx_cache = KMEM_CACHE(ltp_flow_rx, 0);
	return ltp_flow_rx_cache ? 0 : -ENOMEM;
}

/**
 * ltp_rx_exit() - at module unload, with no socket left
 */
void ltp_rx_exit(void)
{
	kmem_cache_destroy(ltp_flow_rx_cache);
}

/**
 * ltp_rx_setup() - initialise the receiving half of a socket
 * @sk: the socket
 *
 * Context: the socket is known to nobody else.
 */
void ltp_rx_setup(struct sock *sk)
{
	struct ltp_rx *rx = &ltp_sk(sk)->rx;

	memset(rx, 0, sizeof(*rx));
	INIT_LIST_HEAD(&rx->flows);
	rx->ratio = LTP_RATIO_START;
}

static void ltp_flow_rx_put(struct ltp_flow_rx *flow)
{
	if (refcount_dec_and_test(&flow->ref))
		kmem_cache_free(ltp_flow_rx_cache, flow);
}

static void ltp_flow_rx_timer_put(struct ltp_timer *t)
{
	ltp_flow_rx_put(container_of(t, struct ltp_flow_rx, close));
}

static void ltp_flow_rx_timer_at(struct ltp_flow_rx *flow, u64 when)
{
	if (when == U64_MAX) {
		if (flow->close_at_ns)
			ltp_timer_stop(&flow->close);
		flow->close_at_ns = 0;
		return;
	}
	flow->close_at_ns = when;
	ltp_timer_start(&flow->close, when);
}

/**
 * ltp_flow_rx_drop_queue() - free the segments nobody will read
 * @flow: their flow
 *
 * Context: socket locked.
 */
void ltp_flow_rx_drop_queue(struct ltp_flow_rx *flow)
{
	__skb_queue_purge(&flow->queue);
	flow->queued = 0;
}

static void ltp_flow_rx_forget(struct sock *sk, struct ltp_flow_rx *flow)
{
	list_del(&flow->node);
	if (ltp_sk(sk)->rx.ack_flow == flow)
		ltp_sk(sk)->rx.ack_flow = NULL;
	ltp_flow_rx_timer_at(flow, U64_MAX);
	ltp_flow_rx_drop_queue(flow);
	if (flow->reason == LTP_OPEN) {
		ltp_group_flow_ends(ltp_sk(sk));
		ltp_sk(sk)->rx.tolerant -= flow->tolerant;
	}
	ltp_sk(sk)->rx.mem -= flow->mem;
	bitmap_free(flow->close_acked);
	ltp_ackmap_free(&flow->map);
	flow->sk = NULL;
	ltp_flow_rx_put(flow);
}

/**
 * ltp_rx_purge() - forget all flows, nobody will read them
 * @sk: socket
 *
 * Context: socket locked.
 */
void ltp_rx_purge(struct sock *sk)
{
	struct ltp_flow_rx *flow, *next;

	list_for_each_entry_safe(flow, next, &ltp_sk(sk)->rx.flows, node)
		ltp_flow_rx_forget(sk, flow);
}

/**
 * ltp_rx_cut() - the association has ended: flows that had not end with it
 * @sk: socket
 *
 * Those that had ended stay until they are read.
 *
 * Context: socket locked.
 */
void ltp_rx_cut(struct sock *sk)
{
	struct ltp_rx *rx = &ltp_sk(sk)->rx;
	struct ltp_flow_rx *flow;

	list_for_each_entry(flow, &rx->flows, node) {
		ltp_flow_rx_timer_at(flow, U64_MAX);
		if (flow->reason != LTP_OPEN)
			continue;
		ltp_flow_rx_drop_queue(flow);
		flow->reason = LTP_LOST;
		rx->tolerant -= flow->tolerant;
		ltp_group_flow_ends(ltp_sk(sk));
		ltp_mib_inc(sock_net(sk), LTP_MIB_CLOSED_LOST);
	}
}

/* ---- limits ---- */

static u32 ltp_rx_used(const struct sock *sk)
{
	int queued = atomic_read(&sk->sk_rmem_alloc) -
		     atomic_read(&ltp_sk(sk)->report_mem);

	/* The two are not read at the same time. */
	return max(queued, 0) + ltp_sk(sk)->rx.mem +
	       READ_ONCE(sk->sk_backlog.len);
}

/*
 * The flow the reader needs next may use the whole buffer, those behind it
 * half: a slow reader's buffer full of later flows would never be emptied.
 */
static u32 ltp_rx_free(const struct sock *sk, bool later)
{
	u32 limit = READ_ONCE(sk->sk_rcvbuf);
	u32 used = ltp_rx_used(sk);

	if (later && !ltp_sk(sk)->has_rcvtag)
		limit /= 2;
	return used < limit ? limit - used : 0;
}

/**
 * ltp_rx_window() - bytes the peer may have in flight
 * @sk: socket
 * @later: of flows behind the one that is read next
 *
 * The peer counts payload, we count memory: what came so far tells how much of
 * one goes into the other.
 *
 * Context: socket locked, or a listener.
 * Return: bytes
 */
u32 ltp_rx_window(const struct sock *sk, bool later)
{
	const struct ltp_rx *rx = &ltp_sk(sk)->rx;
	u32 window = (u64)ltp_rx_free(sk, later) * rx->ratio / LTP_RATIO_UNIT;

	if (window >= rx->seg_size)
		return window;
	/* Less than a segment is nothing, but an empty buffer takes one. */
	return !later && !atomic_read(&sk->sk_rmem_alloc);
}

static void ltp_rx_learn_ratio(struct ltp_rx *rx, u32 payload, u32 truesize)
{
	u32 ratio = (u64)payload * LTP_RATIO_UNIT / truesize;

	ratio = (rx->ratio * 7 + ratio) / 8;
	rx->ratio = clamp_t(u32, ratio, LTP_RATIO_MIN, LTP_RATIO_MAX);
}

/* The first flow id that is not welcome yet. */
static u32 ltp_rx_flow_limit(const struct sock *sk)
{
	return ltp_sk(sk)->rx.next_flow + LTP_MAX_FLOWS;
}

/* The clock of Early Close stands while the window is shut. */
static void ltp_rx_shut(struct sock *sk, bool shut)
{
	struct ltp_rx *rx = &ltp_sk(sk)->rx;
	struct ltp_flow_rx *flow;
	u64 now = ltp_now();

	if (rx->shut == shut)
		return;
	rx->shut = shut;
	list_for_each_entry(flow, &rx->flows, node) {
		if (flow->reason != LTP_OPEN)
			continue;
		if (shut)
			ltp_ec_window_shut(&flow->ec, now);
		else
			ltp_ec_window_open(&flow->ec, now);
	}
}

/**
 * ltp_rx_advertise() - the window that a packet about to leave tells the peer
 * @sk: socket
 *
 * ltp_rx.limit_told is set to the flow limit that goes with it.
 *
 * Context: socket locked.
 * Return: bytes
 */
u32 ltp_rx_advertise(struct sock *sk)
{
	struct ltp_rx *rx = &ltp_sk(sk)->rx;

	rx->advertised = ltp_rx_window(sk, false);
	rx->later_told = ltp_rx_window(sk, true);
	rx->limit_told = ltp_rx_flow_limit(sk);
	ltp_rx_shut(sk, !rx->advertised);
	return rx->advertised;
}

/**
 * ltp_rx_update() - the reader made room: does the peer have to know?
 * @sk: socket
 *
 * Context: socket locked.
 */
void ltp_rx_update(struct sock *sk)
{
	struct ltp_rx *rx = &ltp_sk(sk)->rx;
	u32 window = ltp_rx_window(sk, false), limit = READ_ONCE(sk->sk_rcvbuf);

	if (!ltp_assoc_is_open(ltp_sk(sk)) || rx->fin)
		return;
	limit = (u64)limit * rx->ratio / LTP_RATIO_UNIT;
	if ((rx->advertised < limit / 4 && window >= limit / 2) ||
	    (rx->later_told < limit / 8 &&
	     ltp_rx_window(sk, true) >= limit / 4) ||
	    ltp_rx_flow_limit(sk) - rx->limit_told >= LTP_MAX_FLOWS / 4) {
		bool was_shut = rx->shut;

		ltp_output_window(sk, 0);
		if (was_shut)
			ltp_rx_thresholds_changed(sk);
	}
}

static bool ltp_rx_room(const struct sock *sk, u32 id, u32 bytes)
{
	/* The backlog is where this packet may come from: it counts once. */
	return ltp_rx_free(sk, id != ltp_sk(sk)->rx.next_flow) +
	       READ_ONCE(sk->sk_backlog.len) >= bytes;
}

/* ---- the end of a flow ---- */

static const u16 ltp_rx_end_mib[__LTP_CLOSE_REASONS] = {
	[LTP_COMPLETE]	= LTP_MIB_CLOSED_COMPLETE,
	[LTP_FRACTION]	= LTP_MIB_CLOSED_FRACTION,
	[LTP_DEADLINE]	= LTP_MIB_CLOSED_DEADLINE,
	[LTP_GAVE_UP]	= LTP_MIB_CLOSED_GAVE_UP,
};

/**
 * ltp_rx_is_next() - is this what the next recvmsg() is about?
 * @sk: socket
 * @flow: a flow
 *
 * Context: socket locked.
 * Return: whether it is
 */
bool ltp_rx_is_next(const struct sock *sk,
		    const struct ltp_flow_rx *flow)
{
	const struct ltp_sock *lp = ltp_sk(sk);

	if (flow->read)
		return false;
	if (lp->has_rcvtag)
		return flow->tag == lp->rcvtag;
	return flow->id == lp->rx.next_flow;
}

static void ltp_rx_wake(struct sock *sk, const struct ltp_flow_rx *flow)
{
	if (ltp_rx_is_next(sk, flow) && !sock_flag(sk, SOCK_DEAD))
		sk->sk_data_ready(sk);
}

/* Send parts of CLOSE that were not answered, a burst of them. */
static void ltp_rx_send_close(struct sock *sk, struct ltp_flow_rx *flow)
{
	u8 space[sizeof(struct ltp_close) +
		 LTP_CLOSE_RANGES * sizeof(struct ltp_range)]
		__aligned(__alignof__(struct ltp_close));
	struct ltp_close *c = (struct ltp_close *)space;
	u32 from = 0, part;
	u64 wait;

	flow->parts_out = 0;
	c->flow = cpu_to_be32(flow->id);
	c->missing = cpu_to_be32(flow->map.segs - flow->map.count);
	c->parts = cpu_to_be32(flow->parts);
	c->received = cpu_to_be32(flow->received);
	c->reason = cpu_to_be16(flow->reason);
	for (part = 0; part < flow->parts; part++) {
		u32 n = ltp_ackmap_ranges(&flow->map, &from, c->range,
					  LTP_CLOSE_RANGES);

		if (test_bit(part, flow->close_acked))
			continue;
		c->part = cpu_to_be32(part);
		c->ranges = cpu_to_be16(n);
		ltp_output_control(sk, LTP_CLOSE, 0, c,
				   struct_size(c, range, n));
		if (++flow->parts_out == LTP_CLOSE_BURST)
			break;
	}
	/* A peer that answers none of a thousand flows must not be flooded. */
	wait = ltp_loss_pto(&ltp_sk(sk)->tx.loss, 0) << min(flow->tries, 16U);
	ltp_flow_rx_timer_at(flow, ltp_now() +
				   min_t(u64, wait, LTP_PTO_MAX_NS));
}

/* Early: the sender must hear of it, and hear it again until it answers. */
static void ltp_rx_start_close(struct sock *sk, struct ltp_flow_rx *flow)
{
	u32 parts = DIV_ROUND_UP(ltp_ackmap_holes(&flow->map),
				 LTP_CLOSE_RANGES);

	flow->close_acked = bitmap_zalloc(parts, GFP_ATOMIC);
	if (!flow->close_acked) {
		ltp_flow_rx_timer_at(flow, ltp_now() + LTP_ACK_DELAY_NS);
		return;
	}
	flow->parts = parts;
	ltp_rx_send_close(sk, flow);
}

/* The sender still has to be told that this flow has ended. */
static bool ltp_rx_owes_close(const struct ltp_flow_rx *flow)
{
	return flow->reason > LTP_COMPLETE && flow->reason < LTP_LOST &&
	       (!flow->close_acked || flow->parts_acked < flow->parts);
}

static void ltp_rx_end(struct sock *sk, struct ltp_flow_rx *flow,
		       enum ltp_close_reason reason, u64 now)
{
	flow->reason = reason;
	flow->elapsed_ns = now - flow->ec.start_ns;
	ltp_flow_rx_timer_at(flow, U64_MAX);
	ltp_group_flow_ends(ltp_sk(sk));
	ltp_adapt_end(sk, flow, now);
	ltp_mib_inc(sock_net(sk), ltp_rx_end_mib[reason]);
	if (reason == LTP_COMPLETE) {
		ltp_output_ack(sk, flow, now);
	} else {
		ltp_mib_add(sock_net(sk), LTP_MIB_MISSING_SEGMENTS,
			    flow->map.segs - flow->map.count);
		flow->ack_count = 0;
		ltp_rx_start_close(sk, flow);
	}
	ltp_rx_wake(sk, flow);
}

/* May it end now? If not, arm the timer for when that may change. */
static void ltp_rx_judge(struct sock *sk, struct ltp_flow_rx *flow, u64 now)
{
	struct ltp_ec_counts counts = {
		.segs = flow->map.segs,
		.got = flow->map.count,
		.crit = flow->ncrit,
		.crit_got = flow->crit_got,
	};
	struct ltp_ec_thresholds th = {};
	enum ltp_close_reason reason;
	u64 next;

	if (flow->tolerant)
		ltp_adapt_thresholds(sk, flow, &th);
	reason = ltp_ec_verdict(&flow->ec, &th, &counts, flow->tolerant, now);
	if (reason != LTP_OPEN) {
		ltp_rx_end(sk, flow, reason, now);
		return;
	}
	if (!flow->tolerant)
		return;
	next = ltp_ec_next(&flow->ec, &th, now);
	if (next != (flow->close_at_ns ?: U64_MAX))
		ltp_flow_rx_timer_at(flow, next);
}

/**
 * ltp_rx_rejudge() - judge the open flows anew if ltp_rx.rejudge says so
 * @sk: socket
 *
 * The end of one may change the thresholds of the others.
 *
 * Context: socket locked.
 */
void ltp_rx_rejudge(struct sock *sk)
{
	struct ltp_rx *rx = &ltp_sk(sk)->rx;
	struct ltp_flow_rx *flow;
	u64 now = ltp_now();

	while (rx->rejudge) {
		rx->rejudge = false;
		if (!rx->tolerant)
			return;
		list_for_each_entry(flow, &rx->flows, node)
			if (flow->tolerant && flow->reason == LTP_OPEN)
				ltp_rx_judge(sk, flow, now);
	}
}

static void ltp_flow_rx_close_due(struct ltp_timer *t)
{
	struct ltp_flow_rx *flow = container_of(t, struct ltp_flow_rx, close);
	u64 now = ltp_now();

	if (!flow->close_at_ns || flow->close_at_ns > now)
		return;
	flow->close_at_ns = 0;
	if (flow->reason == LTP_OPEN) {
		ltp_rx_judge(t->sk, flow, now);
		ltp_rx_rejudge(t->sk);
	} else if (ltp_rx_owes_close(flow)) {
		flow->tries++;
		if (flow->close_acked)
			ltp_rx_send_close(t->sk, flow);
		else
			ltp_rx_start_close(t->sk, flow);
	}
}

/**
 * ltp_rx_thresholds_changed() - judge the running flows anew
 * @sk: socket
 *
 * Context: socket locked.
 */
void ltp_rx_thresholds_changed(struct sock *sk)
{
	ltp_sk(sk)->rx.rejudge = true;
	ltp_rx_rejudge(sk);
}

/* ---- from the network ---- */

static struct ltp_flow_rx *ltp_rx_find(struct ltp_rx *rx, u32 id)
{
	struct ltp_flow_rx *flow;

	/* The newest flows are the busiest. */
	list_for_each_entry_reverse(flow, &rx->flows, node) {
		if (flow->id == id)
			return flow;
		if (ltp_before(flow->id, id))
			return NULL;
	}
	return NULL;
}

static void ltp_rx_insert(struct ltp_rx *rx, struct ltp_flow_rx *flow)
{
	struct ltp_flow_rx *other;

	list_for_each_entry_reverse(other, &rx->flows, node)
		if (ltp_before(other->id, flow->id)) {
			list_add(&flow->node, &other->node);
			return;
		}
	list_add(&flow->node, &rx->flows);
}

static int ltp_rx_begin(struct sock *sk, const struct ltp_packet *p, u64 now,
			struct ltp_flow_rx **new)
{
	const struct ltp_data_fields *d = &p->data;
	struct ltp_rx *rx = &ltp_sk(sk)->rx;
	struct ltp_flow_rx *flow;
	u32 mem = sizeof(*flow) + ltp_ackmap_bytes(d->segs);

	if (!ltp_before(d->flow, ltp_rx_flow_limit(sk)) ||
	    (rx->fin && !ltp_before(d->flow, rx->flow_end)))
		return LTP_MIB_DROP_FLOW_LIMIT;
	if (!ltp_rx_room(sk, d->flow, mem) && !list_empty(&rx->flows))
		return LTP_MIB_DROP_RCVBUF;
	flow = kmem_cache_zalloc(ltp_flow_rx_cache, GFP_ATOMIC);
	if (!flow)
		return LTP_MIB_DROP_MEMORY;
	if (ltp_ackmap_init(&flow->map, d->segs, GFP_ATOMIC | __GFP_NOWARN)) {
		kmem_cache_free(ltp_flow_rx_cache, flow);
		return LTP_MIB_DROP_MEMORY;
	}
	refcount_set(&flow->ref, 1);
	flow->sk = sk;
	__skb_queue_head_init(&flow->queue);
	ltp_timer_setup(&flow->close, sk, ltp_flow_rx_close_due, &flow->ref,
			ltp_flow_rx_timer_put);
	ltp_ec_start(&flow->ec, now);
	flow->id = d->flow;
	flow->tag = d->tag;
	flow->len = d->len;
	flow->seg_size = d->seg_size;
	flow->ncrit = d->ncrit;
	flow->tolerant = p->flags & LTP_F_TOLERANT;
	flow->mem = mem;
	rx->seg_size = d->seg_size;
	rx->mem += mem;
	ltp_rx_insert(rx, flow);
	ltp_group_flow_begins(ltp_sk(sk));
	if (flow->tolerant)
		ltp_adapt_begin(sk, flow);
	ltp_mib_inc(sock_net(sk), LTP_MIB_FLOWS_RECEIVED);
	*new = flow;
	return 0;
}

/* Find or begin the flow a packet belongs to; 0 or a drop reason. */
static int ltp_rx_flow(struct sock *sk, const struct ltp_packet *p, u64 now,
		       struct ltp_flow_rx **found)
{
	const struct ltp_data_fields *d = &p->data;
	struct ltp_rx *rx = &ltp_sk(sk)->rx;
	struct ltp_flow_rx *flow = ltp_rx_find(rx, d->flow);

	if (flow) {
		*found = flow;
		return flow->len == d->len && flow->tag == d->tag &&
		       flow->ncrit == d->ncrit &&
		       flow->seg_size == d->seg_size &&
		       flow->tolerant == !!(p->flags & LTP_F_TOLERANT) ?
			       0 : LTP_MIB_DROP_FLOW_CHANGED;
	}
	if (!ltp_before(d->flow, rx->next_flow)) {
		if (!sock_flag(sk, SOCK_DEAD))
			return ltp_rx_begin(sk, p, now, found);
		/* Nobody will read it: as TCP does, say so. */
		ltp_assoc_abort(sk, ECONNRESET);
		return LTP_MIB_DROP_STATE;
	}
	/*
	 * Forgotten, so either it arrived whole or its sender has answered the
	 * CLOSE. One who still sends has missed the former.
	 */
	ltp_output_whole(sk, d, p->pn);
	return LTP_MIB_DROP_FLOW_CLOSED;
}

/* Send the ACK that is pending, if there is one. */
static void ltp_rx_ack_now(struct sock *sk, u64 now)
{
	struct ltp_rx *rx = &ltp_sk(sk)->rx;
	struct ltp_flow_rx *flow = rx->ack_flow;

	rx->ack_flow = NULL;
	if (flow && flow->ack_count && flow->reason == LTP_OPEN)
		ltp_output_ack(sk, flow, now);
}

/* Did a router mark the packet? In UDP it is the outer header that tells. */
static bool ltp_rx_marked(struct sock *sk, const struct sk_buff *skb)
{
	u8 dsfield;

	if (skb->protocol == htons(ETH_P_IP))
		dsfield = ipv4_get_dsfield(ip_hdr(skb));
	else
		dsfield = ipv6_get_dsfield(ipv6_hdr(skb));
	if (!INET_ECN_is_ce(dsfield))
		return false;
	ltp_mib_inc(sock_net(sk), LTP_MIB_IN_CE);
	return true;
}

/* Remember to acknowledge a segment, or do it if it is time. */
static void ltp_rx_ack(struct sock *sk, struct ltp_flow_rx *flow,
		       const struct ltp_packet *p, bool dup, bool ce, u64 now)
{
	struct ltp_sock *lp = ltp_sk(sk);
	u32 seg = p->data.seg;

	/* Packets of other flows came before: in that order they are told. */
	if (lp->rx.ack_flow && lp->rx.ack_flow != flow)
		ltp_rx_ack_now(sk, now);
	lp->rx.ack_flow = flow;
	if (flow->ack_count &&
	    !ltp_ackmap_fits(flow->ack_lo, flow->ack_hi, seg))
		ltp_output_ack(sk, flow, now);
	if (!flow->ack_count) {
		flow->ack_lo = seg;
		flow->ack_hi = seg;
	} else {
		flow->ack_lo = min(flow->ack_lo, seg);
		flow->ack_hi = max(flow->ack_hi, seg);
	}
	flow->ack_count++;
	flow->ack_dup |= dup;
	flow->ack_ce |= ce;
	flow->ack_pn = p->pn;
	flow->ack_ns = now;
	if (!dup && ltp_ackmap_whole(&flow->map))
		return; /* the end of the flow sends it */
	if (dup || flow->ack_count >= LTP_ACK_EVERY ||
	    (p->flags & (LTP_F_ACK_NOW | LTP_F_LAST))) {
		ltp_output_ack(sk, flow, now);
	} else if (!lp->ack_ns) {
		lp->ack_ns = now + LTP_ACK_DELAY_NS;
		ltp_timer_start(&lp->ack, lp->ack_ns);
	}
}

/* A segment of a flow that has ended here: its sender may not know. */
static int ltp_rx_after_end(struct sock *sk, struct ltp_flow_rx *flow,
			    const struct ltp_packet *p)
{
	if (flow->reason == LTP_COMPLETE)
		ltp_output_whole(sk, &p->data, p->pn);
	/* Else CLOSE is under way, by its own timer. */
	return LTP_MIB_DROP_FLOW_CLOSED;
}

/* However small the buffer is, the reader gets its message bit by bit. */
static bool ltp_rx_needs(const struct sock *sk, const struct ltp_flow_rx *flow)
{
	return ltp_rx_is_next(sk, flow) && skb_queue_empty(&flow->queue);
}

/*
 * No room: the sender must not take our silence for death, nor for loss. One
 * answer speaks for all that came in the time an ACK may take.
 */
static void ltp_rx_refuse(struct sock *sk, u64 now)
{
	struct ltp_rx *rx = &ltp_sk(sk)->rx;

	if (now - rx->refused_ns < LTP_ACK_DELAY_NS)
		return;
	rx->refused_ns = now;
	ltp_output_window(sk, 0);
}

/*
 * Room in the buffer, and in the memory of all sockets. The segment that a
 * reader needs comes in anyhow, one at a time: else sockets that wait for each
 * other's memory would do so for ever.
 */
static int ltp_rx_take_room(struct sock *sk, struct ltp_flow_rx *flow,
			    struct sk_buff *skb)
{
	struct ltp_rx *rx = &ltp_sk(sk)->rx;
	bool needed = ltp_rx_needs(sk, flow);

	if (!needed && !ltp_rx_room(sk, flow->id, skb->truesize))
		return LTP_MIB_DROP_RCVBUF;
	rx->starved = !sk_rmem_schedule(sk, skb, skb->truesize);
	if (!rx->starved || needed)
		return 0;
	/* What waits to become worth placing would wait in vain. */
	ltp_rx_wake(sk, flow);
	return LTP_MIB_DROP_MEMORY;
}

/**
 * ltp_rx_data() - a segment came
 * @sk: socket
 * @skb: the packet; taken if 0 is returned
 * @p: the same, parsed
 * @now: the time
 *
 * Context: socket locked.
 * Return: 0 or a drop reason
 */
int ltp_rx_data(struct sock *sk, struct sk_buff *skb,
		const struct ltp_packet *p, u64 now)
{
	const struct ltp_data_fields *d = &p->data;
	struct ltp_rx *rx = &ltp_sk(sk)->rx;
	struct ltp_flow_rx *flow;
	bool ce;
	int drop;

	drop = ltp_rx_flow(sk, p, now, &flow);
	if (drop)
		return drop;
	if (flow->reason != LTP_OPEN)
		return ltp_rx_after_end(sk, flow, p);
	if (ltp_ackmap_test(&flow->map, d->seg)) {
		rx->duplicates++;
		ltp_mib_inc(sock_net(sk), LTP_MIB_IN_DUPLICATE);
		ltp_rx_ack(sk, flow, p, true, ltp_rx_marked(sk, skb), now);
		consume_skb(skb);
		return 0;
	}
	drop = ltp_rx_take_room(sk, flow, skb);
	if (drop) {
		ltp_rx_refuse(sk, now);
		return drop;
	}
	ce = ltp_rx_marked(sk, skb);
	__skb_pull(skb, p->offset);
	skb_dst_drop(skb);
	skb_set_owner_r(skb, sk);
	LTP_RX_CB(skb)->seg = d->seg;
	__skb_queue_tail(&flow->queue, skb);
	flow->queued += skb->truesize;
	ltp_ackmap_set(&flow->map, d->seg);
	flow->received += p->payload;
	ltp_rx_learn_ratio(rx, p->payload, skb->truesize);
	if (d->seg < flow->ncrit)
		flow->crit_got++;
	rx->bytes += p->payload;
	rx->data_ns = now;
	rx->segments++;
	ltp_mib_inc(sock_net(sk), LTP_MIB_IN_DATA);
	ltp_tx_group(sk, d->group, now);
	ltp_rx_ack(sk, flow, p, false, ce, now);
	ltp_rx_judge(sk, flow, now);
	ltp_rx_rejudge(sk);
	if (flow->reason == LTP_OPEN && ltp_rx_worth_placing(sk, flow))
		ltp_rx_wake(sk, flow);
	return 0;
}

/**
 * ltp_rx_giveup() - the sender will send no more of a flow
 * @sk: socket
 * @p: the packet
 * @now: the time
 *
 * Context: socket locked.
 * Return: 0 or a drop reason
 */
int ltp_rx_giveup(struct sock *sk, const struct ltp_packet *p, u64 now)
{
	struct ltp_flow_rx *flow;
	int drop;

	drop = ltp_rx_flow(sk, p, now, &flow);
	if (drop)
		return drop;
	if (flow->reason != LTP_OPEN)
		return ltp_rx_after_end(sk, flow, p);
	ltp_rx_end(sk, flow, LTP_GAVE_UP, now);
	ltp_rx_rejudge(sk);
	return 0;
}

/**
 * ltp_rx_tidy() - forget flows that were read and whose senders know
 * @sk: socket
 *
 * In order: one that is not read keeps those behind it.
 *
 * Context: socket locked.
 */
void ltp_rx_tidy(struct sock *sk)
{
	struct ltp_rx *rx = &ltp_sk(sk)->rx;
	struct ltp_flow_rx *flow, *next;

	list_for_each_entry(flow, &rx->flows, node) {
		if (ltp_before(flow->id, rx->next_flow))
			continue;
		if (flow->id != rx->next_flow || !flow->read)
			break;
		rx->next_flow++;
	}
	list_for_each_entry_safe(flow, next, &rx->flows, node) {
		if (!ltp_before(flow->id, rx->next_flow))
			break;
		if (!ltp_rx_owes_close(flow))
			ltp_flow_rx_forget(sk, flow);
	}
}

/**
 * ltp_rx_close_acked() - the sender knows a part of a flow's map
 * @sk: socket
 * @id: flow id
 * @part: which part
 * @now: the time
 *
 * Context: socket locked.
 * Return: 0 or a drop reason
 */
int ltp_rx_close_acked(struct sock *sk, u32 id, u32 part, u64 now)
{
	struct ltp_rx *rx = &ltp_sk(sk)->rx;
	struct ltp_flow_rx *flow = ltp_rx_find(rx, id);

	if (!flow)
		return ltp_before(id, rx->next_flow) ?
			       0 : LTP_MIB_DROP_FLOW_UNKNOWN;
	if (part >= flow->parts)
		return LTP_MIB_DROP_ACK_INVALID;
	if (__test_and_set_bit(part, flow->close_acked))
		return 0;
	flow->parts_acked++;
	flow->tries = 0;
	if (flow->parts_acked == flow->parts) {
		ltp_flow_rx_timer_at(flow, U64_MAX);
		ltp_rx_tidy(sk);
	} else if (flow->parts_out && !--flow->parts_out) {
		ltp_rx_send_close(sk, flow);
	}
	return 0;
}

/**
 * ltp_rx_all_ended() - have all flows of the peer ended?
 * @sk: socket
 * @flow_end: id behind the last of them
 *
 * Context: socket locked.
 * Return: whether there are none that are open or that we never saw
 */
bool ltp_rx_all_ended(struct sock *sk, u32 flow_end)
{
	struct ltp_rx *rx = &ltp_sk(sk)->rx;
	struct ltp_flow_rx *flow;
	u32 ended = 0;

	list_for_each_entry(flow, &rx->flows, node) {
		if (ltp_before(flow->id, rx->next_flow))
			continue;
		if (flow->reason == LTP_OPEN || !ltp_before(flow->id, flow_end))
			return false;
		ended++;
	}
	return flow_end - rx->next_flow == ended;
}

/**
 * ltp_rx_ack_due() - send the ACK that has waited long enough
 * @sk: socket
 * @now: the time
 *
 * Context: socket locked.
 */
void ltp_rx_ack_due(struct sock *sk, u64 now)
{
	struct ltp_sock *lp = ltp_sk(sk);

	if (!lp->ack_ns || lp->ack_ns > now)
		return;
	lp->ack_ns = 0;
	ltp_rx_ack_now(sk, now);
}

/**
 * ltp_rx_timers_missed() - run timers that fired while the socket was owned
 * @sk: socket
 *
 * Context: socket locked.
 */
void ltp_rx_timers_missed(struct sock *sk)
{
	struct ltp_flow_rx *flow, *next;

	ltp_rx_ack_due(sk, ltp_now());
	list_for_each_entry_safe(flow, next, &ltp_sk(sk)->rx.flows, node)
		ltp_flow_rx_close_due(&flow->close);
}
