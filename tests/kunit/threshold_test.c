// SPDX-License-Identifier: GPL-2.0
/* Thresholds: who sets them, and what they are where nobody does. */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/time64.h>
#include "../../kernel/threshold.h"
#include "random.h"

#define MS	NSEC_PER_MSEC
#define MB	1000000u

/* ---- what is set ---- */

static const struct ltp_policy net = {
	.lt_ns = LTP_NS_ADAPTIVE,
	.deadline_ns = LTP_NS_ADAPTIVE,
	.fraction_ppm = 900000,
	.epoch = LTP_EPOCH_DEFAULT,
	.profile = LTP_PROFILE_DCN,
	.set = LTP_P_FRACTION | LTP_P_LT | LTP_P_DEADLINE | LTP_P_PROFILE |
	       LTP_P_EPOCH,
};

static void policy_nothing_set(struct kunit *test)
{
	struct ltp_policy p = {}, none = {};

	ltp_policy_merge(&p, &none);
	KUNIT_EXPECT_EQ(test, p.set, 0);
	ltp_policy_merge(&p, &net);
	KUNIT_EXPECT_MEMEQ(test, &p, &net, sizeof(p));
}

static void policy_field_by_field(struct kunit *test)
{
	const struct ltp_policy all = {
		.lt_ns = 1, .deadline_ns = 2, .slack_ns = 3,
		.cc = (const void *)4, .fraction_ppm = 5, .epoch = 6,
		.profile = LTP_PROFILE_WAN, .set = 0x7f,
	};
	unsigned int set;

	for (set = 0; set < 0x80; set++) {
		struct ltp_policy p = {
			.lt_ns = 10, .deadline_ns = 20, .slack_ns = 30,
			.cc = (const void *)40, .fraction_ppm = 50, .epoch = 60,
			.profile = LTP_PROFILE_DCN, .set = set,
		};
		bool slack = (set & LTP_P_SLACK) || (set & LTP_P_PROFILE);

		ltp_policy_merge(&p, &all);
		KUNIT_EXPECT_EQ(test, p.fraction_ppm,
				set & LTP_P_FRACTION ? 50 : 5);
		KUNIT_EXPECT_EQ(test, p.lt_ns, set & LTP_P_LT ? 10 : 1);
		KUNIT_EXPECT_EQ(test, p.deadline_ns,
				set & LTP_P_DEADLINE ? 20 : 2);
		KUNIT_EXPECT_EQ(test, p.epoch, set & LTP_P_EPOCH ? 60 : 6);
		KUNIT_EXPECT_EQ(test, p.profile, set & LTP_P_PROFILE ?
				LTP_PROFILE_DCN : LTP_PROFILE_WAN);
		KUNIT_EXPECT_PTR_EQ(test, p.cc, set & LTP_P_CC ?
				    (const void *)40 : (const void *)4);
		/* A profile that comes first hides a slack that comes later. */
		KUNIT_EXPECT_EQ(test, p.slack_ns, slack ? 30 : 3);
		KUNIT_EXPECT_EQ(test, p.set, slack && !(set & LTP_P_SLACK) ?
				0x7f & ~LTP_P_SLACK : 0x7f);
	}
}

static u64 slack_of(const struct ltp_policy *first,
		    const struct ltp_policy *second)
{
	struct ltp_policy p = *first;
	struct ltp_threshold th;

	ltp_policy_merge(&p, second);
	ltp_policy_merge(&p, &net);
	ltp_threshold_make(&th, &p, 1);
	return th.slack_ns;
}

static void policy_profile_and_slack(struct kunit *test)
{
	const struct ltp_policy none = {};
	const struct ltp_policy wan = {
		.profile = LTP_PROFILE_WAN, .set = LTP_P_PROFILE,
	};
	const struct ltp_policy slack = {
		.slack_ns = 7, .set = LTP_P_SLACK,
	};
	const struct ltp_policy both = {
		.slack_ns = 8, .profile = LTP_PROFILE_WAN,
		.set = LTP_P_SLACK | LTP_P_PROFILE,
	};

	KUNIT_EXPECT_EQ(test, slack_of(&none, &none), 30 * MS);
	KUNIT_EXPECT_EQ(test, slack_of(&wan, &none), 100 * MS);
	KUNIT_EXPECT_EQ(test, slack_of(&none, &wan), 100 * MS);
	KUNIT_EXPECT_EQ(test, slack_of(&slack, &wan), 7);
	KUNIT_EXPECT_EQ(test, slack_of(&wan, &slack), 100 * MS);
	KUNIT_EXPECT_EQ(test, slack_of(&both, &slack), 8);
	KUNIT_EXPECT_EQ(test, slack_of(&wan, &both), 100 * MS);
	KUNIT_EXPECT_EQ(test, ltp_profile_slack(LTP_PROFILE_DCN), 30 * MS);
	KUNIT_EXPECT_EQ(test, ltp_profile_slack(LTP_PROFILE_WAN), 100 * MS);
}

