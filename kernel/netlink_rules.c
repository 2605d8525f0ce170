// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of a namespace, by netlink. Writers hold ltp_nl_lock and publish
 * another store; readers of the data path find it under RCU. A dump tells of a
 * copy that it made at its beginning.
 */
#include <linux/slab.h>

#include "adapt.h"
#include "cc.h"
#include "netlink.h"
#include "rules.h"
#include "../uapi/linux/ltp_netlink.h"

const struct nla_policy ltp_nl_rule_policy[LTP_A_RULE_MAX + 1] = {
	[LTP_A_RULE_PEER_IPV4]		= { .type = NLA_BE32 },
	[LTP_A_RULE_PEER_IPV6]		=
		NLA_POLICY_EXACT_LEN(sizeof(struct in6_addr)),
	[LTP_A_RULE_PREFIX_LEN]		= { .type = NLA_U32 },
	[LTP_A_RULE_LOCAL_PORT]		= { .type = NLA_BE16 },
	[LTP_A_RULE_PEER_PORT]		= { .type = NLA_BE16 },
	[LTP_A_RULE_FRACTION_PPM]	= { .type = NLA_U32 },
	[LTP_A_RULE_LT_US]		= { .type = NLA_U64 },
	[LTP_A_RULE_DEADLINE_US]	= { .type = NLA_U64 },
	[LTP_A_RULE_PROFILE]		= { .type = NLA_U32 },
	[LTP_A_RULE_SLACK_US]		= { .type = NLA_U64 },
	[LTP_A_RULE_EPOCH]		= { .type = NLA_U32 },
	[LTP_A_RULE_CC]			= { .type = NLA_NUL_STRING },
};

/* All that says for whom a rule is comes before all that it sets. */
static_assert(LTP_A_RULE_FRACTION_PPM - LTP_NL_RULE_WHOM == 1);

static int (*const ltp_nl_rule_check[LTP_A_RULE_MAX + 1])
	(const struct nlattr *attr, struct netlink_ext_ack *extack) = {
	[LTP_A_RULE_FRACTION_PPM]	= ltp_nl_check_fraction,
	[LTP_A_RULE_LT_US]		= ltp_nl_check_lt,
	[LTP_A_RULE_DEADLINE_US]	= ltp_nl_check_deadline,
	[LTP_A_RULE_PROFILE]		= ltp_nl_check_profile,
	[LTP_A_RULE_SLACK_US]		= ltp_nl_check_slack,
	[LTP_A_RULE_EPOCH]		= ltp_nl_check_epoch,
	[LTP_A_RULE_CC]			= ltp_nl_check_cc,
};

static struct ltp_rules *ltp_nl_rules(struct ltp_net *ln)
{
	return rcu_dereference_protected(ln->rules,
					 lockdep_is_held(&ltp_nl_lock));
}

/* ---- requests ---- */

static int ltp_nl_rule_prefix(const struct nlattr *attr, u32 most, u32 *len,
			      struct netlink_ext_ack *extack)
{
	*len = attr ? nla_get_u32(attr) : most;
	if (*len <= most)
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, attr,
			    "prefix-len must be 0 to 32 (IPv4) or 128 (IPv6)");
	return -ERANGE;
}

static int ltp_nl_rule_addr(struct nlattr **attrs, struct ltp_rule *rule,
			    struct netlink_ext_ack *extack)
{
	struct nlattr *v4 = attrs[LTP_A_RULE_PEER_IPV4];
	struct nlattr *v6 = attrs[LTP_A_RULE_PEER_IPV6];
	struct nlattr *prefix = attrs[LTP_A_RULE_PREFIX_LEN];
	struct in6_addr addr;
	u32 len = 0;
	int err;

