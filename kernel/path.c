// SPDX-License-Identifier: GPL-2.0
/*
 * The path's MTU, as an association uses it: what segments are cut for, which
 * packets carry don't-fragment, when probes leave. The judgements are in
 * pmtu.c; what IP_MTU_DISCOVER says goes before them.
 */
#include "assoc.h"
#include "output.h"
#include "path.h"
#include "recovery.h"

/* Count what was found out, and send what it takes to find out more. */
static void ltp_path_act(struct sock *sk, int events)
{
	struct net *net = sock_net(sk);

	if (events & LTP_PMTU_EV_ASK)
		ltp_output_ping(sk);
	if (events & LTP_PMTU_EV_CONFIRMED)
		ltp_mib_inc(net, LTP_MIB_PMTU_CONFIRMED);
	if (events & LTP_PMTU_EV_LOST)
		ltp_mib_inc(net, LTP_MIB_PMTU_LOST);
	if (events & LTP_PMTU_EV_BLACK_HOLE)
		ltp_mib_inc(net, LTP_MIB_PMTU_BLACK_HOLES);
}

static u64 ltp_path_timeout(const struct ltp_sock *lp)
{
	return ltp_loss_pto(&lp->tx.loss, LTP_ACK_DELAY_NS);
}

/* Largest packet that may leave, and that the peer takes. */
static u32 ltp_path_ceiling(struct sock *sk)
{
	struct ltp_sock *lp = ltp_sk(sk);
	u32 mtu = lp->af->mtu(sk);

	return min(mtu, lp->peer_mtu);
}

/* Does IP_MTU_DISCOVER leave it to us? */
static bool ltp_path_discovers(struct sock *sk)
{
	u8 how = ltp_sk(sk)->af->pmtudisc(sk);

	return how == IP_PMTUDISC_WANT || how == IP_PMTUDISC_DO;
}

/**
 * ltp_path_open() - the handshake is done
 * @sk: socket, what its peer said of itself already noted
 *
 * Context: socket locked.
 */
void ltp_path_open(struct sock *sk)
{
	struct ltp_sock *lp = ltp_sk(sk);
	u32 how = 0;

	if (lp->af->pmtudisc(sk) == IP_PMTUDISC_DO)
		how |= LTP_PMTU_CAUTIOUS;
	if (lp->af->family == AF_INET6)
		how |= LTP_PMTU_HOST_CUTS;
	lp->probe_token = 0;
	ltp_pmtu_init(&lp->pmtu, min_t(u32, lp->af->mtu_min, lp->peer_mtu),
		      ltp_path_overhead(lp),
		      ltp_path_ceiling(sk), how);
}

/**
 * ltp_path_mtu() - the path MTU as it is known now
 * @sk: socket of an open association
 *
 * Context: socket locked.
 * Return: bytes of the largest packet to cut segments for, all headers included
 */
u32 ltp_path_mtu(struct sock *sk)
{
	struct ltp_sock *lp = ltp_sk(sk);
	u32 ceiling = ltp_path_ceiling(sk);

	if (!ltp_path_discovers(sk))
		return ceiling;
	lp->pmtu.overhead = ltp_path_overhead(lp); /* in UDP, or not any more */
	ltp_pmtu_limit(&lp->pmtu, ceiling, ltp_now());
	return lp->pmtu.size;
}

/**
 * ltp_path_begin() - a flow begins: is there more to be had meanwhile?
 * @sk: socket of an open association
 *
 * Context: socket locked.
 * Return: as ltp_path_mtu()
 */
u32 ltp_path_begin(struct sock *sk)
{
	u32 mtu = ltp_path_mtu(sk);

	if (ltp_path_discovers(sk))
		ltp_pmtu_begin(&ltp_sk(sk)->pmtu, ltp_now());
	return mtu;
}

/**
 * ltp_path_df() - may a segment leave with don't-fragment?
 * @sk: socket
 * @seg: the segment, stamped with the time; learns the answer
 *
 * What may not is fragmented on its way, or before that if ltp_sock.frag_size
 * says so.
 *
 * Context: socket locked.
 * Return: whether it may, or must
 */
bool ltp_path_df(struct sock *sk, struct ltp_seg *seg)
{
	struct ltp_sock *lp = ltp_sk(sk);
	u32 size = ltp_path_overhead(lp) + seg->len;
	u8 how = lp->af->pmtudisc(sk);
	u32 mtu = lp->af->mtu(sk);

	seg->df = 0;
	lp->frag_size = 0;
	switch (how) {
	case IP_PMTUDISC_DO:
	case IP_PMTUDISC_WANT:
		seg->df = ltp_pmtu_df(&lp->pmtu, size,
				      seg->sends == 1 || how == IP_PMTUDISC_DO,
				      seg->sent_ns, ltp_path_timeout(lp));
		if (!seg->df)
			lp->frag_size = min(ltp_pmtu_cut(&lp->pmtu, size), mtu);
		else if (lp->pmtu.trial_ns == seg->sent_ns &&
			 lp->pmtu.trial == size)
			lp->trial_pn = seg->pn;
		break;
	case IP_PMTUDISC_PROBE:
		seg->df = 1;
		break;
	}
	/* The route is another since the flow was cut. */
	if (size > mtu)
		seg->df = 0;
	return seg->df || how == IP_PMTUDISC_DO;
}

/* With IP_PMTUDISC_DO a flow whose segments are too large cannot go on. */
static bool ltp_path_stuck(struct sock *sk)
{
	struct ltp_sock *lp = ltp_sk(sk);
	u32 most = ltp_path_mtu(sk) - ltp_path_overhead(lp);
	const struct ltp_flow_tx *flow;

	if (lp->af->pmtudisc(sk) != IP_PMTUDISC_DO)
		return false;
	list_for_each_entry(flow, &lp->tx.flows, node)
		if (!flow->reason && !flow->gave_up && !flow->close_parts &&
		    min(flow->seg_size, flow->len) > most)
			return true;
	return false;
}