/* ---- what is measured ---- */

static void est_before_anything(struct kunit *test)
{
	struct ltp_estimate est = {};

	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, MB), 0);
	/* An epoch without flows is none. */
	ltp_est_epoch(&est);
	KUNIT_EXPECT_EQ(test, est.epochs, 0);
	/* What did not arrive whole, or at once, says nothing. */
	KUNIT_EXPECT_FALSE(test, ltp_est_flow(&est, MB, 700, 8 * MS, LTP_FRACTION));
	KUNIT_EXPECT_FALSE(test, ltp_est_flow(&est, 1000, 1, 0, LTP_COMPLETE));
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, MB), 0);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, 1000), 0);
	/* Nor does an epoch of such flows, unless they were closed. */
	ltp_est_epoch(&est);
	KUNIT_EXPECT_EQ(test, est.epochs, 1);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, MB), 8 * MS);
}

static void est_first_epoch(struct kunit *test)
{
	struct ltp_estimate est = {};

	/* 1 MB in 8 ms: 125 MB/s. */
	KUNIT_EXPECT_TRUE(test, ltp_est_flow(&est, MB, 700, 8 * MS, LTP_COMPLETE));
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, MB), 23 * MS);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, MB / 2), 19 * MS);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, 2 * MB), 31 * MS);
	/* Without a round-trip time there is no such sum. */
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 0, MB), 0);
	/* The fastest counts, at once. */
	KUNIT_EXPECT_FALSE(test, ltp_est_flow(&est, MB, 700, 9 * MS, LTP_COMPLETE));
	KUNIT_EXPECT_FALSE(test, ltp_est_flow(&est, MB, 700, 8 * MS, LTP_COMPLETE));
	KUNIT_EXPECT_TRUE(test, ltp_est_flow(&est, MB, 700, 6 * MS, LTP_COMPLETE));
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, MB), 21 * MS);
}

/* The first epoch is short, whatever was set; without a number none ends. */
static void est_epochs_by_number(struct kunit *test)
{
	static const u32 numbers[] = { 0, 1, 3, 4, 5, 64, U32_MAX };
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		u32 want = min_t(u32, numbers[i], LTP_EPOCH_FIRST);
		struct ltp_estimate est = {};

		for (n = 1; n < 100; n++) {
			ltp_est_flow(&est, MB, 700, 8 * MS, LTP_COMPLETE);
			if (ltp_est_due(&est, numbers[i]))
				break;
		}
		KUNIT_EXPECT_EQ(test, n, want ?: 100);
		ltp_est_epoch(&est);
		for (n = 1; n < 100; n++) {
			ltp_est_flow(&est, MB, 700, 8 * MS, LTP_COMPLETE);
			if (ltp_est_due(&est, numbers[i]))
				break;
		}
		KUNIT_EXPECT_EQ(test, n, min_t(u32, numbers[i] ?: 100, 100));
	}
}

static void est_later_epochs(struct kunit *test)
{
	struct ltp_estimate est = {};

	ltp_est_flow(&est, MB, 700, 80 * MS, LTP_COMPLETE);
	ltp_est_flow(&est, MB, 700, 60 * MS, LTP_COMPLETE);
	ltp_est_flow(&est, MB, 700, 70 * MS, LTP_COMPLETE);
	ltp_est_epoch(&est);
	KUNIT_EXPECT_EQ(test, est.epochs, 1);
	KUNIT_EXPECT_EQ(test, est.flows, 0);
	/* The fastest complete flow, scaled; what runs now does not count. */
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, MB), 60 * MS);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, 2 * MB), 120 * MS);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, MB / 2), 30 * MS);
	KUNIT_EXPECT_TRUE(test, ltp_est_flow(&est, MB, 700, 50 * MS, LTP_COMPLETE));
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, MB), 60 * MS);
	ltp_est_epoch(&est);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, MB), 50 * MS);

	/* A short flow may need a repair, but not more than a long one took. */
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, 1000), 15 * MS);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 20 * MS, 1000), 30 * MS);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 200 * MS, 1000), 50 * MS);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 0, 1000), 50 * MS);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 0, MB), 50 * MS);
}

