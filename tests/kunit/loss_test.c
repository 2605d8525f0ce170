// SPDX-License-Identifier: GPL-2.0
/* Round-trip times, loss verdicts and the tail probe. */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/time64.h>
#include "../../kernel/loss.h"
#include "random.h"

#define US	NSEC_PER_USEC
#define MS	NSEC_PER_MSEC
#define T0	(1000 * NSEC_PER_SEC)

/* RFC 6298, section 2, by hand. */
static void loss_rtt(struct kunit *test)
{
	struct ltp_loss loss;

	ltp_loss_init(&loss);
	KUNIT_EXPECT_EQ(test, loss.srtt_ns, 0);

	/* The first sample counts whole, its delay does not. */
	ltp_loss_rtt(&loss, 800 * US, 100 * US);
	KUNIT_EXPECT_EQ(test, loss.srtt_ns, 800 * US);
	KUNIT_EXPECT_EQ(test, loss.rttvar_ns, 400 * US);
	KUNIT_EXPECT_EQ(test, loss.min_rtt_ns, 800 * US);
	KUNIT_EXPECT_EQ(test, loss.latest_rtt_ns, 800 * US);

	/* 7/8 * 800 + 1/8 * 1600, 3/4 * 400 + 1/4 * 800 */
	ltp_loss_rtt(&loss, 1600 * US, 0);
	KUNIT_EXPECT_EQ(test, loss.srtt_ns, 900 * US);
	KUNIT_EXPECT_EQ(test, loss.rttvar_ns, 500 * US);
	KUNIT_EXPECT_EQ(test, loss.min_rtt_ns, 800 * US);
	KUNIT_EXPECT_EQ(test, loss.latest_rtt_ns, 1600 * US);

	/* 7/8 * 900 + 1/8 * 100, 3/4 * 500 + 1/4 * 800 */
	ltp_loss_rtt(&loss, 100 * US, 0);
	KUNIT_EXPECT_EQ(test, loss.srtt_ns, 800 * US);
	KUNIT_EXPECT_EQ(test, loss.rttvar_ns, 575 * US);
	KUNIT_EXPECT_EQ(test, loss.min_rtt_ns, 100 * US);
}

/* RFC 9002, 5.3 */
static void loss_ack_delay(struct kunit *test)
{
	struct ltp_loss loss;

	ltp_loss_init(&loss);
	ltp_loss_rtt(&loss, 800 * US, 0);
	/* 1600 - 800 is the minimum: subtracted. */
	ltp_loss_rtt(&loss, 1600 * US, 800 * US);
	KUNIT_EXPECT_EQ(test, loss.srtt_ns, 800 * US);
	KUNIT_EXPECT_EQ(test, loss.latest_rtt_ns, 1600 * US);
	/* It would be 1 ns less: not subtracted. */
	ltp_loss_rtt(&loss, 1600 * US, 800 * US + 1);
	KUNIT_EXPECT_EQ(test, loss.srtt_ns, 900 * US);
	/* A new minimum is taken before the delay. */
	ltp_loss_init(&loss);
	ltp_loss_rtt(&loss, 800 * US, 0);
	ltp_loss_rtt(&loss, 400 * US, 10 * US);
	KUNIT_EXPECT_EQ(test, loss.min_rtt_ns, 400 * US);
	KUNIT_EXPECT_EQ(test, loss.srtt_ns, 750 * US);
	ltp_loss_rtt(&loss, 750 * US, U64_MAX);
	KUNIT_EXPECT_EQ(test, loss.srtt_ns, 750 * US);
}

static void loss_rtt_extremes(struct kunit *test)
{
	u64 state = RANDOM_SEED;
	struct ltp_loss loss;
	u32 i;

	ltp_loss_init(&loss);
	ltp_loss_rtt(&loss, 0, 0);
	KUNIT_EXPECT_GT(test, loss.srtt_ns, 0);
	for (i = 0; i < 100; i++)
		ltp_loss_rtt(&loss, 0, 0);
	KUNIT_EXPECT_GT(test, loss.srtt_ns, 0);
	for (i = 0; i < 200; i++)
		ltp_loss_rtt(&loss, U64_MAX, 0);
	KUNIT_EXPECT_LE(test, loss.srtt_ns, 3600 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, ltp_loss_pto(&loss, U64_MAX), LTP_PTO_MAX_NS);

	/* The mean is between the samples, and the allowance below it. */
	ltp_loss_init(&loss);
	for (i = 0; i < 10000; i++) {
		ltp_loss_rtt(&loss, 20 * US + random_next(&state) % (80 * US),
			     random_next(&state) % (30 * US));
		KUNIT_ASSERT_GE(test, loss.srtt_ns, 20 * US - 8);
		KUNIT_ASSERT_LE(test, loss.srtt_ns, 100 * US);
		KUNIT_ASSERT_LE(test, loss.rttvar_ns, 80 * US);
		KUNIT_ASSERT_GE(test, loss.min_rtt_ns, 20 * US);
		KUNIT_ASSERT_LE(test, loss.reo_ns, loss.srtt_ns);
	}
}

