// SPDX-License-Identifier: GPL-2.0
/* The sending clock: rate, bursts, extremes. */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/time64.h>
#include "../../kernel/pacing.h"
#include "random.h"

#define T0	(1000 * NSEC_PER_SEC)
#define GBIT	125000000ULL

static const u64 rates[] = {
	GBIT / 1000, GBIT / 100, GBIT / 10, GBIT, 10 * GBIT, 25 * GBIT,
	100 * GBIT, 400 * GBIT,
};

static const u32 packets[] = { 576, 1500, 9000, 23168, 65535 };

/* How much leaves at once, @bytes at a time. */
static u64 burst(struct ltp_pacing *p, u64 rate, u32 bytes, u64 now)
{
	u64 all = 0;

	while (!ltp_pacing_delay(p, now)) {
		ltp_pacing_sent(p, rate, bytes, now);
		all += bytes;
	}
	return all;
}

static void pacing_delay(struct kunit *test)
{
	struct ltp_pacing p = {};

	KUNIT_EXPECT_EQ(test, ltp_pacing_delay(&p, 0), 0);
	KUNIT_EXPECT_EQ(test, ltp_pacing_delay(&p, T0), 0);
	p.next_ns = T0;
	KUNIT_EXPECT_EQ(test, ltp_pacing_delay(&p, T0 - 1), 1);
	KUNIT_EXPECT_EQ(test, ltp_pacing_delay(&p, T0), 0);
	KUNIT_EXPECT_EQ(test, ltp_pacing_delay(&p, T0 + 1), 0);
}

static void pacing_unpaced(struct kunit *test)
{
	struct ltp_pacing p = {};
	u32 i;

	for (i = 0; i < 1000; i++) {
		KUNIT_ASSERT_EQ(test, ltp_pacing_delay(&p, T0), 0);
		KUNIT_ASSERT_EQ(test, ltp_pacing_budget(&p, 0, 1500, T0),
				U32_MAX);
		ltp_pacing_sent(&p, 0, 65535, T0);
	}
	/* Without a rate there is no debt that a rate would inherit. */
	p.next_ns = T0 + NSEC_PER_SEC;
	ltp_pacing_sent(&p, 0, 65535, T0);
	KUNIT_EXPECT_EQ(test, ltp_pacing_delay(&p, T0), 0);
}

/* From the first packet and after idle: 1 ms, 64 KB, but two packets. */
static void pacing_burst(struct kunit *test)
{
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		for (k = 0; k < ARRAY_SIZE(packets); k++) {
			u64 limit = min_t(u64, div_u64(rates[i], 1000),
					  LTP_BURST_BYTES);
			struct ltp_pacing p = {};
			u32 bytes = packets[k];
			u64 all;

			if (bytes <= 9216)
				limit = max_t(u64, limit, 2 * bytes);
			limit = max_t(u64, limit, bytes);
			all = burst(&p, rates[i], bytes, T0);
			KUNIT_EXPECT_LE_MSG(test, all, limit, "%u at %llu",
					    bytes, rates[i]);
			KUNIT_EXPECT_GT(test, all + bytes, limit);
			/* Ten seconds later, the same again and no more. */
			KUNIT_EXPECT_EQ(test, burst(&p, rates[i], bytes,
						    T0 + 10 * NSEC_PER_SEC),
					all);
		}
	}
}

/* Whoever sends when he may sends at the rate: 1 part in 1000. */
static void pacing_rate(struct kunit *test)
{
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		for (k = 0; k < ARRAY_SIZE(packets); k++) {
			struct ltp_pacing p = {};
			u32 bytes = packets[k];
			u64 now = T0, all, want;
			u32 n;

			burst(&p, rates[i], bytes, now);
			for (n = 0, all = 0; n < 5000; n++) {
				now += ltp_pacing_delay(&p, now);
				ltp_pacing_sent(&p, rates[i], bytes, now);
				all += bytes;
			}
			now += ltp_pacing_delay(&p, now);
			want = mul_u64_u64_div_u64(now - T0, rates[i],
						   NSEC_PER_SEC);
			KUNIT_EXPECT_LE_MSG(test, all, want + want / 1000 +
					    bytes, "%u at %llu", bytes,
					    rates[i]);
			KUNIT_EXPECT_GE_MSG(test, all + bytes + all / 1000,
					    want, "%u at %llu", bytes,
					    rates[i]);
		}
	}
}

/* A timer that fires late costs nothing as long as a burst makes up for it. */
static void pacing_late(struct kunit *test)
{
	const u64 rate = 10 * GBIT;
	u64 state = RANDOM_SEED;
	struct ltp_pacing p = {};
	u64 now = T0, all, want;
	u32 n;

	all = burst(&p, rate, 1500, now);
	for (n = 0; n < 20000; n++) {
		now += ltp_pacing_delay(&p, now) + random_next(&state) % 40000;
		all += burst(&p, rate, 1500, now);
	}
	want = mul_u64_u64_div_u64(now - T0, rate, NSEC_PER_SEC);
	KUNIT_EXPECT_GE(test, all + want / 1000, want);
	KUNIT_EXPECT_LE(test, all, want + 2 * LTP_BURST_BYTES);
}