/* No flow is seen complete that is slower than LT: those closed tell. */
static void est_closed(struct kunit *test)
{
	struct ltp_estimate est = {};

	ltp_est_flow(&est, MB, 700, 64 * MS, LTP_COMPLETE);
	ltp_est_epoch(&est);
	/* The fraction had arrived at LT: it stays. */
	ltp_est_flow(&est, MB, 700, 70 * MS, LTP_FRACTION);
	ltp_est_flow(&est, MB, 700, 64 * MS, LTP_FRACTION);
	ltp_est_epoch(&est);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, MS, MB), 64 * MS);
	/* It had not. That a short one was complete says nothing of it. */
	ltp_est_flow(&est, MB, 700, 80 * MS, LTP_FRACTION);
	ltp_est_flow(&est, MB, 700, 94 * MS, LTP_DEADLINE);
	ltp_est_flow(&est, 10000, 7, MS, LTP_COMPLETE);
	ltp_est_epoch(&est);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, MS, MB), 80 * MS);
	ltp_est_flow(&est, MB, 700, 110 * MS, LTP_DEADLINE);
	ltp_est_epoch(&est);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, MS, MB), 110 * MS);
	/* What its sender gave up, or what was lost with it, is no measure. */
	ltp_est_flow(&est, MB, 700, MS, LTP_GAVE_UP);
	ltp_est_flow(&est, MB, 700, MS, LTP_LOST);
	ltp_est_epoch(&est);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, MS, MB), 110 * MS);
	/* One that is complete counts for more. */
	ltp_est_flow(&est, MB, 700, 50 * MS, LTP_COMPLETE);
	ltp_est_flow(&est, MB, 700, 40 * MS, LTP_FRACTION);
	ltp_est_epoch(&est);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, MS, MB), 50 * MS);

	/* Long ones were never complete, in the first epoch. */
	est = (struct ltp_estimate){};
	ltp_est_flow(&est, MB, 700, 64 * MS, LTP_COMPLETE);
	ltp_est_flow(&est, 4 * MB, 2800, 128 * MS, LTP_DEADLINE);
	ltp_est_epoch(&est);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, MS, 4 * MB), 128 * MS);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, MS, MB), 32 * MS);
}

static void est_lengths(struct kunit *test)
{
	struct ltp_estimate est = {};

	/* A burst says little of a flow that is much longer. */
	ltp_est_flow(&est, 10000, 7, 1000, LTP_COMPLETE);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, 16 * 10000 + 15),
			15 * MS + 16001);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, 17 * 10000), 0);
	/* A long flow is the better measure, a short one after it is none. */
	KUNIT_EXPECT_TRUE(test, ltp_est_flow(&est, MB, 700, 80 * MS, LTP_COMPLETE));
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, MB), 95 * MS);
	KUNIT_EXPECT_FALSE(test, ltp_est_flow(&est, 10000, 7, 1, LTP_COMPLETE));
	/* Of much the same length it is the faster one, byte by byte. */
	KUNIT_EXPECT_TRUE(test, ltp_est_flow(&est, MB / 4 * 3, 500, 59 * MS,
					     LTP_COMPLETE));
	KUNIT_EXPECT_FALSE(test, ltp_est_flow(&est, MB, 700, 79 * MS, LTP_COMPLETE));
	KUNIT_EXPECT_TRUE(test, ltp_est_flow(&est, MB, 700, 78 * MS, LTP_COMPLETE));
	ltp_est_epoch(&est);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, MB), 78 * MS);
	/* The measure of the epoch that runs helps where the last does not. */
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, 20 * MB), 0);
	ltp_est_flow(&est, 20 * MB, 14000, 1600 * MS, LTP_COMPLETE);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, 20 * MB), 1615 * MS);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 10 * MS, MB), 78 * MS);
}

static void est_extremes(struct kunit *test)
{
	struct ltp_estimate est = {};
	u64 state = RANDOM_SEED;
	u32 i;

	/* Not before a millisecond, not after an hour, and never 0. */
	ltp_est_flow(&est, MB, 700, 0, LTP_COMPLETE);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 1, MB), MS);
	ltp_est_epoch(&est);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, 1, MB), MS);
	est = (struct ltp_estimate){};
	ltp_est_flow(&est, U32_MAX, 1 << 24, U64_MAX, LTP_COMPLETE);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, U64_MAX, U32_MAX),
			LTP_TIME_MAX_NS);
	ltp_est_epoch(&est);
	KUNIT_EXPECT_EQ(test, ltp_est_lt(&est, U64_MAX, U32_MAX),
			LTP_TIME_MAX_NS);

	/* A longer flow never has less time, whatever came before. */
	est = (struct ltp_estimate){};
	for (i = 0; i < 100000; i++) {
		u32 len = random_scaled(&state) | 1;
		u32 other = random_scaled(&state) | 1;
		u64 rtt = random_next(&state) % 4 ? random_next(&state) : 0;
		u64 a, b;

		ltp_est_flow(&est, len, 1 + len / 256,
			     (u64)random_next(&state) << random_next(&state) % 32,
			     random_next(&state) % 3);
		if (!(random_next(&state) % 16))
			ltp_est_epoch(&est);
		a = ltp_est_lt(&est, rtt, min(len, other));
		b = ltp_est_lt(&est, rtt, max(len, other));
		KUNIT_ASSERT_TRUE(test, !a || (a >= MS && a <= LTP_TIME_MAX_NS));
		if (est.last.len && max(len, other) / LTP_EST_REACH <=
		    est.last.len)
			KUNIT_ASSERT_LE(test, a, b);
	}
}

