// SPDX-License-Identifier: GPL-2.0
/* Packets out: headers in front of what flow_tx, flow_rx and assoc want sent. */
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/inet_ecn.h>

#include "assoc.h"
#include "flow_rx.h"
#include "group.h"
#include "output.h"
#include "path.h"

static void ltp_output_header(struct sk_buff *skb, __be16 source, __be16 dest,
			      u32 tag, u8 type, u8 flags, u32 pn)
{
	struct ltp_hdr *hdr = skb_push(skb, sizeof(*hdr));

	skb_reset_transport_header(skb);
	hdr->source = source;
	hdr->dest = dest;
	hdr->tag = cpu_to_be32(tag);
	hdr->type = type;
	hdr->flags = flags;
	hdr->check = 0;
	hdr->pn = cpu_to_be32(pn);
}

static int ltp_output_xmit(struct sock *sk, struct sk_buff *skb, u8 type,
			   u8 flags, u32 tag, u32 pn)
{
	struct ltp_sock *lp = ltp_sk(sk);
	int err;

	ltp_output_header(skb, lp->key.lport, lp->key.rport, tag, type, flags,
			  pn);
	skb_set_owner_w(skb, sk);
	ltp_mib_inc(sock_net(sk), LTP_MIB_OUT_PACKETS);
	err = lp->af->xmit(sk, skb);
	err = net_xmit_eval(err); /* evaluates its argument twice */
	if (err)
		ltp_mib_inc(sock_net(sk), LTP_MIB_OUT_ERRORS);
	return err;
}

static struct sk_buff *ltp_output_body(const void *body, u32 len)
{
	struct sk_buff *skb = alloc_skb(LTP_HEADROOM + len, GFP_ATOMIC);

	if (!skb)
		return NULL;
	skb_reserve(skb, LTP_HEADROOM);
	if (len)
		skb_put_data(skb, body, len);
	return skb;
}

/* A copy of the segment's payload that headers can be pushed in front of. */
static struct sk_buff *ltp_output_payload(const struct ltp_seg *seg)
{
	/*
	 * While an earlier transmission is still queued somewhere below, its
	 * headers are in our headroom. The payload is shared in any case.
	 */
	if (skb_cloned(seg->skb))
		return pskb_copy(seg->skb, GFP_ATOMIC);
	return skb_clone(seg->skb, GFP_ATOMIC);
}

static void ltp_output_seg(struct sock *sk, struct ltp_seg *seg)
{
	const struct ltp_flow_tx *flow = seg->flow;
	struct ltp_sock *lp = ltp_sk(sk);
	struct ltp_data *data;
	struct sk_buff *skb;
	u8 flags = 0;

	skb = ltp_output_payload(seg);
	if (!skb) {
		/* To the sender it is as if the network had lost it. */
		ltp_mib_inc(sock_net(sk), LTP_MIB_OUT_ERRORS);
		return;
	}
	if (seg->index < flow->ncrit)
		flags |= LTP_F_CRITICAL;
	if (flow->tolerant)
		flags |= LTP_F_TOLERANT;
	if (!flow->unsent)
		flags |= LTP_F_LAST;
	if (seg->ack_now)
		flags |= LTP_F_ACK_NOW;
	data = skb_push(skb, sizeof(*data));
	data->flow = cpu_to_be32(flow->id);
	data->len = cpu_to_be32(flow->len);
	data->seg = cpu_to_be32(seg->index);
	data->ncrit = cpu_to_be32(flow->ncrit);
	put_unaligned_be64(flow->tag, &data->tag);
	data->seg_size = cpu_to_be16(flow->seg_size);
	data->group = cpu_to_be16(ltp_group_members(lp->group));
	/* The path may have shrunk since the flow began: fragment. */
	skb->ignore_df = !ltp_path_df(sk, seg);
	/* RFC 3168: what is not repeated if lost says nothing of congestion. */
	INET_ECN_xmit(sk);
	ltp_output_xmit(sk, skb, LTP_DATA, flags, lp->peer_tag, seg->pn);
	INET_ECN_dontxmit(sk);
	ltp_mib_inc(sock_net(sk), LTP_MIB_OUT_DATA);
}

/**
 * ltp_output_train() - send segments
 * @sk: their socket
 * @train: list of struct ltp_seg, packet numbers assigned; moved to
 *	ltp_tx.in_flight as they leave
 * @now: the time
 *
 * A segment that could not be sent counts as lost by the network.
 *
 * Context: socket locked.
 */