/* A train that keeps to the budget adds nothing to a burst. */
static void pacing_budget(struct kunit *test)
{
	u64 state = RANDOM_SEED;
	u32 i, k, n;

	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		for (k = 0; k < ARRAY_SIZE(packets); k++) {
			struct ltp_pacing single = {}, p = {};
			u32 bytes = packets[k];
			u64 alone, all = 0;
			u64 now = T0, budget, want;

			alone = burst(&single, rates[i], bytes, now);
			budget = ltp_pacing_budget(&p, rates[i], bytes, now);
			KUNIT_EXPECT_GE(test, budget, bytes);
			KUNIT_EXPECT_LE_MSG(test, budget, alone + bytes,
					    "%u at %llu", bytes, rates[i]);
			KUNIT_EXPECT_GE(test, budget + bytes, alone);

			for (n = 0; n < 2000; n++) {
				now += ltp_pacing_delay(&p, now) +
				       random_next(&state) % 100000;
				budget = ltp_pacing_budget(&p, rates[i], bytes,
							   now);
				budget -= budget % bytes;
				KUNIT_ASSERT_GE(test, budget, bytes);
				ltp_pacing_sent(&p, rates[i], budget, now);
				all += budget;
			}
			want = mul_u64_u64_div_u64(now - T0, rates[i],
						   NSEC_PER_SEC);
			KUNIT_EXPECT_LE_MSG(test, all,
					    want + want / 1000 + 2 * alone +
					    LTP_BURST_BYTES, "%u at %llu",
					    bytes, rates[i]);

			/* What is left after half of it. */
			memset(&p, 0, sizeof(p));
			budget = ltp_pacing_budget(&p, rates[i], bytes, now);
			for (n = 0; n < budget / bytes / 2; n++)
				ltp_pacing_sent(&p, rates[i], bytes, now);
			KUNIT_EXPECT_LE(test, n * bytes +
					ltp_pacing_budget(&p, rates[i], bytes,
							  now),
					budget + bytes);
			p.next_ns = now + 1;
			KUNIT_EXPECT_EQ(test, ltp_pacing_budget(&p, rates[i],
								bytes, now), 0);
		}
	}
}

static void pacing_extremes(struct kunit *test)
{
	struct ltp_pacing p = {};

	/* Rates that no estimate should give: no division by zero, no year. */
	ltp_pacing_sent(&p, 1, U32_MAX, T0);
	ltp_pacing_sent(&p, 1, U32_MAX, T0);
	KUNIT_EXPECT_EQ(test, ltp_pacing_delay(&p, T0), NSEC_PER_SEC);
	memset(&p, 0, sizeof(p));
	ltp_pacing_sent(&p, U64_MAX, U32_MAX, T0);
	KUNIT_EXPECT_EQ(test, ltp_pacing_delay(&p, T0), 0);
	KUNIT_EXPECT_GE(test, ltp_pacing_budget(&p, U64_MAX, 1500, T0), 1500);
	/* A rest of a fast rate is no debt at a slow one. */
	memset(&p, 0, sizeof(p));
	p.rem = U64_MAX;
	ltp_pacing_sent(&p, 1000000, 1000, T0);
	KUNIT_EXPECT_LE(test, p.next_ns, T0 + NSEC_PER_MSEC);
	/* The first nanoseconds of a machine. */
	memset(&p, 0, sizeof(p));
	ltp_pacing_sent(&p, GBIT, 1500, 0);
	KUNIT_EXPECT_EQ(test, ltp_pacing_delay(&p, 0), 12000);
}

/* After an idle time: one packet, and the next a packet's time later. */
static void pacing_restart(struct kunit *test)
{
	struct ltp_pacing p = {};
	u64 rate = 125000000, now = NSEC_PER_SEC;

	ltp_pacing_sent(&p, rate, 1250, now);
	now += NSEC_PER_SEC;
	ltp_pacing_restart(&p, now);
	KUNIT_EXPECT_EQ(test, ltp_pacing_delay(&p, now), 0);
	ltp_pacing_sent(&p, rate, 1250, now);
	KUNIT_EXPECT_EQ(test, ltp_pacing_delay(&p, now), 10000);

	/* What was sent a moment ago still has its time. */
	ltp_pacing_restart(&p, now + 4000);
	KUNIT_EXPECT_EQ(test, ltp_pacing_delay(&p, now + 4000), 6000);
}

static struct kunit_case pacing_cases[] = {
	KUNIT_CASE(pacing_delay),
	KUNIT_CASE(pacing_unpaced),
	KUNIT_CASE(pacing_burst),
	KUNIT_CASE(pacing_rate),
	KUNIT_CASE(pacing_late),
	KUNIT_CASE(pacing_restart),
	KUNIT_CASE(pacing_budget),
	KUNIT_CASE(pacing_extremes),
	{}
};

static struct kunit_suite pacing_suite = {
	.name = "ltp_pacing",
	.test_cases = pacing_cases,
};

kunit_test_suite(pacing_suite);
