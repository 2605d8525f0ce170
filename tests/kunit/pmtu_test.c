// SPDX-License-Identifier: GPL-2.0
/* Path MTU discovery against paths that are narrow, silent, lossy, or lie. */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "../../kernel/pmtu.h"
#include "random.h"

#define T0	(1000 * NSEC_PER_SEC)
#define RTT	(NSEC_PER_MSEC)
#define TIMEOUT	(3 * RTT)
#define MIN4	576
#define MIN6	1280
#define OVER4	64
#define OVER6	84

/**
 * struct path - a path, and an association that uses it
 * @p: what is tested
 * @now: the time
 * @state: of the random numbers
 * @mtu: larger packets vanish, unless a router may fragment them
 * @min: of the address family
 * @over: headers of a DATA packet
 * @loss: of 100 packets so many vanish whatever their size
 * @icmp: the router says so
 * @frames: it is no router, and fragments nothing
 * @down: everything vanishes
 * @whole: not even a fragment arrives if don't-fragment was set
 * @probes: probes sent
 * @asked: small packets sent to see if any arrives
 * @lost: found lost
 * @holes: black holes found
 * @fragments: data packets that were fragmented
 * @resent: data packets sent a second time
 */
struct path {
	struct ltp_pmtu p;
	u64 now;
	u64 state;
	u32 mtu;
	u32 min;
	u32 over;
	u32 loss;
	bool icmp;
	bool frames;
	bool down;
	bool whole;
	u32 probes;
	u32 asked;
	u32 lost;
	u32 holes;
	u32 fragments;
	u32 resent;
};

static void path_init(struct path *w, u32 min, u32 ceiling, u32 mtu)
{
	memset(w, 0, sizeof(*w));
	w->now = T0;
	w->state = RANDOM_SEED + mtu + ceiling;
	w->mtu = mtu;
	w->min = min;
	w->over = min == MIN4 ? OVER4 : OVER6;
	ltp_pmtu_init(&w->p, min, w->over, ceiling,
		      min == MIN6 ? LTP_PMTU_HOST_CUTS : 0);
	w->frames = min == MIN6;
}

static bool path_drops(struct path *w)
{
	return w->down || random_next(&w->state) % 100 < w->loss;
}

static void path_events(struct path *w, int events)
{
	w->lost += !!(events & LTP_PMTU_EV_LOST);
	w->holes += !!(events & LTP_PMTU_EV_BLACK_HOLE);
}

/* Did this packet get through? Takes no time. */
static bool path_carries(struct path *w, u32 size, bool df)
{
	if (path_drops(w))
		return false;
	if (!df) {
		u32 cut = ltp_pmtu_cut(&w->p, size);

		w->fragments += cut || size > w->mtu;
		return !w->frames || (cut ?: size) <= w->mtu;
	}
	if (size > w->mtu && w->icmp)
		ltp_pmtu_icmp(&w->p, w->mtu, w->now);
	return size <= w->mtu && !(w->whole && size > 100);
}

/* All probes that are due in a round trip. */
static void path_probe(struct path *w)
{
	int events;
	u32 size;

	if (w->now < ltp_pmtu_due(&w->p))
		return;
	size = ltp_pmtu_probe(&w->p, w->now, TIMEOUT, &events);
	path_events(w, events);
	if (events & LTP_PMTU_EV_ASK) {
		w->asked++;
		if (path_carries(w, 48, true))
			path_events(w, ltp_pmtu_alive(&w->p));
	}
	if (!size)
		return;
	w->probes++;
	if (path_carries(w, size, true))
		path_events(w, ltp_pmtu_answered(&w->p, w->now));
}

/* What a loss says, and what is done about it. */
static void path_loses(struct path *w, u32 size, u64 sent, bool df)
{
	int events = ltp_pmtu_lost(&w->p, size, sent, df, w->now);

	path_events(w, events);
	if (!(events & LTP_PMTU_EV_ASK))
		return;
	w->asked++;
	if (path_carries(w, 48, true))
		path_events(w, ltp_pmtu_alive(&w->p));
}

/* A data packet until it has arrived; a round trip a try, more when lost. */
static void path_data(struct path *w, u32 size, bool probing)
{
	bool fresh = true;
	int tries;

	for (tries = 0; tries < 200; tries++) {
		u64 sent = w->now;
		bool df = ltp_pmtu_df(&w->p, size, fresh, sent, TIMEOUT);
		bool arrived = path_carries(w, size, df);

		if (probing)
			path_probe(w);
		w->now += arrived ? RTT : TIMEOUT;
		if (arrived) {
			path_events(w, ltp_pmtu_acked(&w->p, size, sent, df,
						      w->now));
			return;
		}
		path_loses(w, size, sent, df);
		w->resent++;
		fresh = false;
	}
}

/* The largest DATA packet that is cut now. */
static u32 path_full(const struct path *w)
{
	return rounddown(w->p.size - w->over, LTP_PMTU_GRAIN) + w->over;
}

static void path_flow(struct path *w)
{
	ltp_pmtu_begin(&w->p, w->now);
	path_data(w, path_full(w), true);
}

/* Goes on until nothing is in doubt. */
static bool path_settles(struct path *w, u32 rounds)
{
	u32 i;

	for (i = 0; i < rounds; i++) {
		path_flow(w);
		if (w->p.state == LTP_PMTU_COMPLETE)
			return true;
	}
	return false;
}

