// SPDX-License-Identifier: GPL-2.0
/*
 * Packets in: from IP to the right socket, and under its lock to the part of
 * the association that each packet type is for.
 */
#include <linux/filter.h>
#include <net/xfrm.h>

#include "adapt.h"
#include "assoc.h"
#include "flow_rx.h"
#include "flow_tx.h"
#include "group.h"
#include "recovery.h"
#include "sched.h"
#include "encap.h"
#include "handshake.h"
#include "input.h"
#include "output.h"
#include "path.h"
#include "port.h"

static int ltp_input_parse(const struct sk_buff *skb, struct ltp_packet *p)
{
	return ltp_packet_parse(skb->data, skb_headlen(skb), skb->len, p);
}

/*
 * RESET proves that its sender knows both tags: its own is in the body. The
 * reflected form comes from a host that knows neither and returns ours.
 */
static bool ltp_input_reset_good(const struct ltp_sock *lp,
				 const struct ltp_packet *p)
{
	if (p->flags & LTP_F_REFLECT) {
		u32 sent = lp->peer_tag;

		if (lp->phase == LTP_COOKIE_SENT)
			sent = be32_to_cpu(lp->hello->params.tag);
		return sent && p->tag == sent;
	}
	if (p->tag != lp->local_tag)
		return false;
	/* The answer to an INIT comes from one who has no tag. */
	if (lp->phase == LTP_INIT_SENT)
		return !p->peer_tag;
	return p->peer_tag == lp->peer_tag;
}

static int ltp_input_reset(struct sock *sk, const struct ltp_packet *p)
{
	struct ltp_sock *lp = ltp_sk(sk);
	int err = ECONNRESET;

	if (!ltp_input_reset_good(lp, p))
		return LTP_MIB_DROP_TAG;
	ltp_mib_inc(sock_net(sk), LTP_MIB_ASSOC_RESET);
	if (!ltp_assoc_is_open(lp))
		err = ECONNREFUSED;
	else if (lp->rx.fin && list_empty(&lp->tx.flows))
		err = 0; /* it has said all, and has all of ours */
	ltp_assoc_end(sk, err);
	return 0;
}

/* Packet types of an open association. Takes DATA's skb if it returns 0. */
static int ltp_input_open(struct sock *sk, struct sk_buff *skb,
			  const struct ltp_packet *p, u64 now)
{
	switch (p->type) {
	case LTP_DATA:
		return ltp_rx_data(sk, skb, p, now);
	case LTP_ACK:
		return ltp_tx_ack(sk, p, now);
	case LTP_CLOSE:
		return ltp_tx_close(sk, &p->close, now);
	case LTP_CLOSE_ACK:
		return ltp_rx_close_acked(sk, p->close_ack.flow,
					  p->close_ack.part, now);
	case LTP_GIVEUP:
		return ltp_rx_giveup(sk, p, now);
	case LTP_FIN:
		ltp_assoc_fin_received(sk, p->flow);
		return 0;
	case LTP_FIN_ACK:
		ltp_assoc_fin_acked(sk);
		return 0;
	case LTP_PING:
		ltp_tx_window(sk, p->pn, &p->ping.window);
		ltp_output_window(sk, p->ping.token);
		return 0;
	case LTP_PONG:
		ltp_adapt_pong(sk, p->ping.token, now);
		ltp_rx_rejudge(sk);
		ltp_path_pong(sk, p->ping.token, now);
		ltp_tx_window(sk, p->pn, &p->ping.window);
		/* A window that stays shut is asked about less and less. */
		if (!ltp_tx_blocked(ltp_sk(sk)))
			ltp_sk(sk)->tries = 0;
		return 0;
	case LTP_COOKIE_ACK:
		return 0; /* a duplicate */
	default:
		return LTP_MIB_DROP_STATE;
	}
}

