/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The segments of one flow that arrived: pure logic, no locks of its own
 * (the socket lock of whoever owns the flow).
 */
#ifndef _LTP_ACKMAP_H
#define _LTP_ACKMAP_H

#include <linux/types.h>
#include <linux/gfp.h>
#include "wire.h"

/**
 * struct ltp_ackmap - which segments of a flow arrived
 * @bits: one bit a segment
 * @segs: number of segments, at least 1
 * @count: number of bits set
 * @base: every segment below has arrived
 * @top: one past the highest segment that arrived, 0: none did
 */
struct ltp_ackmap {
	unsigned long *bits;
	u32 segs;
	u32 count;
	u32 base;
	u32 top;
};

int ltp_ackmap_init(struct ltp_ackmap *map, u32 segs, gfp_t gfp);
void ltp_ackmap_free(struct ltp_ackmap *map);
size_t ltp_ackmap_bytes(u32 segs);
bool ltp_ackmap_test(const struct ltp_ackmap *map, u32 seg);
bool ltp_ackmap_set(struct ltp_ackmap *map, u32 seg);
bool ltp_ackmap_whole(const struct ltp_ackmap *map);

/* Holes: [next_hole(from), next_hole_end(that)) and so on. */
u32 ltp_ackmap_next_hole(const struct ltp_ackmap *map, u32 from);
u32 ltp_ackmap_hole_end(const struct ltp_ackmap *map, u32 hole);
u32 ltp_ackmap_holes(const struct ltp_ackmap *map);
u32 ltp_ackmap_ranges(const struct ltp_ackmap *map, u32 *from,
		      struct ltp_range *range, u32 max);

/* The bitmap of an ACK: filled by the receiver, taken in by the sender. */
bool ltp_ackmap_fits(u32 lo, u32 hi, u32 seg);
u32 ltp_ackmap_window(const struct ltp_ackmap *map, u32 hi, u32 *first,
		      __be32 *words);
u32 ltp_ackmap_next_new(const struct ltp_ackmap *map, u32 from, u32 base,
			u32 first, const __be32 *words, u32 nwords);

/* At the sender, when CLOSE comes. */
void ltp_ackmap_assume(struct ltp_ackmap *map);
bool ltp_ackmap_has_all(const struct ltp_ackmap *map, u32 first, u32 count);
void ltp_ackmap_miss(struct ltp_ackmap *map, u32 first, u32 count);

/* For a struct ltp_rcvmap: words of 64 bits in host order. */
u32 ltp_ackmap_words64(const struct ltp_ackmap *map);
u64 ltp_ackmap_word64(const struct ltp_ackmap *map, u32 word);

#endif /* _LTP_ACKMAP_H */