/* Less than a unit of payload makes no difference. */
static void expect_found(struct kunit *test, struct path *w, u32 want)
{
	u32 size = path_full(w);

	if (want < w->min)
		want = w->min;
	KUNIT_EXPECT_LE_MSG(test, size, want, "mtu %u ceiling %u", w->mtu,
			    w->p.ceiling);
	KUNIT_EXPECT_GT_MSG(test, size + LTP_PMTU_GRAIN, want,
			    "mtu %u ceiling %u", w->mtu, w->p.ceiling);
}

static const u32 mtus[] = {
	576, 600, 1006, 1200, 1280, 1400, 1420, 1492, 1500, 1501, 2002, 4352,
	8999, 9000, 9216, 32000, 65534, 65535,
};

static void pmtu_begins(struct kunit *test)
{
	struct ltp_pmtu p;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(mtus); i++) {
		ltp_pmtu_init(&p, MIN4, OVER4, mtus[i], 0);
		KUNIT_EXPECT_EQ(test, p.size, mtus[i]);
		KUNIT_EXPECT_EQ(test, ltp_pmtu_due(&p), U64_MAX);
		ltp_pmtu_init(&p, MIN6, OVER6, mtus[i], 0);
		KUNIT_EXPECT_EQ(test, p.size, max_t(u32, mtus[i], MIN6));
		ltp_pmtu_init(&p, MIN4, OVER4, mtus[i], LTP_PMTU_CAUTIOUS);
		KUNIT_EXPECT_EQ(test, p.size,
				min_t(u32, mtus[i], LTP_PMTU_BASE_SIZE));
	}
	ltp_pmtu_init(&p, MIN4, OVER4, U32_MAX, 0);
	KUNIT_EXPECT_EQ(test, p.size, 65535);
	ltp_pmtu_init(&p, MIN4, OVER4, 0, 0);
	KUNIT_EXPECT_EQ(test, p.size, MIN4);
	KUNIT_EXPECT_EQ(test, p.state, LTP_PMTU_COMPLETE);
}

/* Where all goes well nothing is sent that is not data. */
static void pmtu_data_confirms(struct kunit *test)
{
	struct path w;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(mtus); i++) {
		path_init(&w, MIN4, mtus[i], mtus[i]);
		path_flow(&w);
		KUNIT_EXPECT_EQ(test, w.p.state, LTP_PMTU_COMPLETE);
		w.now += 2 * LTP_PMTU_RAISE_NS;
		path_flow(&w);
		KUNIT_EXPECT_EQ(test, w.probes, 0);
		KUNIT_EXPECT_EQ(test, w.p.size, mtus[i]);
		KUNIT_EXPECT_EQ(test, w.p.confirmed, path_full(&w));
	}
}

/* In doubt, one packet at a time risks not to arrive. */
static void pmtu_one_at_a_time(struct kunit *test)
{
	struct ltp_pmtu p;
	u64 now = T0;

	ltp_pmtu_init(&p, MIN4, OVER4, 1500, 0);
	KUNIT_EXPECT_TRUE(test, ltp_pmtu_df(&p, 576, true, now, TIMEOUT));
	KUNIT_EXPECT_TRUE(test, ltp_pmtu_df(&p, 1000, true, now, TIMEOUT));
	KUNIT_EXPECT_FALSE(test, ltp_pmtu_df(&p, 1488, true, now, TIMEOUT));
	/* What is larger than the path MTU, or sent again, never does. */
	now += RTT;
	ltp_pmtu_acked(&p, 1000, T0, true, now);
	KUNIT_EXPECT_FALSE(test, ltp_pmtu_df(&p, 1501, true, now, TIMEOUT));
	KUNIT_EXPECT_FALSE(test, ltp_pmtu_df(&p, 1488, false, now, TIMEOUT));
	KUNIT_EXPECT_TRUE(test, ltp_pmtu_df(&p, 1000, false, now, TIMEOUT));
	KUNIT_EXPECT_TRUE(test, ltp_pmtu_df(&p, 1488, true, now, TIMEOUT));
	/* A small one of the same train is not the trial. */
	ltp_pmtu_acked(&p, 300, now, true, now + RTT);
	KUNIT_EXPECT_FALSE(test, ltp_pmtu_df(&p, 1488, true, now + RTT,
					     TIMEOUT));
	/* Its flow was closed: forgotten after a while. */
	now += LTP_PMTU_TRIAL_TIMEOUTS * TIMEOUT;
	KUNIT_EXPECT_TRUE(test, ltp_pmtu_df(&p, 1488, true, now, TIMEOUT));
	ltp_pmtu_acked(&p, 1488, now, true, now + RTT);
	KUNIT_EXPECT_EQ(test, p.state, LTP_PMTU_COMPLETE);
	KUNIT_EXPECT_TRUE(test, ltp_pmtu_df(&p, 1488, false, now, TIMEOUT));
}

