// SPDX-License-Identifier: GPL-2.0
/* Rules: their order, what fits, and what a peer gets from several. */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/in.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include "../../kernel/rules.h"
#include "random.h"

#define KEPT	40
#define V4(a, b, c, d)	((a) << 24 | (b) << 16 | (c) << 8 | (d))

static struct ltp_rule rule4(u32 addr, u8 len, u16 lport, u16 rport, u32 epoch)
{
	struct ltp_rule r = {
		.family = AF_INET, .plen = 96 + len,
		.lport = htons(lport), .rport = htons(rport),
		.policy = { .epoch = epoch, .set = LTP_P_EPOCH },
	};

	ipv6_addr_set_v4mapped(htonl(addr), &r.addr);
	return r;
}

static struct ltp_rule rule6(u32 top, u8 len, u32 epoch)
{
	struct ltp_rule r = {
		.family = AF_INET6, .plen = len,
		.policy = { .epoch = epoch, .set = LTP_P_EPOCH },
	};

	r.addr.s6_addr32[0] = htonl(top);
	return r;
}

static struct ltp_rule rule_any(u16 lport, u16 rport, u32 epoch)
{
	return (struct ltp_rule){
		.family = AF_UNSPEC,
		.lport = htons(lport), .rport = htons(rport),
		.policy = { .epoch = epoch, .set = LTP_P_EPOCH },
	};
}

/* Takes @rules, returns others. */
static struct ltp_rules *add(struct kunit *test, struct ltp_rules *rules,
			     struct ltp_rule r)
{
	struct ltp_rules *more = ltp_rules_add(rules, &r, false);

	KUNIT_ASSERT_FALSE(test, IS_ERR(more));
	kvfree(rules);
	return more;
}

static u32 epoch4(const struct ltp_rules *rules, u32 addr, u16 lport, u16 rport)
{
	struct ltp_policy p = {};
	struct in6_addr peer;

	ipv6_addr_set_v4mapped(htonl(addr), &peer);
	ltp_rules_apply(rules, &peer, htons(lport), htons(rport), &p);
	return p.set & LTP_P_EPOCH ? p.epoch : 0;
}

static u32 epoch6(const struct ltp_rules *rules, u32 top, u32 low, u16 lport)
{
	struct ltp_policy p = {};
	struct in6_addr peer = {};

	peer.s6_addr32[0] = htonl(top);
	peer.s6_addr32[3] = htonl(low);
	ltp_rules_apply(rules, &peer, htons(lport), htons(9), &p);
	return p.set & LTP_P_EPOCH ? p.epoch : 0;
}

static void rules_none(struct kunit *test)
{
	struct ltp_rules *copy = ltp_rules_copy(NULL);
	struct ltp_rule r = rule_any(5, 0, 1);

	KUNIT_EXPECT_EQ(test, epoch4(NULL, 1, 2, 3), 0);
	KUNIT_EXPECT_EQ(test, PTR_ERR(ltp_rules_del(NULL, &r)), -ENOENT);
	KUNIT_ASSERT_FALSE(test, IS_ERR(copy));
	KUNIT_EXPECT_EQ(test, copy->count, 0);
	KUNIT_EXPECT_EQ(test, epoch4(copy, 1, 2, 3), 0);
	kvfree(copy);
}

static void rules_longest_first(struct kunit *test)
{
	struct ltp_rules *rules = NULL;
	u32 i;

	/* However they came. */
	rules = add(test, rules, rule4(V4(10, 0, 0, 0), 8, 0, 0, 8));
	rules = add(test, rules, rule_any(5000, 0, 1));
	rules = add(test, rules, rule4(V4(10, 1, 2, 3), 32, 0, 0, 32));
	rules = add(test, rules, rule4(0, 0, 0, 0, 99));
	rules = add(test, rules, rule4(V4(10, 1, 0, 0), 16, 0, 0, 16));
	rules = add(test, rules, rule4(V4(10, 1, 0, 0), 16, 5000, 0, 17));
	rules = add(test, rules, rule4(V4(10, 1, 0, 0), 16, 0, 7, 18));
	rules = add(test, rules, rule4(V4(10, 1, 0, 0), 16, 5000, 7, 19));
	rules = add(test, rules, rule6(0x20010db8, 32, 6));
	rules = add(test, rules, rule6(0, 0, 7));

	KUNIT_EXPECT_EQ(test, epoch4(rules, V4(10, 1, 2, 3), 5000, 7), 32);
	KUNIT_EXPECT_EQ(test, epoch4(rules, V4(10, 1, 2, 4), 5000, 7), 19);
	KUNIT_EXPECT_EQ(test, epoch4(rules, V4(10, 1, 2, 4), 5000, 8), 17);
	KUNIT_EXPECT_EQ(test, epoch4(rules, V4(10, 1, 2, 4), 5001, 7), 18);
	KUNIT_EXPECT_EQ(test, epoch4(rules, V4(10, 1, 2, 4), 5001, 8), 16);
	KUNIT_EXPECT_EQ(test, epoch4(rules, V4(10, 2, 2, 3), 5000, 7), 8);
	KUNIT_EXPECT_EQ(test, epoch4(rules, V4(11, 2, 2, 3), 5000, 7), 99);
	/* A family's rules are not the other's; a mapped address is IPv4. */
	KUNIT_EXPECT_EQ(test, epoch6(rules, 0x20010db8, 1, 5), 6);
	KUNIT_EXPECT_EQ(test, epoch6(rules, 0x20010db9, 1, 5), 7);
	KUNIT_EXPECT_EQ(test, epoch6(rules, 0, V4(10, 1, 2, 3), 5), 7);
	for (i = 1; i < rules->count; i++)
		if (rules->rule[i].family == rules->rule[i - 1].family)
			KUNIT_EXPECT_LE(test, rules->rule[i].plen,
					rules->rule[i - 1].plen);
	/* What is for any peer comes last. */
	KUNIT_EXPECT_EQ(test, rules->rule[rules->count - 1].policy.epoch, 1);
	kvfree(rules);
}

