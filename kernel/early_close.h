/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Early Close: when the receiver ends a flow (Documentation/protocol.rst,
 * "Early Close"). A pure state machine: time is an argument, in nanoseconds.
 */
#ifndef _LTP_EARLY_CLOSE_H
#define _LTP_EARLY_CLOSE_H

#include <linux/types.h>
#include "../uapi/linux/ltp.h"

/**
 * struct ltp_ec_thresholds - when a tolerant flow may end
 * @fraction_ppm: share of the segments that is enough from @lt_ns on
 * @lt_ns: LT threshold, counted from the flow's first packet; 0: none
 * @deadline_ns: deadline; 0: none
 */
struct ltp_ec_thresholds {
	u64 lt_ns;
	u64 deadline_ns;
	u32 fraction_ppm;
};

/**
 * struct ltp_early_close - the clock of one flow
 * @start_ns: when its first packet arrived
 * @shut_ns: time since then in which the receiver's window was shut
 * @shut_since_ns: when the window was shut, 0: it is open
 */
struct ltp_early_close {
	u64 start_ns;
	u64 shut_ns;
	u64 shut_since_ns;
};

/**
 * struct ltp_ec_counts - what the verdict depends on besides time
 * @segs: segments in the flow
 * @got: how many arrived
 * @crit: critical segments in the flow
 * @crit_got: how many of them arrived
 */
struct ltp_ec_counts {
	u32 segs;
	u32 got;
	u32 crit;
	u32 crit_got;
};

void ltp_ec_start(struct ltp_early_close *ec, u64 now);
void ltp_ec_window_shut(struct ltp_early_close *ec, u64 now);
void ltp_ec_window_open(struct ltp_early_close *ec, u64 now);
u64 ltp_ec_elapsed(const struct ltp_early_close *ec, u64 now);
u32 ltp_ec_enough(u32 segs, u32 fraction_ppm);
enum ltp_close_reason ltp_ec_verdict(const struct ltp_early_close *ec,
				     const struct ltp_ec_thresholds *th,
				     const struct ltp_ec_counts *counts,
				     bool tolerant, u64 now);
u64 ltp_ec_next(const struct ltp_early_close *ec,
		const struct ltp_ec_thresholds *th, u64 now);

#endif /* _LTP_EARLY_CLOSE_H */