static void pmtu_icmp_values(struct kunit *test)
{
	static const struct {
		u32 mtu;
		u32 size;
		int want;
	} rows[] = {
		{ 0, 1500, 0 },
		{ 1, 1500, 0 },
		{ 68, 1500, 0 },
		{ 575, 1500, 0 },
		{ 576, 576, LTP_PMTU_EV_BELIEVED },
		{ 1000, 1000, LTP_PMTU_EV_BELIEVED },
		{ 1499, 1499, LTP_PMTU_EV_BELIEVED },
		{ 1500, 1500, 0 },
		{ 1501, 1500, 0 },
		{ 65535, 1500, 0 },
		{ U32_MAX, 1500, 0 },
	};
	struct ltp_pmtu p;
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		ltp_pmtu_init(&p, MIN4, OVER4, 1500, 0);
		KUNIT_EXPECT_EQ_MSG(test, ltp_pmtu_icmp(&p, rows[i].mtu, T0),
				    rows[i].want, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, p.size, rows[i].size, "row %d", i);
		KUNIT_EXPECT_LE(test, p.confirmed, p.size);
	}
	ltp_pmtu_init(&p, MIN6, OVER6, 1500, 0);
	KUNIT_EXPECT_EQ(test, ltp_pmtu_icmp(&p, 1279, T0), 0);
	KUNIT_EXPECT_EQ(test, ltp_pmtu_icmp(&p, 1280, T0),
			LTP_PMTU_EV_BELIEVED);
	/* Once more the same is no news, and nothing makes it larger. */
	KUNIT_EXPECT_EQ(test, ltp_pmtu_icmp(&p, 1280, T0), 0);
	KUNIT_EXPECT_EQ(test, ltp_pmtu_icmp(&p, 1400, T0), 0);
	KUNIT_EXPECT_EQ(test, p.size, 1280);
}

/* A router that answers: at most a packet is lost, and no probe is needed. */
static void pmtu_icmp_passes(struct kunit *test)
{
	struct path w;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(mtus); i++) {
		for (k = 0; k <= i; k++) {
			path_init(&w, MIN4, mtus[i], mtus[k]);
			w.icmp = true;
			KUNIT_EXPECT_TRUE(test, path_settles(&w, 3));
			expect_found(test, &w, mtus[k]);
			KUNIT_EXPECT_EQ(test, w.probes, 0);
			KUNIT_EXPECT_LE(test, w.resent, 1);
			KUNIT_EXPECT_EQ(test, w.holes, 0);
		}
	}
}

/* A router that says nothing. */
static void pmtu_black_holes(struct kunit *test)
{
	struct path w;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(mtus); i++) {
		for (k = 0; k < 2 * i; k++) {
			u32 min = k % 2 ? MIN6 : MIN4, mtu = mtus[k / 2];

			if (mtu < min)
				continue;
			path_init(&w, min, mtus[i], mtu);
			KUNIT_EXPECT_TRUE(test, path_settles(&w, 300));
			expect_found(test, &w, mtu);
			/*
			 * Each size is tried thrice; of common sizes there are
			 * few, between them it takes a look at each bit.
			 */
			KUNIT_EXPECT_LE_MSG(test, w.probes,
					    mtus[i] > 9216 ? 60 : 40,
					    "%u in %u", mtu, mtus[i]);
			KUNIT_EXPECT_LE(test, w.now - T0, 100 * TIMEOUT);
			KUNIT_EXPECT_LE(test, w.resent, LTP_PMTU_MAX_PROBES);
			KUNIT_EXPECT_LE(test, w.holes, 1);
		}
	}
}

/* A switch that takes smaller frames than the interface, and fragments none. */
static void pmtu_small_frames(struct kunit *test)
{
	struct path w;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(mtus); i++) {
		for (k = 0; k < i; k++) {
			path_init(&w, MIN4, mtus[i], mtus[k]);
			w.frames = true;
			KUNIT_EXPECT_TRUE(test, path_settles(&w, 300));
			expect_found(test, &w, mtus[k]);
			/* Whole, as routers may cut it, cut to the base. */
			KUNIT_EXPECT_LE(test, w.resent, LTP_PMTU_MAX_PROBES +
					(mtus[k] < LTP_PMTU_BASE_SIZE ? 20 : 2));
			/* What is larger by now is cut to what arrives. */
			KUNIT_EXPECT_EQ(test, ltp_pmtu_cut(&w.p, 65535),
					w.p.size == 65535 ? 0 : w.p.size);
			KUNIT_EXPECT_EQ(test, ltp_pmtu_cut(&w.p, w.p.size), 0);
		}
	}
}

/* Confirmed, and then it shrinks without a word; and again. */
static void pmtu_shrinks(struct kunit *test)
{
	struct path w;
	int i;

	path_init(&w, MIN4, 9000, 9000);
	KUNIT_EXPECT_TRUE(test, path_settles(&w, 1));
	for (i = ARRAY_SIZE(mtus) - 1; i >= 0; i--) {
		u32 resent = w.resent, holes = w.holes;

		if (mtus[i] >= 8900)
			continue;
		w.mtu = mtus[i];
		path_flow(&w);
		KUNIT_EXPECT_TRUE(test, path_settles(&w, 100));
		expect_found(test, &w, mtus[i]);
		KUNIT_EXPECT_LE(test, w.resent - resent, LTP_PMTU_MAX_PROBES);
		KUNIT_EXPECT_LE(test, w.holes - holes, 1);
	}
	KUNIT_EXPECT_EQ(test, w.p.size, 576);
}

