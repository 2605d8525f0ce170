// SPDX-License-Identifier: GPL-2.0
/* Serial numbers: order by distance, over the wrap. */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include "../../kernel/serial.h"
#include "random.h"

static void serial_table(struct kunit *test)
{
	static const struct {
		u32 a, b;
		bool before, after;
	} cases[] = {
		{ 0, 0, false, false },
		{ 7, 7, false, false },
		{ U32_MAX, U32_MAX, false, false },
		{ 0, 1, true, false },
		{ 1, 0, false, true },
		{ U32_MAX, 0, true, false },
		{ 0, U32_MAX, false, true },
		{ U32_MAX - 5, 5, true, false },
		{ 5, U32_MAX - 5, false, true },
		{ S32_MAX, 1U << 31, true, false },
		/* as far as can be */
		{ 0, S32_MAX, true, false },
		{ S32_MAX, 0, false, true },
		{ 0, U32_MAX - S32_MAX + 1, false, true },
		{ U32_MAX - S32_MAX + 1, 0, true, false },
		/* half way round: each is before, and after, the other */
		{ 0, 1U << 31, true, true },
		{ 1U << 31, 0, true, true },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		KUNIT_EXPECT_EQ_MSG(test, ltp_before(cases[i].a, cases[i].b),
				    cases[i].before, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, ltp_after(cases[i].a, cases[i].b),
				    cases[i].after, "case %u", i);
	}
}

static void serial_random(struct kunit *test)
{
	u64 state = RANDOM_SEED;
	u32 i;

	for (i = 0; i < 10000; i++) {
		u32 a = random_next(&state);
		u32 d = random_scaled(&state) >> 1;

		KUNIT_ASSERT_EQ(test, ltp_before(a, a + d), d > 0);
		KUNIT_ASSERT_FALSE(test, ltp_after(a, a + d));
		KUNIT_ASSERT_EQ(test, ltp_after(a + d, a), d > 0);
		KUNIT_ASSERT_FALSE(test, ltp_before(a + d, a));
	}
}

static struct kunit_case serial_cases[] = {
	KUNIT_CASE(serial_table),
	KUNIT_CASE(serial_random),
	{}
};

static struct kunit_suite serial_suite = {
	.name = "ltp_serial",
	.test_cases = serial_cases,
};

kunit_test_suite(serial_suite);
