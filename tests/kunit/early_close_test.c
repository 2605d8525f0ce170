// SPDX-License-Identifier: GPL-2.0
/* Early Close: the table of the design, at and around each of its times. */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/time64.h>
#include "../../kernel/early_close.h"
#include "random.h"

#define START	(5000 * NSEC_PER_SEC)
#define LT	(10 * NSEC_PER_MSEC)
#define DEADLINE (40 * NSEC_PER_MSEC)

/* Of 1000 segments 900 are enough; 10 are critical. */
static const struct ltp_ec_thresholds usual = {
	.lt_ns = LT,
	.deadline_ns = DEADLINE,
	.fraction_ppm = 900000,
};

static enum ltp_close_reason verdict(const struct ltp_ec_thresholds *th,
				     u32 got, u32 crit_got, bool tolerant,
				     u64 elapsed)
{
	struct ltp_ec_counts counts = {
		.segs = 1000,
		.got = got,
		.crit = 10,
		.crit_got = crit_got,
	};
	struct ltp_early_close ec;

	ltp_ec_start(&ec, START);
	return ltp_ec_verdict(&ec, th, &counts, tolerant, START + elapsed);
}

static void ec_table(struct kunit *test)
{
	static const struct {
		u32 got, crit_got;
		/* before LT, from LT, from the deadline */
		enum ltp_close_reason when[3];
	} rows[] = {
		{ 1000, 10, { LTP_COMPLETE, LTP_COMPLETE, LTP_COMPLETE } },
		{ 999, 10, { LTP_OPEN, LTP_FRACTION, LTP_DEADLINE } },
		{ 900, 10, { LTP_OPEN, LTP_FRACTION, LTP_DEADLINE } },
		{ 899, 10, { LTP_OPEN, LTP_OPEN, LTP_DEADLINE } },
		{ 10, 10, { LTP_OPEN, LTP_OPEN, LTP_DEADLINE } },
		{ 999, 9, { LTP_OPEN, LTP_OPEN, LTP_OPEN } },
		{ 900, 0, { LTP_OPEN, LTP_OPEN, LTP_OPEN } },
		{ 1, 0, { LTP_OPEN, LTP_OPEN, LTP_OPEN } },
	};
	static const struct {
		u64 elapsed;
		u8 when;
	} times[] = {
		{ 0, 0 }, { 1, 0 },
		{ LT - 1, 0 }, { LT, 1 }, { LT + 1, 1 },
		{ DEADLINE - 1, 1 }, { DEADLINE, 2 }, { DEADLINE + 1, 2 },
		{ 3600 * NSEC_PER_SEC, 2 },
	};
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (k = 0; k < ARRAY_SIZE(times); k++) {
			enum ltp_close_reason want;

			want = rows[i].when[times[k].when];
			KUNIT_EXPECT_EQ_MSG(test,
					    verdict(&usual, rows[i].got,
						    rows[i].crit_got, true,
						    times[k].elapsed),
					    want, "%u got, %u critical, %llu ns",
					    rows[i].got, rows[i].crit_got,
					    times[k].elapsed);
			/* A reliable flow is not touched by any threshold. */
			want = rows[i].got == 1000 ? LTP_COMPLETE : LTP_OPEN;
			KUNIT_EXPECT_EQ(test, verdict(&usual, rows[i].got,
						      rows[i].crit_got, false,
						      times[k].elapsed), want);
		}
	}
}

static void ec_unset(struct kunit *test)
{
	struct ltp_ec_thresholds th = usual;

	/* Without an LT threshold the fraction never applies. */
	th.lt_ns = 0;
	KUNIT_EXPECT_EQ(test, verdict(&th, 999, 10, true, 0), LTP_OPEN);
	KUNIT_EXPECT_EQ(test, verdict(&th, 999, 10, true, DEADLINE - 1),
			LTP_OPEN);
	KUNIT_EXPECT_EQ(test, verdict(&th, 999, 10, true, DEADLINE),
			LTP_DEADLINE);
	KUNIT_EXPECT_EQ(test, verdict(&th, 1000, 10, true, 0), LTP_COMPLETE);

	/* Without a deadline it applies for ever. */
	th = usual;
	th.deadline_ns = 0;
	KUNIT_EXPECT_EQ(test, verdict(&th, 900, 10, true, LT - 1), LTP_OPEN);
	KUNIT_EXPECT_EQ(test, verdict(&th, 900, 10, true, LT), LTP_FRACTION);
	KUNIT_EXPECT_EQ(test, verdict(&th, 900, 10, true, 1ULL << 60),
			LTP_FRACTION);
	KUNIT_EXPECT_EQ(test, verdict(&th, 899, 10, true, 1ULL << 60),
			LTP_OPEN);

	/* Without either the flow is waited for. */
	th.lt_ns = 0;
	KUNIT_EXPECT_EQ(test, verdict(&th, 999, 10, true, 1ULL << 60),
			LTP_OPEN);

	/* A deadline before the LT threshold is a deadline. */
	th = usual;
	th.deadline_ns = LT / 2;
	KUNIT_EXPECT_EQ(test, verdict(&th, 10, 10, true, LT / 2 - 1), LTP_OPEN);
	KUNIT_EXPECT_EQ(test, verdict(&th, 10, 10, true, LT / 2), LTP_DEADLINE);
	KUNIT_EXPECT_EQ(test, verdict(&th, 950, 10, true, LT), LTP_DEADLINE);
}