static void pmtu_grows(struct kunit *test)
{
	struct path w;
	u32 probes;

	path_init(&w, MIN4, 9000, 1400);
	KUNIT_EXPECT_TRUE(test, path_settles(&w, 100));
	expect_found(test, &w, 1400);
	/* Not before its time, and only when a flow begins. */
	w.mtu = 9000;
	probes = w.probes;
	w.now = w.p.raise_ns - 2 * RTT;
	path_flow(&w);
	KUNIT_EXPECT_EQ(test, w.probes, probes);
	w.now += 10 * RTT;
	path_probe(&w);
	KUNIT_EXPECT_EQ(test, w.probes, probes);
	KUNIT_EXPECT_TRUE(test, path_settles(&w, 10));
	KUNIT_EXPECT_EQ(test, w.p.size, 9000);
	KUNIT_EXPECT_LE(test, w.probes - probes, 3);

	/* If nothing has changed it takes the probes of one size to see it. */
	path_init(&w, MIN4, 9000, 1400);
	KUNIT_EXPECT_TRUE(test, path_settles(&w, 100));
	probes = w.probes;
	w.now += LTP_PMTU_RAISE_NS;
	path_flow(&w);
	KUNIT_EXPECT_TRUE(test, path_settles(&w, 10));
	KUNIT_EXPECT_LE(test, w.probes - probes, LTP_PMTU_MAX_PROBES + 1);
	KUNIT_EXPECT_GT(test, w.probes, probes);
	expect_found(test, &w, 1400);

	/* Somewhat wider than before. */
	w.mtu = 4352;
	w.now += LTP_PMTU_RAISE_NS;
	path_flow(&w);
	KUNIT_EXPECT_TRUE(test, path_settles(&w, 100));
	expect_found(test, &w, 4352);
}

/* The route's MTU changes, in whatever state we are. */
static void pmtu_limits(struct kunit *test)
{
	struct path w;
	int events;

	path_init(&w, MIN4, 1500, 65535);
	KUNIT_EXPECT_TRUE(test, path_settles(&w, 1));
	ltp_pmtu_limit(&w.p, 1500, w.now);
	KUNIT_EXPECT_EQ(test, w.p.state, LTP_PMTU_COMPLETE);
	/* A larger device: one probe, at the next flow. */
	ltp_pmtu_limit(&w.p, 9000, w.now);
	KUNIT_EXPECT_EQ(test, w.p.size, 1500);
	KUNIT_EXPECT_EQ(test, ltp_pmtu_due(&w.p), U64_MAX);
	KUNIT_EXPECT_TRUE(test, path_settles(&w, 2));
	KUNIT_EXPECT_EQ(test, w.p.size, 9000);
	KUNIT_EXPECT_EQ(test, w.probes, 1);
	/* A smaller one: at once. */
	ltp_pmtu_limit(&w.p, 1280, w.now);
	KUNIT_EXPECT_EQ(test, w.p.size, 1280);
	KUNIT_EXPECT_EQ(test, w.p.state, LTP_PMTU_COMPLETE);
	ltp_pmtu_limit(&w.p, 100, w.now);
	KUNIT_EXPECT_EQ(test, w.p.size, MIN4);
	/* While it is in doubt. */
	path_init(&w, MIN4, 1500, 1500);
	ltp_pmtu_limit(&w.p, 1400, w.now);
	KUNIT_EXPECT_EQ(test, w.p.size, 1400);
	KUNIT_EXPECT_EQ(test, w.p.state, LTP_PMTU_CONFIRM);
	ltp_pmtu_limit(&w.p, 1500, w.now);
	path_flow(&w);
	KUNIT_EXPECT_EQ(test, w.p.state, LTP_PMTU_COMPLETE);
	path_flow(&w);
	KUNIT_EXPECT_TRUE(test, path_settles(&w, 3));
	KUNIT_EXPECT_EQ(test, w.p.size, 1500);
	/* While a larger size is probed. */
	ltp_pmtu_limit(&w.p, 9000, w.now);
	ltp_pmtu_begin(&w.p, w.now);
	KUNIT_EXPECT_EQ(test, ltp_pmtu_probe(&w.p, w.now, TIMEOUT, &events),
			9000);
	ltp_pmtu_limit(&w.p, 4000, w.now);
	KUNIT_EXPECT_EQ(test, ltp_pmtu_answered(&w.p, w.now), 0);
	KUNIT_EXPECT_EQ(test, ltp_pmtu_probe(&w.p, w.now, TIMEOUT, &events),
			4000);
	ltp_pmtu_limit(&w.p, 2000, w.now);
	ltp_pmtu_limit(&w.p, 1500, w.now);
	KUNIT_EXPECT_EQ(test, ltp_pmtu_probe(&w.p, w.now, TIMEOUT, &events), 0);
	KUNIT_EXPECT_EQ(test, w.p.state, LTP_PMTU_COMPLETE);
	KUNIT_EXPECT_EQ(test, w.p.size, 1500);
}