static void rules_any_peer(struct kunit *test)
{
	struct ltp_rules *rules = NULL;

	rules = add(test, rules, rule_any(0, 7, 1));
	rules = add(test, rules, rule_any(5000, 0, 2));
	rules = add(test, rules, rule_any(5000, 7, 3));
	KUNIT_EXPECT_EQ(test, epoch4(rules, 1, 5000, 7), 3);
	KUNIT_EXPECT_EQ(test, epoch4(rules, 1, 5000, 8), 2);
	KUNIT_EXPECT_EQ(test, epoch4(rules, 1, 5001, 7), 1);
	KUNIT_EXPECT_EQ(test, epoch4(rules, 1, 5001, 8), 0);
	KUNIT_EXPECT_EQ(test, epoch6(rules, 0x20010db8, 1, 5000), 2);
	kvfree(rules);
}

static void rules_field_by_field(struct kunit *test)
{
	struct ltp_rule a = rule4(V4(10, 1, 2, 3), 32, 0, 0, 5);
	struct ltp_rule b = rule4(V4(10, 1, 0, 0), 16, 0, 0, 6);
	struct ltp_rule c = rule4(0, 0, 0, 0, 7);
	struct ltp_policy p = { .lt_ns = 1, .set = LTP_P_LT };
	struct ltp_rules *rules = NULL;
	struct in6_addr peer = a.addr;

	b.policy.fraction_ppm = 60;
	b.policy.lt_ns = 6;
	b.policy.set |= LTP_P_FRACTION | LTP_P_LT;
	c.policy.fraction_ppm = 70;
	c.policy.deadline_ns = 7;
	c.policy.set |= LTP_P_FRACTION | LTP_P_DEADLINE;
	rules = add(test, rules, c);
	rules = add(test, rules, b);
	rules = add(test, rules, a);
	ltp_rules_apply(rules, &peer, htons(1), htons(2), &p);
	KUNIT_EXPECT_EQ(test, p.lt_ns, 1);		/* the socket's */
	KUNIT_EXPECT_EQ(test, p.epoch, 5);
	KUNIT_EXPECT_EQ(test, p.fraction_ppm, 60);
	KUNIT_EXPECT_EQ(test, p.deadline_ns, 7);
	KUNIT_EXPECT_EQ(test, p.set, LTP_P_LT | LTP_P_EPOCH | LTP_P_FRACTION |
				     LTP_P_DEADLINE);
	kvfree(rules);
}

static void rules_add_and_del(struct kunit *test)
{
	struct ltp_rule r = rule4(V4(10, 0, 0, 0), 8, 5, 6, 1);
	struct ltp_rule other = r, more = r;
	struct ltp_rules *one, *two, *again;

	one = ltp_rules_add(NULL, &r, false);
	KUNIT_ASSERT_FALSE(test, IS_ERR(one));
	/* The same peers: whatever it sets. */
	other.policy.epoch = 2;
	KUNIT_EXPECT_EQ(test, PTR_ERR(ltp_rules_add(one, &other, false)),
			-EEXIST);
	two = ltp_rules_add(one, &other, true);
	KUNIT_ASSERT_FALSE(test, IS_ERR(two));
	KUNIT_EXPECT_EQ(test, two->count, 1);
	KUNIT_EXPECT_EQ(test, two->rule[0].policy.epoch, 2);
	KUNIT_EXPECT_EQ(test, one->rule[0].policy.epoch, 1);
	/* One that is not there. */
	more.rport = htons(7);
	KUNIT_EXPECT_EQ(test, PTR_ERR(ltp_rules_del(two, &more)), -ENOENT);
	more = r;
	more.plen++;
	KUNIT_EXPECT_EQ(test, PTR_ERR(ltp_rules_del(two, &more)), -ENOENT);
	more = r;
	more.family = AF_INET6;
	KUNIT_EXPECT_EQ(test, PTR_ERR(ltp_rules_del(two, &more)), -ENOENT);
	again = ltp_rules_del(two, &r);
	KUNIT_ASSERT_FALSE(test, IS_ERR(again));
	KUNIT_EXPECT_EQ(test, again->count, 0);
	KUNIT_EXPECT_EQ(test, PTR_ERR(ltp_rules_del(again, &r)), -ENOENT);
	kvfree(one);
	kvfree(two);
	kvfree(again);
}

