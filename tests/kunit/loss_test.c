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
	/* More than a minute is a mistake. */
	KUNIT_EXPECT_EQ(test, loss.latest_rtt_ns, 60 * NSEC_PER_SEC);
	KUNIT_EXPECT_LE(test, loss.srtt_ns, 60 * NSEC_PER_SEC);
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
		KUNIT_ASSERT_GE(test, loss.reo_ns, loss.srtt_ns / 8);
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

/* RFC 9002, 6.1.2: 9/8 of the larger of the newest and the smoothed RTT. */
static void loss_by_time(struct kunit *test)
{
	static const u64 rtts[] = { 80 * US, 1 * MS, 40 * MS, NSEC_PER_SEC };
	struct ltp_loss loss;
	u64 when, due;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rtts); i++) {
		u64 rtt = rtts[i];

		ltp_loss_init(&loss);
		ltp_loss_rtt(&loss, rtt, 0);
		KUNIT_EXPECT_EQ(test, loss.reo_ns, rtt / 8);
		ltp_loss_arrived(&loss, 11, T0 + 10);
		due = T0 + rtt / 8 * 9;
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
		KUNIT_EXPECT_EQ(test, when, T0 + 2 * rtt / 8 * 9);
		ltp_loss_rtt(&loss, rtt, 0);
		KUNIT_EXPECT_FALSE(test, ltp_loss_verdict(&loss, 10, T0, T0,
							  &when));
		KUNIT_EXPECT_EQ(test, when,
				T0 + loss.srtt_ns + loss.srtt_ns / 8);
		/* A path that reorders: a quarter of the smallest RTT. */
		ltp_loss_rtt(&loss, rtt, 0);
		ltp_loss_arrived(&loss, 9, T0);
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
	KUNIT_EXPECT_EQ(test, when, T0 + 14 * US);

	/* Nothing measured: a guess, not at once. */
	ltp_loss_init(&loss);
	ltp_loss_arrived(&loss, 11, T0);
	KUNIT_EXPECT_FALSE(test, ltp_loss_verdict(&loss, 10, T0, T0 + 100 * MS,
						  &when));
	KUNIT_EXPECT_EQ(test, when, T0 + LTP_INITIAL_RTT_NS +
					    LTP_INITIAL_RTT_NS / 8);
}

/*
 * RFC 8985, 6.2: a wrong verdict makes the allowance a step larger, once a
 * round trip, however many there are of packets sent before.
 */
static void loss_spurious_steps(struct kunit *test)
{
	static const u32 starts[] = { 100, U32_MAX - 30, U32_MAX };
	struct ltp_loss loss;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		u32 pn = starts[i];

		ltp_loss_init(&loss);
		ltp_loss_rtt(&loss, 400 * US, 0);
		ltp_loss_arrived(&loss, pn, T0);
		for (k = 1; k <= 3; k++) {
			u32 next = pn + 20;

			/* Just as late as the RTT: no more than a step. */
			ltp_loss_spurious(&loss, pn, T0, next, T0 + 400 * US);
			KUNIT_EXPECT_EQ(test, loss.reo_ns,
					min((1 + k) * 100, 400U) * US);
			KUNIT_EXPECT_EQ(test, loss.reo_steps, k);
			for (; pn != next; pn++)
				ltp_loss_spurious(&loss, pn, T0, pn + 1, T0);
			KUNIT_EXPECT_EQ(test, loss.reo_steps, k);
			KUNIT_EXPECT_TRUE(test, loss.reo_seen);
			ltp_loss_arrived(&loss, pn, T0 + k);
		}
		KUNIT_EXPECT_EQ(test, loss.spurious, 63);
		/* At most srtt, however often, and no more is remembered. */
		for (k = 0; k < 2000; k++, pn++)
			ltp_loss_spurious(&loss, pn, T0, pn + 1, T0);
		KUNIT_EXPECT_EQ(test, loss.reo_ns, 400 * US);
		KUNIT_EXPECT_EQ(test, loss.reo_steps, 4);
		/* It follows the RTT. */
		for (k = 0; k < 100; k++)
			ltp_loss_rtt(&loss, 800 * US, 0);
		KUNIT_EXPECT_EQ(test, loss.reo_ns, 500 * US);
		ltp_loss_spurious(&loss, pn, T0, pn + 1, T0);
		KUNIT_EXPECT_EQ(test, loss.reo_ns, 600 * US);
	}
	/* A smallest RTT of next to nothing, as with reordering in a lab. */
	ltp_loss_init(&loss);
	ltp_loss_rtt(&loss, 1, 0);
	for (k = 0; k < 300; k++)
		ltp_loss_rtt(&loss, 3200 * US, 0);
	KUNIT_EXPECT_GT(test, loss.srtt_ns, 3199 * US);
	ltp_loss_spurious(&loss, 1, T0, 2, T0 + 9 * MS);
	KUNIT_EXPECT_EQ(test, loss.reo_ns, loss.srtt_ns);
	KUNIT_EXPECT_LE(test, loss.reo_steps, 33);
	/* Nothing measured yet: no division by nothing. */
	ltp_loss_init(&loss);
	ltp_loss_spurious(&loss, 1, T0, 2, T0 + NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, loss.reo_steps, 0);
	KUNIT_EXPECT_EQ(test, loss.spurious, 1);
}