static void loss_newest(struct kunit *test)
{
	struct ltp_loss loss;

	ltp_loss_init(&loss);
	/* Any number can be the first. */
	ltp_loss_arrived(&loss, U32_MAX - 1, T0);
	KUNIT_EXPECT_EQ(test, loss.newest_pn, U32_MAX - 1);
	KUNIT_EXPECT_EQ(test, loss.newest_sent_ns, T0);
	KUNIT_EXPECT_FALSE(test, loss.reo_seen);
	/* Over the wrap. */
	ltp_loss_arrived(&loss, 3, T0 + 5);
	KUNIT_EXPECT_EQ(test, loss.newest_pn, 3);
	KUNIT_EXPECT_EQ(test, loss.newest_sent_ns, T0 + 5);
	KUNIT_EXPECT_FALSE(test, loss.reo_seen);
	/* Told twice: no news, and no reordering. */
	ltp_loss_arrived(&loss, 3, T0 + 5);
	KUNIT_EXPECT_FALSE(test, loss.reo_seen);
	/* An older one. */
	ltp_loss_arrived(&loss, U32_MAX, T0 + 1);
	KUNIT_EXPECT_EQ(test, loss.newest_pn, 3);
	KUNIT_EXPECT_EQ(test, loss.newest_sent_ns, T0 + 5);
	KUNIT_EXPECT_TRUE(test, loss.reo_seen);
}

/* Three later in order, over the wrap of the packet number. */
static void loss_by_order(struct kunit *test)
{
	struct ltp_loss loss;
	u64 when = 0;
	u32 pn;

	ltp_loss_init(&loss);
	ltp_loss_rtt(&loss, 50 * US, 0);
	KUNIT_EXPECT_FALSE(test, ltp_loss_verdict(&loss, 1, T0, U64_MAX,
						  &when));
	KUNIT_EXPECT_EQ(test, when, U64_MAX);

	pn = U32_MAX - 1;
	ltp_loss_arrived(&loss, pn + 1, T0);
	when = 0;
	KUNIT_EXPECT_FALSE(test, ltp_loss_verdict(&loss, pn, T0, T0, &when));
	KUNIT_EXPECT_NE(test, when, U64_MAX);
	ltp_loss_arrived(&loss, pn + 2, T0);
	KUNIT_EXPECT_FALSE(test, ltp_loss_verdict(&loss, pn, T0, T0, &when));
	ltp_loss_arrived(&loss, pn + 3, T0);
	KUNIT_EXPECT_TRUE(test, ltp_loss_verdict(&loss, pn, T0, T0, &when));
	KUNIT_EXPECT_FALSE(test, ltp_loss_verdict(&loss, pn + 1, T0, T0,
						  &when));
	/* The newest itself, and later ones, are not judged. */
	when = 0;
	KUNIT_EXPECT_FALSE(test, ltp_loss_verdict(&loss, pn + 3, T0, U64_MAX,
						  &when));
	KUNIT_EXPECT_EQ(test, when, U64_MAX);
	KUNIT_EXPECT_FALSE(test, ltp_loss_verdict(&loss, pn + 4, T0, U64_MAX,
						  &when));
	KUNIT_EXPECT_EQ(test, when, U64_MAX);
	/* Once the path was seen to reorder, order says nothing. */
	ltp_loss_arrived(&loss, pn + 2, T0);
	KUNIT_EXPECT_FALSE(test, ltp_loss_verdict(&loss, pn, T0, T0, &when));
	KUNIT_EXPECT_NE(test, when, U64_MAX);
}