static void ec_extremes(struct kunit *test)
{
	struct ltp_ec_counts counts = { .segs = U32_MAX, .got = U32_MAX - 1 };
	struct ltp_ec_thresholds th = {
		.lt_ns = 1,
		.deadline_ns = U64_MAX,
		.fraction_ppm = LTP_FRACTION_MAX,
	};
	struct ltp_early_close ec;

	ltp_ec_start(&ec, START);
	KUNIT_EXPECT_EQ(test, ltp_ec_verdict(&ec, &th, &counts, true,
					     U64_MAX - 1), LTP_OPEN);
	th.fraction_ppm = LTP_FRACTION_MAX - 1;
	KUNIT_EXPECT_EQ(test, ltp_ec_verdict(&ec, &th, &counts, true,
					     START + 1), LTP_FRACTION);
	/* A clock that seems to run back is not a long time. */
	KUNIT_EXPECT_EQ(test, ltp_ec_elapsed(&ec, START - 1), 0);
	KUNIT_EXPECT_EQ(test, ltp_ec_elapsed(&ec, 0), 0);
	KUNIT_EXPECT_EQ(test, ltp_ec_verdict(&ec, &th, &counts, true,
					     START - 1), LTP_OPEN);
	/* One segment. */
	counts.segs = 1;
	counts.got = 0;
	KUNIT_EXPECT_EQ(test, ltp_ec_verdict(&ec, &th, &counts, true,
					     START + LT), LTP_OPEN);
	counts.got = 1;
	KUNIT_EXPECT_EQ(test, ltp_ec_verdict(&ec, &th, &counts, true, START),
			LTP_COMPLETE);
}

static void ec_enough(struct kunit *test)
{
	static const u32 ppms[] = {
		0, 1, 2, 3, 333333, 333334, 499999, 500000, 500001, 899999,
		900000, 900001, 999998, 999999, 1000000,
	};
	static const u32 segs[] = {
		1, 2, 3, 9, 10, 11, 99, 100, 101, 999999, 1000000, 1000001,
		1U << 20, S32_MAX, 1U << 31, U32_MAX - 1, U32_MAX,
	};
	u64 state = RANDOM_SEED;
	u32 i;

	KUNIT_EXPECT_EQ(test, ltp_ec_enough(10, 900000), 9);
	KUNIT_EXPECT_EQ(test, ltp_ec_enough(11, 900000), 10);
	KUNIT_EXPECT_EQ(test, ltp_ec_enough(1, 1), 1);
	KUNIT_EXPECT_EQ(test, ltp_ec_enough(1000, 0), 1);
	KUNIT_EXPECT_EQ(test, ltp_ec_enough(1000000, 1), 1);
	KUNIT_EXPECT_EQ(test, ltp_ec_enough(1000001, 1), 2);
	KUNIT_EXPECT_EQ(test, ltp_ec_enough(U32_MAX, 1000000), U32_MAX);
	KUNIT_EXPECT_EQ(test, ltp_ec_enough(U32_MAX, U32_MAX), U32_MAX);
	KUNIT_EXPECT_EQ(test, ltp_ec_enough(U32_MAX, 999999), U32_MAX - 4294);

	for (i = 0; i < ARRAY_SIZE(ppms) * ARRAY_SIZE(segs) + 20000; i++) {
		u32 ppm = ppms[i % ARRAY_SIZE(ppms)];
		u32 n = segs[i / ARRAY_SIZE(ppms) % ARRAY_SIZE(segs)];
		u64 enough, whole;

		if (i >= ARRAY_SIZE(ppms) * ARRAY_SIZE(segs)) {
			ppm = random_next(&state) % (LTP_FRACTION_MAX + 1);
			n = max(random_scaled(&state), 1U);
		}
		whole = (u64)n * ppm;
		enough = ltp_ec_enough(n, ppm);
		KUNIT_ASSERT_GE(test, enough, 1);
		KUNIT_ASSERT_LE(test, enough, n);
		KUNIT_ASSERT_GE_MSG(test, enough * LTP_FRACTION_MAX, whole,
				    "%u ppm of %u", ppm, n);
		if (enough > 1)
			KUNIT_ASSERT_LT_MSG(test,
					    (enough - 1) * LTP_FRACTION_MAX,
					    whole, "%u ppm of %u", ppm, n);
	}
}