/* What ICMP says of a probe is where the search goes on. */
static void pmtu_icmp_of_a_probe(struct kunit *test)
{
	struct path w;
	int events;

	path_init(&w, MIN4, 1500, 1500);
	KUNIT_EXPECT_TRUE(test, path_settles(&w, 1));
	ltp_pmtu_limit(&w.p, 9000, w.now);
	ltp_pmtu_begin(&w.p, w.now);
	KUNIT_EXPECT_EQ(test, ltp_pmtu_probe(&w.p, w.now, TIMEOUT, &events),
			9000);
	KUNIT_EXPECT_EQ(test, ltp_pmtu_icmp(&w.p, 9000, w.now), 0);
	KUNIT_EXPECT_EQ(test, ltp_pmtu_icmp(&w.p, 3000, w.now),
			LTP_PMTU_EV_BELIEVED);
	KUNIT_EXPECT_EQ(test, w.p.size, 1500);
	/* No probe is under way: this is about something else. */
	KUNIT_EXPECT_EQ(test, ltp_pmtu_icmp(&w.p, 2000, w.now), 0);
	KUNIT_EXPECT_EQ(test, ltp_pmtu_probe(&w.p, w.now, TIMEOUT, &events),
			3000);
	KUNIT_EXPECT_EQ(test, ltp_pmtu_answered(&w.p, w.now),
			LTP_PMTU_EV_CONFIRMED);
	KUNIT_EXPECT_EQ(test, w.p.size, 3000);
	/* Smaller than what is in use, while the search is on. */
	KUNIT_EXPECT_EQ(test, ltp_pmtu_icmp(&w.p, 1400, w.now),
			LTP_PMTU_EV_BELIEVED);
	KUNIT_EXPECT_EQ(test, w.p.size, 1400);
	KUNIT_EXPECT_EQ(test, w.p.state, LTP_PMTU_COMPLETE);

	/* The whole of it with a router that answers. */
	path_init(&w, MIN4, 1500, 1500);
	KUNIT_EXPECT_TRUE(test, path_settles(&w, 1));
	w.mtu = 8000;
	w.icmp = true;
	ltp_pmtu_limit(&w.p, 65535, w.now);
	KUNIT_EXPECT_TRUE(test, path_settles(&w, 20));
	expect_found(test, &w, 8000);
	KUNIT_EXPECT_LE(test, w.probes, 4);
}

/* A path that is down says nothing about sizes. */
static void pmtu_outage(struct kunit *test)
{
	struct path w;
	u32 i;

	path_init(&w, MIN4, 1500, 1400);
	path_data(&w, 1488, true);
	path_data(&w, 1488, true);
	w.down = true;
	path_data(&w, 1488, true);
	KUNIT_EXPECT_EQ(test, w.holes, 0);
	w.down = false;
	KUNIT_EXPECT_TRUE(test, path_settles(&w, 100));
	expect_found(test, &w, 1400);

	/* While it is searched for: probes become rare, and go on afterwards. */
	path_init(&w, MIN4, 9000, 4000);
	while (w.p.state != LTP_PMTU_SEARCH)
		path_flow(&w);
	w.down = true;
	i = w.probes;
	w.now += 10 * TIMEOUT;
	do {
		path_probe(&w);
		w.now = max(w.now, ltp_pmtu_due(&w.p));
	} while (w.now < T0 + 30 * NSEC_PER_SEC);
	KUNIT_EXPECT_LE(test, w.probes - i, 20);
	KUNIT_EXPECT_EQ(test, w.p.state, LTP_PMTU_SEARCH);
	w.down = false;
	KUNIT_EXPECT_TRUE(test, path_settles(&w, 10000));
	expect_found(test, &w, 4000);
	/* A single loss is forgotten when a later packet arrives. */
	KUNIT_EXPECT_EQ(test, ltp_pmtu_lost(&w.p, w.p.confirmed, w.now + 1,
					    true, w.now), LTP_PMTU_EV_DOUBT);
	KUNIT_EXPECT_EQ(test, w.p.state, LTP_PMTU_CONFIRM);
	KUNIT_EXPECT_TRUE(test, path_settles(&w, 3));
	KUNIT_EXPECT_EQ(test, ltp_pmtu_lost(&w.p, w.p.confirmed, w.now - 3 * RTT,
					    true, w.now), 0);
	KUNIT_EXPECT_EQ(test, w.p.state, LTP_PMTU_COMPLETE);
}

/* Nothing but what is too large: then somebody has to be asked. */
static void pmtu_never_fragmented(struct kunit *test)
{
	struct path w;
	u32 asked = 0, i;

	path_init(&w, MIN4, 1500, 1500);
	KUNIT_EXPECT_TRUE(test, path_settles(&w, 1));
	for (i = 0; i < 20 && !w.holes; i++) {
		u64 sent = w.now;
		bool df = ltp_pmtu_df(&w.p, 1488, true, sent, TIMEOUT);
		int events;

		w.now += TIMEOUT << i;
		events = ltp_pmtu_lost(&w.p, 1488, sent, df, w.now);
		if (events & LTP_PMTU_EV_ASK) {
			asked++;
			path_events(&w, ltp_pmtu_alive(&w.p));
		}
	}
	KUNIT_EXPECT_EQ(test, w.holes, 1);
	KUNIT_EXPECT_EQ(test, asked, LTP_PMTU_MAX_PROBES);
	KUNIT_EXPECT_LE(test, i, 3 * LTP_PMTU_MAX_PROBES);
}

