// SPDX-License-Identifier: GPL-2.0
/*
 * The loss-based congestion control: by single ACKs, numbers worked out by
 * hand, and on the model of a path (link.h).
 */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/time64.h>
#include "link.h"
#include "random.h"

#define US	NSEC_PER_USEC
#define MS	NSEC_PER_MSEC
#define GBIT	125000000ULL
#define MSS	1000
#define MIN_CWND	(LTP_CC_MIN_SEGS * MSS)
#define START	(LTP_CC_INITIAL_SEGS * MSS)

/**
 * struct assoc - an association whose packets all have a full segment
 * @cc: under test
 * @now: the time
 * @rtt_ns: of each ACK
 * @next_pn: next packet to send
 * @acked: of those sent, how many are through with, in order
 */
struct assoc {
	struct ltp_cc cc;
	u64 now;
	u64 rtt_ns;
	u32 next_pn;
	u32 acked;
};

static void assoc_init(struct assoc *a, u32 pn)
{
	memset(a, 0, sizeof(*a));
	a->now = NSEC_PER_SEC;
	a->rtt_ns = 10 * MS;
	a->next_pn = pn;
	a->acked = pn;
	ltp_cc_init(&a->cc, &ltp_cc_reno, MSS, a->now, a->rtt_ns);
}

/* Send as much as the window allows, at most @most packets. */
static void assoc_send(struct assoc *a, u32 most)
{
	while (most-- && (a->next_pn - a->acked + 1) * MSS <= a->cc.cwnd)
		a->next_pn++;
}

/* The oldest packets: first some that are lost, then some acknowledged. */
static struct ltp_cc_sample assoc_sample(struct assoc *a, u32 lost, u32 acked)
{
	struct ltp_cc_sample s = {
		.now_ns = a->now,
		.rtt_ns = a->rtt_ns,
		.acked = acked * MSS,
		.lost = lost * MSS,
		.next_pn = a->next_pn,
		.lost_pn = a->acked + lost - 1,
		.acked_pn = a->acked + lost + acked - 1,
	};

	a->acked += lost + acked;
	s.in_flight = (a->next_pn - a->acked) * MSS;
	return s;
}

static void assoc_ack(struct assoc *a, u32 lost, u32 acked)
{
	struct ltp_cc_sample s = assoc_sample(a, lost, acked);

	a->cc.ops->on_ack(&a->cc, &s);
}

/* A round trip: all that was in flight arrives, and is followed by as much. */
static void assoc_round(struct assoc *a)
{
	u32 end = a->next_pn;

	a->now += a->rtt_ns;
	while (a->acked != end) {
		assoc_ack(a, 0, 1);
		assoc_send(a, U32_MAX);
	}
}

/* In congestion avoidance with a window of @cwnd, all of it in flight. */
static void assoc_avoid(struct assoc *a, u32 cwnd)
{
	while (a->cc.cwnd < 2 * cwnd) {
		assoc_send(a, U32_MAX);
		assoc_ack(a, 0, 1);
	}
	assoc_send(a, U32_MAX);
	assoc_ack(a, 1, 0);
	/* Out of recovery, and back where it began. */
	while (a->acked != a->next_pn)
		assoc_ack(a, 0, 1);
	a->cc.cwnd = cwnd;
	assoc_send(a, U32_MAX);
	assoc_ack(a, 0, 1);
	assoc_send(a, U32_MAX);
}

static void reno_begin(struct kunit *test)
{
	struct assoc a;

	assoc_init(&a, 0);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, START);
	/* No burst: a window each round trip. */
	KUNIT_EXPECT_EQ(test, a.cc.pacing_rate, START * 100);
	/* Nothing known of the path: a guess. */
	ltp_cc_init(&a.cc, &ltp_cc_reno, MSS, a.now, 0);
	KUNIT_EXPECT_EQ(test, a.cc.pacing_rate, START * 1000);
}