static void ec_shut(struct kunit *test)
{
	struct ltp_ec_counts counts = { .segs = 10, .got = 9 };
	struct ltp_early_close ec;

	ltp_ec_start(&ec, START);
	KUNIT_EXPECT_EQ(test, ltp_ec_elapsed(&ec, START + 7), 7);

	ltp_ec_window_shut(&ec, START + 100);
	KUNIT_EXPECT_EQ(test, ltp_ec_elapsed(&ec, START + 100), 100);
	KUNIT_EXPECT_EQ(test, ltp_ec_elapsed(&ec, START + DEADLINE), 100);
	KUNIT_EXPECT_EQ(test, ltp_ec_elapsed(&ec, START + 50), 50);
	/* Shut again: since the first time. */
	ltp_ec_window_shut(&ec, START + 200);
	KUNIT_EXPECT_EQ(test, ltp_ec_elapsed(&ec, START + 300), 100);
	ltp_ec_window_open(&ec, START + 1100);
	KUNIT_EXPECT_EQ(test, ec.shut_ns, 1000);
	KUNIT_EXPECT_EQ(test, ltp_ec_elapsed(&ec, START + 1100), 100);
	KUNIT_EXPECT_EQ(test, ltp_ec_elapsed(&ec, START + 1101), 101);
	/* Opened again: nothing. */
	ltp_ec_window_open(&ec, START + 5000);
	KUNIT_EXPECT_EQ(test, ltp_ec_elapsed(&ec, START + 5000), 4000);

	ltp_ec_window_shut(&ec, START + 6000);
	ltp_ec_window_open(&ec, START + 6500);
	KUNIT_EXPECT_EQ(test, ec.shut_ns, 1500);

	/* The verdict goes by it, to the nanosecond. */
	KUNIT_EXPECT_EQ(test, ltp_ec_verdict(&ec, &usual, &counts, true,
					     START + 1500 + LT - 1), LTP_OPEN);
	KUNIT_EXPECT_EQ(test, ltp_ec_verdict(&ec, &usual, &counts, true,
					     START + 1500 + LT), LTP_FRACTION);
	KUNIT_EXPECT_EQ(test, ltp_ec_verdict(&ec, &usual, &counts, true,
					     START + 1500 + DEADLINE - 1),
			LTP_FRACTION);
	KUNIT_EXPECT_EQ(test, ltp_ec_verdict(&ec, &usual, &counts, true,
					     START + 1500 + DEADLINE),
			LTP_DEADLINE);
	/* While it is shut time stands still. */
	ltp_ec_window_shut(&ec, START + 1500 + LT - 1);
	KUNIT_EXPECT_EQ(test, ltp_ec_verdict(&ec, &usual, &counts, true,
					     START + 100 * DEADLINE), LTP_OPEN);
	counts.got = 10;
	KUNIT_EXPECT_EQ(test, ltp_ec_verdict(&ec, &usual, &counts, true,
					     START + 100 * DEADLINE),
			LTP_COMPLETE);

	/* Times before the start, and the time zero. */
	ltp_ec_start(&ec, START);
	KUNIT_EXPECT_EQ(test, ec.shut_ns, 0);
	ltp_ec_window_shut(&ec, START - 500);
	ltp_ec_window_open(&ec, START + 10);
	KUNIT_EXPECT_EQ(test, ltp_ec_elapsed(&ec, START + 10), 0);
	KUNIT_EXPECT_EQ(test, ltp_ec_elapsed(&ec, START + 11), 1);
	ltp_ec_window_shut(&ec, START + 20);
	ltp_ec_window_open(&ec, START + 15);
	KUNIT_EXPECT_EQ(test, ec.shut_ns, 10);
	ltp_ec_start(&ec, 0);
	ltp_ec_window_shut(&ec, 0);
	KUNIT_EXPECT_NE(test, ec.shut_since_ns, 0);
	KUNIT_EXPECT_LE(test, ltp_ec_elapsed(&ec, DEADLINE), 1);
}

