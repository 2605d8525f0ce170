// SPDX-License-Identifier: GPL-2.0
/*
 * Congestion control on a model of a path (link.h), with the module's own loss
 * verdicts and pacing, and by single samples where a path would take too long.
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

/* Buffers in packets. */
static u64 packets_ns(const struct link *link, u32 packets)
{
	return div64_u64((u64)packets * LINK_WIRE * NSEC_PER_SEC, link->rate);
}

static struct link *path(struct kunit *test, u64 rate, u64 rtt_ns, u32 buffer,
			 u32 loss_ppm, u32 senders)
{
	struct link *link = link_alloc(rate, rtt_ns, senders);

	KUNIT_ASSERT_NOT_NULL(test, link);
	link->buffer_ns = packets_ns(link, buffer);
	link->loss_ppm = loss_ppm;
	link_start(link, &ltp_cc_bdp);
	return link;
}

static struct ltp_info info_of(const struct ltp_cc *cc)
{
	struct ltp_info info = {};

	cc->ops->info(cc, &info);
	return info;
}

static void bdp_begin(struct kunit *test)
{
	struct ltp_cc cc;

	memset(&cc, 0xff, sizeof(cc));
	cc.group = 1;
	ltp_cc_init(&cc, &ltp_cc_bdp, 1448, NSEC_PER_SEC, 50 * US);
	KUNIT_EXPECT_PTR_EQ(test, cc.ops, &ltp_cc_bdp);
	KUNIT_EXPECT_EQ(test, cc.mss, 1448);
	KUNIT_EXPECT_EQ(test, cc.cwnd, LTP_CC_INITIAL_SEGS * 1448);
	/* Not one burst, but a window each round trip. */
	KUNIT_EXPECT_EQ(test, cc.pacing_rate, 10 * 1448 * 20000);
	KUNIT_EXPECT_EQ(test, info_of(&cc).btlbw, 0);
	KUNIT_EXPECT_EQ(test, info_of(&cc).rtprop_us, 50);

	/* Nothing known of the path. */
	ltp_cc_init(&cc, &ltp_cc_bdp, 1448, NSEC_PER_SEC, 0);
	KUNIT_EXPECT_GT(test, cc.pacing_rate, 0);
	KUNIT_EXPECT_LE(test, cc.pacing_rate, GBIT);
	KUNIT_EXPECT_EQ(test, info_of(&cc).rtprop_us, 0);
}

/*
 * One sender: after @rounds round trips it has the link, keeps it, and the
 * queue is short.
 */
