/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The thresholds of Early Close: where they are set, and what they are where
 * nobody set them (Documentation/protocol.rst, "Thresholds"). Pure logic: no
 * locks, no clocks; times are nanoseconds.
 */
#ifndef _LTP_THRESHOLD_H
#define _LTP_THRESHOLD_H

#include <linux/time64.h>
#include <linux/types.h>
#include "early_close.h"

struct ltp_cc_ops;

/* Own constants all, see protocol.rst. */
#define LTP_SLACK_DCN_NS	(30 * NSEC_PER_MSEC)
#define LTP_SLACK_WAN_NS	(100 * NSEC_PER_MSEC)
#define LTP_EPOCH_DEFAULT	16	/* flows */
#define LTP_EPOCH_FIRST		4	/* of them */
#define LTP_LT_MIN_NS		NSEC_PER_MSEC
#define LTP_EST_REACH		16	/* times the size that was measured */
#define LTP_TIME_MAX_NS		(LTP_TIME_MAX_US * NSEC_PER_USEC)

/* Of lt_ns and deadline_ns: to be computed. 0 is none at all. */
#define LTP_NS_ADAPTIVE		U64_MAX

/* struct ltp_policy.set; the first four are those of struct ltp_thresholds. */
enum ltp_policy_set {
	LTP_P_FRACTION	= LTP_SET_FRACTION,
	LTP_P_LT	= LTP_SET_LT,
	LTP_P_DEADLINE	= LTP_SET_DEADLINE,
	LTP_P_SLACK	= LTP_SET_SLACK,
	LTP_P_PROFILE	= 0x10,
	LTP_P_EPOCH	= 0x20,
	LTP_P_CC	= 0x40,
};

/**
 * struct ltp_policy - what is set in one place: a socket, a rule, a namespace
 * @lt_ns: LT threshold, 0: none, or LTP_NS_ADAPTIVE
 * @deadline_ns: deadline, likewise
 * @slack_ns: from the largest LT threshold of the group to the deadline
 * @cc: congestion control of new associations
 * @fraction_ppm: fraction
 * @epoch: flows in an epoch, 0: it is not ended by their number
 * @profile: enum ltp_profile
 * @set: which of these are set (LTP_P_*)
 */
struct ltp_policy {
	u64 lt_ns;
	u64 deadline_ns;
	u64 slack_ns;
	const struct ltp_cc_ops *cc;
	u32 fraction_ppm;
	u32 epoch;
	u8 profile;
	u8 set;
};

/**
 * struct ltp_measure - how long a flow took to arrive
 * @ns: from its first packet to its last segment
 * @len: its length, 0: nothing was measured
 */
struct ltp_measure {
	u64 ns;
	u32 len;
};

/**
 * struct ltp_estimate - what an association has learnt of its flows
 * @best: the fastest complete flow of the epoch that runs
 * @closed: the fastest of those that were closed early
 * @last: measure of the epoch before
 * @flows: flows that ended in the epoch that runs
 * @largest: length of the longest of them
 * @epochs: epochs that have ended
 */
struct ltp_estimate {
	struct ltp_measure best;
	struct ltp_measure closed;
	struct ltp_measure last;
	u32 flows;
	u32 largest;
	u32 epochs;
};

/**
 * struct ltp_threshold - thresholds of one flow
 * @ec: those in force, but for a deadline that depends on the group
 * @base_ns: what the flow counts with in its group, 0: nothing
 * @slack_ns: from the largest of these to the deadline
 * @shared: the deadline depends on the group
 * @calibrating: nothing was measured yet that its thresholds need
 */
struct ltp_threshold {
	struct ltp_ec_thresholds ec;
	u64 base_ns;
	u64 slack_ns;
	bool shared;
	bool calibrating;
};

u64 ltp_profile_slack(u8 profile);
void ltp_policy_merge(struct ltp_policy *p, const struct ltp_policy *less);

bool ltp_est_flow(struct ltp_estimate *est, u32 len, u32 segs, u64 ns,
		  u8 reason);
bool ltp_est_due(const struct ltp_estimate *est, u32 epoch);
void ltp_est_epoch(struct ltp_estimate *est);
u64 ltp_est_lt(const struct ltp_estimate *est, u64 rtprop_ns, u32 len);

void ltp_threshold_make(struct ltp_threshold *th, const struct ltp_policy *p,
			u64 est_ns);
u64 ltp_threshold_deadline(const struct ltp_threshold *th, u64 group_ns);

#endif /* _LTP_THRESHOLD_H */
