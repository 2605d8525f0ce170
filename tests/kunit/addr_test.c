// SPDX-License-Identifier: GPL-2.0
/* Addresses of both families: who is in whose way, and who gets a packet. */
#include <kunit/test.h>
#include <linux/kernel.h>
#include "../../kernel/addr.h"

/* IPv4 addresses are mapped ones, whichever family the socket has. */
enum addr_name {
	ANY,		/* :: */
	ANY_V6ONLY,	/* :: with IPV6_V6ONLY */
	ANY4,		/* 0.0.0.0 */
	ONE4,		/* 10.0.0.1 */
	TWO4,
	ONE6,		/* fd00::1 */
	TWO6,
	ADDRS
};

static struct ltp_local local(enum addr_name name)
{
	struct ltp_local l = { .v6only = name == ANY_V6ONLY };

	switch (name) {
	case ANY4:
		ipv6_addr_set_v4mapped(0, &l.addr);
		break;
	case ONE4:
	case TWO4:
		ipv6_addr_set_v4mapped(cpu_to_be32(0x0a000001 + (name == TWO4)),
				       &l.addr);
		break;
	case ONE6:
	case TWO6:
		ipv6_addr_set(&l.addr, cpu_to_be32(0xfd000000), 0, 0,
			      cpu_to_be32(1 + (name == TWO6)));
		break;
	default:
		break;
	}
	return l;
}

/* As inet_rcv_saddr_equal() has it for TCP, with nothing reused. */
static void addr_overlap(struct kunit *test)
{
	static const bool rows[ADDRS][ADDRS] = {
		[ANY] = { 1, 1, 1, 1, 1, 1, 1 },
		[ANY_V6ONLY] = { 1, 1, 0, 0, 0, 1, 1 },
		[ANY4] = { 1, 0, 1, 1, 1, 0, 0 },
		[ONE4] = { 1, 0, 1, 1, 0, 0, 0 },
		[TWO4] = { 1, 0, 1, 0, 1, 0, 0 },
		[ONE6] = { 1, 1, 0, 0, 0, 1, 0 },
		[TWO6] = { 1, 1, 0, 0, 0, 0, 1 },
	};
	int a, b;

	for (a = 0; a < ADDRS; a++) {
		for (b = 0; b < ADDRS; b++) {
			struct ltp_local la = local(a), lb = local(b);

			KUNIT_EXPECT_EQ_MSG(test, ltp_addr_overlap(&la, &lb),
					    rows[a][b], "%d and %d", a, b);
		}
	}
}

/* The most specific first; what is not in the list does not match. */
static void addr_match(struct kunit *test)
{
	static const struct {
		enum addr_name to;
		enum addr_name order[3];
	} rows[] = {
		{ ONE4, { ONE4, ANY4, ANY } },
		{ ONE6, { ONE6, ANY, ANY_V6ONLY } },
	};
	int i, j, k;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct in6_addr to = local(rows[i].to).addr;
		int last = LTP_ADDR_EXACT + 1;

		for (j = 0; j < ADDRS; j++) {
			struct ltp_local l = local(j);
			bool listed = false;

			for (k = 0; k < 3; k++)
				listed |= rows[i].order[k] == j;
			KUNIT_EXPECT_EQ_MSG(test, !!ltp_addr_match(&l, &to),
					    listed, "row %d, %d", i, j);
		}
		for (k = 0; k < 3; k++) {
			struct ltp_local l = local(rows[i].order[k]);
			int match = ltp_addr_match(&l, &to);

			/* Of two that are bound to :: at most one exists. */
			KUNIT_EXPECT_LE_MSG(test, match, last - (k < 2),
					    "row %d, %d", i, k);
			last = match;
		}
	}
}

static struct kunit_case addr_cases[] = {
	KUNIT_CASE(addr_overlap),
	KUNIT_CASE(addr_match),
	{}
};

static struct kunit_suite addr_suite = {
	.name = "ltp_addr",
	.test_cases = addr_cases,
};

kunit_test_suite(addr_suite);