/* What is acknowledged is added: the window doubles each round trip. */
static void reno_slow_start(struct kunit *test)
{
	struct assoc a;
	u32 i;

	assoc_init(&a, U32_MAX - 50);
	assoc_send(&a, U32_MAX);
	for (i = 1; i <= 6; i++) {
		assoc_round(&a);
		KUNIT_EXPECT_EQ(test, a.cc.cwnd, START << i);
		/* Twice the window each round trip. */
		KUNIT_EXPECT_EQ(test, a.cc.pacing_rate, (START << i) * 200);
	}
	/* ACKs of several packets give the same. */
	assoc_init(&a, 0);
	assoc_send(&a, U32_MAX);
	assoc_ack(&a, 0, 10);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 2 * START);
}

/* One segment a round trip, however the ACKs come. */
static void reno_avoidance(struct kunit *test)
{
	struct assoc a;
	u32 i;

	assoc_init(&a, U32_MAX - 300);
	assoc_avoid(&a, 20 * MSS);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 20 * MSS);
	KUNIT_EXPECT_EQ(test, a.cc.pacing_rate, 20 * MSS * 125);
	for (i = 0; i < 18; i++)
		assoc_ack(&a, 0, 1);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 20 * MSS);
	assoc_ack(&a, 0, 1);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 21 * MSS);
	assoc_send(&a, U32_MAX);
	for (i = 22; i <= 100; i++) {
		u32 k;

		for (k = 0; k < (i - 1) / 3; k++) {
			assoc_ack(&a, 0, 3);
			assoc_send(&a, U32_MAX);
		}
		assoc_ack(&a, 0, 2);
		assoc_send(&a, U32_MAX);
		KUNIT_EXPECT_LE(test, a.cc.cwnd, i * MSS);
		KUNIT_EXPECT_GE(test, a.cc.cwnd, (i - 1) * MSS);
	}
}

/* Slow start ends at ssthresh exactly, the rest of the ACK counts for what follows. */
static void reno_threshold(struct kunit *test)
{
	struct assoc a;

	assoc_init(&a, 0);
	assoc_send(&a, U32_MAX);
	assoc_ack(&a, 1, 9);			/* 10 -> 5 */
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, START / 2);
	a.cc.ops->on_loss(&a.cc, a.now);	/* 5 -> 4, the threshold too */
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, MIN_CWND);
	assoc_init(&a, 0);
	assoc_send(&a, U32_MAX);
	assoc_ack(&a, 0, 10);
	a.cc.ops->on_loss(&a.cc, a.now);	/* 20 -> 4, threshold 10 */
	assoc_send(&a, U32_MAX);
	assoc_ack(&a, 0, 4);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 8 * MSS);
	assoc_send(&a, U32_MAX);
	assoc_ack(&a, 0, 8);			/* 2 to 10, 6 of the 10 */
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 10 * MSS);
	assoc_send(&a, U32_MAX);
	assoc_ack(&a, 0, 3);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 10 * MSS);
	assoc_ack(&a, 0, 1);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 11 * MSS);
}

/* Once a round trip, whatever is lost of what was sent before. */
static void reno_recovery(struct kunit *test)
{
	static const u32 starts[] = { 0, 12345, U32_MAX - 25, U32_MAX - 3 };
	struct assoc a;
	u32 i, end;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		assoc_init(&a, starts[i]);
		assoc_send(&a, U32_MAX);
		assoc_round(&a);
		KUNIT_EXPECT_EQ(test, a.cc.cwnd, 20 * MSS);
		end = a.next_pn;
		assoc_ack(&a, 1, 1);
		KUNIT_EXPECT_EQ(test, a.cc.cwnd, 10 * MSS);
		KUNIT_EXPECT_EQ(test, a.cc.pacing_rate, 10 * MSS * 125);
		/* More losses of the same flight, and no growth by it. */
		assoc_ack(&a, 3, 1);
		assoc_ack(&a, 1, 0);
		while (a.acked != end) {
			assoc_send(&a, 1);
			assoc_ack(&a, 0, 1);
		}
		KUNIT_EXPECT_EQ(test, a.cc.cwnd, 10 * MSS);
		/* The first packet that was sent afterwards. */
		assoc_send(&a, U32_MAX);
		assoc_ack(&a, 1, 0);
		KUNIT_EXPECT_EQ(test, a.cc.cwnd, 5 * MSS);
		/* Never below the minimum. */
		assoc_round(&a);
		assoc_send(&a, U32_MAX);
		assoc_ack(&a, 1, 0);
		KUNIT_EXPECT_EQ(test, a.cc.cwnd, MIN_CWND);
	}
}