	if (v4 && v6) {
		NL_SET_ERR_MSG_ATTR(extack, v6, "peer: a rule has one");
		return -EINVAL;
	}
	if (!v4 && !v6) {
		if (!prefix)
			return 0;
		NL_SET_ERR_MSG_ATTR(extack, prefix,
				    "prefix-len: a rule without a peer has none");
		return -EINVAL;
	}
	err = ltp_nl_rule_prefix(prefix, v4 ? 32 : 128, &len, extack);
	if (err)
		return err;
	if (v4) {
		ipv6_addr_set_v4mapped(nla_get_in_addr(v4), &addr);
		len += 96;
	} else {
		addr = nla_get_in6_addr(v6);
	}
	rule->family = len >= 96 && ipv6_addr_v4mapped(&addr) ? AF_INET :
								AF_INET6;
	rule->plen = len;
	ipv6_addr_prefix(&rule->addr, &addr, len);
	if (ipv6_addr_equal(&rule->addr, &addr))
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, v4 ?: v6,
			    "peer has bits beyond its prefix");
	return -EINVAL;
}

static int ltp_nl_rule_port(const struct nlattr *attr, __be16 *port,
			    struct netlink_ext_ack *extack)
{
	*port = attr ? nla_get_be16(attr) : 0;
	if (!attr || *port)
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, attr, "port must be 1 to 65535");
	return -ERANGE;
}

/* For whom it is. */
static int ltp_nl_rule_whom(struct genl_info *info, struct ltp_rule *rule)
{
	struct nlattr **attrs = info->attrs;
	int err;

	memset(rule, 0, sizeof(*rule));
	err = ltp_nl_rule_addr(attrs, rule, info->extack) ?:
	      ltp_nl_rule_port(attrs[LTP_A_RULE_LOCAL_PORT], &rule->lport,
			       info->extack) ?:
	      ltp_nl_rule_port(attrs[LTP_A_RULE_PEER_PORT], &rule->rport,
			       info->extack);
	if (err || rule->family || rule->lport || rule->rport)
		return err;
	NL_SET_ERR_MSG(info->extack, "a rule needs a peer or a port");
	return -EINVAL;
}

/* What it sets. */
static int ltp_nl_rule_what(struct genl_info *info, struct ltp_policy *p)
{
	struct nlattr **attrs = info->attrs;
	struct nlattr *attr;
	int err, i;

	for (i = 0; i <= LTP_A_RULE_MAX; i++) {
		if (!attrs[i] || !ltp_nl_rule_check[i])
			continue;
		err = ltp_nl_rule_check[i](attrs[i], info->extack);
		if (err)
			return err;
	}
	attr = attrs[LTP_A_RULE_FRACTION_PPM];
	if (attr) {
		p->fraction_ppm = nla_get_u32(attr);
		p->set |= LTP_P_FRACTION;
	}
	attr = attrs[LTP_A_RULE_LT_US];
	if (attr) {
		p->lt_ns = ltp_nl_get_time(attr);
		p->set |= LTP_P_LT;
	}
	attr = attrs[LTP_A_RULE_DEADLINE_US];
	if (attr) {
		p->deadline_ns = ltp_nl_get_time(attr);
		p->set |= LTP_P_DEADLINE;
	}
	attr = attrs[LTP_A_RULE_PROFILE];
	if (attr) {
		p->profile = nla_get_u32(attr);
		p->set |= LTP_P_PROFILE;
	}
	attr = attrs[LTP_A_RULE_SLACK_US];
	if (attr) {
		p->slack_ns = ltp_nl_get_time(attr);
		p->set |= LTP_P_SLACK;
	}
	if (p->slack_ns == LTP_NS_ADAPTIVE) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "slack of a rule is a time: leave it out, or name a profile");
		return -EINVAL;
	}
	attr = attrs[LTP_A_RULE_EPOCH];
	if (attr) {
		p->epoch = nla_get_u32(attr);
		p->set |= LTP_P_EPOCH;
	}
	attr = attrs[LTP_A_RULE_CC];
	if (attr) {
		p->cc = ltp_cc_find(nla_data(attr));
		p->set |= LTP_P_CC;
	}
	if (!p->set) {
		NL_SET_ERR_MSG(info->extack, "a rule needs something to set");
		return -EINVAL;
	}
	if (!(p->set & LTP_P_LT) || !(p->set & LTP_P_DEADLINE))
		return 0;
	return ltp_nl_check_order(attrs[LTP_A_RULE_LT_US], p->lt_ns,
				  attrs[LTP_A_RULE_DEADLINE_US], p->deadline_ns,
				  info->extack);
}

