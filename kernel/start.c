// SPDX-License-Identifier: GPL-2.0
/* Where a tolerant flow begins, and how it goes on. */
#include "start.h"
#include "compat/compat.h"

/*
 * 2^32 / golden ratio. The multiples of the golden ratio fill the circle as
 * evenly as can be, however many there are; and as no number is harder to
 * approach by fractions, so do each second, third ... k-th of them: a program
 * that sends k messages in turn gets round with each of them in about 2.2 k
 * turns at most.
 */
#define LTP_START_STEP	0x9e3779b9U

/**
 * ltp_start_segment() - the segment that is sent first behind the critical ones
 * @flow: flow id; those of an association begin anywhere and count one by one,
 *	so that the workers of a gather do not begin at the same place
 * @segs: segments in the flow
 * @ncrit: critical segments
 *
 * Return: its index; @ncrit if there is no choice
 */
u32 ltp_start_segment(u32 flow, u32 segs, u32 ncrit)
{
	return ncrit + (((u64)(flow * LTP_START_STEP) * (segs - ncrit)) >> 32);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_start_segment);

/**
 * ltp_start_order() - which segment is sent when
 * @nth: how many were sent before it, below @segs
 * @segs: segments in the flow
 * @ncrit: critical segments
 * @start: ltp_start_segment(), or @ncrit: from the first to the last
 *
 * Return: its index
 */
u32 ltp_start_order(u32 nth, u32 segs, u32 ncrit, u32 start)
{
	if (nth < ncrit)
		return nth;
	/* Without an overflow: as many are left behind the start. */
	return nth - ncrit < segs - start ? start + (nth - ncrit) :
					    nth - (segs - start);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_start_order);
