// SPDX-License-Identifier: GPL-2.0
/*
 * Which local addresses overlap, and which one a packet is for. Pure logic: as
 * TCP sees it, so that a program that was written for one works with the other.
 */
#include <kunit/visibility.h>

#include "addr.h"

/* Stands for every address of a family, or of both. */
static bool ltp_addr_any4(const struct in6_addr *addr)
{
	return ipv6_addr_v4mapped(addr) && !addr->s6_addr32[3];
}

static bool ltp_addr_covers(const struct ltp_local *any,
			    const struct in6_addr *addr)
{
	if (ltp_addr_any4(&any->addr))
		return ipv6_addr_v4mapped(addr);
	return ipv6_addr_any(&any->addr) &&
	       !(any->v6only && ipv6_addr_v4mapped(addr));
}

/**
 * ltp_addr_overlap() - is there an address that belongs to both?
 * @a: what one socket is bound to
 * @b: what another is
 *
 * Return: whether they cannot have the same port
 */
bool ltp_addr_overlap(const struct ltp_local *a, const struct ltp_local *b)
{
	return ipv6_addr_equal(&a->addr, &b->addr) ||
	       ltp_addr_covers(a, &b->addr) || ltp_addr_covers(b, &a->addr);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_addr_overlap);

/**
 * ltp_addr_match() - does a packet go to this socket?
 * @local: what the socket is bound to
 * @addr: where the packet was sent to
 *
 * Return: 0: it does not; more is more specific, up to LTP_ADDR_EXACT
 */
int ltp_addr_match(const struct ltp_local *local, const struct in6_addr *addr)
{
	if (ipv6_addr_equal(&local->addr, addr))
		return LTP_ADDR_EXACT;
	if (!ltp_addr_covers(local, addr))
		return 0;
	return ltp_addr_any4(&local->addr) ? 2 : 1;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_addr_match);
