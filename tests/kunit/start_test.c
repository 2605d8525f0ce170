// SPDX-License-Identifier: GPL-2.0
/* The moving start: every segment once, the head first, all parts alike. */
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include "../../kernel/start.h"
#include "random.h"

static void start_bounds(struct kunit *test)
{
	u64 state = RANDOM_SEED;
	u32 i;

	KUNIT_EXPECT_EQ(test, ltp_start_segment(12345, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, ltp_start_segment(12345, 1, 1), 1);
	KUNIT_EXPECT_EQ(test, ltp_start_segment(12345, 8, 8), 8);
	KUNIT_EXPECT_EQ(test, ltp_start_segment(12345, 8, 7), 7);
	KUNIT_EXPECT_EQ(test, ltp_start_segment(0, U32_MAX, 5), 5);
	for (i = 0; i < 100000; i++) {
		u32 segs = random_scaled(&state) | 1;
		u32 ncrit = random_scaled(&state) % segs;
		u32 start = ltp_start_segment(random_next(&state), segs, ncrit);

		KUNIT_ASSERT_GE(test, start, ncrit);
		KUNIT_ASSERT_LT(test, start, segs);
	}
}

static void start_order_table(struct kunit *test)
{
	static const struct {
		u32 segs, ncrit, start;
		u8 order[6];
	} rows[] = {
		{ 1, 0, 0, { 0 } },
		{ 1, 1, 1, { 0 } },
		{ 5, 0, 0, { 0, 1, 2, 3, 4 } },
		{ 5, 0, 3, { 3, 4, 0, 1, 2 } },
		{ 5, 0, 4, { 4, 0, 1, 2, 3 } },
		{ 5, 2, 2, { 0, 1, 2, 3, 4 } },
		{ 5, 2, 3, { 0, 1, 3, 4, 2 } },
		{ 5, 2, 4, { 0, 1, 4, 2, 3 } },
		{ 5, 4, 4, { 0, 1, 2, 3, 4 } },
		{ 5, 5, 5, { 0, 1, 2, 3, 4 } },
	};
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		for (k = 0; k < rows[i].segs; k++)
			KUNIT_EXPECT_EQ_MSG(test,
					    ltp_start_order(k, rows[i].segs,
							    rows[i].ncrit,
							    rows[i].start),
					    rows[i].order[k], "row %u, %u", i,
					    k);
	/* Where sums would overflow. */
	KUNIT_EXPECT_EQ(test, ltp_start_order(0, U32_MAX, 0, U32_MAX - 1),
			U32_MAX - 1);
	KUNIT_EXPECT_EQ(test, ltp_start_order(1, U32_MAX, 0, U32_MAX - 1), 0);
	KUNIT_EXPECT_EQ(test, ltp_start_order(U32_MAX - 1, U32_MAX, 0,
					      U32_MAX - 1), U32_MAX - 2);
}

static void start_order_is_a_permutation(struct kunit *test)
{
	DECLARE_BITMAP(seen, 300);
	u64 state = RANDOM_SEED;
	u32 i, k;

	for (i = 0; i < 2000; i++) {
		u32 segs = random_next(&state) % 300 + 1;
		u32 ncrit = random_next(&state) % (segs + 1);
		u32 start = ltp_start_segment(random_next(&state), segs, ncrit);

		bitmap_zero(seen, 300);
		for (k = 0; k < segs; k++) {
			u32 index = ltp_start_order(k, segs, ncrit, start);

			KUNIT_ASSERT_LT(test, index, segs);
			KUNIT_ASSERT_FALSE(test, test_bit(index, seen));
			__set_bit(index, seen);
			if (k < ncrit)
				KUNIT_ASSERT_EQ(test, index, k);
			if (k == ncrit)
				KUNIT_ASSERT_EQ(test, index, start);
		}
	}
}

/*
 * A tenth is cut off behind: over many flows each part of the message loses as
 * often as any other, whatever else is sent between these flows.
 */
static void start_spreads(struct kunit *test)
{
	static const u32 strides[] = { 1, 2, 3, 5, 8, 13, 16, 21, 64, 100 };
	const u32 segs = 1000, cut = 100, rounds = 1000, ncrit = 20;
	u64 state = RANDOM_SEED;
	u32 s, i, k;
	u16 *lost;

	lost = kunit_kcalloc(test, segs, sizeof(*lost), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, lost);
	for (s = 0; s < ARRAY_SIZE(strides); s++) {
		u32 flow = random_next(&state), least = U32_MAX, most = 0;

		memset(lost, 0, segs * sizeof(*lost));
		for (i = 0; i < rounds; i++, flow += strides[s]) {
			u32 start = ltp_start_segment(flow, segs, ncrit);

			for (k = segs - cut; k < segs; k++)
				lost[ltp_start_order(k, segs, ncrit, start)]++;
		}
		for (k = 0; k < ncrit; k++)
			KUNIT_EXPECT_EQ(test, lost[k], 0);
		for (; k < segs; k++) {
			least = min_t(u32, least, lost[k]);
			most = max_t(u32, most, lost[k]);
		}
		/* 102 on average. */
		KUNIT_EXPECT_GE_MSG(test, least, 82, "stride %u", strides[s]);
		KUNIT_EXPECT_LE_MSG(test, most, 122, "stride %u", strides[s]);
	}
}

static struct kunit_case start_cases[] = {
	KUNIT_CASE(start_bounds),
	KUNIT_CASE(start_order_table),
	KUNIT_CASE(start_order_is_a_permutation),
	KUNIT_CASE(start_spreads),
	{}
};

static struct kunit_suite start_suite = {
	.name = "ltp_start",
	.test_cases = start_cases,
};

kunit_test_suite(start_suite);
