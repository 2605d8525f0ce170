// SPDX-License-Identifier: GPL-2.0
/* Associations that a cookie must not make again: none slips through. */
#include <kunit/test.h>
#include <linux/limits.h>
#include "../../kernel/replay.h"
#include "random.h"

#define PLACES	(LTP_REPLAY_SETS * LTP_REPLAY_WAYS)

static struct ltp_replay *replay_new(struct kunit *test)
{
	struct ltp_replay *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, r);
	return r;
}

static void replay_empty(struct kunit *test)
{
	struct ltp_replay *r = replay_new(test);

	KUNIT_EXPECT_EQ(test, ltp_replay_check(r, 1, 1), LTP_REPLAY_NEW);
	KUNIT_EXPECT_EQ(test, ltp_replay_check(r, U64_MAX, U64_MAX),
			LTP_REPLAY_NEW);
}

static void replay_used(struct kunit *test)
{
	struct ltp_replay *r = replay_new(test);

	ltp_replay_add(r, 77, 1000);
	/* Whenever the cookie says that it was made. */
	KUNIT_EXPECT_EQ(test, ltp_replay_check(r, 77, 1), LTP_REPLAY_USED);
	KUNIT_EXPECT_EQ(test, ltp_replay_check(r, 77, 1000), LTP_REPLAY_USED);
	KUNIT_EXPECT_EQ(test, ltp_replay_check(r, 77, 2000), LTP_REPLAY_USED);
	/* Others are not meant, as nothing was forgotten. */
	KUNIT_EXPECT_EQ(test, ltp_replay_check(r, 78, 1), LTP_REPLAY_NEW);
	KUNIT_EXPECT_EQ(test, ltp_replay_check(r, 77ULL << 32, 1),
			LTP_REPLAY_NEW);
}

/* Twenty times as many as there is room for: none is ever taken for new. */
static void replay_full(struct kunit *test)
{
	struct ltp_replay *r = replay_new(test);
	u64 seed = RANDOM_SEED;
	u32 now, unsure = 0, used = 0, fresh = 0;
	u64 *ids = kunit_kcalloc(test, 20 * PLACES, sizeof(u64), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ids);
	for (now = 0; now < 20 * PLACES; now++) {
		ids[now] = ((u64)random_next(&seed) << 32) | 1;
		ids[now] += 2ULL * random_next(&seed);
		ltp_replay_add(r, ids[now], now + 10);
	}
	for (now = 0; now < 20 * PLACES; now++) {
		/* Its cookie was made a while before it ended. */
		switch (ltp_replay_check(r, ids[now], now + 5)) {
		case LTP_REPLAY_USED:
			used++;
			break;
		case LTP_REPLAY_UNSURE:
			unsure++;
			break;
		case LTP_REPLAY_NEW:
			fresh++;
		}
	}
	KUNIT_EXPECT_EQ(test, fresh, 0);
	KUNIT_EXPECT_EQ(test, used, PLACES);
	KUNIT_EXPECT_EQ(test, unsure, 19 * PLACES);
	/* One made after all of that is believed, whatever set it falls in. */
	for (now = 0; now < PLACES; now++)
		KUNIT_EXPECT_EQ(test, ltp_replay_check(r, 2 * now + 2,
						       20 * PLACES + 10),
				LTP_REPLAY_NEW);
}

/* Ends need not come in order: clocks of two CPUs are read before the lock. */
static void replay_order(struct kunit *test)
{
	struct ltp_replay *r = replay_new(test);
	u64 seed = RANDOM_SEED;
	u32 i;

	for (i = 0; i < 4 * PLACES; i++)
		ltp_replay_add(r, i + 1, random_next(&seed) % 1000 + 1);
	for (i = 0; i < 4 * PLACES; i++)
		KUNIT_EXPECT_NE(test, ltp_replay_check(r, i + 1, 1),
				LTP_REPLAY_NEW);
}

static struct kunit_case replay_cases[] = {
	KUNIT_CASE(replay_empty),
	KUNIT_CASE(replay_used),
	KUNIT_CASE(replay_full),
	KUNIT_CASE(replay_order),
	{}
};

static struct kunit_suite replay_suite = {
	.name = "ltp_replay",
	.test_cases = replay_cases,
};

kunit_test_suite(replay_suite);
