// SPDX-License-Identifier: GPL-2.0
/*
 * What decides when the flows of an association may be closed early: settings
 * of socket, rules and namespace, what its flows have taught, and its group.
 * The judgements are in threshold.c and early_close.c.
 */
#include <linux/math64.h>

#include "adapt.h"
#include "flow_rx.h"
#include "flow_tx.h"
#include "group.h"
#include "output.h"
#include "rules.h"

/* ---- what is set ---- */

static void ltp_policy_of_net(const struct ltp_conf *conf,
			      struct ltp_policy *p)
{
	u64 slack = READ_ONCE(conf->slack_ns);

	*p = (struct ltp_policy){
		.lt_ns = READ_ONCE(conf->lt_ns),
		.deadline_ns = READ_ONCE(conf->deadline_ns),
		.slack_ns = slack,
		.fraction_ppm = READ_ONCE(conf->fraction_ppm),
		.epoch = READ_ONCE(conf->epoch),
		.profile = READ_ONCE(conf->profile),
		.set = LTP_P_FRACTION | LTP_P_LT | LTP_P_DEADLINE |
		       LTP_P_EPOCH | LTP_P_PROFILE,
	};
	if (slack != LTP_NS_ADAPTIVE)
		p->set |= LTP_P_SLACK;
}

/**
 * ltp_policy() - the settings in force for an association
 * @sk: socket; without a peer those of the socket and the namespace
 *
 * Context: socket locked.
 * Return: settings, all of them set but @slack_ns and @cc
 */
const struct ltp_policy *ltp_policy(struct sock *sk)
{
	struct ltp_net *ln = ltp_sock_net(sk);
	struct ltp_sock *lp = ltp_sk(sk);
	struct ltp_policy net;
	/* Read before what it stands for: seen old, it is read again. */
	u32 gen = smp_load_acquire(&ln->policy_gen);

	if (lp->policy_gen == gen)
		return &lp->policy;
	lp->policy = lp->own;
	rcu_read_lock();
	if (lp->key.rport)
		ltp_rules_apply(rcu_dereference(ln->rules), &lp->key.raddr,
				lp->key.lport, lp->key.rport, &lp->policy);
	rcu_read_unlock();
	ltp_policy_of_net(&ln->conf, &net);
	ltp_policy_merge(&lp->policy, &net);
	lp->policy_gen = gen;
	lp->rx.stale = true;
	return &lp->policy;
}

/**
 * ltp_policy_own_changed() - ltp_sock.own or the socket's peer is another
 * @sk: socket
 *
 * Context: socket locked.
 */
void ltp_policy_own_changed(struct sock *sk)
{
	ltp_sk(sk)->policy_gen = 0;
}

/**
 * ltp_policy_changed() - settings of a namespace are others
 * @ln: the namespace, changed
 *
 * Context: writers are serialised by the caller.
 */
void ltp_policy_changed(struct ltp_net *ln)
{
	/* 0 is that of a socket that has read nothing yet. */
	smp_store_release(&ln->policy_gen, ln->policy_gen + 1 ?: 1);
}

/**
 * ltp_policy_apply() - do what the settings say, if they changed
 * @sk: socket
 *
 * Context: socket locked.
 */
void ltp_policy_apply(struct sock *sk)
{
	const struct ltp_policy *p = ltp_policy(sk);

	if (p->set & LTP_P_CC)
		ltp_tx_set_cc(sk, p->cc);
	ltp_rx_thresholds_changed(sk);
}

/* ---- what was learnt ---- */

static u64 ltp_adapt_rtprop(const struct ltp_sock *lp)
{
	u64 sent = lp->tx.loss.min_rtt_ns, asked = lp->rx.rtprop_ns;

	return sent && asked ? min(sent, asked) : sent ?: asked;
}

static void ltp_adapt_make(struct sock *sk, struct ltp_flow_rx *flow)
{
	struct ltp_sock *lp = ltp_sk(sk);

	ltp_threshold_make(&flow->th, &lp->policy,
			   ltp_est_lt(&lp->rx.est, ltp_adapt_rtprop(lp),
				      flow->len));
}

/* Tell the group of the largest threshold there is among the open flows. */
static void ltp_adapt_tell(struct sock *sk)
{
	struct ltp_sock *lp = ltp_sk(sk);
	struct ltp_flow_rx *flow;
	u64 most = 0;

	list_for_each_entry(flow, &lp->rx.flows, node)
		if (flow->tolerant && flow->reason == LTP_OPEN)
			most = max(most, flow->th.base_ns);
	if (lp->rx.tolerant)
		ltp_group_tell(lp->group, &lp->member, most);
}

static void ltp_adapt_epoch_now(struct ltp_rx *rx)
{
	ltp_est_epoch(&rx->est);
	rx->stale = true;
	rx->rejudge = true;
}

/* Brings the thresholds of all open flows up to date. */
static void ltp_adapt_refresh(struct sock *sk)
{
	struct ltp_sock *lp = ltp_sk(sk);
	struct ltp_rx *rx = &lp->rx;
	struct ltp_flow_rx *flow;

	ltp_policy(sk);
	if (lp->group && atomic_read(&lp->group->epoch) != rx->group_epoch) {
		rx->group_epoch = atomic_read(&lp->group->epoch);
		ltp_adapt_epoch_now(rx);
	}
	if (!rx->stale)
		return;
	rx->stale = false;
	list_for_each_entry(flow, &rx->flows, node)
		if (flow->tolerant && flow->reason == LTP_OPEN)
			ltp_adapt_make(sk, flow);
	ltp_adapt_tell(sk);
}