/* Others see @rules from now on, those who still read the old ones may. */
static void ltp_nl_rules_publish(struct ltp_net *ln, struct ltp_rules *rules)
{
	struct ltp_rules *old = ltp_nl_rules(ln);

	rcu_assign_pointer(ln->rules, rules);
	ltp_policy_changed(ln);
	if (old)
		kvfree_rcu(old, rcu);
}

static int ltp_nl_rules_refuse(struct genl_info *info, int err)
{
	static_assert(LTP_RULES_MAX == 1024);
	if (err == -EEXIST)
		NL_SET_ERR_MSG(info->extack,
			       "there is a rule for this peer and these ports");
	else if (err == -ENOENT)
		NL_SET_ERR_MSG(info->extack,
			       "there is no rule for this peer and these ports");
	else if (err == -ENOSPC)
		NL_SET_ERR_MSG(info->extack,
			       "a namespace has at most 1024 rules");
	return err;
}

/* Publishes what @rules made of the old ones, unless that is an error. */
static int ltp_nl_rules_done(struct ltp_net *ln, struct ltp_rules *rules,
			     struct genl_info *info)
{
	if (!IS_ERR(rules))
		ltp_nl_rules_publish(ln, rules);
	mutex_unlock(&ltp_nl_lock);
	if (IS_ERR(rules))
		return ltp_nl_rules_refuse(info, PTR_ERR(rules));
	ltp_nl_thresholds_changed(ln);
	return 0;
}

/**
 * ltp_nl_rule_add() - LTP_CMD_RULE_ADD, and LTP_CMD_RULE_SET, which replaces
 * @req: the request
 * @info: the same, parsed
 *
 * Return: 0 or an error
 */
int ltp_nl_rule_add(struct sk_buff *req, struct genl_info *info)
{
	struct ltp_net *ln = ltp_pernet(genl_info_net(info));
	bool replace = info->genlhdr->cmd == LTP_CMD_RULE_SET;
	struct ltp_rule rule;
	int err;

	err = ltp_nl_rule_whom(info, &rule) ?:
	      ltp_nl_rule_what(info, &rule.policy);
	if (err)
		return err;
	mutex_lock(&ltp_nl_lock);
	return ltp_nl_rules_done(ln, ltp_rules_add(ltp_nl_rules(ln), &rule,
						   replace), info);
}

/**
 * ltp_nl_rule_del() - LTP_CMD_RULE_DEL
 * @req: the request
 * @info: the same, parsed
 *
 * Return: 0 or an error
 */
int ltp_nl_rule_del(struct sk_buff *req, struct genl_info *info)
{
	struct ltp_net *ln = ltp_pernet(genl_info_net(info));
	struct ltp_rule rule;
	int err;

	err = ltp_nl_rule_whom(info, &rule);
	if (err)
		return err;
	mutex_lock(&ltp_nl_lock);
	return ltp_nl_rules_done(ln, ltp_rules_del(ltp_nl_rules(ln), &rule),
				 info);
}

/**
 * ltp_nl_rule_flush() - LTP_CMD_RULE_FLUSH
 * @req: the request
 * @info: the same, parsed
 *
 * Return: 0
 */
int ltp_nl_rule_flush(struct sk_buff *req, struct genl_info *info)
{
	struct ltp_net *ln = ltp_pernet(genl_info_net(info));

	mutex_lock(&ltp_nl_lock);
	return ltp_nl_rules_done(ln, NULL, info);
}

/* ---- the dump ---- */

static int ltp_nl_rule_put_whom(struct sk_buff *skb,
				const struct ltp_rule *rule)
{
	int err = 0;

	if (rule->family == AF_INET)
		err = nla_put_in_addr(skb, LTP_A_RULE_PEER_IPV4,
				      rule->addr.s6_addr32[3]) ?:
		      nla_put_u32(skb, LTP_A_RULE_PREFIX_LEN, rule->plen - 96);
	else if (rule->family == AF_INET6)
		err = nla_put_in6_addr(skb, LTP_A_RULE_PEER_IPV6,
				       &rule->addr) ?:
		      nla_put_u32(skb, LTP_A_RULE_PREFIX_LEN, rule->plen);
	if (!err && rule->lport)
		err = nla_put_be16(skb, LTP_A_RULE_LOCAL_PORT, rule->lport);
	if (!err && rule->rport)
		err = nla_put_be16(skb, LTP_A_RULE_PEER_PORT, rule->rport);
	return err;
}