void ltp_output_train(struct sock *sk, struct list_head *train, u64 now)
{
	struct ltp_seg *seg, *next;

	list_for_each_entry_safe(seg, next, train, link) {
		seg->sent_ns = now;
		ltp_output_seg(sk, seg);
		list_move_tail(&seg->link, &ltp_sk(sk)->tx.in_flight);
	}
}

/**
 * ltp_output_control() - send a packet other than DATA to the peer
 * @sk: connected socket
 * @type: enum ltp_packet_type
 * @flags: LTP_F_*
 * @body: what follows the common header
 * @len: its length
 *
 * Context: socket locked.
 * Return: 0 or what IP said; nobody needs to care, control packets are repeated
 */
int ltp_output_control(struct sock *sk, u8 type, u8 flags, const void *body,
		       u32 len)
{
	struct ltp_sock *lp = ltp_sk(sk);
	struct sk_buff *skb = ltp_output_body(body, len);

	if (!skb)
		return -ENOBUFS;
	return ltp_output_xmit(sk, skb, type, flags, lp->peer_tag, lp->tx.pn++);
}

/**
 * ltp_output_hello() - send a handshake packet
 * @sk: socket
 * @type: INIT or COOKIE_ECHO
 * @tag: the peer's tag, 0 for INIT
 * @body: what follows the common header
 * @len: its length
 *
 * The packet number is 0: numbers count from what the handshake agrees on.
 *
 * Context: socket locked.
 */
void ltp_output_hello(struct sock *sk, u8 type, u32 tag, const void *body,
		      u32 len)
{
	struct sk_buff *skb = ltp_output_body(body, len);

	if (skb)
		ltp_output_xmit(sk, skb, type, 0, tag, 0);
}

/**
 * ltp_output_ack() - acknowledge what came of a flow since its last ACK
 * @sk: socket
 * @flow: a flow with a pending ACK, which is none afterwards
 * @now: the time
 *
 * Context: socket locked.
 */
void ltp_output_ack(struct sock *sk, struct ltp_flow_rx *flow, u64 now)
{
	u8 space[sizeof(struct ltp_ack) + LTP_ACK_WORDS * sizeof(__be32)]
		__aligned(__alignof__(struct ltp_ack));
	struct ltp_ack *ack = (struct ltp_ack *)space;
	u32 first = 0, words, delay_us;
	u8 flags = 0;

	words = ltp_ackmap_window(&flow->map, flow->ack_hi, &first,
				  ack->bitmap);
	delay_us = min_t(u64, div_u64(now - flow->ack_ns, NSEC_PER_USEC),
			 U32_MAX);
	ack->flow = cpu_to_be32(flow->id);
	ack->acked_pn = cpu_to_be32(flow->ack_pn);
	ack->delay_us = cpu_to_be32(delay_us);
	ack->base = cpu_to_be32(flow->map.base);
	ack->first = cpu_to_be32(first);
	ack->rwnd = cpu_to_be32(ltp_rx_advertise(sk));
	ack->rwnd_later = cpu_to_be32(ltp_sk(sk)->rx.later_told);
	ack->ceiling = cpu_to_be32(ltp_group_ceiling(ltp_sk(sk)->group));
	ack->flow_limit = cpu_to_be32(ltp_sk(sk)->rx.limit_told);
	ack->words = cpu_to_be16(words);
	ack->reserved = 0;
	if (ltp_ackmap_whole(&flow->map))
		flags |= LTP_F_WHOLE;
	if (flow->ack_dup)
		flags |= LTP_F_DUP;
	if (flow->ack_ce)
		flags |= LTP_F_CE;
	flow->ack_count = 0;
	flow->ack_dup = false;
	flow->ack_ce = false;
	ltp_mib_inc(sock_net(sk), LTP_MIB_OUT_ACKS);
	ltp_output_control(sk, LTP_ACK, flags, ack,
			   struct_size(ack, bitmap, words));
}

/**
 * ltp_output_whole() - tell again that a forgotten flow arrived whole
 * @sk: socket
 * @data: a segment of that flow which came once more
 * @pn: number of the packet it came in
 *
 * Context: socket locked.
 */
void ltp_output_whole(struct sock *sk, const struct ltp_data_fields *data,
		      u32 pn)
{
	struct ltp_ack ack = {
		.flow = cpu_to_be32(data->flow),
		.acked_pn = cpu_to_be32(pn),
		.base = cpu_to_be32(data->segs),
		.rwnd = cpu_to_be32(ltp_rx_advertise(sk)),
		.rwnd_later = cpu_to_be32(ltp_sk(sk)->rx.later_told),
		.flow_limit = cpu_to_be32(ltp_sk(sk)->rx.limit_told),
	};

	ltp_mib_inc(sock_net(sk), LTP_MIB_OUT_ACKS);
	ltp_output_control(sk, LTP_ACK, LTP_F_WHOLE | LTP_F_DUP, &ack,
			   sizeof(ack));
}

