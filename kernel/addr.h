/* SPDX-License-Identifier: GPL-2.0 */
/* Which local addresses overlap, and which one a packet is for. */
#ifndef _LTP_ADDR_H
#define _LTP_ADDR_H

#include <net/ipv6.h>

/**
 * struct ltp_local - what a socket is bound to, of either address family
 * @addr: address, IPv4 mapped into IPv6; :: is every address, ::ffff:0.0.0.0
 *	every one of IPv4
 * @v6only: :: stands for the addresses of IPv6 alone
 */
struct ltp_local {
	struct in6_addr addr;
	bool v6only;
};

#define LTP_ADDR_EXACT	8	/* ltp_addr_match(): this very address */

bool ltp_addr_overlap(const struct ltp_local *a, const struct ltp_local *b);
int ltp_addr_match(const struct ltp_local *local, const struct in6_addr *addr);

/* A link-local address means something only together with an interface. */
static inline bool ltp_addr_scoped(const struct in6_addr *a,
				   const struct in6_addr *b)
{
	return (ipv6_addr_type(a) | ipv6_addr_type(b)) & IPV6_ADDR_LINKLOCAL;
}

#endif /* _LTP_ADDR_H */
