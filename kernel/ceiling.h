/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What arrives at a group's receiver, and from that the rate each of its
 * senders may have. Pure logic; rates are bytes of payload a second.
 */
#ifndef _LTP_CEILING_H
#define _LTP_CEILING_H

#include <linux/types.h>

/**
 * struct ltp_ceiling - measured arrivals of a group
 * @start_ns: arrival of the window's first packet, 0: there is no window
 * @bytes: what came after that one
 * @packets: how many
 * @windows: measured in this epoch
 * @quick: rate of a burst, from before the first whole window
 * @best: highest rate of a window in this epoch
 * @before: and in the epoch before
 */
struct ltp_ceiling {
	u64 start_ns;
	u64 bytes;
	u32 packets;
	u32 windows;
	u64 quick;
	u64 best;
	u64 before;
};

void ltp_ceiling_arrived(struct ltp_ceiling *c, u32 bytes, u64 now);
u64 ltp_ceiling_capacity(const struct ltp_ceiling *c);
u64 ltp_ceiling_share(const struct ltp_ceiling *c, u32 active);

#endif /* _LTP_CEILING_H */