/* RTT plus a quarter of the smallest one after it was sent. */
static void loss_by_time(struct kunit *test)
{
	static const u64 rtts[] = { 50 * US, 1 * MS, 40 * MS, NSEC_PER_SEC };
	struct ltp_loss loss;
	u64 when, due;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rtts); i++) {
		u64 rtt = rtts[i];

		ltp_loss_init(&loss);
		ltp_loss_rtt(&loss, rtt, 0);
		KUNIT_EXPECT_EQ(test, loss.reo_ns, rtt / 4);
		ltp_loss_arrived(&loss, 11, T0 + 10);
		due = T0 + rtt + rtt / 4;
		KUNIT_EXPECT_FALSE(test, ltp_loss_verdict(&loss, 10, T0,
							  due - 1, &when));
		KUNIT_EXPECT_EQ(test, when, due);
		KUNIT_EXPECT_TRUE(test, ltp_loss_verdict(&loss, 10, T0, due,
							 &when));
		KUNIT_EXPECT_TRUE(test, ltp_loss_verdict(&loss, 10, T0,
							 due + 1, &when));
		/* The larger of the newest and the smoothed RTT. */
		ltp_loss_rtt(&loss, 2 * rtt, 0);
		KUNIT_EXPECT_FALSE(test, ltp_loss_verdict(&loss, 10, T0, T0,
							  &when));
		KUNIT_EXPECT_EQ(test, when, T0 + 2 * rtt + rtt / 4);
		ltp_loss_rtt(&loss, rtt, 0);
		KUNIT_EXPECT_FALSE(test, ltp_loss_verdict(&loss, 10, T0, T0,
							  &when));
		KUNIT_EXPECT_EQ(test, when, T0 + loss.srtt_ns + rtt / 4);
	}

	/* No millisecond is waited for where RTTs are short... */
	ltp_loss_init(&loss);
	ltp_loss_rtt(&loss, 50 * US, 0);
	ltp_loss_arrived(&loss, 11, T0);
	ltp_loss_verdict(&loss, 10, T0, T0, &when);
	KUNIT_EXPECT_LT(test, when, T0 + 100 * US);
	/* ...but some microseconds are, where they are very short. */
	ltp_loss_init(&loss);
	ltp_loss_rtt(&loss, 4 * US, 0);
	ltp_loss_arrived(&loss, 11, T0);
	ltp_loss_verdict(&loss, 10, T0, T0, &when);
	KUNIT_EXPECT_GE(test, when, T0 + 10 * US);

	/* Nothing measured: a guess, not at once. */
	ltp_loss_init(&loss);
	ltp_loss_arrived(&loss, 11, T0);
	KUNIT_EXPECT_FALSE(test, ltp_loss_verdict(&loss, 10, T0, T0 + 100 * MS,
						  &when));
	KUNIT_EXPECT_GE(test, when, T0 + LTP_INITIAL_RTT_NS);
}

static void loss_spurious(struct kunit *test)
{
	struct ltp_loss loss;
	u64 sent = T0;
	u32 i, pn = 1;

	ltp_loss_init(&loss);
	ltp_loss_rtt(&loss, 400 * US, 0);
	ltp_loss_arrived(&loss, pn, sent);
	for (i = 1; i <= 3; i++) {
		ltp_loss_spurious(&loss);
		KUNIT_EXPECT_EQ(test, loss.reo_ns, (1 + i) * 100 * US);
		KUNIT_EXPECT_EQ(test, loss.spurious, i);
		KUNIT_EXPECT_TRUE(test, loss.reo_seen);
	}
	/* At most srtt, however often. */
	for (i = 0; i < 70000; i++) {
		ltp_loss_spurious(&loss);
		KUNIT_ASSERT_EQ(test, loss.reo_ns, 400 * US);
	}
	KUNIT_EXPECT_EQ(test, loss.reo_ns, 400 * US);
	KUNIT_EXPECT_EQ(test, loss.spurious, 70003);
	/* It follows the RTT. */
	for (i = 0; i < 100; i++)
		ltp_loss_rtt(&loss, 800 * US, 0);
	KUNIT_EXPECT_GT(test, loss.reo_ns, 790 * US);
	KUNIT_EXPECT_LE(test, loss.reo_ns, 800 * US);
}