/**
 * ltp_output_window() - answer a PING, or tell of a window that opened
 * @sk: socket
 * @token: of the PING, 0: nobody asked
 *
 * Context: socket locked.
 */
void ltp_output_window(struct sock *sk, u32 token)
{
	struct ltp_ping pong = {
		.token = cpu_to_be32(token),
		.rwnd = cpu_to_be32(ltp_rx_advertise(sk)),
		.rwnd_later = cpu_to_be32(ltp_sk(sk)->rx.later_told),
		.flow_limit = cpu_to_be32(ltp_sk(sk)->rx.limit_told),
	};

	ltp_output_control(sk, LTP_PONG, 0, &pong, sizeof(pong));
}

/**
 * ltp_output_ping() - ask the peer for a sign of life and its window
 * @sk: socket
 *
 * Context: socket locked.
 */
void ltp_output_ping(struct sock *sk)
{
	struct ltp_rx *rx = &ltp_sk(sk)->rx;

	rx->asked_token = get_random_u32() | 1;
	rx->asked_ns = ltp_now();
	ltp_output_probe(sk, rx->asked_token, sizeof(struct ltp_ping));
}

/* Zeros at the end that take no memory. */
static bool ltp_output_pad(struct sk_buff *skb, u32 len)
{
	int i;

	for (i = 0; len; i++) {
		u32 n = min_t(u32, len, PAGE_SIZE);

		if (i == MAX_SKB_FRAGS)
			return false;
		get_page(ZERO_PAGE(0));
		skb_fill_page_desc(skb, i, ZERO_PAGE(0), 0, n);
		skb->len += n;
		skb->data_len += n;
		skb->truesize += n;
		len -= n;
	}
	/* Whoever transforms it below must not do so in place. */
	skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
	return true;
}

/**
 * ltp_output_probe() - send a PING of a certain size
 * @sk: socket
 * @token: what the answer will repeat, not 0
 * @len: bytes behind the common header
 *
 * It must not be fragmented, unless IP_MTU_DISCOVER forbids to say so.
 *
 * Context: socket locked.
 */
void ltp_output_probe(struct sock *sk, u32 token, u32 len)
{
	struct ltp_sock *lp = ltp_sk(sk);
	struct ltp_ping ping = {
		.token = cpu_to_be32(token),
		.rwnd = cpu_to_be32(ltp_rx_advertise(sk)),
		.rwnd_later = cpu_to_be32(lp->rx.later_told),
		.flow_limit = cpu_to_be32(lp->rx.limit_told),
	};
	struct sk_buff *skb = ltp_output_body(&ping, sizeof(ping));

	if (!skb)
		return;
	if (len > sizeof(ping) && !ltp_output_pad(skb, len - sizeof(ping))) {
		kfree_skb(skb);
		return;
	}
	ltp_output_xmit(sk, skb, LTP_PING, 0, lp->peer_tag, lp->tx.pn++);
}

/**
 * ltp_output_reset() - tell the peer that this association is no more
 * @sk: socket
 *
 * Context: socket locked.
 */
void ltp_output_reset(struct sock *sk)
{
	struct ltp_reset reset = {
		.tag = cpu_to_be32(ltp_sk(sk)->local_tag),
	};

	ltp_mib_inc(sock_net(sk), LTP_MIB_OUT_RESETS);
	ltp_output_control(sk, LTP_RESET, 0, &reset, sizeof(reset));
}

/**
 * ltp_output_reply() - answer a packet without an association
 * @net: namespace
 * @to: the packet to answer, its network header in place; the answer goes the
 *	way that it came
 * @p: the same, parsed
 * @type: enum ltp_packet_type
 * @flags: LTP_F_*
 * @tag: tag the answer carries
 * @body: what follows the common header
 * @len: its length: the answer must not be larger than the question
 *
 * Context: softirq.
 */
void ltp_output_reply(struct net *net, const struct sk_buff *to,
		      const struct ltp_packet *p, u8 type, u8 flags, u32 tag,
		      const void *body, u32 len)
{
	struct sk_buff *skb = ltp_output_body(body, len);

	if (!skb)
		return;
	ltp_output_header(skb, p->dest, p->source, tag, type, flags, 0);
	ltp_mib_inc(net, LTP_MIB_OUT_PACKETS);
	if (LTP_INPUT_CB(to)->af->reply(net, skb, to))
		ltp_mib_inc(net, LTP_MIB_OUT_ERRORS);
}