/* Returns 0, with @skb taken if it was DATA, or a drop reason. */
static int ltp_input_assoc(struct sock *sk, struct sk_buff *skb,
			   const struct ltp_packet *p)
{
	struct ltp_sock *lp = ltp_sk(sk);
	u64 now = ltp_now();

	if (lp->phase == LTP_CLOSED)
		return LTP_MIB_DROP_STATE;
	if (p->type == LTP_RESET)
		return ltp_input_reset(sk, p);
	if (p->tag != lp->local_tag)
		return LTP_MIB_DROP_TAG;
	if (p->type == LTP_COOKIE_ECHO) {
		if (!ltp_assoc_is_open(lp) ||
		    !ltp_handshake_same(lp, p->cookie))
			return LTP_MIB_DROP_STATE;
		ltp_output_control(sk, LTP_COOKIE_ACK, 0, NULL, 0);
		return 0;
	}
	if (lp->phase == LTP_INIT_SENT) {
		if (p->type != LTP_INIT_ACK)
			return LTP_MIB_DROP_STATE;
		ltp_encap_follow(sk, skb);
		return ltp_handshake_init_ack(sk, p);
	}
	if (lp->phase == LTP_COOKIE_SENT) {
		if (p->type == LTP_INIT_ACK)
			return LTP_MIB_DROP_STATE;
		ltp_handshake_cookie_ack(sk, p, now);
	}
	ltp_assoc_heard(sk, now);
	/* What was sent before, or is sent once more, does not lead back. */
	if ((s32)(p->pn - lp->newest_pn) > 0) {
		lp->newest_pn = p->pn;
		ltp_encap_follow(sk, skb);
	}
	return ltp_input_open(sk, skb, p, now);
}

static int ltp_input_listener(struct sock *sk, const struct sk_buff *skb,
			      const struct ltp_packet *p)
{
	int drop;

	if (p->type != LTP_COOKIE_ECHO)
		return LTP_MIB_DROP_STATE;
	/* From the backlog it is a system call that locks the new child. */
	local_bh_disable();
	drop = ltp_handshake_echo(sk, skb, p);
	local_bh_enable();
	return drop;
}

/**
 * ltp_input_locked() - handle a packet for a socket, proto.backlog_rcv
 * @sk: the socket
 * @skb: the packet, consumed
 *
 * Context: socket locked.
 * Return: 0
 */
int ltp_input_locked(struct sock *sk, struct sk_buff *skb)
{
	struct ltp_packet p;
	int drop;

	drop = ltp_input_parse(skb, &p);
	if (drop) /* it was good when it came, but a filter may have cut it */
		goto drop;
	if (sk->sk_state == TCP_LISTEN)
		drop = ltp_input_listener(sk, skb, &p);
	else
		drop = ltp_input_assoc(sk, skb, &p);
	if (drop)
		goto drop;
	if (p.type != LTP_DATA)
		consume_skb(skb);
	return 0;

drop:
	ltp_mib_inc(sock_net(sk), drop);
	sk_drops_inc(sk);
	kfree_skb(skb);
	return 0;
}

/* Nobody here: say so, unless that could start an endless exchange. */
static void ltp_input_nobody(struct net *net, const struct sk_buff *skb,
			     const struct ltp_packet *p)
{
	struct ltp_reset reset = {};

	switch (p->type) {
	case LTP_RESET:
		return;
	case LTP_INIT:
		ltp_output_reply(net, skb, p, LTP_RESET, 0,
				 be32_to_cpu(p->params->tag), &reset,
				 sizeof(reset));
		break;
	default:
		ltp_output_reply(net, skb, p, LTP_RESET, LTP_F_REFLECT,
				 p->tag, NULL, 0);
	}
	ltp_mib_inc(net, LTP_MIB_OUT_RESETS);
}

static struct sock *ltp_input_find(struct net *net, const struct ltp_af *af,
				   const struct sk_buff *skb,
				   const struct ltp_packet *p)
{
	int dev = af->iif(skb);
	struct ltp_key key;
	struct sock *sk;

	af->key(&key, skb);
	sk = ltp_assoc_find(net, &key);
	if (sk && sk->sk_bound_dev_if && sk->sk_bound_dev_if != dev) {
		sock_put(sk);
		sk = NULL;
	}
	if (p->type == LTP_INIT ||
	    (p->type == LTP_COOKIE_ECHO &&
	     (!sk || !ltp_handshake_same(ltp_sk(sk), p->cookie)))) {
		/* A peer that has started anew does not know what we have. */
		struct sock *listener = ltp_port_listener(net, &key, dev);

		if (listener) {
			if (sk)
				sock_put(sk);
			return listener;
		}
	}
	return sk;
}

