// SPDX-License-Identifier: GPL-2.0
/* The rate ceiling of a gather, from when its packets arrive. */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>
#include <linux/time64.h>
#include "../../kernel/ceiling.h"
#include "random.h"

#define US	NSEC_PER_USEC
#define SIZE	1424

/* @packets more, each @gap_ns after the one before; returns the time. */
static u64 arrive(struct ltp_ceiling *c, u32 packets, u64 gap_ns, u64 now)
{
	while (packets--) {
		now += gap_ns;
		ltp_ceiling_arrived(c, SIZE, now);
	}
	return now;
}

static u64 rate_of(u64 gap_ns)
{
	return SIZE * NSEC_PER_SEC / gap_ns;
}

static void ceiling_nothing(struct kunit *test)
{
	struct ltp_ceiling c = {};

	KUNIT_EXPECT_EQ(test, ltp_ceiling_capacity(&c), 0);
	KUNIT_EXPECT_EQ(test, ltp_ceiling_share(&c, 0), 0);
	KUNIT_EXPECT_EQ(test, ltp_ceiling_share(&c, 8), 0);
	/* One packet is no rate, nor are a few. */
	arrive(&c, 15, US, NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, ltp_ceiling_capacity(&c), 0);
}

/* The first packets of a gather have to do, until there is a window. */
static void ceiling_quick(struct kunit *test)
{
	struct ltp_ceiling c = {};
	u64 now;

	now = arrive(&c, 17, US, NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, ltp_ceiling_capacity(&c), rate_of(US));
	/* A window of 2 us a packet: the burst is forgotten. */
	now = arrive(&c, 100, 2 * US, now);
	KUNIT_EXPECT_LT(test, ltp_ceiling_capacity(&c), rate_of(US));
	/* And later bursts are not asked. */
	now = arrive(&c, 400, 4 * US, now);
	arrive(&c, 20, US / 10, now);
	KUNIT_EXPECT_LT(test, ltp_ceiling_capacity(&c), rate_of(US));
}

static void ceiling_shares(struct kunit *test)
{
	struct ltp_ceiling c = {};
	u64 capacity;

	arrive(&c, 1000, US, NSEC_PER_SEC);
	capacity = ltp_ceiling_capacity(&c);
	KUNIT_EXPECT_EQ(test, capacity, rate_of(US));
	/* A little less than all, so that a queue goes away. */
	KUNIT_EXPECT_EQ(test, ltp_ceiling_share(&c, 2),
			capacity * 63 / 64 / 2);
	KUNIT_EXPECT_EQ(test, ltp_ceiling_share(&c, 1), 0);
	KUNIT_EXPECT_EQ(test, ltp_ceiling_share(&c, 0), 0);
	KUNIT_EXPECT_EQ(test, ltp_ceiling_share(&c, 8),
			capacity * 63 / 64 / 8);
	KUNIT_EXPECT_EQ(test, ltp_ceiling_share(&c, 1024),
			capacity * 63 / 64 / 1024);
}

/* The best window counts, whatever is sent between; but not for ever. */
static void ceiling_epochs(struct kunit *test)
{
	struct ltp_ceiling c = {};
	u64 fast = rate_of(US), now;

	now = arrive(&c, 200, US, NSEC_PER_SEC);
	/* Each of 100 packets in 10 us: a window is 32 packets then. */
	now = arrive(&c, 100 * 32, 10 * US, now);
	KUNIT_EXPECT_EQ(test, ltp_ceiling_capacity(&c), fast);
	now = arrive(&c, 300 * 32, 10 * US, now);
	KUNIT_EXPECT_EQ(test, ltp_ceiling_capacity(&c), rate_of(10 * US));
	/* More is believed at once. */
	now = arrive(&c, 300, US, now);
	KUNIT_EXPECT_GE(test, ltp_ceiling_capacity(&c), fast / 100 * 99);
	/* A pause makes no difference. */
	arrive(&c, 1, 5 * NSEC_PER_SEC, now);
	KUNIT_EXPECT_GE(test, ltp_ceiling_capacity(&c), fast / 100 * 99);
}

/* Batches, as a device hands them over: at most twice the rate. */
static void ceiling_batches(struct kunit *test)
{
	struct ltp_ceiling c = {};
	u64 now = NSEC_PER_SEC;
	u32 i;

	for (i = 0; i < 1000; i++) {
		now += 64 * US;
		ltp_ceiling_arrived(&c, SIZE, now);
		arrive(&c, 63, 10, now);
	}
	KUNIT_EXPECT_GE(test, ltp_ceiling_capacity(&c), rate_of(US) / 100 * 99);
	KUNIT_EXPECT_LE(test, ltp_ceiling_capacity(&c), 2 * rate_of(US));
}

/* Clocks that go back, the same time again, sizes and times of any size. */
static void ceiling_nonsense(struct kunit *test)
{
	struct ltp_ceiling c = {};
	u64 state = RANDOM_SEED;
	u64 now = 1;
	u32 i;

	arrive(&c, 100, 0, NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, ltp_ceiling_capacity(&c), 0);
	for (i = 0; i < 50000; i++) {
		u64 step = random_scaled(&state);

		if (random_next(&state) % 16)
			now += step << (random_next(&state) % 16);
		else
			now = step;
		ltp_ceiling_arrived(&c, random_scaled(&state), now);
		KUNIT_ASSERT_LE(test, ltp_ceiling_share(&c, 2),
				1000000000000ULL);
	}
}

static struct kunit_case ceiling_cases[] = {
	KUNIT_CASE(ceiling_nothing),
	KUNIT_CASE(ceiling_quick),
	KUNIT_CASE(ceiling_shares),
	KUNIT_CASE(ceiling_epochs),
	KUNIT_CASE(ceiling_batches),
	KUNIT_CASE(ceiling_nonsense),
	{}
};

static struct kunit_suite ceiling_suite = {
	.name = "ltp_ceiling",
	.test_cases = ceiling_cases,
};

kunit_test_suite(ceiling_suite);