/* What is not used does not grow, in either phase. */
static void reno_validation(struct kunit *test)
{
	struct assoc a;
	u32 i;

	assoc_init(&a, 0);
	for (i = 0; i < 100; i++) {
		assoc_send(&a, 5);
		assoc_ack(&a, 0, 5);
	}
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, START);
	for (i = 0; i < 100; i++) {
		assoc_send(&a, 6);
		assoc_ack(&a, 0, 6);
	}
	/* Six of twelve are half of it: no more than that in slow start. */
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 16 * MSS);

	assoc_init(&a, 0);
	assoc_avoid(&a, 20 * MSS);
	while (a.acked != a.next_pn)
		assoc_ack(&a, 0, 1);
	/* Rounds of 19 packets: what was in flight before does not count. */
	for (i = 0; i < 2; i++) {
		assoc_send(&a, 18);
		assoc_ack(&a, 0, 18);
	}
	i = a.cc.cwnd;
	KUNIT_EXPECT_LE(test, i, 21 * MSS);
	for (i = 0; i < 100; i++) {
		assoc_send(&a, 18);
		assoc_ack(&a, 0, 18);
	}
	KUNIT_EXPECT_LE(test, a.cc.cwnd, 21 * MSS);
	KUNIT_EXPECT_GE(test, a.cc.cwnd, 20 * MSS);
	/* In use again. */
	i = a.cc.cwnd;
	assoc_send(&a, U32_MAX);
	assoc_round(&a);
	assoc_round(&a);
	KUNIT_EXPECT_GT(test, a.cc.cwnd, i);
}

/* What was in flight before the window was halved does not count for long. */
static void reno_validation_after_loss(struct kunit *test)
{
	static const u32 flights[] = { 12, 15, 18, 19 };
	struct assoc a;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(flights); i++) {
		assoc_init(&a, U32_MAX - 200);
		assoc_avoid(&a, 40 * MSS);
		assoc_ack(&a, 1, 0);
		KUNIT_EXPECT_EQ(test, a.cc.cwnd, 20 * MSS);
		while (a.acked != a.next_pn)
			assoc_ack(&a, 0, 1);
		for (k = 0; k < 3; k++) {
			assoc_send(&a, flights[i]);
			assoc_ack(&a, 0, flights[i]);
		}
		/* Forty were in flight in the first of these rounds. */
		k = a.cc.cwnd;
		KUNIT_EXPECT_LE_MSG(test, k, 21 * MSS, "case %u", i);
		a.cc.cwnd = 20 * MSS;
		for (k = 0; k < 200; k++) {
			assoc_send(&a, flights[i]);
			assoc_ack(&a, 0, flights[i]);
		}
		KUNIT_EXPECT_EQ_MSG(test, a.cc.cwnd, 20 * MSS, "case %u", i);
	}
	/* All of them but one: that is as many as there can be. */
	assoc_init(&a, 0);
	assoc_avoid(&a, 20 * MSS);
	a.cc.cwnd = 20 * MSS - 1;
	while (a.acked != a.next_pn)
		assoc_ack(&a, 0, 1);
	for (i = 0; i < 4; i++) {
		assoc_send(&a, 19);
		assoc_ack(&a, 0, 19);
	}
	KUNIT_EXPECT_GT(test, a.cc.cwnd, 20 * MSS);
}