/* What came late says how long to wait: then that is learnt at once. */
static void loss_spurious_late(struct kunit *test)
{
	struct ltp_loss loss;
	u64 when;

	ltp_loss_init(&loss);
	ltp_loss_rtt(&loss, 400 * US, 0);
	ltp_loss_arrived(&loss, 50, T0);
	/* 250 us late: 2 steps of 100 beside the first. */
	ltp_loss_spurious(&loss, 40, T0, 60, T0 + 650 * US);
	KUNIT_EXPECT_EQ(test, loss.reo_steps, 2);
	KUNIT_EXPECT_EQ(test, loss.reo_ns, 300 * US);
	KUNIT_EXPECT_FALSE(test, ltp_loss_verdict(&loss, 41, T0, T0 + 650 * US,
						  &when));
	/* In the same round trip too, but never back. */
	ltp_loss_spurious(&loss, 41, T0, 60, T0 + 700 * US);
	KUNIT_EXPECT_EQ(test, loss.reo_steps, 3);
	ltp_loss_spurious(&loss, 42, T0, 60, T0 + 500 * US);
	KUNIT_EXPECT_EQ(test, loss.reo_steps, 3);
	/* Not beyond srtt. */
	ltp_loss_spurious(&loss, 43, T0, 60, T0 + NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, loss.reo_steps, 4);
	KUNIT_EXPECT_EQ(test, loss.reo_ns, 400 * US);
	/* Before it was sent: nonsense, and no harm. */
	ltp_loss_spurious(&loss, 44, T0, 60, T0 - 1);
	KUNIT_EXPECT_EQ(test, loss.reo_steps, 4);
}

/* What was learnt lasts for 16 recoveries without a wrong verdict. */
static void loss_reo_persists(struct kunit *test)
{
	static const u32 starts[] = { 0, U32_MAX - 100, U32_MAX - 1000 };
	struct ltp_loss loss;
	u32 i, k, n;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		u32 pn = starts[i];

		ltp_loss_init(&loss);
		ltp_loss_rtt(&loss, 400 * US, 0);
		ltp_loss_arrived(&loss, pn, T0);
		ltp_loss_spurious(&loss, pn, T0, pn, T0 + 600 * US);
		KUNIT_EXPECT_EQ(test, loss.reo_ns, 300 * US);
		for (k = 1; k <= 16; k++) {
			KUNIT_EXPECT_EQ(test, loss.reo_ns, 300 * US);
			/* Three losses of one flight are one recovery. */
			for (n = 0; n < 3; n++)
				ltp_loss_lost(&loss, pn + n, pn + 10);
			KUNIT_EXPECT_EQ(test, loss.reo_keep, 16 - k);
			if (k % 2)
				ltp_loss_arrived(&loss, pn + 10, T0 + k);
			pn += 10;
		}
		/* Forgotten; that the path reorders is not. */
		KUNIT_EXPECT_EQ(test, loss.reo_steps, 0);
		KUNIT_EXPECT_EQ(test, loss.reo_ns, 100 * US);
		KUNIT_EXPECT_TRUE(test, loss.reo_seen);
		for (k = 0; k < 100; k++, pn++)
			ltp_loss_lost(&loss, pn, pn + 1);
		KUNIT_EXPECT_EQ(test, loss.reo_ns, 100 * US);
		/* A wrong verdict starts the count again. */
		ltp_loss_spurious(&loss, pn, T0, pn + 1, T0);
		for (k = 0; k < 15; k++, pn++)
			ltp_loss_lost(&loss, pn, pn + 1);
		ltp_loss_spurious(&loss, pn - 20, T0, pn, T0);
		for (k = 0; k < 15; k++, pn++)
			ltp_loss_lost(&loss, pn, pn + 1);
		KUNIT_EXPECT_GT(test, loss.reo_steps, 0);
		ltp_loss_lost(&loss, pn, pn + 1);
		KUNIT_EXPECT_EQ(test, loss.reo_steps, 0);
	}

	/* Half of all numbers later an old recovery is not taken for a new one. */
	ltp_loss_init(&loss);
	ltp_loss_rtt(&loss, 400 * US, 0);
	ltp_loss_spurious(&loss, 5, T0, 10, T0);
	ltp_loss_lost(&loss, 5, 10);
	KUNIT_EXPECT_EQ(test, loss.reo_keep, 15);
	ltp_loss_arrived(&loss, 11, T0);
	ltp_loss_arrived(&loss, 1U << 31, T0);
	ltp_loss_lost(&loss, (1U << 31) + 15, (1U << 31) + 20);
	KUNIT_EXPECT_EQ(test, loss.reo_keep, 14);
	KUNIT_EXPECT_EQ(test, loss.reo_steps, 1);
	ltp_loss_spurious(&loss, (1U << 31) + 15, T0, (1U << 31) + 20, T0);
	KUNIT_EXPECT_EQ(test, loss.reo_steps, 2);
}

