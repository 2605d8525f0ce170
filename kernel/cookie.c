// SPDX-License-Identifier: GPL-2.0
/*
 * The cookie that a listener gives out instead of remembering an INIT: what it
 * will need when the cookie comes back, and a MAC under a secret of the
 * namespace. Pure logic; the idea is RFC 9260's, 5.1.3.
 */
#include "cookie.h"

/* All that the MAC covers; no padding, siphash reads every byte. */
struct ltp_cookie_seal {
	struct in6_addr laddr;
	struct in6_addr raddr;
	__be64 time_ns;
	struct ltp_params peer;
	struct ltp_params local;
	__be16 lport;
	__be16 rport;
	__be32 scope;
};

static u64 ltp_cookie_mac(const struct ltp_cookie *cookie,
			  const siphash_key_t *secret,
			  const struct ltp_key *key)
{
	struct ltp_cookie_seal seal = {
		.laddr = key->laddr,
		.raddr = key->raddr,
		.time_ns = get_unaligned(&cookie->time_ns),
		.peer = cookie->peer,
		.local = cookie->local,
		.lport = key->lport,
		.rport = key->rport,
		.scope = cpu_to_be32(key->scope),
	};

	BUILD_BUG_ON(sizeof(seal) != 96);
	return siphash(&seal, sizeof(seal), secret);
}

/**
 * ltp_cookie_make() - seal a cookie
 * @cookie: its parameters are filled in, time and MAC are set here
 * @secret: of the namespace
 * @key: addresses and ports as the listener sees them
 * @now_ns: the listener's clock
 */
void ltp_cookie_make(struct ltp_cookie *cookie, const siphash_key_t *secret,
		     const struct ltp_key *key, u64 now_ns)
{
	put_unaligned_be64(now_ns, &cookie->time_ns);
	put_unaligned_be64(ltp_cookie_mac(cookie, secret, key), &cookie->mac);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_cookie_make);

/**
 * ltp_cookie_check() - did this host make this cookie, for this peer, lately?
 * @cookie: as it came back
 * @secret: of the namespace
 * @key: addresses and ports of the packet it came in
 * @now_ns: the listener's clock
 *
 * Return: 0, LTP_MIB_DROP_COOKIE or LTP_MIB_DROP_COOKIE_OLD
 */
int ltp_cookie_check(const struct ltp_cookie *cookie,
		     const siphash_key_t *secret, const struct ltp_key *key,
		     u64 now_ns)
{
	u64 made = get_unaligned_be64(&cookie->time_ns);

	if (get_unaligned_be64(&cookie->mac) !=
	    ltp_cookie_mac(cookie, secret, key))
		return LTP_MIB_DROP_COOKIE;
	if (now_ns < made ||
	    now_ns - made > LTP_COOKIE_LIFE_MS * (u64)NSEC_PER_MSEC)
		return LTP_MIB_DROP_COOKIE_OLD;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_cookie_check);