/* A reduction begins to count anew what was acknowledged. */
static void reno_count_begins_anew(struct kunit *test)
{
	struct assoc a;

	assoc_init(&a, 0);
	assoc_avoid(&a, 20 * MSS);
	assoc_ack(&a, 0, 15);
	assoc_ack(&a, 1, 0);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 10 * MSS);
	while (a.acked != a.next_pn)
		assoc_ack(&a, 0, 1);
	assoc_send(&a, U32_MAX);
	assoc_ack(&a, 0, 9);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 10 * MSS);
	assoc_ack(&a, 0, 1);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 11 * MSS);
}

/* Nothing comes back at all: the minimum, and slow start from there. */
static void reno_persistent(struct kunit *test)
{
	struct assoc a;

	assoc_init(&a, U32_MAX - 60);
	assoc_send(&a, U32_MAX);
	assoc_round(&a);
	assoc_round(&a);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 40 * MSS);
	a.cc.ops->on_loss(&a.cc, a.now);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, MIN_CWND);
	/* Again and again: the threshold is that of the first. */
	a.cc.ops->on_loss(&a.cc, a.now);
	a.cc.ops->on_loss(&a.cc, a.now);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, MIN_CWND);
	/* The whole flight is found lost: that is no news. */
	a.next_pn++;
	assoc_ack(&a, 20, 0);
	assoc_ack(&a, 20, 1);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, MIN_CWND);
	assoc_send(&a, U32_MAX);
	assoc_round(&a);
	assoc_round(&a);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 16 * MSS);
	assoc_round(&a);
	/* Half of what it was, and then slowly. */
	KUNIT_EXPECT_GE(test, a.cc.cwnd, 20 * MSS);
	KUNIT_EXPECT_LE(test, a.cc.cwnd, 21 * MSS);
	/* Loss after that is loss. */
	assoc_ack(&a, 1, 1);
	KUNIT_EXPECT_LE(test, a.cc.cwnd, 10 * MSS + MSS / 2);

	/* The threshold has a minimum too. */
	assoc_init(&a, 0);
	a.cc.ops->on_loss(&a.cc, a.now);
	assoc_send(&a, U32_MAX);
	assoc_round(&a);
	a.cc.ops->on_loss(&a.cc, a.now);
	assoc_round(&a);
	assoc_round(&a);
	KUNIT_EXPECT_GE(test, a.cc.cwnd, MIN_CWND);
}

static void reno_ecn(struct kunit *test)
{
	struct ltp_cc_sample s;
	struct assoc a;
	u32 end;

	assoc_init(&a, U32_MAX - 30);
	assoc_send(&a, U32_MAX);
	assoc_round(&a);
	end = a.next_pn;
	s = assoc_sample(&a, 0, 1);
	s.ce = true;
	a.cc.ops->on_ack(&a.cc, &s);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 10 * MSS);
	/* Once a round trip, with loss or without. */
	while (a.acked != end) {
		s = assoc_sample(&a, a.acked % 2, 1);
		s.ce = true;
		a.cc.ops->on_ack(&a.cc, &s);
	}
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 10 * MSS);
	assoc_send(&a, U32_MAX);
	s = assoc_sample(&a, 0, 1);
	s.ce = true;
	a.cc.ops->on_ack(&a.cc, &s);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 5 * MSS);
	/* A mark is never in error. */
	s = assoc_sample(&a, 0, 1);
	s.spurious = S32_MAX;
	a.cc.ops->on_ack(&a.cc, &s);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 5 * MSS);
}