/* A flight is lost: it is the last packet that is sent again, not the trial. */
static void pmtu_flight(struct kunit *test)
{
	struct ltp_pmtu p;
	u32 how, i;

	for (how = 0; how <= LTP_PMTU_HOST_CUTS; how += LTP_PMTU_HOST_CUTS) {
		u64 now = T0;

		ltp_pmtu_init(&p, how ? MIN6 : MIN4, OVER6, 1500, how);
		KUNIT_EXPECT_TRUE(test, ltp_pmtu_df(&p, 1492, true, now,
						    TIMEOUT));
		KUNIT_EXPECT_FALSE(test, ltp_pmtu_df(&p, 1492, true, now,
						     TIMEOUT));
		KUNIT_EXPECT_EQ(test, ltp_pmtu_cut(&p, 1492), 0);
		for (i = 0; i < 5 && !ltp_pmtu_cut(&p, 1492); i++) {
			u64 sent = now;

			now += TIMEOUT << i;
			if (ltp_pmtu_lost(&p, 1492, sent, false, now) &
			    LTP_PMTU_EV_ASK)
				ltp_pmtu_alive(&p);
		}
		KUNIT_EXPECT_LE(test, i, how ? 1 : 3);
		KUNIT_EXPECT_EQ(test, ltp_pmtu_cut(&p, 1492),
				how ? MIN6 : LTP_PMTU_BASE_SIZE);
	}
}

/* The RTT has become longer: nothing is lost, all seems to be. */
static void pmtu_spurious(struct kunit *test)
{
	struct path w;
	u32 i, k;

	for (k = 1; k <= 2 * LTP_PMTU_MAX_PROBES; k++) {
		path_init(&w, MIN4, 1500, 1500);
		for (i = 0; i < k; i++) {
			bool df = ltp_pmtu_df(&w.p, 1488, true, w.now, TIMEOUT);

			ltp_pmtu_lost(&w.p, 1488, w.now, df, w.now + RTT);
			ltp_pmtu_acked(&w.p, 1488, w.now, false, w.now + RTT);
			w.now += 2 * RTT;
		}
		KUNIT_EXPECT_EQ(test, w.p.state, k < LTP_PMTU_MAX_PROBES ?
				LTP_PMTU_CONFIRM : LTP_PMTU_BASE);
		KUNIT_EXPECT_EQ(test, w.p.trial, 1488);
		ltp_pmtu_arrived(&w.p, w.now);
		KUNIT_EXPECT_EQ(test, w.p.state, LTP_PMTU_COMPLETE);
		KUNIT_EXPECT_GE(test, w.p.size, 1488);
		KUNIT_EXPECT_EQ(test, w.p.confirmed, 1488);
	}
	/* Confirmed before, and its ACK late. */
	KUNIT_EXPECT_EQ(test, ltp_pmtu_lost(&w.p, 1488, w.now, true, w.now),
			LTP_PMTU_EV_DOUBT);
	KUNIT_EXPECT_EQ(test, w.p.state, LTP_PMTU_CONFIRM);
	ltp_pmtu_arrived(&w.p, w.now);
	KUNIT_EXPECT_EQ(test, w.p.state, LTP_PMTU_COMPLETE);
	/* It is not believed of what is no longer possible. */
	ltp_pmtu_lost(&w.p, 1488, w.now + RTT, true, w.now);
	ltp_pmtu_limit(&w.p, 1400, w.now);
	ltp_pmtu_arrived(&w.p, w.now);
	KUNIT_EXPECT_EQ(test, w.p.size, 1400);
	KUNIT_EXPECT_LE(test, w.p.confirmed, 1400);
}

/* No data and no ACKs: small packets show whether anything arrives. */
static void pmtu_idle_search(struct kunit *test)
{
	struct path w;
	int i;

	path_init(&w, MIN4, 9000, 1400);
	while (w.p.state != LTP_PMTU_SEARCH)
		path_flow(&w);
	for (i = 0; i < 200 && w.p.state == LTP_PMTU_SEARCH; i++) {
		path_probe(&w);
		w.now = max(w.now, min(ltp_pmtu_due(&w.p), w.now + 10 * RTT));
	}
	KUNIT_EXPECT_EQ(test, w.p.state, LTP_PMTU_COMPLETE);
	KUNIT_EXPECT_GT(test, w.asked, 0);
	expect_found(test, &w, 1400);
}

/* Not even the minimum: then nothing carries don't-fragment. */
static void pmtu_error(struct kunit *test)
{
	struct path w;
	int i;

	path_init(&w, MIN4, 1500, 296);
	w.whole = true;
	for (i = 0; i < 50; i++)
		path_flow(&w);
	KUNIT_EXPECT_EQ(test, w.p.state, LTP_PMTU_ERROR);
	KUNIT_EXPECT_EQ(test, w.p.size, MIN4);
	KUNIT_EXPECT_EQ(test, ltp_pmtu_due(&w.p), U64_MAX);
	KUNIT_EXPECT_FALSE(test, ltp_pmtu_df(&w.p, 100, true, w.now, TIMEOUT));
	KUNIT_EXPECT_EQ(test, ltp_pmtu_lost(&w.p, 570, w.now, true, w.now), 0);
	/* It is seen to when it is time. */
	w.mtu = 1500;
	w.whole = false;
	w.now += LTP_PMTU_RAISE_NS;
	KUNIT_EXPECT_TRUE(test, path_settles(&w, 50));
	expect_found(test, &w, 1500);
}

/*
 * What is lost in pieces is tried whole, less and less often, by one at a time;
 * and if that arrives it was no black hole.
 */