/* A duplicate proves that what it repeats had not been lost. */
static void loss_duplicates(struct kunit *test)
{
	struct ltp_doubt doubt = {};
	struct ltp_loss loss;
	u32 i;

	ltp_loss_init(&loss);
	ltp_loss_rtt(&loss, 400 * US, 0);
	KUNIT_EXPECT_EQ(test, ltp_loss_duplicate(&loss, 0, 1, T0), 0);
	KUNIT_EXPECT_EQ(test, loss.spurious, 0);

	for (i = 0; i < LTP_LOSS_DOUBTS + 4; i++) {
		doubt.pn = U32_MAX - 3 + i;
		doubt.lost_pn = doubt.pn - 50;
		doubt.bytes = 1000 + i;
		ltp_loss_doubt(&loss, &doubt);
	}
	/* The four oldest were forgotten. */
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, ltp_loss_duplicate(&loss, U32_MAX - 3 + i,
							 100, T0), 0);
	KUNIT_EXPECT_EQ(test, loss.spurious, 0);
	for (i = LTP_LOSS_DOUBTS + 3; i >= 4; i--) {
		KUNIT_EXPECT_EQ(test, ltp_loss_duplicate(&loss, U32_MAX - 3 + i,
							 100, T0), 1000 + i);
		/* Each once only. */
		KUNIT_EXPECT_EQ(test, ltp_loss_duplicate(&loss, U32_MAX - 3 + i,
							 100, T0), 0);
	}
	KUNIT_EXPECT_EQ(test, loss.spurious, LTP_LOSS_DOUBTS);
	/* All of one round trip: one step. */
	KUNIT_EXPECT_EQ(test, loss.reo_steps, 1);
	KUNIT_EXPECT_EQ(test, loss.reo_ns, 200 * US);
}

/* What the ACK named was not one too many, but what was found lost may come. */
static void loss_named(struct kunit *test)
{
	struct ltp_doubt doubt = { .pn = 3, .lost_pn = U32_MAX, .bytes = 99 };
	struct ltp_loss loss;

	ltp_loss_init(&loss);
	ltp_loss_doubt(&loss, &doubt);
	KUNIT_EXPECT_EQ(test, ltp_loss_duplicate(&loss, U32_MAX, 5, T0), 99);
	KUNIT_EXPECT_EQ(test, ltp_loss_duplicate(&loss, U32_MAX, 5, T0), 0);
	KUNIT_EXPECT_EQ(test, ltp_loss_duplicate(&loss, 3, 5, T0), 0);
	doubt.named = true;
	ltp_loss_doubt(&loss, &doubt);
	KUNIT_EXPECT_EQ(test, ltp_loss_duplicate(&loss, 3, 5, T0), 0);
	KUNIT_EXPECT_EQ(test, ltp_loss_duplicate(&loss, U32_MAX, 5, T0), 99);
	KUNIT_EXPECT_EQ(test, loss.spurious, 2);
}

/* Packets whose segments were sent again are remembered, a few, and once. */
static void loss_past(struct kunit *test)
{
	struct ltp_loss loss;
	u32 i;

	ltp_loss_init(&loss);
	KUNIT_EXPECT_EQ(test, ltp_loss_past_sent(&loss, 0), 0);
	for (i = 0; i < LTP_LOSS_PAST + 3; i++)
		ltp_loss_past(&loss, U32_MAX - 4 + i, T0 + i);
	for (i = 0; i < LTP_LOSS_PAST + 3; i++) {
		KUNIT_EXPECT_EQ(test, ltp_loss_past_sent(&loss, U32_MAX - 4 + i),
				i < 3 ? 0 : T0 + i);
		KUNIT_EXPECT_EQ(test, ltp_loss_past_sent(&loss, U32_MAX - 4 + i),
				0);
	}
	KUNIT_EXPECT_EQ(test, ltp_loss_past_sent(&loss, 0), 0);
}

/*
 * Packets that come in any order within 30 % of the RTT: after the first few
 * none is found lost in error, and those that are lost are found.
 */
