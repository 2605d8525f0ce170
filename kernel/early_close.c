// SPDX-License-Identifier: GPL-2.0
/*
 * Early Close: when the receiver ends a flow. The table, by the time since the
 * flow's first packet without the time in which our own window was shut:
 *
 *	before the LT threshold		all segments are there
 *	from it to the deadline		the fraction is reached, all critical
 *					segments included
 *	from the deadline on		all critical segments are there
 */
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include "early_close.h"
#include "compat/compat.h"

/**
 * ltp_ec_start() - the first packet of a flow has arrived
 * @ec: the clock of the flow
 * @now: time in ns
 *
 * The window counts as open: if it is not, call ltp_ec_window_shut() next.
 */
void ltp_ec_start(struct ltp_early_close *ec, u64 now)
{
	ec->start_ns = now;
	ec->shut_ns = 0;
	ec->shut_since_ns = 0;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ec_start);

/**
 * ltp_ec_window_shut() - the receiver's window was shut: stop the clock
 * @ec: the clock of the flow
 * @now: time in ns; a window that is shut already stays shut since then
 */
void ltp_ec_window_shut(struct ltp_early_close *ec, u64 now)
{
	if (!ec->shut_since_ns)
		ec->shut_since_ns = max3(now, ec->start_ns, 1ULL);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ec_window_shut);

/**
 * ltp_ec_window_open() - the receiver's window was opened: the clock goes on
 * @ec: the clock of the flow
 * @now: time in ns; nothing happens if the window is open
 */
void ltp_ec_window_open(struct ltp_early_close *ec, u64 now)
{
	if (ec->shut_since_ns && now > ec->shut_since_ns)
		ec->shut_ns += now - ec->shut_since_ns;
	ec->shut_since_ns = 0;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ec_window_open);

/**
 * ltp_ec_elapsed() - time since the flow's first packet that counts
 * @ec: the clock of the flow
 * @now: time in ns
 *
 * Return: ns, without the time in which the window was shut; never negative.
 */
u64 ltp_ec_elapsed(const struct ltp_early_close *ec, u64 now)
{
	u64 zero = ec->start_ns + ec->shut_ns;

	if (ec->shut_since_ns)
		now = min(now, ec->shut_since_ns);
	return now > zero ? now - zero : 0;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ec_elapsed);

/**
 * ltp_ec_enough() - how many segments make a fraction
 * @segs: segments in the flow
 * @fraction_ppm: the fraction in millionths, more than the whole counts as
 *	the whole
 *
 * Return: the smallest number of segments, at least 1, that is not less than
 * the fraction: exact, rounded up.
 */
u32 ltp_ec_enough(u32 segs, u32 fraction_ppm)
{
	u64 parts = (u64)segs * min_t(u32, fraction_ppm, LTP_FRACTION_MAX);

	parts = div_u64(parts + LTP_FRACTION_MAX - 1, LTP_FRACTION_MAX);
	return max_t(u32, parts, 1);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ec_enough);

/**
 * ltp_ec_verdict() - does a flow end now?
 * @ec: the clock of the flow
 * @th: thresholds that are in force for it
 * @counts: what has arrived
 * @tolerant: the sender said that segments may be lost
 * @now: time in ns
 *
 * Return: LTP_COMPLETE, LTP_FRACTION or LTP_DEADLINE if it ends; LTP_OPEN.
 */
enum ltp_close_reason ltp_ec_verdict(const struct ltp_early_close *ec,
				     const struct ltp_ec_thresholds *th,
				     const struct ltp_ec_counts *counts,
				     bool tolerant, u64 now)
{
	u64 elapsed;

	if (counts->got >= counts->segs)
		return LTP_COMPLETE;
	if (!tolerant || counts->crit_got < counts->crit)
		return LTP_OPEN;

	elapsed = ltp_ec_elapsed(ec, now);
	if (th->deadline_ns && elapsed >= th->deadline_ns)
		return LTP_DEADLINE;
	if (th->lt_ns && elapsed >= th->lt_ns &&
	    counts->got >= ltp_ec_enough(counts->segs, th->fraction_ppm))
		return LTP_FRACTION;
	return LTP_OPEN;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ec_verdict);

/**
 * ltp_ec_next() - when time alone can change the verdict
 * @ec: the clock of the flow
 * @th: thresholds that are in force for it
 * @now: time in ns
 *
 * Return: the time of the next threshold after @now, in ns; U64_MAX if there
 * is none, and while the window is shut.
 */
u64 ltp_ec_next(const struct ltp_early_close *ec,
		const struct ltp_ec_thresholds *th, u64 now)
{
	const u64 after[] = { th->lt_ns, th->deadline_ns };
	u64 next = U64_MAX;
	unsigned int i;
	u64 at;

	if (ec->shut_since_ns)
		return U64_MAX;
	for (i = 0; i < ARRAY_SIZE(after); i++) {
		if (!after[i] ||
		    check_add_overflow(ec->start_ns + ec->shut_ns, after[i], &at))
			continue;
		if (at > now)
			next = min(next, at);
	}
	return next;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ec_next);
