// SPDX-License-Identifier: GPL-2.0
/*
 * The thresholds of Early Close. What somebody set holds, field by field, the
 * most specific place first: socket, rule, namespace. For the rest the
 * association is its own yardstick: how long its complete flows took.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include "threshold.h"
#include "compat/compat.h"

/**
 * ltp_profile_slack() - what a profile stands for
 * @profile: enum ltp_profile
 *
 * Return: its slack in ns
 */
u64 ltp_profile_slack(u8 profile)
{
	return profile == LTP_PROFILE_WAN ? LTP_SLACK_WAN_NS : LTP_SLACK_DCN_NS;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_profile_slack);

/**
 * ltp_policy_merge() - let a less specific place fill in what is not set
 * @p: what more specific places set
 * @less: the place that comes next
 *
 * A profile stands for its slack, so a socket's profile comes before a rule's
 * slack. Where both are set in one place it is the slack that counts.
 */
void ltp_policy_merge(struct ltp_policy *p, const struct ltp_policy *less)
{
	u8 take = less->set & ~p->set;

	if (take & LTP_P_FRACTION)
		p->fraction_ppm = less->fraction_ppm;
	if (take & LTP_P_LT)
		p->lt_ns = less->lt_ns;
	if (take & LTP_P_DEADLINE)
		p->deadline_ns = less->deadline_ns;
	if ((take & LTP_P_SLACK) && !(p->set & LTP_P_PROFILE))
		p->slack_ns = less->slack_ns;
	else
		take &= ~LTP_P_SLACK;
	if (take & LTP_P_PROFILE)
		p->profile = less->profile;
	if (take & LTP_P_EPOCH)
		p->epoch = less->epoch;
	if (take & LTP_P_CC)
		p->cc = less->cc;
	p->set |= take;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_policy_merge);

/*
 * Is @m a better measure than @old? A short flow may arrive in one burst and
 * says nothing of how a long one shares the path: among flows of much the same
 * length it is the fastest, else the longest.
 */
static bool ltp_measure_better(const struct ltp_measure *m,
			       const struct ltp_measure *old)
{
	if (m->len / 2 > old->len)
		return true;
	if (old->len / 2 > m->len)
		return false;
	return mul_u64_u32_div(m->ns, old->len, m->len) < old->ns;
}

/**
 * ltp_est_flow() - a flow has ended
 * @est: what its association has learnt so far
 * @len: its length, bytes
 * @segs: its segments
 * @ns: from its first packet to now, without the time in which the window was
 *	shut
 * @reason: enum ltp_close_reason
 *
 * Return: whether thresholds may have changed by it
 */
bool ltp_est_flow(struct ltp_estimate *est, u32 len, u32 segs, u64 ns,
		  u8 reason)
{
	struct ltp_measure m = {
		.ns = clamp_t(u64, ns, 1, LTP_TIME_MAX_NS),
		.len = len,
	};

	est->flows += est->flows < U32_MAX;
	est->largest = max(est->largest, len);
	/* One segment has no duration. */
	if (segs < 2)
		return false;
	if (reason == LTP_FRACTION || reason == LTP_DEADLINE) {
		if (!est->closed.len || ltp_measure_better(&m, &est->closed))
			est->closed = m;
		return false;
	}
	if (reason != LTP_COMPLETE)
		return false;
	if (est->best.len && !ltp_measure_better(&m, &est->best))
		return false;
	est->best = m;
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_est_flow);

/**
 * ltp_est_due() - does the epoch end by the number of its flows?
 * @est: what the association has learnt
 * @epoch: flows in an epoch, 0: it does not
 *
 * The first is a short one: its thresholds are generous, and all of a gather
 * waits for them.
 *
 * Return: whether it does
 */
bool ltp_est_due(const struct ltp_estimate *est, u32 epoch)
{
	if (!est->epochs)
		epoch = min_t(u32, epoch, LTP_EPOCH_FIRST);
	return epoch && est->flows >= epoch;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_est_due);