/**
 * ltp_adapt_thresholds() - thresholds in force for a flow
 * @sk: socket
 * @flow: tolerant flow of it
 * @th: filled in
 *
 * Context: socket locked.
 */
void ltp_adapt_thresholds(struct sock *sk, const struct ltp_flow_rx *flow,
			  struct ltp_ec_thresholds *th)
{
	ltp_adapt_refresh(sk);
	*th = flow->th.ec;
	th->deadline_ns = ltp_threshold_deadline(&flow->th,
						 ltp_group_lt(ltp_sk(sk)->group));
}

/**
 * ltp_adapt_begin() - a tolerant flow has begun
 * @sk: socket
 * @flow: the flow, on the list
 *
 * Context: socket locked.
 */
void ltp_adapt_begin(struct sock *sk, struct ltp_flow_rx *flow)
{
	struct ltp_sock *lp = ltp_sk(sk);
	struct ltp_rx *rx = &lp->rx;

	/* The handshake may have left it open how long the path is. */
	if (!ltp_adapt_rtprop(lp) && !rx->asked_ns)
		ltp_output_ping(sk);
	ltp_adapt_refresh(sk);
	ltp_adapt_make(sk, flow);
	if (!rx->tolerant++ || flow->th.base_ns > lp->member.lt_ns)
		ltp_group_tell(lp->group, &lp->member, flow->th.base_ns);
}

/**
 * ltp_adapt_end() - a flow has ended, learn from it
 * @sk: socket
 * @flow: the flow, its reason set
 * @now: the time
 *
 * ltp_rx.rejudge is set if others may have to end as well.
 *
 * Context: socket locked.
 */
void ltp_adapt_end(struct sock *sk, struct ltp_flow_rx *flow, u64 now)
{
	struct ltp_sock *lp = ltp_sk(sk);
	struct ltp_rx *rx = &lp->rx;

	if (ltp_est_flow(&rx->est, flow->len, flow->map.segs,
			 ltp_ec_elapsed(&flow->ec, now),
			 flow->reason)) {
		rx->stale = true;
		rx->rejudge = true;
	}
	if (ltp_est_due(&rx->est, ltp_policy(sk)->epoch))
		ltp_adapt_epoch_now(rx);
	if (!flow->tolerant)
		return;
	if (--rx->tolerant) {
		if (flow->th.base_ns == lp->member.lt_ns)
			ltp_adapt_tell(sk);
		return;
	}
	/*
	 * The last one, its threshold stays: in a gather the others wait for
	 * what comes next. It may have been the first that was measured.
	 */
	ltp_adapt_make(sk, flow);
	ltp_group_tell(lp->group, &lp->member, flow->th.base_ns);
}

/**
 * ltp_adapt_epoch() - the program says that an epoch has ended
 * @sk: an association, or a listener: of all associations accepted from it
 *
 * Those see it when next they look; afterwards open flows are to be judged.
 *
 * Context: socket locked.
 */
void ltp_adapt_epoch(struct sock *sk)
{
	struct ltp_sock *lp = ltp_sk(sk);

	if (sk->sk_state == TCP_LISTEN)
		atomic_inc(&lp->group->epoch);
	else
		ltp_adapt_epoch_now(&lp->rx);
}

/**
 * ltp_adapt_epochs() - how many epochs have ended
 * @sk: socket
 *
 * Context: socket locked.
 * Return: their number, 0 for a listener
 */
u32 ltp_adapt_epochs(struct sock *sk)
{
	ltp_adapt_refresh(sk);
	ltp_rx_rejudge(sk);
	return ltp_sk(sk)->rx.est.epochs;
}

/**
 * ltp_adapt_pong() - a PING was answered
 * @sk: socket
 * @token: which
 * @now: the time
 *
 * Context: socket locked.
 */
void ltp_adapt_pong(struct sock *sk, u32 token, u64 now)
{
	struct ltp_rx *rx = &ltp_sk(sk)->rx;
	u64 rtt = max(now - rx->asked_ns, 1ULL);

	if (!rx->asked_ns || token != rx->asked_token)
		return;
	rx->asked_ns = 0;
	if (rx->rtprop_ns && rtt >= rx->rtprop_ns)
		return;
	rx->rtprop_ns = rtt;
	rx->stale = true;
	rx->rejudge = true;
}

/**
 * ltp_adapt_info() - what LTP_INFO tells of the thresholds
 * @sk: socket
 * @info: lt_us, deadline_us, calibrating and epochs are filled in
 *
 * Context: socket locked.
 */
void ltp_adapt_info(struct sock *sk, struct ltp_info *info)
{
	const struct ltp_sock *lp = ltp_sk(sk);
	struct ltp_threshold th;

	ltp_adapt_refresh(sk);
	ltp_threshold_make(&th, &lp->policy, lp->member.lt_ns);
	info->calibrating = !lp->rx.est.best.len && !lp->rx.est.last.len;
	info->epochs = lp->rx.est.epochs;
	info->lt_us = div_u64(th.base_ns, NSEC_PER_USEC);
	info->deadline_us =
		div_u64(ltp_threshold_deadline(&th, ltp_group_lt(lp->group)),
			NSEC_PER_USEC);
}