static int ltp_nl_rule_put_what(struct sk_buff *skb,
				const struct ltp_policy *p)
{
	if ((p->set & LTP_P_FRACTION &&
	     nla_put_u32(skb, LTP_A_RULE_FRACTION_PPM, p->fraction_ppm)) ||
	    (p->set & LTP_P_LT &&
	     ltp_nl_put_u64(skb, LTP_A_RULE_LT_US, ltp_nl_us(p->lt_ns))) ||
	    (p->set & LTP_P_DEADLINE &&
	     ltp_nl_put_u64(skb, LTP_A_RULE_DEADLINE_US,
			    ltp_nl_us(p->deadline_ns))) ||
	    (p->set & LTP_P_PROFILE &&
	     nla_put_u32(skb, LTP_A_RULE_PROFILE, p->profile)) ||
	    (p->set & LTP_P_SLACK &&
	     ltp_nl_put_u64(skb, LTP_A_RULE_SLACK_US, ltp_nl_us(p->slack_ns))) ||
	    (p->set & LTP_P_EPOCH &&
	     nla_put_u32(skb, LTP_A_RULE_EPOCH, p->epoch)) ||
	    (p->set & LTP_P_CC &&
	     nla_put_string(skb, LTP_A_RULE_CC, p->cc->name)))
		return -EMSGSIZE;
	return 0;
}

/**
 * struct ltp_nl_rule_dump - how far a dump has come, in netlink_callback.ctx
 * @rules: its copy of the rules
 * @next: the first that is not told
 */
struct ltp_nl_rule_dump {
	struct ltp_rules *rules;
	u32 next;
};

/**
 * ltp_nl_rule_start() - a dump of LTP_CMD_RULE_GET begins
 * @cb: the dump
 *
 * Return: 0 or -ENOMEM
 */
int ltp_nl_rule_start(struct netlink_callback *cb)
{
	struct ltp_net *ln = ltp_pernet(sock_net(cb->skb->sk));
	struct ltp_nl_rule_dump *d = (struct ltp_nl_rule_dump *)cb->ctx;

	BUILD_BUG_ON(sizeof(*d) > sizeof(cb->ctx));
	mutex_lock(&ltp_nl_lock);
	d->rules = ltp_rules_copy(ltp_nl_rules(ln));
	mutex_unlock(&ltp_nl_lock);
	d->next = 0;
	return PTR_ERR_OR_ZERO(d->rules);
}

/**
 * ltp_nl_rule_get() - LTP_CMD_RULE_GET
 * @skb: message to fill
 * @cb: the dump
 *
 * Return: bytes in the message, 0: all were told
 */
int ltp_nl_rule_get(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct ltp_nl_rule_dump *d = (struct ltp_nl_rule_dump *)cb->ctx;

	for (; d->next < d->rules->count; d->next++) {
		const struct ltp_rule *rule = &d->rules->rule[d->next];
		void *hdr = ltp_nl_put(skb, cb, LTP_CMD_RULE_GET);

		if (!hdr)
			break;
		if (ltp_nl_rule_put_whom(skb, rule) ||
		    ltp_nl_rule_put_what(skb, &rule->policy)) {
			genlmsg_cancel(skb, hdr);
			break;
		}
		genlmsg_end(skb, hdr);
	}
	return skb->len;
}

/**
 * ltp_nl_rule_end() - a dump of LTP_CMD_RULE_GET has ended
 * @cb: the dump
 *
 * Return: 0
 */
int ltp_nl_rule_end(struct netlink_callback *cb)
{
	struct ltp_nl_rule_dump *d = (struct ltp_nl_rule_dump *)cb->ctx;

	kvfree(d->rules);
	return 0;
}
