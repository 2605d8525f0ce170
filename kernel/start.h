/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The order in which the segments of a tolerant flow are sent for the first
 * time: the critical head, then from a start that moves from flow to flow, and
 * round. What a cut tail loses is then not the same part each time. Pure logic.
 */
#ifndef _LTP_START_H
#define _LTP_START_H

#include <linux/types.h>

u32 ltp_start_segment(u32 flow, u32 segs, u32 ncrit);
u32 ltp_start_order(u32 nth, u32 segs, u32 ncrit, u32 start);

#endif /* _LTP_START_H */