static void pmtu_whole_again(struct kunit *test)
{
	u32 i, pieces, whole;
	struct path w;
	u64 sent;

	path_init(&w, MIN4, 9000, 9000);
	KUNIT_EXPECT_TRUE(test, path_settles(&w, 1));
	w.loss = 100;
	while (!w.holes) {
		sent = w.now;
		ltp_pmtu_df(&w.p, 9000, true, sent, TIMEOUT);
		path_events(&w, ltp_pmtu_lost(&w.p, 9000, sent, true, w.now));
		path_events(&w, ltp_pmtu_alive(&w.p));
		w.now += TIMEOUT;
	}
	KUNIT_EXPECT_EQ(test, w.p.size, LTP_PMTU_BASE_SIZE);
	KUNIT_EXPECT_FALSE(test, ltp_pmtu_df(&w.p, 9000, false, w.now, TIMEOUT));
	for (whole = 0; whole < 9; whole++) {
		for (pieces = 0; pieces < 1000; pieces++) {
			w.now += TIMEOUT;
			if (ltp_pmtu_df(&w.p, 9000, false, w.now, TIMEOUT))
				break;
			KUNIT_EXPECT_EQ(test, ltp_pmtu_cut(&w.p, 9000), w.p.size);
			ltp_pmtu_lost(&w.p, 9000, w.now, false, w.now);
		}
		KUNIT_EXPECT_EQ(test, pieces, BIT(min(whole, 6)));
		/* One at a time. */
		for (i = 0; i < 100; i++) {
			ltp_pmtu_lost(&w.p, 9000, w.now - 1, false, w.now);
			KUNIT_EXPECT_FALSE(test, ltp_pmtu_df(&w.p, 9000, false,
							     w.now, TIMEOUT));
		}
		w.p.pieces_lost = 0;
		ltp_pmtu_lost(&w.p, 9000, w.now, true, w.now);
	}
	for (i = 0; i < 64; i++)
		ltp_pmtu_lost(&w.p, 9000, w.now, false, w.now);
	KUNIT_EXPECT_TRUE(test, ltp_pmtu_df(&w.p, 9000, false, w.now, TIMEOUT));
	ltp_pmtu_arrived(&w.p, w.now);
	KUNIT_EXPECT_EQ(test, w.p.size, 9000);
	KUNIT_EXPECT_EQ(test, w.p.confirmed, 9000);
	KUNIT_EXPECT_EQ(test, w.p.state, LTP_PMTU_COMPLETE);
}

/* A doubt costs: on a path that loses a third of all packets it takes seven in a row. */
static void pmtu_rows(struct kunit *test)
{
	static const struct {
		u32 percent, row;
	} known[] = { { 0, 1 }, { 1, 2 }, { 10, 4 }, { 30, 7 }, { 60, 16 } };
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		struct path w;

		path_init(&w, MIN6, 1500, 1500);
		KUNIT_EXPECT_TRUE(test, path_settles(&w, 1));
		for (k = 0; k < 100; k++) {
			w.now += RTT;
			if (k < known[i].percent)
				ltp_pmtu_lost(&w.p, 1000, w.now, true, w.now);
			else
				ltp_pmtu_acked(&w.p, 1000, w.now, true, w.now);
		}
		for (k = 1; k < 20; k++) {
			w.now += RTT;
			if (ltp_pmtu_lost(&w.p, 1500, w.now, true, w.now) &
			    LTP_PMTU_EV_DOUBT)
				break;
		}
		KUNIT_EXPECT_EQ_MSG(test, k, known[i].row, "%u %%",
				    known[i].percent);
		/* Not in a row: no doubt. */
		path_init(&w, MIN6, 1500, 1500);
		KUNIT_EXPECT_TRUE(test, path_settles(&w, 1));
		w.p.seen = 100;
		w.p.seen_lost = 30;
		for (k = 0; k < 100; k++) {
			w.now += RTT;
			KUNIT_EXPECT_EQ(test, ltp_pmtu_lost(&w.p, 1500, w.now,
							    true, w.now), 0);
			w.now += RTT;
			ltp_pmtu_acked(&w.p, 1500, w.now, true, w.now);
		}
	}
}

/* What left before it was known to be too large says nothing of the path. */
static void pmtu_left_before(struct kunit *test)
{
	struct path w;
	u32 i;

	path_init(&w, MIN4, 1500, 1400);
	KUNIT_EXPECT_TRUE(test, path_settles(&w, 100));
	expect_found(test, &w, 1400);
	for (i = 0; i < 100; i++)
		ltp_pmtu_acked(&w.p, 500, w.now, true, w.now);
	i = w.p.seen_lost;
	ltp_pmtu_lost(&w.p, 1500, w.now - RTT, true, w.now);
	KUNIT_EXPECT_EQ(test, w.p.seen_lost, i);
	ltp_pmtu_lost(&w.p, 500, w.now - RTT, true, w.now);
	KUNIT_EXPECT_EQ(test, w.p.seen_lost, i + 1);
	/* Nor does what is overdue: the path may have become longer. */
	for (i = 0; i < 100; i++)
		ltp_pmtu_overdue(&w.p, 500, w.now - RTT, true, w.now);
	KUNIT_EXPECT_EQ(test, w.p.seen_lost, 1);
	/* But it may be due to its size. */
	w.p.seen_lost = 0;
	w.now += RTT;
	KUNIT_EXPECT_TRUE(test, ltp_pmtu_overdue(&w.p, 1400, w.now, true,
						 w.now) & LTP_PMTU_EV_DOUBT);
}