static void est_counts(struct kunit *test)
{
	struct ltp_estimate est = { .flows = U32_MAX - 1 };

	ltp_est_flow(&est, 5, 1, 0, LTP_COMPLETE);
	ltp_est_flow(&est, 4, 1, 0, LTP_COMPLETE);
	KUNIT_EXPECT_EQ(test, est.flows, U32_MAX);
	KUNIT_EXPECT_EQ(test, est.largest, 5);
}

/* ---- thresholds of a flow ---- */

static void threshold_table(struct kunit *test)
{
	static const u64 ad = LTP_NS_ADAPTIVE;
	static const struct {
		u64 lt, deadline, est, group;	/* set, measured */
		u64 in_force, ends;		/* LT threshold, deadline */
		u64 base;
		bool calibrating;
	} rows[] = {
		/* all adaptive: whole until there is a measure */
		{ ad, ad, 0, 0, 0, 0, 0, true },
		{ ad, ad, 0, 99 * MS, 0, 0, 0, true },
		{ ad, ad, 20 * MS, 0, 20 * MS, 50 * MS, 20 * MS, false },
		{ ad, ad, 20 * MS, 20 * MS, 20 * MS, 50 * MS, 20 * MS, false },
		{ ad, ad, 20 * MS, 90 * MS, 20 * MS, 120 * MS, 20 * MS, false },
		/* an LT that was set, a deadline from it and the group */
		{ 5 * MS, ad, 0, 0, 5 * MS, 0, 5 * MS, true },
		{ 5 * MS, ad, 20 * MS, 0, 5 * MS, 35 * MS, 5 * MS, false },
		{ 5 * MS, ad, 20 * MS, 7 * MS, 5 * MS, 37 * MS, 5 * MS, false },
		/* a deadline that was set */
		{ ad, 9 * MS, 0, 99 * MS, 0, 9 * MS, 0, true },
		{ ad, 9 * MS, 20 * MS, 99 * MS, 20 * MS, 9 * MS, 20 * MS,
		  false },
		/* no fraction: still there is a deadline */
		{ 0, ad, 0, 99 * MS, 0, 0, 0, true },
		{ 0, ad, 20 * MS, 0, 0, 50 * MS, 20 * MS, false },
		/* no deadline */
		{ ad, 0, 20 * MS, 99 * MS, 20 * MS, 0, 20 * MS, false },
		/* never */
		{ 0, 0, 0, 99 * MS, 0, 0, 0, false },
		{ 0, 0, 20 * MS, 99 * MS, 0, 0, 20 * MS, false },
		/* both set */
		{ 1, 2, 0, 99 * MS, 1, 2, 1, false },
		{ 1, 2, 20 * MS, 99 * MS, 1, 2, 1, false },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ltp_policy p = net;
		struct ltp_threshold th;

		p.lt_ns = rows[i].lt;
		p.deadline_ns = rows[i].deadline;
		ltp_threshold_make(&th, &p, rows[i].est);
		KUNIT_EXPECT_EQ_MSG(test, th.ec.lt_ns, rows[i].in_force,
				    "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, th.base_ns, rows[i].base, "row %u",
				    i);
		KUNIT_EXPECT_EQ_MSG(test, th.calibrating, rows[i].calibrating,
				    "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test,
				    ltp_threshold_deadline(&th, rows[i].group),
				    rows[i].ends, "row %u", i);
		KUNIT_EXPECT_EQ(test, th.ec.fraction_ppm, 900000);
	}
}

static struct kunit_case threshold_cases[] = {
	KUNIT_CASE(policy_nothing_set),
	KUNIT_CASE(policy_field_by_field),
	KUNIT_CASE(policy_profile_and_slack),
	KUNIT_CASE(est_before_anything),
	KUNIT_CASE(est_first_epoch),
	KUNIT_CASE(est_epochs_by_number),
	KUNIT_CASE(est_later_epochs),
	KUNIT_CASE(est_closed),
	KUNIT_CASE(est_lengths),
	KUNIT_CASE(est_extremes),
	KUNIT_CASE(est_counts),
	KUNIT_CASE(threshold_table),
	{}
};

static struct kunit_suite threshold_suite = {
	.name = "ltp_threshold",
	.test_cases = threshold_cases,
};

kunit_test_suite(threshold_suite);
