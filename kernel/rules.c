// SPDX-License-Identifier: GPL-2.0
/*
 * The store of rules. The most specific comes first: the longer prefix, then
 * more ports, then a local port before a peer's. A peer takes each field from
 * the first rule that fits it and has that field.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include "rules.h"
#include "compat/compat.h"

static int ltp_rule_ports(const struct ltp_rule *r)
{
	return (r->lport ? 2 : 0) + (r->rport ? 2 : 0) + (r->lport && !r->rport);
}

/* Below 0: @a comes before @b. 0: they are for the same peers. */
static int ltp_rule_cmp(const struct ltp_rule *a, const struct ltp_rule *b)
{
	int diff;

	/* Families never compete; any peer is less than a prefix of 0 bits. */
	if (a->family != b->family)
		return a->family > b->family ? -1 : 1;
	diff = b->plen - a->plen ?: ltp_rule_ports(b) - ltp_rule_ports(a);
	if (diff)
		return diff;
	diff = memcmp(&a->addr, &b->addr, sizeof(a->addr)) ?:
	       ntohs(a->lport) - ntohs(b->lport);
	return diff ?: ntohs(a->rport) - ntohs(b->rport);
}

/* Where @rule is, or would be. */
static u32 ltp_rules_find(const struct ltp_rules *rules,
			  const struct ltp_rule *rule, bool *there)
{
	u32 i, count = rules ? rules->count : 0;
	int diff = 1;

	for (i = 0; i < count; i++) {
		diff = ltp_rule_cmp(&rules->rule[i], rule);
		if (diff >= 0)
			break;
	}
	*there = i < count && !diff;
	return i;
}

static struct ltp_rules *ltp_rules_alloc(u32 count)
{
	struct ltp_rules *rules;

	rules = kvmalloc(struct_size(rules, rule, count), GFP_KERNEL_ACCOUNT);
	if (!rules)
		return ERR_PTR(-ENOMEM);
	rules->count = count;
	return rules;
}

/* All of @old but @skip entries at @at, with @room in their place. */
static struct ltp_rules *ltp_rules_change(const struct ltp_rules *old, u32 at,
					  u32 skip, u32 room)
{
	u32 count = old ? old->count : 0, rest = count - at - skip;
	struct ltp_rules *rules = ltp_rules_alloc(count - skip + room);

	if (IS_ERR(rules) || !old)
		return rules;
	memcpy(rules->rule, old->rule, flex_array_size(rules, rule, at));
	memcpy(rules->rule + at + room, old->rule + at + skip,
	       flex_array_size(rules, rule, rest));
	return rules;
}

/**
 * ltp_rules_add() - one rule more
 * @old: the rules there are, or NULL
 * @rule: the rule
 * @replace: it may take the place of one for the same peers
 *
 * Context: process.
 * Return: rules of their own, or an error pointer: -EEXIST, -ENOSPC, -ENOMEM
 */
struct ltp_rules *ltp_rules_add(const struct ltp_rules *old,
				const struct ltp_rule *rule, bool replace)
{
	struct ltp_rules *rules;
	bool there;
	u32 at = ltp_rules_find(old, rule, &there);

	if (there && !replace)
		return ERR_PTR(-EEXIST);
	if (!there && old && old->count >= LTP_RULES_MAX)
		return ERR_PTR(-ENOSPC);
	rules = ltp_rules_change(old, at, there, 1);
	if (!IS_ERR(rules))
		rules->rule[at] = *rule;
	return rules;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_rules_add);

/**
 * ltp_rules_del() - one rule less
 * @old: the rules there are, or NULL
 * @rule: its peers; what it sets does not matter
 *
 * Context: process.
 * Return: rules of their own, or an error pointer: -ENOENT, -ENOMEM
 */
struct ltp_rules *ltp_rules_del(const struct ltp_rules *old,
				const struct ltp_rule *rule)
{
	bool there;
	u32 at = ltp_rules_find(old, rule, &there);

	return there ? ltp_rules_change(old, at, 1, 0) : ERR_PTR(-ENOENT);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_rules_del);

/**
 * ltp_rules_copy() - the same rules once more
 * @old: the rules there are, or NULL
 *
 * Context: process.
 * Return: rules of their own, or ERR_PTR(-ENOMEM)
 */
struct ltp_rules *ltp_rules_copy(const struct ltp_rules *old)
{
	return ltp_rules_change(old, 0, 0, 0);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_rules_copy);

static bool ltp_rule_fits(const struct ltp_rule *r, const struct in6_addr *peer,
			  u16 family, __be16 lport, __be16 rport)
{
	if (r->family != AF_UNSPEC &&
	    (r->family != family ||
	     !ipv6_prefix_equal(peer, &r->addr, r->plen)))
		return false;
	return (!r->lport || r->lport == lport) &&
	       (!r->rport || r->rport == rport);
}

/**
 * ltp_rules_apply() - let rules fill in what is not set
 * @rules: the rules there are, or NULL
 * @peer: address of the peer, IPv4 mapped into IPv6
 * @lport: local port
 * @rport: the peer's
 * @p: what the socket itself sets
 */
void ltp_rules_apply(const struct ltp_rules *rules, const struct in6_addr *peer,
		     __be16 lport, __be16 rport, struct ltp_policy *p)
{
	u16 family = ipv6_addr_v4mapped(peer) ? AF_INET : AF_INET6;
	u32 i;

	if (!rules)
		return;
	for (i = 0; i < rules->count; i++)
		if (ltp_rule_fits(&rules->rule[i], peer, family, lport, rport))
			ltp_policy_merge(p, &rules->rule[i].policy);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_rules_apply);
