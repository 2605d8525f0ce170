// SPDX-License-Identifier: GPL-2.0
/* Cookies: good for one peer, unchanged, and for a while. */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>
#include "../../kernel/cookie.h"
#include "random.h"

#define LIFE	(LTP_COOKIE_LIFE_MS * (u64)NSEC_PER_MSEC)
#define MADE	(1000 * (u64)NSEC_PER_SEC)

static const siphash_key_t secret = { { 1, 2 } };

static void make(struct ltp_cookie *cookie, struct ltp_key *key)
{
	memset(cookie, 0, sizeof(*cookie));
	cookie->peer.tag = cpu_to_be32(11);
	cookie->peer.mtu = cpu_to_be16(1500);
	cookie->local.tag = cpu_to_be32(22);
	cookie->local.pn = cpu_to_be32(U32_MAX);
	memset(key, 0, sizeof(*key));
	ipv6_addr_set_v4mapped(cpu_to_be32(0x0a000001), &key->laddr);
	ipv6_addr_set_v4mapped(cpu_to_be32(0x0a000002), &key->raddr);
	key->lport = cpu_to_be16(5000);
	key->rport = cpu_to_be16(7000);
	ltp_cookie_make(cookie, &secret, key, MADE);
}

static void cookie_good(struct kunit *test)
{
	struct ltp_cookie cookie;
	struct ltp_key key;

	make(&cookie, &key);
	KUNIT_EXPECT_EQ(test, get_unaligned_be64(&cookie.time_ns), MADE);
	/* The parameters are left alone. */
	KUNIT_EXPECT_EQ(test, be32_to_cpu(cookie.peer.tag), 11);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(cookie.local.pn), U32_MAX);
	KUNIT_EXPECT_EQ(test, ltp_cookie_check(&cookie, &secret, &key, MADE),
			0);
}

static void cookie_age(struct kunit *test)
{
	static const struct {
		u64 now;
		int want;
	} rows[] = {
		{ MADE, 0 },
		{ MADE + 1, 0 },
		{ MADE + LIFE, 0 },
		{ MADE + LIFE + 1, LTP_MIB_DROP_COOKIE_OLD },
		{ MADE + 2 * LIFE, LTP_MIB_DROP_COOKIE_OLD },
		{ U64_MAX, LTP_MIB_DROP_COOKIE_OLD },
		/* Of the future: the clock was set, or the machine is another. */
		{ MADE - 1, LTP_MIB_DROP_COOKIE_OLD },
		{ 0, LTP_MIB_DROP_COOKIE_OLD },
	};
	struct ltp_cookie cookie;
	struct ltp_key key;
	int i;

	make(&cookie, &key);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, ltp_cookie_check(&cookie, &secret,
							   &key, rows[i].now),
				    rows[i].want, "row %d", i);
}

/* Each bit of it counts. */
static void cookie_altered(struct kunit *test)
{
	struct ltp_cookie cookie;
	struct ltp_key key;
	u32 bit;

	make(&cookie, &key);
	for (bit = 0; bit < 8 * sizeof(cookie); bit++) {
		u8 *byte = (u8 *)&cookie + bit / 8;

		*byte ^= BIT(bit % 8);
		KUNIT_EXPECT_EQ_MSG(test, ltp_cookie_check(&cookie, &secret,
							   &key, MADE),
				    LTP_MIB_DROP_COOKIE, "bit %u", bit);
		*byte ^= BIT(bit % 8);
	}
	KUNIT_EXPECT_EQ(test, ltp_cookie_check(&cookie, &secret, &key, MADE),
			0);
}

static void cookie_elsewhere(struct kunit *test)
{
	struct ltp_cookie cookie;
	struct ltp_key key, other;

	make(&cookie, &key);
	other = key;
	other.laddr.s6_addr[15] ^= 1;
	KUNIT_EXPECT_EQ(test, ltp_cookie_check(&cookie, &secret, &other, MADE),
			LTP_MIB_DROP_COOKIE);
	other = key;
	other.raddr.s6_addr[0] ^= 1;
	KUNIT_EXPECT_EQ(test, ltp_cookie_check(&cookie, &secret, &other, MADE),
			LTP_MIB_DROP_COOKIE);
	other = key;
	other.lport ^= cpu_to_be16(1);
	KUNIT_EXPECT_EQ(test, ltp_cookie_check(&cookie, &secret, &other, MADE),
			LTP_MIB_DROP_COOKIE);
	other = key;
	other.rport ^= cpu_to_be16(1);
	KUNIT_EXPECT_EQ(test, ltp_cookie_check(&cookie, &secret, &other, MADE),
			LTP_MIB_DROP_COOKIE);
	other = key;
	other.scope = 3;
	KUNIT_EXPECT_EQ(test, ltp_cookie_check(&cookie, &secret, &other, MADE),
			LTP_MIB_DROP_COOKIE);
	/* The two ends are not the same. */
	other = key;
	swap(other.laddr, other.raddr);
	swap(other.lport, other.rport);
	KUNIT_EXPECT_EQ(test, ltp_cookie_check(&cookie, &secret, &other, MADE),
			LTP_MIB_DROP_COOKIE);
}

static void cookie_other_secret(struct kunit *test)
{
	siphash_key_t other = secret;
	struct ltp_cookie cookie;
	struct ltp_key key;

	make(&cookie, &key);
	other.key[1] ^= 1;
	KUNIT_EXPECT_EQ(test, ltp_cookie_check(&cookie, &other, &key, MADE),
			LTP_MIB_DROP_COOKIE);
}

/* In a packet a cookie is where it happens to be. */
static void cookie_unaligned(struct kunit *test)
{
	u8 space[sizeof(struct ltp_cookie) + 4] __aligned(8);
	struct ltp_cookie *moved = (struct ltp_cookie *)(space + 4);
	struct ltp_cookie cookie;
	struct ltp_key key;

	make(&cookie, &key);
	memcpy(moved, &cookie, sizeof(cookie));
	KUNIT_EXPECT_EQ(test, ltp_cookie_check(moved, &secret, &key, MADE), 0);
}

static struct kunit_case cookie_cases[] = {
	KUNIT_CASE(cookie_good),
	KUNIT_CASE(cookie_age),
	KUNIT_CASE(cookie_altered),
	KUNIT_CASE(cookie_elsewhere),
	KUNIT_CASE(cookie_other_secret),
	KUNIT_CASE(cookie_unaligned),
	{}
};

static struct kunit_suite cookie_suite = {
	.name = "ltp_cookie",
	.test_cases = cookie_cases,
};

kunit_test_suite(cookie_suite);