static void loss_jitter(struct kunit *test)
{
	enum { COUNT = 20000, GAP = 10 * US, RTT = 10 * MS, WINDOW = 1024 };
	static const u64 jitters[] = { 1 * MS, 3 * MS, 6 * MS };
	u64 state = RANDOM_SEED;
	struct ltp_loss loss;
	u32 i, k, n;

	for (i = 0; i < ARRAY_SIZE(jitters); i++) {
		u32 first = U32_MAX - COUNT / 2, oldest = 0, wrong = 0, late = 0;
		u64 *arrive = kunit_kcalloc(test, COUNT, sizeof(*arrive),
					    GFP_KERNEL);
		u8 *gone = kunit_kcalloc(test, COUNT, 1, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, arrive);
		KUNIT_ASSERT_NOT_NULL(test, gone);
		ltp_loss_init(&loss);
		ltp_loss_rtt(&loss, RTT, 0);
		for (k = 0; k < COUNT; k++)
			arrive[k] = k % 100 == 99 ? U64_MAX :
				T0 + k * GAP + RTT +
				random_next(&state) % (u32)jitters[i];
		/* Each tick an ACK for whatever came in it. */
		for (n = 0; n < COUNT + (RTT + jitters[i]) / GAP; n++) {
			u64 now = T0 + (u64)n * GAP, when;

			for (k = oldest; k < min_t(u32, n, COUNT); k++) {
				if (gone[k] == 1 || arrive[k] > now)
					continue;
				if (gone[k] == 2) {
					wrong++;
					late += k > COUNT / 4;
					ltp_loss_spurious(&loss, first + k,
							  T0 + k * GAP,
							  first + n, now);
				}
				gone[k] = 1;
				ltp_loss_rtt(&loss, now - (T0 + k * GAP), 0);
				ltp_loss_arrived(&loss, first + k, T0 + k * GAP);
			}
			for (k = oldest; k < min_t(u32, n, COUNT); k++) {
				if (gone[k])
					continue;
				if (!ltp_loss_verdict(&loss, first + k,
						      T0 + k * GAP, now, &when))
					break;
				ltp_loss_lost(&loss, first + k, first + n);
				gone[k] = 2;
			}
			while (oldest < COUNT && gone[oldest] &&
			       n - oldest > 2 * WINDOW)
				oldest++;
		}
		for (k = 0; k < COUNT; k++) {
			if (arrive[k] == U64_MAX && k < COUNT - 2 * WINDOW)
				KUNIT_EXPECT_EQ(test, gone[k], 2);
		}
		KUNIT_EXPECT_EQ_MSG(test, wrong, loss.spurious, "case %u", i);
		KUNIT_EXPECT_LE_MSG(test, wrong, 1200, "case %u", i);
		KUNIT_EXPECT_LE_MSG(test, late, COUNT / 200, "case %u", i);
	}
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

	/* Each probe doubles from the fourth on, an answer ends that. */
	pto = ltp_loss_pto(&loss, MS);
	for (i = 1; i <= 8; i++) {
		ltp_loss_probed(&loss);
		KUNIT_EXPECT_EQ(test, ltp_loss_pto(&loss, MS),
				pto << (i > 3 ? i - 3 : 0));
	}
	ltp_loss_acked(&loss);
	KUNIT_EXPECT_EQ(test, ltp_loss_pto(&loss, MS), pto);
	for (i = 0; i < 1000; i++) {
		ltp_loss_probed(&loss);
		KUNIT_ASSERT_LE(test, ltp_loss_pto(&loss, MS), LTP_PTO_MAX_NS);
		KUNIT_ASSERT_GE(test, ltp_loss_pto(&loss, MS), pto);
	}
	KUNIT_EXPECT_EQ(test, ltp_loss_pto(&loss, MS), pto << LTP_PTO_DOUBLINGS);
	ltp_loss_acked(&loss);
	KUNIT_EXPECT_EQ(test, ltp_loss_pto(&loss, MS), pto);

	/* Ten seconds at most, whatever the path. */
	ltp_loss_rtt(&loss, 1000 * MS, 0);
	for (i = 0; i < 11; i++)
		ltp_loss_probed(&loss);
	KUNIT_EXPECT_EQ(test, ltp_loss_pto(&loss, MS), LTP_PTO_MAX_NS);

	/* Before there is a sample too. */
	ltp_loss_init(&loss);
	for (i = 0; i < 4; i++)
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
	KUNIT_CASE(loss_spurious_steps),
	KUNIT_CASE(loss_spurious_late),
	KUNIT_CASE(loss_reo_persists),
	KUNIT_CASE(loss_duplicates),
	KUNIT_CASE(loss_named),
	KUNIT_CASE(loss_past),
	KUNIT_CASE(loss_jitter),
	KUNIT_CASE(loss_pto),
	{}
};

static struct kunit_suite loss_suite = {
	.name = "ltp_loss",
	.test_cases = loss_cases,
};

kunit_test_suite(loss_suite);
