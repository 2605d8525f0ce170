// SPDX-License-Identifier: GPL-2.0
/*
 * A group knows the largest LT threshold of its members, whoever comes or goes,
 * and shares what arrives for them.
 */
#include <kunit/test.h>
#include <linux/slab.h>
#include "../../kernel/group.h"
#include "random.h"

#define MEMBERS	100

static void group_alone(struct kunit *test)
{
	struct ltp_member m = {};

	KUNIT_EXPECT_NULL(test, ltp_group_get(NULL));
	ltp_group_put(NULL);
	/* Without a group it is remembered, and that is all. */
	ltp_group_tell(NULL, &m, 5);
	KUNIT_EXPECT_EQ(test, m.lt_ns, 5);
	KUNIT_EXPECT_EQ(test, ltp_group_lt(NULL), 0);
	ltp_group_tell(NULL, &m, 0);
	KUNIT_EXPECT_EQ(test, m.lt_ns, 0);
}

static void group_table(struct kunit *test)
{
	/* Who says what, and what is the largest then. */
	static const struct {
		u8 who;
		u64 lt, most;
	} steps[] = {
		{ 0, 0, 0 },
		{ 0, 20, 20 },		/* the first */
		{ 1, 30, 30 },		/* slower */
		{ 2, 10, 30 },		/* faster */
		{ 1, 30, 30 },		/* nothing new */
		{ 1, 15, 20 },		/* no longer the slowest */
		{ 2, 20, 20 },		/* as slow as another */
		{ 0, 0, 20 },		/* that one leaves */
		{ 2, U64_MAX, U64_MAX },
		{ 2, 0, 15 },
		{ 0, 40, 40 },		/* comes back */
		{ 1, 0, 40 },
		{ 0, 0, 0 },		/* all have left */
		{ 1, 1, 1 },
		{ 1, 0, 0 },
	};
	struct ltp_group *group = ltp_group_new(GFP_KERNEL);
	struct ltp_member m[3] = {};
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, group);
	KUNIT_EXPECT_EQ(test, ltp_group_lt(group), 0);
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		ltp_group_tell(group, &m[steps[i].who], steps[i].lt);
		KUNIT_EXPECT_EQ_MSG(test, ltp_group_lt(group), steps[i].most,
				    "step %u", i);
	}
	KUNIT_EXPECT_PTR_EQ(test, ltp_group_get(group), group);
	ltp_group_put(group);
	KUNIT_EXPECT_EQ(test, ltp_group_lt(group), 0);
	ltp_group_put(group);
}

static void group_random(struct kunit *test)
{
	struct ltp_group *group = ltp_group_new(GFP_KERNEL);
	struct ltp_member *m;
	u64 state = RANDOM_SEED, most;
	u32 i, k;

	m = kunit_kcalloc(test, MEMBERS, sizeof(*m), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m);
	KUNIT_ASSERT_NOT_NULL(test, group);
	for (i = 0; i < 20000; i++) {
		/* Few values: many are equal, and many leave. */
		ltp_group_tell(group, &m[random_next(&state) % MEMBERS],
			       random_next(&state) % 8);
		for (k = 0, most = 0; k < MEMBERS; k++)
			most = max(most, m[k].lt_ns);
		KUNIT_ASSERT_EQ(test, ltp_group_lt(group), most);
	}
	for (k = 0; k < MEMBERS; k++)
		ltp_group_tell(group, &m[k], 0);
	KUNIT_EXPECT_EQ(test, ltp_group_lt(group), 0);
	ltp_group_put(group);
}

/* The last member takes the group with it, no earlier one does. */
static void group_members(struct kunit *test)
{
	struct ltp_group *group = ltp_group_new(GFP_KERNEL);
	struct ltp_member m = {};

	KUNIT_ASSERT_NOT_NULL(test, group);
	KUNIT_EXPECT_PTR_EQ(test, ltp_group_get(group), group);
	ltp_group_tell(group, &m, 7);
	ltp_group_put(group);
	KUNIT_EXPECT_EQ(test, ltp_group_lt(group), 7);
	ltp_group_tell(group, &m, 0);
	ltp_group_put(group);
	KUNIT_EXPECT_NULL(test, ltp_group_get(NULL));
	ltp_group_put(NULL);
}

/* What arrives is shared by those who have flows under way. */
static void group_ceiling(struct kunit *test)
{
	struct ltp_group *group = ltp_group_new(GFP_KERNEL);
	struct ltp_sock *lp;
	u64 now = NSEC_PER_SEC;
	u32 i, half;

	/* Two associations, as far as the group can see. */
	lp = kunit_kcalloc(test, 2, sizeof(*lp), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, lp);
	KUNIT_ASSERT_NOT_NULL(test, group);
	lp[0].group = group;
	lp[1].group = group;
	KUNIT_EXPECT_NULL(test, ltp_group_get(NULL));
	KUNIT_EXPECT_PTR_EQ(test, ltp_group_get(group), group);
	ltp_group_put(group);
	KUNIT_EXPECT_EQ(test, ltp_group_ceiling(NULL), 0);
	KUNIT_EXPECT_EQ(test, ltp_group_ceiling(group), 0);
	rcu_read_lock();
	local_bh_disable();
	for (i = 0; i < 1000; i++) {
		now += NSEC_PER_USEC;
		ltp_group_arrived(group, 1024, now);
	}
	local_bh_enable();
	rcu_read_unlock();

	/* In units of 1024 bytes a second, rounded up. */
	half = DIV_ROUND_UP(1000000 * 63, 64 * 2);
	KUNIT_EXPECT_EQ(test, ltp_group_ceiling(group), 0);
	ltp_group_flow_begins(&lp[0]);
	ltp_group_flow_begins(&lp[0]);
	KUNIT_EXPECT_EQ(test, ltp_group_ceiling(group), 0);
	ltp_group_flow_begins(&lp[1]);
	KUNIT_EXPECT_EQ(test, ltp_group_ceiling(group), half);
	ltp_group_flow_ends(&lp[0]);
	KUNIT_EXPECT_EQ(test, ltp_group_ceiling(group), half);
	ltp_group_flow_ends(&lp[0]);
	KUNIT_EXPECT_EQ(test, ltp_group_ceiling(group), 0);
	ltp_group_flow_ends(&lp[1]);

	KUNIT_EXPECT_EQ(test, ltp_group_members(NULL), 0);
	atomic_set(&group->members, 7);
	KUNIT_EXPECT_EQ(test, ltp_group_members(group), 7);
	atomic_set(&group->members, U16_MAX + 7);
	KUNIT_EXPECT_EQ(test, ltp_group_members(group), U16_MAX);
	ltp_group_put(group);
}

static struct kunit_case group_cases[] = {
	KUNIT_CASE(group_alone),
	KUNIT_CASE(group_table),
	KUNIT_CASE(group_random),
	KUNIT_CASE(group_members),
	KUNIT_CASE(group_ceiling),
	{}
};

static struct kunit_suite group_suite = {
	.name = "ltp_group",
	.test_cases = group_cases,
};

kunit_test_suite(group_suite);