static void rules_limit(struct kunit *test)
{
	struct ltp_rule r = rule4(1, 32, 0, 0, 1);
	struct ltp_rules *rules = NULL, *copy;
	u32 i;

	for (i = 0; i < LTP_RULES_MAX; i++)
		rules = add(test, rules, rule4(i + 1, 32, 0, 0, i + 1));
	r = rule4(0xffffffff, 32, 0, 0, 1);
	KUNIT_EXPECT_EQ(test, PTR_ERR(ltp_rules_add(rules, &r, false)),
			-ENOSPC);
	KUNIT_EXPECT_EQ(test, PTR_ERR(ltp_rules_add(rules, &r, true)),
			-ENOSPC);
	r = rule4(1, 32, 0, 0, 77);
	copy = ltp_rules_add(rules, &r, true);
	KUNIT_ASSERT_FALSE(test, IS_ERR(copy));
	KUNIT_EXPECT_EQ(test, epoch4(copy, 1, 2, 3), 77);
	KUNIT_EXPECT_EQ(test, epoch4(copy, LTP_RULES_MAX, 2, 3),
			LTP_RULES_MAX);
	kvfree(copy);
	copy = ltp_rules_copy(rules);
	KUNIT_ASSERT_FALSE(test, IS_ERR(copy));
	KUNIT_EXPECT_EQ(test, copy->count, LTP_RULES_MAX);
	KUNIT_EXPECT_MEMEQ(test, copy->rule, rules->rule,
			   LTP_RULES_MAX * sizeof(rules->rule[0]));
	kvfree(copy);
	kvfree(rules);
}

/* Against a list without order, asked for the best by its definition. */
static void rules_random(struct kunit *test)
{
	struct ltp_rules *rules = NULL, *next;
	struct ltp_rule *kept;
	u64 state = RANDOM_SEED;
	u32 i, k;

	kept = kunit_kcalloc(test, KEPT, sizeof(*kept), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, kept);
	for (i = 0; i < 20000; i++) {
		u32 addr = random_next(&state) % 4 << 30;
		u8 len = random_next(&state) % 3;
		u16 lport = random_next(&state) % 3;
		u16 rport = random_next(&state) % 3;
		struct ltp_rule r;
		int best = -1, score = -1;

		r = rule4(addr & ~(0xffffffffULL >> len), len, lport, rport,
			  i + 1);
		for (k = 0; k < KEPT; k++)
			if (kept[k].family && kept[k].plen == r.plen &&
			    kept[k].lport == r.lport &&
			    kept[k].rport == r.rport &&
			    ipv6_addr_equal(&kept[k].addr, &r.addr))
				break;
		if (k < KEPT && random_next(&state) % 2) {
			next = ltp_rules_del(rules, &r);
			kept[k].family = 0;
		} else if (k < KEPT) {
			next = ltp_rules_add(rules, &r, true);
			kept[k] = r;
		} else {
			KUNIT_ASSERT_EQ(test, PTR_ERR(ltp_rules_del(rules, &r)),
					-ENOENT);
			for (k = 0; k < KEPT; k++)
				if (!kept[k].family)
					break;
			if (k == KEPT)
				continue;
			next = ltp_rules_add(rules, &r, false);
			kept[k] = r;
		}
		KUNIT_ASSERT_FALSE(test, IS_ERR(next));
		kvfree(rules);
		rules = next;

		addr = random_next(&state);
		lport = random_next(&state) % 3 + 1;
		rport = random_next(&state) % 3 + 1;
		for (k = 0; k < KEPT; k++) {
			int s = kept[k].plen * 8 +
				(kept[k].lport ? 3 : 0) +
				(kept[k].rport ? 2 : 0);
			u32 bits = kept[k].plen - 96;

			if (!kept[k].family || s <= score ||
			    (bits && (addr ^ ntohl(kept[k].addr.s6_addr32[3])) >>
				     (32 - bits)) ||
			    (kept[k].lport && ntohs(kept[k].lport) != lport) ||
			    (kept[k].rport && ntohs(kept[k].rport) != rport))
				continue;
			score = s;
			best = k;
		}
		KUNIT_ASSERT_EQ(test, epoch4(rules, addr, lport, rport),
				best < 0 ? 0 : kept[best].policy.epoch);
	}
	kvfree(rules);
}

static struct kunit_case rules_cases[] = {
	KUNIT_CASE(rules_none),
	KUNIT_CASE(rules_longest_first),
	KUNIT_CASE(rules_any_peer),
	KUNIT_CASE(rules_field_by_field),
	KUNIT_CASE(rules_add_and_del),
	KUNIT_CASE(rules_limit),
	KUNIT_CASE(rules_random),
	{}
};

static struct kunit_suite rules_suite = {
	.name = "ltp_rules",
	.test_cases = rules_cases,
};

kunit_test_suite(rules_suite);