/*
 * Now, not when the socket's owner has time for it: how fast packets come is
 * asked here. The tag never changes while the socket can be found.
 */
static void ltp_input_measure(const struct sock *sk, const struct ltp_packet *p)
{
	struct ltp_group *group = READ_ONCE(ltp_sk(sk)->group);

	if (p->type == LTP_DATA && group && p->tag == ltp_sk(sk)->local_tag)
		ltp_group_arrived(group, p->payload, ltp_now());
}

/* Takes @skb unless it returns a drop reason. */
static int ltp_input_deliver(struct sock *sk, struct sk_buff *skb,
			     const struct ltp_packet *p)
{
	/* DATA keeps within the window; the rest is for control packets. */
	u32 limit = READ_ONCE(sk->sk_rcvbuf) / 8 * 9;
	int drop = 0;

	/* The packet's family: a socket of IPv6 may talk IPv4. */
	if (!xfrm_policy_check(sk, XFRM_POLICY_IN, skb,
			       LTP_INPUT_CB(skb)->af->family) ||
	    sk_filter(sk, skb))
		return LTP_MIB_DROP_FILTER;
	nf_reset_ct(skb);
	sk_incoming_cpu_update(sk);
	if (p->type == LTP_INIT) {
		if (READ_ONCE(sk->sk_state) != TCP_LISTEN)
			return LTP_MIB_DROP_STATE;
		ltp_handshake_init(sk, skb, p);
		consume_skb(skb);
		return 0;
	}
	ltp_input_measure(sk, p);
	bh_lock_sock_nested(sk);
	if (!sock_owned_by_user(sk))
		ltp_input_locked(sk, skb);
	else if (sk_add_backlog(sk, skb, limit))
		drop = LTP_MIB_DROP_SOCKET_BACKLOG;
	bh_unlock_sock(sk);
	return drop;
}

/* Within UDP the checksum is UDP's, and was right; ours is 0. */
static bool ltp_input_damaged(struct sk_buff *skb)
{
	const struct ltp_hdr *hdr = (const struct ltp_hdr *)skb->data;

	if (LTP_INPUT_CB(skb)->encap)
		return hdr->check != 0;
	return LTP_INPUT_CB(skb)->af->checksum(skb);
}

/**
 * ltp_input() - a packet from IP or UDP
 * @skb: the packet, consumed; its data begin with the common header
 * @af: address family
 * @encap: UDP port it came from, 0: it was not in UDP
 *
 * Context: softirq, rcu_read_lock().
 * Return: 0
 */
int ltp_input(struct sk_buff *skb, const struct ltp_af *af, __be16 encap)
{
	struct net *net = dev_net(skb->dev);
	struct ltp_packet p;
	struct sock *sk;
	u32 need;
	int drop;

	BUILD_BUG_ON(sizeof(struct ltp_input_cb) > sizeof(skb->cb));
	LTP_INPUT_CB(skb)->af = af;
	LTP_INPUT_CB(skb)->encap = encap;
	ltp_mib_inc(net, LTP_MIB_IN_PACKETS);
	drop = LTP_MIB_DROP_NO_ASSOC;
	if (skb->pkt_type != PACKET_HOST || !af->unicast(skb))
		goto drop;
	drop = LTP_MIB_DROP_SHORT;
	if (!pskb_may_pull(skb, sizeof(struct ltp_hdr)))
		goto drop;
	need = ltp_packet_need((const struct ltp_hdr *)skb->data, skb->len);
	if (!pskb_may_pull(skb, need))
		goto drop;
	drop = LTP_MIB_DROP_CHECKSUM;
	if (ltp_input_damaged(skb))
		goto drop;
	drop = ltp_input_parse(skb, &p);
	if (drop)
		goto drop;
	sk = ltp_input_find(net, af, skb, &p);
	if (!sk) {
		drop = LTP_MIB_DROP_NO_ASSOC;
		if (xfrm_policy_check(NULL, XFRM_POLICY_IN, skb, af->family))
			ltp_input_nobody(net, skb, &p);
		goto drop;
	}
	drop = ltp_input_deliver(sk, skb, &p);
	sock_put(sk);
	if (!drop)
		return 0;

drop:
	ltp_mib_inc(net, drop);
	kfree_skb(skb);
	return 0;
}
