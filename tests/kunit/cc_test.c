// SPDX-License-Identifier: GPL-2.0
/* The table of congestion controls, and changing from one to another. */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/time64.h>
#include "../../kernel/cc.h"

#define MS	NSEC_PER_MSEC
#define MSS	1000

static const struct ltp_cc_ops *const all[] = { &ltp_cc_bdp, &ltp_cc_reno };

static void cc_names(struct kunit *test)
{
	char names[LTP_CC_NAMES_MAX];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		KUNIT_EXPECT_PTR_EQ(test, ltp_cc_find(all[i]->name), all[i]);
	/* The default, by no name. */
	KUNIT_EXPECT_PTR_EQ(test, ltp_cc_find(""), &ltp_cc_bdp);
	KUNIT_EXPECT_NULL(test, ltp_cc_find("bd"));
	KUNIT_EXPECT_NULL(test, ltp_cc_find("bdp2"));
	KUNIT_EXPECT_NULL(test, ltp_cc_find("ren"));
	KUNIT_EXPECT_NULL(test, ltp_cc_find("Reno"));
	KUNIT_EXPECT_NULL(test, ltp_cc_find("bdp reno"));

	ltp_cc_names(names, sizeof(names));
	KUNIT_EXPECT_STREQ(test, names, "bdp reno");
	memset(names, 'x', sizeof(names));
	ltp_cc_names(names, 6);
	KUNIT_EXPECT_STREQ(test, names, "bdp r");
	KUNIT_EXPECT_EQ(test, names[6], 'x');
}

/*
 * All of them begin with the window of RFC 6928, smaller in a large group. It
 * is paced: reno's over the RTT, bdp's over 250 us.
 */
static void cc_begin(struct kunit *test)
{
	static const struct {
		u32 group, segs;
	} rows[] = {
		{ 0, 10 }, { 1, 10 }, { 6, 10 }, { 7, 9 }, { 8, 8 }, { 32, 2 },
		{ 33, 1 }, { 64, 1 }, { 65, 1 }, { U16_MAX, 1 }, { U32_MAX, 1 },
	};
	struct ltp_cc cc;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(all) * ARRAY_SIZE(rows); i++) {
		const struct ltp_cc_ops *ops = all[i / ARRAY_SIZE(rows)];
		u32 persec = ops == &ltp_cc_bdp ? 4000 : 100;

		k = i % ARRAY_SIZE(rows);
		memset(&cc, 0xff, sizeof(cc));
		cc.seed = 77;
		cc.group = rows[k].group;
		ltp_cc_init(&cc, ops, MSS, NSEC_PER_SEC, 10 * MS);
		KUNIT_EXPECT_PTR_EQ(test, cc.ops, ops);
		KUNIT_EXPECT_EQ(test, cc.seed, 77);
		KUNIT_EXPECT_EQ(test, cc.group, rows[k].group);
		KUNIT_EXPECT_EQ(test, cc.ceiling, 0);
		KUNIT_EXPECT_EQ(test, cc.mss, MSS);
		KUNIT_EXPECT_EQ_MSG(test, cc.cwnd, rows[k].segs * MSS,
				    "%s, group %u", ops->name, cc.group);
		KUNIT_EXPECT_EQ_MSG(test, cc.pacing_rate,
				    rows[k].segs * MSS * persec,
				    "%s, group %u", ops->name, cc.group);
	}
}

/* ACKs of a window each round trip. */
static void cc_rounds(struct ltp_cc *cc, u64 *now, u64 *delivered, u32 rounds)
{
	struct ltp_cc_sample s = {
		.rtt_ns = 10 * MS,
		.interval_ns = 10 * MS,
	};

	while (rounds--) {
		*now += 10 * MS;
		s.now_ns = *now;
		s.acked = cc->cwnd;
		s.in_flight = cc->cwnd;
		s.prior_delivered = *delivered;
		*delivered += s.acked;
		s.delivered = *delivered;
		s.acked_pn = s.next_pn++;
		cc->ops->on_ack(cc, &s);
	}
}

/* In the middle: the same window and rate at first, then what the new one does. */
static void cc_switch(struct kunit *test)
{
	u64 now = NSEC_PER_SEC, delivered = 0, rate;
	struct ltp_cc cc = { .seed = 77 };
	u32 i, cwnd;

	ltp_cc_init(&cc, all[0], MSS, now, 10 * MS);
	cc_rounds(&cc, &now, &delivered, 4);
	for (i = 1; i < 6; i++) {
		const struct ltp_cc_ops *ops = all[i % ARRAY_SIZE(all)];

		cwnd = cc.cwnd;
		rate = cc.pacing_rate;
		KUNIT_ASSERT_GT(test, cwnd, LTP_CC_INITIAL_SEGS * MSS);
		ltp_cc_switch(&cc, ops, now, 10 * MS);
		KUNIT_EXPECT_PTR_EQ(test, cc.ops, ops);
		KUNIT_EXPECT_EQ(test, cc.cwnd, cwnd);
		KUNIT_EXPECT_EQ(test, cc.pacing_rate, rate);
		KUNIT_EXPECT_EQ(test, cc.mss, MSS);
		KUNIT_EXPECT_EQ(test, cc.seed, 77);
		/* To the same: nothing is forgotten. */
		cc_rounds(&cc, &now, &delivered, 3);
		cwnd = cc.cwnd;
		rate = cc.pacing_rate;
		ltp_cc_switch(&cc, ops, now, 500 * MS);
		KUNIT_EXPECT_EQ(test, cc.cwnd, cwnd);
		cc_rounds(&cc, &now, &delivered, 1);
		KUNIT_EXPECT_GE(test, cc.cwnd, cwnd);
		KUNIT_EXPECT_GE(test, cc.pacing_rate, rate / 2);
		KUNIT_EXPECT_LE(test, cc.pacing_rate, 8 * rate);
	}
}

/* Not into slow start: the window was found by the one before. */
static void cc_switch_to_reno(struct kunit *test)
{
	u64 now = NSEC_PER_SEC, delivered = 0;
	struct ltp_cc cc = {};
	u32 cwnd;

	ltp_cc_init(&cc, &ltp_cc_bdp, MSS, now, 10 * MS);
	cc_rounds(&cc, &now, &delivered, 4);
	cwnd = cc.cwnd;
	ltp_cc_switch(&cc, &ltp_cc_reno, now, 10 * MS);
	cc_rounds(&cc, &now, &delivered, 5);
	KUNIT_EXPECT_EQ(test, cc.cwnd, cwnd + 5 * MSS);
	/* A window that is too small for it. */
	ltp_cc_switch(&cc, &ltp_cc_bdp, now, 10 * MS);
	cc.cwnd = 1;
	ltp_cc_switch(&cc, &ltp_cc_reno, now, 10 * MS);
	KUNIT_EXPECT_EQ(test, cc.cwnd, LTP_CC_MIN_SEGS * MSS);
}

static struct kunit_case cc_cases[] = {
	KUNIT_CASE(cc_names),
	KUNIT_CASE(cc_begin),
	KUNIT_CASE(cc_switch),
	KUNIT_CASE(cc_switch_to_reno),
	{}
};

static struct kunit_suite cc_suite = {
	.name = "ltp_cc",
	.test_cases = cc_cases,
};

kunit_test_suite(cc_suite);