static void bdp_alone(struct kunit *test)
{
	static const struct {
		u64 rate, rtt_ns;
		u32 buffer, loss_ppm, rounds, used, queue, queue_max;
	} cases[] = {
		/* a data centre */
		{ 10 * GBIT, 50 * US, 700, 0, 20, 980, 8, 15 },
		{ 10 * GBIT, 50 * US, 100, 0, 20, 980, 8, 15 },
		{ 10 * GBIT, 50 * US, 700, 1000, 20, 975, 8, 20 },
		{ 10 * GBIT, 50 * US, 700, 10000, 30, 955, 4, 25 },
		{ 10 * GBIT, 50 * US, 30, 10000, 30, 955, 4, 25 },
		{ 100 * GBIT, 20 * US, 700, 0, 25, 980, 12, 60 },
		{ 100 * GBIT, 20 * US, 700, 10000, 30, 955, 12, 60 },
		{ 1 * GBIT, 1 * MS, 500, 10000, 30, 955, 10, 40 },
		/* far away: here a 64th of the product is 51 packets */
		{ 1 * GBIT, 40 * MS, 3300, 0, 25, 980, 200, 900 },
		{ 1 * GBIT, 40 * MS, 3300, 1000, 25, 975, 200, 900 },
		{ 1 * GBIT, 40 * MS, 3300, 10000, 25, 955, 200, 900 },
		{ 1 * GBIT, 40 * MS, 1000, 0, 25, 970, 200, 900 },
		/* slower than the smallest window */
		{ GBIT / 100, 100 * US, 100, 0, 100, 900, 8, 12 },
		/* what TCP stops at */
		{ 10 * GBIT, 50 * US, 700, 100000, 60, 900, 6, 40 },
		{ 10 * GBIT, 50 * US, 700, 300000, 100, 800, 6, 40 },
		{ 1 * GBIT, 40 * MS, 3300, 300000, 60, 900, 200, 1200 },
		/* hardly any buffer */
		{ 1 * GBIT, 40 * MS, 20, 0, 40, 900, 10, 22 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct link *link = path(test, cases[i].rate, cases[i].rtt_ns,
					 cases[i].buffer, cases[i].loss_ppm, 1);
		u32 k;

		link_run(link, cases[i].rounds * cases[i].rtt_ns);
		for (k = 0; k < 2; k++) {
			link_mark(link);
			link_run(link, 50 * cases[i].rtt_ns);
			KUNIT_EXPECT_GE_MSG(test, link_used(link),
					    cases[i].used, "case %u.%u", i, k);
			KUNIT_EXPECT_LE_MSG(test, link_queue(link),
					    packets_ns(link, cases[i].queue),
					    "case %u.%u", i, k);
			KUNIT_EXPECT_LE_MSG(test, link->queue_max_ns,
					    packets_ns(link,
						       cases[i].queue_max),
					    "case %u.%u", i, k);
		}
		KUNIT_EXPECT_EQ_MSG(test, link->sender[0].loss.spurious, 0,
				    "case %u", i);
		link_free(link);
	}
}

/* Startup may not lose much where the buffer holds a product. */
static void bdp_startup(struct kunit *test)
{
	struct link *link = path(test, 10 * GBIT, 50 * US, 60, 0, 1);

	link_run(link, 30 * 50 * US);
	KUNIT_EXPECT_LE(test, link->dropped, 5);
	link_free(link);

	link = path(test, GBIT, 40 * MS, 3300, 0, 1);
	link_run(link, 30 * 40 * MS);
	KUNIT_EXPECT_LE(test, link->dropped, 30);
	link_free(link);
}

/* Several: the link is full, the queue bounded, nobody without a share. */
static void bdp_together(struct kunit *test)
{
	static const struct {
		u64 rate, rtt_ns;
		u32 buffer, loss_ppm, senders, rounds, queue, share;
	} cases[] = {
		{ 10 * GBIT, 50 * US, 700, 0, 2, 800, 30, 250 },
		{ 10 * GBIT, 50 * US, 700, 0, 8, 800, 60, 60 },
		{ 10 * GBIT, 50 * US, 100, 0, 8, 800, 60, 60 },
		{ 10 * GBIT, 50 * US, 700, 10000, 8, 800, 60, 60 },
		{ 100 * GBIT, 20 * US, 700, 0, 8, 800, 90, 50 },
		{ 1 * GBIT, 40 * MS, 3300, 0, 4, 200, 1700, 60 },
	};
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct link *link = path(test, cases[i].rate, cases[i].rtt_ns,
					 cases[i].buffer, cases[i].loss_ppm,
					 cases[i].senders);

		link_run(link, cases[i].rounds / 2 * cases[i].rtt_ns);
		link_mark(link);
		link_run(link, cases[i].rounds / 2 * cases[i].rtt_ns);
		KUNIT_EXPECT_GE_MSG(test, link_used(link), 970, "case %u", i);
		KUNIT_EXPECT_LE_MSG(test, link_queue(link),
				    packets_ns(link, cases[i].queue),
				    "case %u", i);
		/* Thousandths of the link; an equal share is 1000 / senders. */
		for (k = 0; k < cases[i].senders; k++)
			KUNIT_EXPECT_GE_MSG(test, link_share(link, k),
					    cases[i].share, "case %u", i);
		link_free(link);
	}
}

/* Marks tell of a queue before the RTT does. */
static void bdp_ecn(struct kunit *test)
{
	struct link *link = path(test, 10 * GBIT, 50 * US, 700, 0, 8);
	u64 unmarked;

	link_run(link, 400 * 50 * US);
	link_mark(link);
	link_run(link, 400 * 50 * US);
	unmarked = link_queue(link);
	link_free(link);

	link = path(test, 10 * GBIT, 50 * US, 700, 0, 8);
	link->mark_ns = packets_ns(link, 10);
	link_run(link, 400 * 50 * US);
	link_mark(link);
	link_run(link, 400 * 50 * US);
	KUNIT_EXPECT_LT(test, link_queue(link), unmarked);
	KUNIT_EXPECT_GE(test, link_used(link), 900);
	link_free(link);
}