/**
 * ltp_path_acked() - a segment has arrived
 * @sk: socket
 * @seg: the segment
 * @sure: it was the packet that it was last sent in
 * @now: the time
 *
 * Context: socket locked.
 */
void ltp_path_acked(struct sock *sk, const struct ltp_seg *seg, bool sure,
		    u64 now)
{
	struct ltp_sock *lp = ltp_sk(sk);

	ltp_path_act(sk, ltp_pmtu_acked(&lp->pmtu,
					ltp_path_overhead(lp) + seg->len,
					seg->sent_ns, sure && seg->df, now));
}

/**
 * ltp_path_arrived() - an ACK answers a packet
 * @sk: socket
 * @pn: the packet's number
 * @now: the time
 *
 * Its segment may have been sent again since: then this alone tells that it
 * was not lost.
 *
 * Context: socket locked.
 */
void ltp_path_arrived(struct sock *sk, u32 pn, u64 now)
{
	struct ltp_sock *lp = ltp_sk(sk);

	if (lp->pmtu.trial && pn == lp->trial_pn)
		ltp_path_act(sk, ltp_pmtu_arrived(&lp->pmtu, now));
}

/**
 * ltp_path_lost() - a segment is about to be sent again
 * @sk: socket
 * @seg: the segment
 * @found: it was found lost; else its ACK is overdue
 * @now: the time
 *
 * Context: socket locked.
 */
void ltp_path_lost(struct sock *sk, const struct ltp_seg *seg, bool found,
		   u64 now)
{
	struct ltp_sock *lp = ltp_sk(sk);
	u32 size = ltp_path_overhead(lp) + seg->len;
	int events;

	if (found)
		events = ltp_pmtu_lost(&lp->pmtu, size, seg->sent_ns, seg->df,
				       now);
	else
		events = ltp_pmtu_overdue(&lp->pmtu, size, seg->sent_ns,
					  seg->df, now);
	if (events & LTP_PMTU_EV_DOUBT)
		lp->trial_pn = seg->pn;
	ltp_path_act(sk, events);
}

/**
 * ltp_path_pong() - a PING was answered
 * @sk: socket
 * @token: what the PING said
 * @now: the time
 *
 * Context: socket locked.
 */
void ltp_path_pong(struct sock *sk, u32 token, u64 now)
{
	struct ltp_sock *lp = ltp_sk(sk);

	if (!token)
		return; /* nobody asked for it */
	if (token != lp->probe_token) {
		ltp_path_act(sk, ltp_pmtu_alive(&lp->pmtu));
		return;
	}
	lp->probe_token = 0;
	ltp_path_act(sk, ltp_pmtu_answered(&lp->pmtu, now));
}

/**
 * ltp_path_too_big() - ICMP said that a packet of this socket was too big
 * @sk: socket, to which the message was found to belong
 * @mtu: what would have passed
 *
 * Context: socket locked, softirqs off, the caller holds a reference.
 */
void ltp_path_too_big(struct sock *sk, u32 mtu)
{
	struct ltp_sock *lp = ltp_sk(sk);
	u32 size = lp->pmtu.size;

	if (!ltp_assoc_is_open(lp) || !ltp_path_discovers(sk) ||
	    !ltp_pmtu_icmp(&lp->pmtu, mtu, ltp_now())) {
		ltp_mib_inc(sock_net(sk), LTP_MIB_PMTU_ICMP_IGNORED);
		return;
	}
	ltp_mib_inc(sock_net(sk), LTP_MIB_PMTU_ICMP);
	/* Other sockets profit, until that expires. */
	lp->af->too_big(sk, mtu);
	if (ltp_path_stuck(sk)) {
		ltp_assoc_abort(sk, EMSGSIZE);
		return;
	}
	if (lp->pmtu.size < size)
		ltp_tx_too_big(sk, lp->pmtu.size - ltp_path_overhead(lp));
	ltp_assoc_rearm(sk, ltp_now());
}

/**
 * ltp_path_due() - when ltp_path_run() has something to do
 * @sk: socket of an open association
 *
 * Context: socket locked.
 * Return: time, U64_MAX: not yet known
 */
u64 ltp_path_due(struct sock *sk)
{
	u64 due = ltp_pmtu_due(&ltp_sk(sk)->pmtu);

	return due == U64_MAX || ltp_path_discovers(sk) ? due : U64_MAX;
}

/**
 * ltp_path_run() - send a probe, if one is due
 * @sk: socket of an open association, which may have ended afterwards
 * @now: the time
 *
 * Context: socket locked, the caller holds a reference.
 */
void ltp_path_run(struct sock *sk, u64 now)
{
	struct ltp_sock *lp = ltp_sk(sk);
	u32 before = lp->pmtu.probe, size;
	int events;

	if (!ltp_path_discovers(sk))
		return;
	if (ltp_path_stuck(sk)) {
		ltp_assoc_abort(sk, EMSGSIZE);
		return;
	}
	size = ltp_pmtu_probe(&lp->pmtu, now, ltp_path_timeout(lp), &events);
	ltp_path_act(sk, events);
	if (!size)
		return;
	/* An answer to an earlier one of this size is as good. */
	if (!lp->probe_token || size != before)
		lp->probe_token = get_random_u32() | 1;
	ltp_mib_inc(sock_net(sk), LTP_MIB_PMTU_PROBES);
	ltp_output_probe(sk, lp->probe_token, size - ltp_path_headers(lp));
}
