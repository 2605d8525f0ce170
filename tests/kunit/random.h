/* SPDX-License-Identifier: GPL-2.0 */
/* Random numbers that are the same on each run. */
#ifndef _LTP_KUNIT_RANDOM_H
#define _LTP_KUNIT_RANDOM_H

#include <linux/types.h>

#define RANDOM_SEED	88172645463325252ULL

/* xorshift64* (Vigna, 2016) */
static inline u32 random_next(u64 *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (*state * 2685821657736338717ULL) >> 32;
}

/* Any u32, all magnitudes equally likely. */
static inline u32 random_scaled(u64 *state)
{
	u32 bits = random_next(state) % 32;

	return random_next(state) >> bits;
}

#endif /* _LTP_KUNIT_RANDOM_H */