/* The link becomes slower, then faster. */
static void bdp_change(struct kunit *test)
{
	struct link *link = path(test, 10 * GBIT, 50 * US, 300, 0, 1);

	link_run(link, 100 * 50 * US);
	link->rate = 2 * GBIT;
	link->buffer_ns = packets_ns(link, 300);
	link_run(link, 200 * 50 * US);
	link_mark(link);
	link_run(link, 100 * 50 * US);
	KUNIT_EXPECT_GE(test, link_used(link), 950);
	KUNIT_EXPECT_LE(test, link_queue(link), packets_ns(link, 20));

	link->rate = 10 * GBIT;
	link_run(link, 200 * 50 * US);
	link_mark(link);
	link_run(link, 100 * 50 * US);
	KUNIT_EXPECT_GE(test, link_used(link), 950);
	link_free(link);
}

/* The path becomes longer: RTprop follows within its window. */
static void bdp_longer(struct kunit *test)
{
	struct link *link = path(test, GBIT / 10, 1 * MS, 300, 0, 1);

	link_run(link, 100 * MS);
	KUNIT_EXPECT_LE(test, info_of(&link->sender[0].cc).rtprop_us, 1200);
	link->rtt_ns = 2 * MS;
	link_run(link, 11 * NSEC_PER_SEC);
	KUNIT_EXPECT_GE(test, info_of(&link->sender[0].cc).rtprop_us, 2000);
	/* Much longer: that it is not a queue shows when it does not go. */
	link->rtt_ns = 10 * MS;
	link_run(link, NSEC_PER_SEC);
	KUNIT_EXPECT_GE(test, info_of(&link->sender[0].cc).rtprop_us, 10000);
	link->rtt_ns = 5 * MS;
	link_run(link, 11 * NSEC_PER_SEC);
	KUNIT_EXPECT_GE(test, info_of(&link->sender[0].cc).rtprop_us, 5000);
	KUNIT_EXPECT_LE(test, info_of(&link->sender[0].cc).rtprop_us, 5500);
	link_mark(link);
	link_run(link, 200 * MS);
	KUNIT_EXPECT_GE(test, link_used(link), 950);
	link_free(link);
}

/* Nothing gets through for a while: the minimum, then back. */
static void bdp_outage(struct kunit *test)
{
	struct link *link = path(test, 10 * GBIT, 50 * US, 300, 0, 1);

	link_run(link, 100 * 50 * US);
	link->loss_ppm = 1000000;
	link_run(link, 20 * MS);
	KUNIT_EXPECT_EQ(test, link->sender[0].cc.cwnd,
			LTP_CC_MIN_SEGS * LINK_MSS);
	KUNIT_EXPECT_EQ(test, info_of(&link->sender[0].cc).btlbw, 0);
	link->loss_ppm = 0;
	link_run(link, 40 * MS);
	link_mark(link);
	link_run(link, 5 * MS);
	KUNIT_EXPECT_GE(test, link_used(link), 970);
	link_free(link);
}

/* The next flow begins at the last rate: no burst, no second start. */
static void bdp_idle(struct kunit *test)
{
	struct link *link = path(test, 10 * GBIT, 50 * US, 100, 0, 1);
	struct link_sender *s = &link->sender[0];
	u32 i;

	link_run(link, 100 * 50 * US);
	for (i = 0; i < 5; i++) {
		u64 last = info_of(&s->cc).btlbw;

		s->left = 0;
		link_run(link, 5 * NSEC_PER_SEC);
		KUNIT_EXPECT_EQ(test, s->flight, 0);
		KUNIT_EXPECT_TRUE(test, s->idle);

		s->cc.ops->on_idle(&s->cc, link->now, 5 * NSEC_PER_SEC);
		KUNIT_EXPECT_LE(test, s->cc.pacing_rate, last);
		KUNIT_EXPECT_GE(test, s->cc.pacing_rate, last / 4 * 3);
		/* The mean of the first time has its startup in it. */
		KUNIT_EXPECT_GE(test, info_of(&s->cc).btlbw,
				i ? last / 100 * 97 : last / 4 * 3);
		s->idle = false;

		link_mark(link);
		s->left = U64_MAX / 2;
		link_run(link, 5 * 50 * US);
		KUNIT_EXPECT_EQ(test, link->dropped, 0);
		/* Five round trips, the first without an answer. */
		KUNIT_EXPECT_GE(test, link_used(link), 700);
		/* A pacing burst, 64 KB, and what the cycle asks for. */
		KUNIT_EXPECT_LE(test, link->queue_max_ns, packets_ns(link, 64));
		link_run(link, 60 * 50 * US);
		KUNIT_EXPECT_EQ(test, link->dropped, 0);
	}
	KUNIT_EXPECT_LE(test, info_of(&s->cc).rtprop_us, 60);
	link_free(link);
}