/* Losses that have nothing to do with sizes. */
static void pmtu_lossy(struct kunit *test)
{
	u32 loss, i;

	for (loss = 0; loss <= 30; loss += 10) {
		u32 sum = 0, best = 0;

		for (i = 0; i < 100; i++) {
			struct path w;
			u32 k;

			path_init(&w, MIN4, 1500, i % 2 ? 1500 : 1400);
			w.loss = loss;
			w.state += i;
			for (k = 0; k < 300; k++) {
				path_flow(&w);
				KUNIT_ASSERT_LE(test, w.p.confirmed, w.mtu);
			}
			sum += path_full(&w);
			best += rounddown(w.mtu - OVER4, LTP_PMTU_GRAIN) + OVER4;
		}
		/* It takes a while to see how much is lost whatever its size. */
		KUNIT_EXPECT_GE_MSG(test, sum, best / 100 *
				    (loss < 20 ? 98 : 90), "%u %%", loss);
	}
}

/* From the base up, when nothing may be fragmented. */
static void pmtu_cautious(struct kunit *test)
{
	struct path w;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(mtus); i++) {
		path_init(&w, MIN4, 9000, mtus[i]);
		ltp_pmtu_init(&w.p, MIN4, OVER4, 9000, LTP_PMTU_CAUTIOUS);
		KUNIT_EXPECT_EQ(test, ltp_pmtu_due(&w.p), U64_MAX);
		path_flow(&w);
		KUNIT_EXPECT_TRUE(test, path_settles(&w, 100));
		expect_found(test, &w, min(mtus[i], 9000U));
		if (mtus[i] >= LTP_PMTU_BASE_SIZE)
			KUNIT_EXPECT_EQ(test, w.fragments, 0);
	}
}

/* Whatever comes in whatever order: no size beyond the limits, no endless work. */
static void pmtu_anything(struct kunit *test)
{
	u64 state = RANDOM_SEED, now = T0;
	struct ltp_pmtu p;
	u32 i, probes = 0, settled = 0;

	ltp_pmtu_init(&p, MIN4, OVER4, 1500, 0);
	for (i = 0; i < 300000; i++) {
		u32 size = random_next(&state) % 70000;
		u32 what = random_next(&state) % 11;
		u64 sent = now - random_next(&state) % (4 * RTT);
		int events;

		if (size % 3)
			size %= 2000;
		now += random_next(&state) % TIMEOUT;
		switch (what) {
		case 0:
			if (!(size % 7))
				ltp_pmtu_limit(&p, size, now);
			break;
		case 1:
			ltp_pmtu_begin(&p, now);
			break;
		case 2:
			if (ltp_pmtu_df(&p, size, size % 2, now, TIMEOUT))
				ltp_pmtu_lost(&p, size, now, true, now);
			break;
		case 3:
			ltp_pmtu_acked(&p, size, sent, size % 2, now);
			break;
		case 4:
			ltp_pmtu_lost(&p, size, sent, size % 2, now);
			break;
		case 5:
			ltp_pmtu_alive(&p);
			break;
		case 6:
			if (size % 2)
				ltp_pmtu_answered(&p, now);
			break;
		case 7:
			if (!(size % 5))
				ltp_pmtu_icmp(&p, size, now);
			break;
		case 8:
			if (p.trial)
				ltp_pmtu_arrived(&p, now);
			break;
		default:
			size = ltp_pmtu_probe(&p, now, TIMEOUT, &events);
			probes += !!size;
			KUNIT_ASSERT_LE(test, size, p.ceiling);
			if (size)
				KUNIT_ASSERT_GE(test, size, MIN4);
		}
		settled += p.state == LTP_PMTU_COMPLETE;
		KUNIT_ASSERT_GE(test, p.size, MIN4);
		KUNIT_ASSERT_LE(test, p.size, p.ceiling);
		KUNIT_ASSERT_LE(test, p.confirmed, p.size);
		KUNIT_ASSERT_LE(test, p.tries, LTP_PMTU_MOST_PROBES);
		if (!(i % 5000))
			now += LTP_PMTU_RAISE_NS;
	}
	KUNIT_EXPECT_GT(test, probes, 100);
	KUNIT_EXPECT_GT(test, settled, 1000);
}

static struct kunit_case pmtu_cases[] = {
	KUNIT_CASE(pmtu_begins),
	KUNIT_CASE(pmtu_data_confirms),
	KUNIT_CASE(pmtu_one_at_a_time),
	KUNIT_CASE(pmtu_icmp_values),
	KUNIT_CASE(pmtu_icmp_passes),
	KUNIT_CASE(pmtu_black_holes),
	KUNIT_CASE(pmtu_small_frames),
	KUNIT_CASE(pmtu_shrinks),
	KUNIT_CASE(pmtu_grows),
	KUNIT_CASE(pmtu_limits),
	KUNIT_CASE(pmtu_icmp_of_a_probe),
	KUNIT_CASE(pmtu_outage),
	KUNIT_CASE(pmtu_never_fragmented),
	KUNIT_CASE(pmtu_flight),
	KUNIT_CASE(pmtu_spurious),
	KUNIT_CASE(pmtu_idle_search),
	KUNIT_CASE(pmtu_error),
	KUNIT_CASE(pmtu_whole_again),
	KUNIT_CASE(pmtu_left_before),
	KUNIT_CASE(pmtu_rows),
	KUNIT_CASE(pmtu_lossy),
	KUNIT_CASE(pmtu_cautious),
	KUNIT_CASE(pmtu_anything),
	{}
};

static struct kunit_suite pmtu_suite = {
	.name = "ltp_pmtu",
	.test_cases = pmtu_cases,
};

kunit_test_suite(pmtu_suite);
