/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When the next packet may leave: a token clock without a timer of its own.
 * Pure logic; rates are bytes a second, times nanoseconds.
 */
#ifndef _LTP_PACING_H
#define _LTP_PACING_H

#include <linux/time64.h>
#include <linux/types.h>

/**
 * struct ltp_pacing - the sending clock of an association
 * @next_ns: when the next packet is due
 * @rem: what rounding left of the last packet, in ns times the rate
 */
struct ltp_pacing {
	u64 next_ns;
	u64 rem;
};

/* A burst holds at most what the rate sends in 1 ms, and at most 64 KB. */
#define LTP_BURST_NS		NSEC_PER_MSEC
#define LTP_BURST_BYTES		65536

void ltp_pacing_restart(struct ltp_pacing *p, u64 now);
u64 ltp_pacing_delay(const struct ltp_pacing *p, u64 now);
u32 ltp_pacing_budget(const struct ltp_pacing *p, u64 rate, u32 packet,
		      u64 now);
void ltp_pacing_sent(struct ltp_pacing *p, u64 rate, u32 bytes, u64 now);

#endif /* _LTP_PACING_H */