/*
 * Eight workers who answer one trigger, again and again: the whole gather takes
 * hardly longer than the link needs for its bytes, and little is lost. Where
 * the receiver coordinates, that holds for the first one too.
 */
static void bdp_gather(struct kunit *test)
{
	static const struct {
		u64 rate, rtt_ns;
		u32 buffer, loss_ppm, bytes, dropped, ratio;
		u32 group_dropped, group_ratio, group_first;
	} cases[] = {
		{ 10 * GBIT, 50 * US, 700, 0, 2000000, 0, 105, 0, 103, 103 },
		{ 10 * GBIT, 50 * US, 100, 0, 2000000, 60, 110, 0, 103, 103 },
		{ 10 * GBIT, 50 * US, 100, 1000, 4000000, 120, 110, 0, 103, 103 },
		{ 100 * GBIT, 20 * US, 700, 0, 8000000, 0, 110, 0, 105, 110 },
		{ 1 * GBIT, 40 * MS, 3300, 0, 4000000, 0, 105, 0, 105, 150 },
	};
	u32 i, k, round;

	for (i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		bool group = i >= ARRAY_SIZE(cases);
		u32 n = i % ARRAY_SIZE(cases);
		u32 dropped = cases[n].dropped;
		u32 ratio = cases[n].ratio;
		struct link *link = path(test, cases[n].rate, cases[n].rtt_ns,
					 cases[n].buffer, cases[n].loss_ppm, 8);
		u64 ideal = link->rtt_ns +
			    packets_ns(link, 8 * (cases[n].bytes / LINK_MSS));

		if (group) {
			dropped = cases[n].group_dropped;
			ratio = cases[n].group_ratio;
			link->group = true;
			link_start(link, &ltp_cc_bdp);
		}
		for (k = 0; k < 8; k++)
			link->sender[k].left = 0;
		for (round = 0; round < 5; round++) {
			u32 left;
			u64 took;

			link_mark(link);
			for (k = 0; k < 8; k++)
				link->sender[k].left = cases[n].bytes;
			do {
				link_run(link, link->rtt_ns / 4);
				for (k = 0, left = 0; k < 8; k++)
					left += !link->sender[k].idle;
				took = link->now - link->marked_ns;
			} while (left && took < 10 * ideal);

			/* The first one knows nothing of the path. */
			if (!round && group)
				KUNIT_EXPECT_LE_MSG(test,
						    div64_u64(100 * took, ideal),
						    cases[n].group_first,
						    "case %u.%u", i, round);
			if (round) {
				KUNIT_EXPECT_LE_MSG(test, link->dropped,
						    dropped, "case %u.%u", i,
						    round);
				KUNIT_EXPECT_LE_MSG(test,
						    div64_u64(100 * took, ideal),
						    ratio, "case %u.%u", i,
						    round);
			}
			link_run(link, 200 * link->rtt_ns);
		}
		link_free(link);
	}
}

/* Samples of a sender without data: the estimate stays, or rises. */
static void bdp_app_limited(struct kunit *test)
{
	struct ltp_cc_sample s = {
		.now_ns = NSEC_PER_SEC,
		.rtt_ns = MS,
		.interval_ns = MS,
		.acked = 100000,
		.in_flight = 100000,
	};
	struct ltp_cc cc;
	u32 i;

	ltp_cc_init(&cc, &ltp_cc_bdp, 1448, s.now_ns, MS);
	for (i = 0; i < 40; i++) {
		s.now_ns += MS;
		s.prior_delivered = s.delivered;
		s.delivered += s.acked;
		cc.ops->on_ack(&cc, &s);
	}
	KUNIT_EXPECT_EQ(test, info_of(&cc).btlbw, 100000000);

	s.app_limited = true;
	s.acked = 1448;
	s.in_flight = 0;
	for (i = 0; i < 1000; i++) {
		s.now_ns += MS;
		s.prior_delivered = s.delivered;
		s.delivered += s.acked;
		cc.ops->on_ack(&cc, &s);
	}
	KUNIT_EXPECT_EQ(test, info_of(&cc).btlbw, 100000000);

	s.acked = 200000;
	s.now_ns += MS;
	s.prior_delivered = s.delivered;
	s.delivered += s.acked;
	cc.ops->on_ack(&cc, &s);
	KUNIT_EXPECT_EQ(test, info_of(&cc).btlbw, 200000000);

	/* One that has data and is slow forgets it in ten rounds. */
	s.app_limited = false;
	s.acked = 50000;
	for (i = 0; i < 10; i++) {
		KUNIT_EXPECT_EQ(test, info_of(&cc).btlbw, 200000000);
		s.now_ns += MS;
		s.prior_delivered = s.delivered;
		s.delivered += s.acked;
		cc.ops->on_ack(&cc, &s);
	}
	KUNIT_EXPECT_LT(test, info_of(&cc).btlbw, 200000000);
}