/* If all of a reduction's losses were none it is taken back. */
static void reno_undo(struct kunit *test)
{
	struct ltp_cc_sample s;
	struct assoc a;

	assoc_init(&a, U32_MAX - 30);
	assoc_send(&a, U32_MAX);
	assoc_round(&a);
	assoc_ack(&a, 2, 1);
	assoc_ack(&a, 1, 1);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 10 * MSS);
	s = assoc_sample(&a, 0, 0);
	s.spurious = 2 * MSS;
	a.cc.ops->on_ack(&a.cc, &s);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 10 * MSS);
	s.spurious = MSS;
	a.cc.ops->on_ack(&a.cc, &s);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 20 * MSS);
	/* Slow start goes on, and what is old is old no more. */
	KUNIT_EXPECT_EQ(test, a.cc.pacing_rate, 20 * MSS * 200);
	assoc_send(&a, U32_MAX);
	assoc_ack(&a, 0, 1);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 21 * MSS);
	/* Once only. */
	a.cc.ops->on_ack(&a.cc, &s);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 21 * MSS);
	/* A later reduction counts its own losses. */
	assoc_ack(&a, 2, 1);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 21 * MSS / 2);
	a.cc.ops->on_ack(&a.cc, &s);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 21 * MSS / 2);
	a.cc.ops->on_ack(&a.cc, &s);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 21 * MSS);

	/* What is taken back is taken back once. */
	a.cc.cwnd = 7 * MSS;
	a.cc.ops->on_ack(&a.cc, &s);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 7 * MSS);

	/* A reduction that was right, and a later one that was not. */
	assoc_init(&a, U32_MAX - 30);
	assoc_send(&a, U32_MAX);
	assoc_round(&a);
	assoc_ack(&a, 3, 1);
	while (a.acked != a.next_pn)
		assoc_ack(&a, 0, 1);
	assoc_send(&a, U32_MAX);
	assoc_ack(&a, 1, 0);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 5 * MSS);
	s = assoc_sample(&a, 0, 0);
	s.spurious = MSS;
	a.cc.ops->on_ack(&a.cc, &s);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 10 * MSS);

	/* A mark in between: it was right, whatever the loss before was. */
	assoc_init(&a, U32_MAX - 30);
	assoc_send(&a, U32_MAX);
	assoc_round(&a);
	assoc_ack(&a, 1, 1);
	while (a.acked != a.next_pn)
		assoc_ack(&a, 0, 1);
	assoc_send(&a, U32_MAX);
	s = assoc_sample(&a, 0, 1);
	s.ce = true;
	a.cc.ops->on_ack(&a.cc, &s);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 5 * MSS);
	s = assoc_sample(&a, 0, 0);
	s.spurious = MSS;
	a.cc.ops->on_ack(&a.cc, &s);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 5 * MSS);
	/* And losses of its round trip still halve nothing. */
	assoc_ack(&a, 1, 0);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 5 * MSS);

	/* After persistent loss there is nothing to take back. */
	assoc_init(&a, 0);
	assoc_send(&a, U32_MAX);
	assoc_round(&a);
	s = assoc_sample(&a, 0, 0);
	s.spurious = MSS;
	assoc_ack(&a, 1, 0);
	a.cc.ops->on_loss(&a.cc, a.now);
	a.cc.ops->on_ack(&a.cc, &s);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, MIN_CWND);
}

/* The next flow: the same window, but no burst; later less and less of it. */
static void reno_idle(struct kunit *test)
{
	static const struct {
		u64 idle_ns;
		u32 cwnd, gain;
	} cases[] = {
		{ 0, 160, 8 },
		{ 19 * MS, 160, 8 },
		{ 20 * MS, 160, 4 },
		{ 999 * MS, 160, 4 },
		{ 1000 * MS, 80, 4 },
		{ 1999 * MS, 80, 4 },
		{ 3000 * MS, 20, 4 },
		{ 4000 * MS, 10, 4 },
		{ 5000 * MS, 10, 4 },
		{ 3600 * NSEC_PER_SEC, 10, 4 },
	};
	struct assoc a;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 cwnd = cases[i].cwnd * MSS;

		assoc_init(&a, 0);
		assoc_send(&a, U32_MAX);
		while (a.cc.cwnd < 160 * MSS)
			assoc_round(&a);
		a.cc.ops->on_idle(&a.cc, a.now, cases[i].idle_ns);
		KUNIT_EXPECT_EQ_MSG(test, a.cc.cwnd, cwnd, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, a.cc.pacing_rate,
				    cwnd * 25ULL * cases[i].gain, "case %u", i);
		/* An answer ends it. */
		assoc_ack(&a, 0, 1);
		KUNIT_EXPECT_EQ_MSG(test, a.cc.pacing_rate,
				    a.cc.cwnd * 200ULL, "case %u", i);
	}

	/* In congestion avoidance: three quarters of it by slow start. */
	assoc_init(&a, 0);
	assoc_avoid(&a, 40 * MSS);
	a.cc.ops->on_idle(&a.cc, a.now, NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, 20 * MSS);
	a.next_pn = a.acked;
	assoc_send(&a, U32_MAX);
	assoc_round(&a);
	KUNIT_EXPECT_GE(test, a.cc.cwnd, 38 * MSS);
	KUNIT_EXPECT_LE(test, a.cc.cwnd, 42 * MSS);
	/* A small window is not made larger by waiting. */
	assoc_init(&a, 0);
	a.cc.ops->on_loss(&a.cc, a.now);
	a.cc.ops->on_idle(&a.cc, a.now, 100 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, a.cc.cwnd, MIN_CWND);
}