static void ec_next(struct kunit *test)
{
	struct ltp_ec_thresholds th = usual;
	struct ltp_early_close ec;

	ltp_ec_start(&ec, START);
	KUNIT_EXPECT_EQ(test, ltp_ec_next(&ec, &th, START), START + LT);
	KUNIT_EXPECT_EQ(test, ltp_ec_next(&ec, &th, START + LT - 1),
			START + LT);
	KUNIT_EXPECT_EQ(test, ltp_ec_next(&ec, &th, START + LT),
			START + DEADLINE);
	KUNIT_EXPECT_EQ(test, ltp_ec_next(&ec, &th, START + DEADLINE - 1),
			START + DEADLINE);
	KUNIT_EXPECT_EQ(test, ltp_ec_next(&ec, &th, START + DEADLINE), U64_MAX);
	KUNIT_EXPECT_EQ(test, ltp_ec_next(&ec, &th, START + DEADLINE + 1),
			U64_MAX);

	ltp_ec_window_shut(&ec, START + 10);
	KUNIT_EXPECT_EQ(test, ltp_ec_next(&ec, &th, START + 11), U64_MAX);
	ltp_ec_window_open(&ec, START + 60);
	KUNIT_EXPECT_EQ(test, ltp_ec_next(&ec, &th, START + 60),
			START + LT + 50);
	KUNIT_EXPECT_EQ(test, ltp_ec_next(&ec, &th, START + LT + 50),
			START + DEADLINE + 50);

	th.lt_ns = 0;
	KUNIT_EXPECT_EQ(test, ltp_ec_next(&ec, &th, START + 60),
			START + DEADLINE + 50);
	th.deadline_ns = 0;
	KUNIT_EXPECT_EQ(test, ltp_ec_next(&ec, &th, START + 60), U64_MAX);
	th.lt_ns = LT;
	KUNIT_EXPECT_EQ(test, ltp_ec_next(&ec, &th, START + 60),
			START + LT + 50);
	/* The nearer one, whichever it is. */
	th.deadline_ns = LT / 2;
	KUNIT_EXPECT_EQ(test, ltp_ec_next(&ec, &th, START + 60),
			START + LT / 2 + 50);
	KUNIT_EXPECT_EQ(test, ltp_ec_next(&ec, &th, START + LT / 2 + 50),
			START + LT + 50);
	/* So far away that there is no such time. */
	th.lt_ns = U64_MAX;
	th.deadline_ns = U64_MAX - 1;
	KUNIT_EXPECT_EQ(test, ltp_ec_next(&ec, &th, START + 60), U64_MAX);
}

/* next() is when the verdict changes, and it does not change in between. */
static void ec_next_is_exact(struct kunit *test)
{
	u64 state = RANDOM_SEED;
	u32 i;

	for (i = 0; i < 5000; i++) {
		struct ltp_ec_thresholds th = {
			.lt_ns = random_scaled(&state) % 5000,
			.deadline_ns = random_scaled(&state) % 5000,
			.fraction_ppm = 500000,
		};
		struct ltp_ec_counts counts = {
			.segs = 10,
			.got = random_next(&state) % 10,
		};
		u64 now = START + random_next(&state) % 3000;
		enum ltp_close_reason is;
		struct ltp_early_close ec;
		u64 next, last;

		ltp_ec_start(&ec, START);
		if (i % 2) {
			ltp_ec_window_shut(&ec, START + 5);
			ltp_ec_window_open(&ec, START +
					   random_next(&state) % 3000);
			now = max(now, START + ec.shut_ns + 5);
		}
		is = ltp_ec_verdict(&ec, &th, &counts, true, now);
		next = ltp_ec_next(&ec, &th, now);
		KUNIT_ASSERT_GT(test, next, now);
		last = min(next, now + 20000) - 1;
		KUNIT_ASSERT_EQ(test, ltp_ec_verdict(&ec, &th, &counts, true,
						     last), is);
		if (next == U64_MAX)
			continue;
		/* It is one of the thresholds. */
		KUNIT_ASSERT_TRUE(test,
				  ltp_ec_elapsed(&ec, next) == th.lt_ns ||
				  ltp_ec_elapsed(&ec, next) == th.deadline_ns);
	}
}

static struct kunit_case ec_cases[] = {
	KUNIT_CASE(ec_table),
	KUNIT_CASE(ec_unset),
	KUNIT_CASE(ec_extremes),
	KUNIT_CASE(ec_enough),
	KUNIT_CASE(ec_shut),
	KUNIT_CASE(ec_next),
	KUNIT_CASE(ec_next_is_exact),
	{}
};

static struct kunit_suite ec_suite = {
	.name = "ltp_early_close",
	.test_cases = ec_cases,
};

kunit_test_suite(ec_suite);