/*
 * The receiver offers more than the path takes: a claim that brings nothing is
 * given up, and made again only now and then.
 */
static void bdp_refused(struct kunit *test)
{
	struct ltp_cc_sample s = {
		.now_ns = NSEC_PER_SEC,
		.rtt_ns = MS,
		.interval_ns = MS,
		.acked = 100000,
		.in_flight = 100000,
	};
	u32 i, claims = 0, rounds = 0;
	struct ltp_cc cc = {};

	ltp_cc_init(&cc, &ltp_cc_bdp, 1448, s.now_ns, MS);
	for (i = 0; i < 400; i++) {
		s.now_ns += MS;
		s.prior_delivered = s.delivered;
		s.delivered += s.acked;
		cc.ceiling = 1000000000;
		cc.ops->on_ack(&cc, &s);
		/* Startup tries it too. */
		if (i < 20)
			continue;
		KUNIT_ASSERT_LE(test, cc.pacing_rate, 200000000);
		rounds++;
		claims += cc.pacing_rate == 200000000;
	}
	KUNIT_EXPECT_GE(test, claims, rounds / 20);
	KUNIT_EXPECT_LE(test, claims, rounds / 5);

	/* One that brings something goes on until it has the ceiling. */
	for (i = 0; i < 80; i++) {
		s.now_ns += MS;
		s.prior_delivered = s.delivered;
		s.acked = div64_u64(cc.pacing_rate, 1000);
		s.delivered += s.acked;
		s.in_flight = s.acked;
		cc.ops->on_ack(&cc, &s);
	}
	KUNIT_EXPECT_GE(test, info_of(&cc).btlbw, 900000000);
}

/**
 * struct feed - an association by its samples: a window each round trip
 * @cc: under test
 * @s: the next sample
 */
struct feed {
	struct ltp_cc cc;
	struct ltp_cc_sample s;
};

static void feed_begin(struct feed *f, u64 rtt_ns, u32 acked)
{
	memset(f, 0, sizeof(*f));
	f->s.now_ns = NSEC_PER_SEC;
	f->s.rtt_ns = rtt_ns;
	f->s.interval_ns = rtt_ns;
	f->s.acked = acked;
	f->s.in_flight = acked;
	ltp_cc_init(&f->cc, &ltp_cc_bdp, 1448, f->s.now_ns, rtt_ns);
}

static void feed_rounds(struct feed *f, u32 rounds)
{
	while (rounds--) {
		f->s.now_ns += f->s.rtt_ns;
		f->s.prior_delivered = f->s.delivered;
		f->s.delivered += f->s.acked;
		f->cc.ops->on_ack(&f->cc, &f->s);
	}
}

/* STARTUP asks for twice as much in each round trip, of window and of rate. */
static void bdp_doubles(struct kunit *test)
{
	struct feed f;
	u32 i;

	feed_begin(&f, 10 * MS, LTP_CC_INITIAL_SEGS * 1448);
	for (i = 0; i < 6; i++) {
		u32 cwnd = f.cc.cwnd;

		f.s.in_flight = f.cc.cwnd;
		feed_rounds(&f, 1);
		KUNIT_EXPECT_GE(test, f.cc.cwnd, cwnd / 10 * 19);
		/* 2 / ln 2 of what was delivered */
		KUNIT_EXPECT_GE(test, f.cc.pacing_rate,
				f.s.acked * 100ULL * 28 / 10);
		KUNIT_EXPECT_LE(test, f.cc.pacing_rate,
				f.s.acked * 100ULL * 30 / 10);
		f.s.acked *= 2;
	}
}