static void reno_smoothed_rtt(struct kunit *test)
{
	struct ltp_cc_sample s;
	struct assoc a;

	assoc_init(&a, 0);
	assoc_avoid(&a, 20 * MSS);
	a.rtt_ns = 18 * MS;
	assoc_ack(&a, 0, 1);
	/* 7/8 * 10 + 1/8 * 18 = 11 ms */
	KUNIT_EXPECT_EQ(test, a.cc.pacing_rate,
			div64_u64(20ULL * MSS * NSEC_PER_SEC, 11 * MS) * 5 / 4);
	/* An ACK without a sample changes nothing. */
	a.rtt_ns = 0;
	assoc_ack(&a, 0, 1);
	KUNIT_EXPECT_EQ(test, a.cc.pacing_rate,
			div64_u64(20ULL * MSS * NSEC_PER_SEC, 11 * MS) * 5 / 4);
	s = assoc_sample(&a, 0, 1);
	s.rtt_ns = U64_MAX;
	a.cc.ops->on_ack(&a.cc, &s);
	/* At most a minute: 7/8 * 11 ms + 1/8 * 60 s */
	KUNIT_EXPECT_EQ(test, a.cc.pacing_rate,
			div64_u64(20ULL * MSS * NSEC_PER_SEC,
				  (7 * 11 * MS + 60 * NSEC_PER_SEC) / 8) *
				5 / 4);
}

static struct link *path(struct kunit *test, u64 rate, u64 rtt_ns, u32 buffer,
			 u32 loss_ppm, u32 senders)
{
	struct link *link = link_alloc(rate, rtt_ns, senders);

	KUNIT_ASSERT_NOT_NULL(test, link);
	link->buffer_ns = div64_u64((u64)buffer * LINK_WIRE * NSEC_PER_SEC,
				    rate);
	link->loss_ppm = loss_ppm;
	link_start(link, &ltp_cc_reno);
	return link;
}

/*
 * On a path: with a buffer of a product the link stays full; random loss costs
 * what it costs TCP, about 1.22 / sqrt(p) segments a round trip (Mathis et al.,
 * 1997).
 */
static void reno_path(struct kunit *test)
{
	static const struct {
		u64 rate, rtt_ns;
		u32 buffer, loss_ppm, senders, used_min, used_max;
	} cases[] = {
		{ GBIT, 1 * MS, 82, 0, 1, 970, 1000 },
		{ GBIT, 1 * MS, 82, 0, 8, 970, 1000 },
		{ 10 * GBIT, 50 * US, 60, 0, 1, 950, 1000 },
		{ 10 * GBIT, 50 * US, 700, 0, 8, 970, 1000 },
		/* three quarters without a buffer, in theory */
		{ GBIT, 10 * MS, 8, 0, 1, 650, 950 },
		/* 39 and 12 segments of 813 */
		{ GBIT, 10 * MS, 813, 1000, 1, 30, 70 },
		{ GBIT, 10 * MS, 813, 10000, 1, 8, 24 },
	};
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct link *link = path(test, cases[i].rate, cases[i].rtt_ns,
					 cases[i].buffer, cases[i].loss_ppm,
					 cases[i].senders);

		link_run(link, 500 * cases[i].rtt_ns);
		link_mark(link);
		link_run(link, 2000 * cases[i].rtt_ns);
		KUNIT_EXPECT_GE_MSG(test, link_used(link), cases[i].used_min,
				    "case %u", i);
		KUNIT_EXPECT_LE_MSG(test, link_used(link), cases[i].used_max,
				    "case %u", i);
		for (k = 0; k < cases[i].senders; k++)
			KUNIT_EXPECT_GE_MSG(test, link_share(link, k),
					    cases[i].used_min /
						    cases[i].senders / 3,
					    "case %u", i);
		link_free(link);
	}
}

