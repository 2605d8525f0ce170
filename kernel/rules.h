/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rules: what a namespace sets for some of its peers. A store that never
 * changes once others can see it: a change makes another one. Pure logic; how
 * it is published is its user's (netlink_rules.c, adapt.c).
 */
#ifndef _LTP_RULES_H
#define _LTP_RULES_H

#include <linux/in6.h>
#include <linux/rcupdate.h>
#include "threshold.h"

/* A namespace has no more: they are searched one by one. */
#define LTP_RULES_MAX	1024

/**
 * struct ltp_rule - for whom, and what
 * @addr: peer prefix, IPv4 mapped into IPv6, bits behind it 0
 * @family: AF_INET, AF_INET6; AF_UNSPEC: any peer, @addr and @plen are 0
 * @plen: bits of @addr that count, the 96 of a mapped address included
 * @lport: local port, 0: any
 * @rport: peer's port, 0: any
 * @policy: what it sets
 */
struct ltp_rule {
	struct in6_addr addr;
	u16 family;
	u8 plen;
	__be16 lport;
	__be16 rport;
	struct ltp_policy policy;
};

/**
 * struct ltp_rules - the rules of a namespace, the most specific first
 * @rcu: to free it after its last reader
 * @count: number of entries in @rule
 * @rule: the rules
 */
struct ltp_rules {
	struct rcu_head rcu;
	u32 count;
	struct ltp_rule rule[];
};

struct ltp_rules *ltp_rules_add(const struct ltp_rules *old,
				const struct ltp_rule *rule, bool replace);
struct ltp_rules *ltp_rules_del(const struct ltp_rules *old,
				const struct ltp_rule *rule);
struct ltp_rules *ltp_rules_copy(const struct ltp_rules *old);
void ltp_rules_apply(const struct ltp_rules *rules, const struct in6_addr *peer,
		     __be16 lport, __be16 rport, struct ltp_policy *p);

#endif /* _LTP_RULES_H */