/* Loss that the rate causes lowers it; loss that was none does not. */
static void bdp_spurious(struct kunit *test)
{
	struct feed f;
	u32 i;

	for (i = 0; i < 2; i++) {
		feed_begin(&f, MS, 200000);
		feed_rounds(&f, 40);
		KUNIT_ASSERT_EQ(test, info_of(&f.cc).btlbw, 200000000);
		/* Not an empty queue, but none that stands. */
		f.s.rtt_ns = MS + MS / 16;
		f.s.acked = 100000;
		f.s.interval_ns = f.s.rtt_ns;
		f.s.lost = 100000;
		f.s.spurious = i ? 100000 : 0;
		feed_rounds(&f, 6);
		if (i)
			KUNIT_EXPECT_EQ(test, info_of(&f.cc).btlbw, 200000000);
		else
			KUNIT_EXPECT_LT(test, info_of(&f.cc).btlbw, 160000000);
	}
}

/* Questions and answers of a byte say nothing of how fast a long message may begin. */
static void bdp_small_messages(struct kunit *test)
{
	struct feed f;
	u32 i;

	feed_begin(&f, 10 * MS, 1);
	f.s.in_flight = 0;
	f.s.app_limited = true;
	for (i = 0; i < 100; i++) {
		u64 idle_ns = i % 2 ? 10 * MS : NSEC_PER_SEC;

		feed_rounds(&f, 1);
		f.s.now_ns += idle_ns;
		f.cc.ops->on_idle(&f.cc, f.s.now_ns, idle_ns);
		KUNIT_EXPECT_GE(test, f.cc.pacing_rate,
				LTP_CC_INITIAL_SEGS * 1448 * 100 / 2);
		KUNIT_EXPECT_GE(test, f.cc.cwnd, LTP_CC_INITIAL_SEGS * 1448);
	}
}

/* A look at RTprop: half a product in flight, for two round trips, once in ten seconds. */
static void bdp_looks(struct kunit *test)
{
	u64 low = 0, first = 0;
	struct feed f;
	u32 i, least = U32_MAX;

	feed_begin(&f, 10 * MS, 1000000);
	feed_rounds(&f, 40);
	/* Never as small again. */
	f.s.rtt_ns = 10 * MS + MS / 2;
	f.s.interval_ns = f.s.rtt_ns;
	for (i = 0; i < 2000; i++) {
		f.s.in_flight = min(f.cc.cwnd, 1000000U);
		feed_rounds(&f, 1);
		least = min(least, f.cc.cwnd);
		if (f.cc.cwnd < 700000) {
			low++;
			if (!first)
				first = f.s.now_ns;
		}
	}
	/* 21 seconds: two looks, of half of 1 MB each. */
	KUNIT_EXPECT_GE(test, first, 10 * NSEC_PER_SEC);
	KUNIT_EXPECT_LE(test, first, 12 * NSEC_PER_SEC);
	KUNIT_EXPECT_GE(test, least, 450000);
	KUNIT_EXPECT_LE(test, least, 550000);
	KUNIT_EXPECT_GE(test, low, 4);
	KUNIT_EXPECT_LE(test, low, 6);
	KUNIT_EXPECT_GE(test, info_of(&f.cc).rtprop_us, 10400);
}

static void check_sane(struct kunit *test, const struct ltp_cc *cc)
{
	KUNIT_ASSERT_GE(test, cc->cwnd, LTP_CC_MIN_SEGS * cc->mss);
	KUNIT_ASSERT_LE(test, cc->cwnd, S32_MAX);
	KUNIT_ASSERT_GT(test, cc->pacing_rate, 0);
	KUNIT_ASSERT_LT(test, cc->pacing_rate, 1ULL << 43);
}