static void reno_outage(struct kunit *test)
{
	struct link *link = path(test, 10 * GBIT, 50 * US, 300, 0, 1);

	link_run(link, 200 * 50 * US);
	link->loss_ppm = 1000000;
	link_run(link, 20 * MS);
	KUNIT_EXPECT_EQ(test, link->sender[0].cc.cwnd,
			LTP_CC_MIN_SEGS * LINK_MSS);
	link->loss_ppm = 0;
	link_run(link, 60 * MS);
	link_mark(link);
	link_run(link, 20 * MS);
	KUNIT_EXPECT_GE(test, link_used(link), 970);
	link_free(link);
}

/* Whatever a sample says, no division by zero and no overflow. */
static void reno_nonsense(struct kunit *test)
{
	u64 state = RANDOM_SEED;
	struct ltp_cc cc;
	u64 now = 1;
	u32 i;

	ltp_cc_init(&cc, &ltp_cc_reno, 65408, now, 0);
	for (i = 0; i < 50000; i++) {
		struct ltp_cc_sample s = {
			.rtt_ns = random_scaled(&state),
			.acked = random_scaled(&state),
			.lost = random_next(&state) % 8 ?
					0 : random_scaled(&state),
			.in_flight = random_scaled(&state),
			.spurious = random_next(&state) % 4 ?
					0 : random_scaled(&state),
			.next_pn = random_scaled(&state),
			.acked_pn = random_scaled(&state),
			.lost_pn = random_scaled(&state),
			.ce = random_next(&state) % 32 == 0,
		};

		switch (random_next(&state) % 64) {
		case 0:
			s.rtt_ns = U64_MAX;
			break;
		case 1:
			s.rtt_ns = 0;
			break;
		case 2:
			cc.ops->on_loss(&cc, now);
			break;
		case 3:
			cc.ops->on_idle(&cc, now, (u64)random_scaled(&state) << 16);
			break;
		case 4:
			cc.ops->on_idle(&cc, now, U64_MAX);
			break;
		}
		now += random_scaled(&state) >> 8;
		s.now_ns = now;
		cc.ops->on_ack(&cc, &s);
		KUNIT_ASSERT_GE(test, cc.cwnd, LTP_CC_MIN_SEGS * cc.mss);
		KUNIT_ASSERT_LE(test, cc.cwnd, S32_MAX);
		KUNIT_ASSERT_GE(test, cc.pacing_rate, cc.mss);
	}
}

static struct kunit_case reno_cases[] = {
	KUNIT_CASE(reno_begin),
	KUNIT_CASE(reno_slow_start),
	KUNIT_CASE(reno_avoidance),
	KUNIT_CASE(reno_threshold),
	KUNIT_CASE(reno_recovery),
	KUNIT_CASE(reno_validation),
	KUNIT_CASE(reno_validation_after_loss),
	KUNIT_CASE(reno_count_begins_anew),
	KUNIT_CASE(reno_persistent),
	KUNIT_CASE(reno_ecn),
	KUNIT_CASE(reno_undo),
	KUNIT_CASE(reno_idle),
	KUNIT_CASE(reno_smoothed_rtt),
	KUNIT_CASE(reno_path),
	KUNIT_CASE(reno_outage),
	KUNIT_CASE(reno_nonsense),
	{}
};

static struct kunit_suite reno_suite = {
	.name = "ltp_cc_reno",
	.test_cases = reno_cases,
};

kunit_test_suite(reno_suite);