/**
 * ltp_est_epoch() - an epoch has ended, the next one begins
 * @est: what the association has learnt
 *
 * The fastest complete flow of the epoch is the measure of the next. If none of
 * the long ones was complete it is the fastest that was closed early: at LT if
 * the fraction had arrived by then, and LT stays; later if not, and it grows.
 */
void ltp_est_epoch(struct ltp_estimate *est)
{
	if (!est->flows)
		return;
	if (est->best.len && est->best.len >= est->largest / 2)
		est->last = est->best;
	else if (est->closed.len)
		est->last = est->closed;
	est->best = (struct ltp_measure){};
	est->closed = (struct ltp_measure){};
	est->flows = 0;
	est->largest = 0;
	est->epochs++;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_est_epoch);

/* Scaled by length; 0: there is no such measure, or it is of too short a flow. */
static u64 ltp_measure_scale(const struct ltp_measure *m, u32 len)
{
	if (!m->len || len / LTP_EST_REACH > m->len)
		return 0;
	return max(mul_u64_u32_div(m->ns, len, m->len), 1ULL);
}

/**
 * ltp_est_lt() - LT threshold of a flow
 * @est: what its association has learnt
 * @rtprop_ns: round-trip time of the path, 0: unknown
 * @len: its length, bytes
 *
 * In the first epoch 1.5 RTprop + len / BtlBw, BtlBw being the rate at which
 * the best measure came; later the measure of the epoch before, scaled. What is
 * shorter than that measure may still need a round trip to be repaired.
 *
 * Return: ns; 0: not known yet
 */
u64 ltp_est_lt(const struct ltp_estimate *est, u64 rtprop_ns, u32 len)
{
	u64 rtprop = min_t(u64, rtprop_ns, LTP_TIME_MAX_NS);
	u64 repair = rtprop + rtprop / 2;
	u64 ns = ltp_measure_scale(&est->last, len);

	if (ns) {
		if (len < est->last.len)
			ns = max(ns, min(repair ?: U64_MAX, est->last.ns));
	} else if (repair) {
		ns = ltp_measure_scale(&est->best, len);
		if (ns)
			ns += repair;
	}
	return ns ? clamp_t(u64, ns, LTP_LT_MIN_NS, LTP_TIME_MAX_NS) : 0;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_est_lt);

/**
 * ltp_threshold_make() - thresholds of a flow
 * @th: filled in
 * @p: what was set, all of it
 * @est_ns: its LT threshold by ltp_est_lt()
 *
 * What is adaptive is none as long as there is no measure: the flow is received
 * whole, and calibrates.
 */
void ltp_threshold_make(struct ltp_threshold *th, const struct ltp_policy *p,
			u64 est_ns)
{
	bool lt = p->lt_ns == LTP_NS_ADAPTIVE;

	th->shared = p->deadline_ns == LTP_NS_ADAPTIVE;
	th->calibrating = !est_ns && (lt || th->shared);
	th->ec.fraction_ppm = p->fraction_ppm;
	th->ec.lt_ns = lt ? est_ns : p->lt_ns;
	th->ec.deadline_ns = th->shared ? 0 : p->deadline_ns;
	th->base_ns = th->ec.lt_ns ?: est_ns;
	th->slack_ns = p->set & LTP_P_SLACK ? p->slack_ns :
					      ltp_profile_slack(p->profile);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_threshold_make);

/**
 * ltp_threshold_deadline() - deadline of a flow
 * @th: its thresholds
 * @group_ns: the largest LT threshold in its group, 0: none is known
 *
 * Return: ns, 0: none
 */
u64 ltp_threshold_deadline(const struct ltp_threshold *th, u64 group_ns)
{
	if (!th->shared)
		return th->ec.deadline_ns;
	if (th->calibrating)
		return 0;
	return max(th->base_ns, group_ns) + th->slack_ns;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_threshold_deadline);