/* 400 Gbit/s over a second: 50 GB in flight, of which 2 GB can be. */
static void bdp_large(struct kunit *test)
{
	struct ltp_cc_sample s = {
		.now_ns = NSEC_PER_SEC,
		.rtt_ns = NSEC_PER_SEC,
		.interval_ns = NSEC_PER_SEC,
		.acked = U32_MAX,
		.in_flight = U32_MAX,
	};
	struct ltp_cc cc;
	u32 i;

	ltp_cc_init(&cc, &ltp_cc_bdp, 65408, s.now_ns, NSEC_PER_SEC);
	for (i = 0; i < 500; i++) {
		s.now_ns += NSEC_PER_SEC / 12;
		s.interval_ns = s.rtt_ns;
		s.delivered += U32_MAX;
		s.prior_delivered = s.delivered - min(s.delivered,
						      400 * GBIT);
		cc.ops->on_ack(&cc, &s);
		check_sane(test, &cc);
	}
	KUNIT_EXPECT_GE(test, cc.cwnd, S32_MAX / 2);
	KUNIT_EXPECT_GE(test, info_of(&cc).btlbw, U32_MAX);

	/* The same in 50 us: the rate itself. */
	ltp_cc_init(&cc, &ltp_cc_bdp, 9000, s.now_ns, 50 * US);
	s.rtt_ns = 50 * US;
	s.interval_ns = 50 * US;
	s.acked = 2500000;
	s.in_flight = 2500000;
	s.delivered = 0;
	for (i = 0; i < 500; i++) {
		s.now_ns += 50 * US;
		s.prior_delivered = s.delivered;
		s.delivered += s.acked;
		cc.ops->on_ack(&cc, &s);
		check_sane(test, &cc);
	}
	KUNIT_EXPECT_EQ(test, info_of(&cc).btlbw, 400 * GBIT);
	KUNIT_EXPECT_GE(test, cc.cwnd, 2500000);
	KUNIT_EXPECT_LE(test, cc.cwnd, 2 * 2500000);
}

/* Whatever a sample says, no division by zero and no overflow. */
static void bdp_nonsense(struct kunit *test)
{
	u64 state = RANDOM_SEED;
	struct ltp_cc cc;
	u64 now = 1;
	u32 i;

	ltp_cc_init(&cc, &ltp_cc_bdp, 256, now, 0);
	for (i = 0; i < 50000; i++) {
		struct ltp_cc_sample s = {
			.rtt_ns = random_scaled(&state),
			.acked = random_scaled(&state),
			.lost = random_scaled(&state),
			.in_flight = random_scaled(&state),
			.delivered = (u64)random_scaled(&state) << 32,
			.prior_delivered = (u64)random_scaled(&state) << 32,
			.interval_ns = random_scaled(&state),
			.app_limited = random_next(&state) % 2,
			.ce = random_next(&state) % 2,
		};

		switch (random_next(&state) % 64) {
		case 0:
			s.rtt_ns = U64_MAX;
			break;
		case 1:
			s.delivered = U64_MAX;
			s.prior_delivered = 0;
			break;
		case 2:
			s.interval_ns = U64_MAX;
			break;
		case 3:
			s.interval_ns = 0;
			break;
		case 4:
			s.rtt_ns = 0;
			break;
		case 5:
			now += random_scaled(&state) * 1000ULL;
			cc.ops->on_idle(&cc, now, random_scaled(&state));
			break;
		case 6:
			cc.ops->on_loss(&cc, now);
			break;
		}
		now += random_scaled(&state) >> 8;
		s.now_ns = now;
		cc.ops->on_ack(&cc, &s);
		check_sane(test, &cc);
	}
}

static struct kunit_case bdp_cases[] = {
	KUNIT_CASE(bdp_begin),
	KUNIT_CASE(bdp_alone),
	KUNIT_CASE(bdp_startup),
	KUNIT_CASE(bdp_together),
	KUNIT_CASE(bdp_ecn),
	KUNIT_CASE(bdp_change),
	KUNIT_CASE(bdp_longer),
	KUNIT_CASE(bdp_outage),
	KUNIT_CASE(bdp_idle),
	KUNIT_CASE(bdp_gather),
	KUNIT_CASE(bdp_app_limited),
	KUNIT_CASE(bdp_refused),
	KUNIT_CASE(bdp_doubles),
	KUNIT_CASE(bdp_spurious),
	KUNIT_CASE(bdp_looks),
	KUNIT_CASE(bdp_small_messages),
	KUNIT_CASE(bdp_large),
	KUNIT_CASE(bdp_nonsense),
	{}
};

static struct kunit_suite bdp_suite = {
	.name = "ltp_cc_bdp",
	.test_cases = bdp_cases,
};

kunit_test_suite(bdp_suite);