/* What was learnt is forgotten, but slowly. */
static void loss_recovery(struct kunit *test)
{
	struct ltp_loss loss;
	u64 sent = T0;
	u32 i, pn = U32_MAX - 100;

	ltp_loss_init(&loss);
	ltp_loss_rtt(&loss, 400 * US, 0);
	ltp_loss_arrived(&loss, pn, sent);
	ltp_loss_spurious(&loss);
	ltp_loss_spurious(&loss);
	KUNIT_EXPECT_EQ(test, loss.reo_ns, 300 * US);

	/* A hundred round trips do nothing. */
	for (i = 0; i < 400; i++)
		ltp_loss_arrived(&loss, ++pn, sent += 100 * US);
	KUNIT_EXPECT_EQ(test, loss.reo_ns, 300 * US);
	/* A thousand do. */
	for (i = 0; i < 4000; i++)
		ltp_loss_arrived(&loss, ++pn, sent += 100 * US);
	KUNIT_EXPECT_EQ(test, loss.reo_ns, 100 * US);
	KUNIT_EXPECT_EQ(test, loss.reo_steps, 0);
	/* Never below what it began with. */
	for (i = 0; i < 4000; i++)
		ltp_loss_arrived(&loss, ++pn, sent += 100 * US);
	KUNIT_EXPECT_EQ(test, loss.reo_ns, 100 * US);
	/* A wrong verdict starts the count again. */
	ltp_loss_spurious(&loss);
	for (i = 0; i < 10; i++) {
		ltp_loss_arrived(&loss, ++pn, sent += 100 * 400 * US);
		ltp_loss_spurious(&loss);
	}
	KUNIT_EXPECT_EQ(test, loss.reo_ns, 400 * US);
}

static void loss_pto(struct kunit *test)
{
	struct ltp_loss loss;
	u64 pto;
	u32 i;

	ltp_loss_init(&loss);
	KUNIT_EXPECT_EQ(test, ltp_loss_pto(&loss, MS), 2 * LTP_INITIAL_RTT_NS);

	/* srtt + 4 * rttvar + the delay */
	ltp_loss_rtt(&loss, 40 * MS, 0);
	KUNIT_EXPECT_EQ(test, ltp_loss_pto(&loss, MS), (40 + 80 + 1) * MS);
	KUNIT_EXPECT_EQ(test, ltp_loss_pto(&loss, 0), (40 + 80) * MS);
	/* A steady path: the variance vanishes, the granularity stays. */
	for (i = 0; i < 200; i++)
		ltp_loss_rtt(&loss, 40 * MS, 0);
	KUNIT_EXPECT_EQ(test, ltp_loss_pto(&loss, MS),
			41 * MS + LTP_GRANULARITY_NS);

	/* A data centre: a millisecond or less beside the peer's delay. */
	ltp_loss_init(&loss);
	for (i = 0; i < 200; i++)
		ltp_loss_rtt(&loss, 50 * US, 0);
	KUNIT_EXPECT_LE(test, ltp_loss_pto(&loss, 0), MS);
	KUNIT_EXPECT_GE(test, ltp_loss_pto(&loss, 0), 100 * US);

	/* Each probe doubles, an answer ends that. */
	pto = ltp_loss_pto(&loss, MS);
	for (i = 1; i <= 8; i++) {
		ltp_loss_probed(&loss);
		KUNIT_EXPECT_EQ(test, ltp_loss_pto(&loss, MS), pto << i);
	}
	ltp_loss_acked(&loss);
	KUNIT_EXPECT_EQ(test, ltp_loss_pto(&loss, MS), pto);
	for (i = 0; i < 1000; i++) {
		ltp_loss_probed(&loss);
		KUNIT_ASSERT_LE(test, ltp_loss_pto(&loss, MS), LTP_PTO_MAX_NS);
		KUNIT_ASSERT_GE(test, ltp_loss_pto(&loss, MS), pto);
	}
	KUNIT_EXPECT_EQ(test, ltp_loss_pto(&loss, MS), LTP_PTO_MAX_NS);
	ltp_loss_acked(&loss);
	KUNIT_EXPECT_EQ(test, ltp_loss_pto(&loss, MS), pto);

	/* Before there is a sample too. */
	ltp_loss_init(&loss);
	ltp_loss_probed(&loss);
	KUNIT_EXPECT_EQ(test, ltp_loss_pto(&loss, MS), 4 * LTP_INITIAL_RTT_NS);
}

static struct kunit_case loss_cases[] = {
	KUNIT_CASE(loss_rtt),
	KUNIT_CASE(loss_ack_delay),
	KUNIT_CASE(loss_rtt_extremes),
	KUNIT_CASE(loss_newest),
	KUNIT_CASE(loss_by_order),
	KUNIT_CASE(loss_by_time),
	KUNIT_CASE(loss_spurious),
	KUNIT_CASE(loss_recovery),
	KUNIT_CASE(loss_pto),
	{}
};

static struct kunit_suite loss_suite = {
	.name = "ltp_loss",
	.test_cases = loss_cases,
};

kunit_test_suite(loss_suite);
