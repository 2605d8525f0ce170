// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family "ltp", as Documentation/netlink/specs/ltp.yaml
 * describes it.
 *
 * Operations run in parallel. What is set is guarded by ltp_nl_lock; the data
 * path reads it without. A dump begins with a list of the keys of all
 * associations, so that one that stays is told of exactly once, however the
 * hash table is resized and whoever comes and goes until the reader has read
 * on. Associations are looked up one by one when their turn comes: a reader
 * that stops reading holds some memory, but no socket.
 */
#include <linux/bitmap.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <linux/sock_diag.h>
#include <net/genetlink.h>

#include "ltp.h"
#include "../uapi/linux/ltp_netlink.h"
#include "adapt.h"
#include "assoc.h"
#include "encap.h"
#include "flow_rx.h"
#include "info.h"
#include "netlink.h"

#define LTP_NL_BUF_MIN		4096
#define LTP_NL_BUF_MAX		1073741824
#define LTP_NL_DEAD_MS_MIN	100
#define LTP_NL_DEAD_MS_MAX	3600000

/* ltp_conf and rules of all namespaces: held to write, or to read it as a whole. */
DEFINE_MUTEX(ltp_nl_lock);

static struct genl_family ltp_nl_family;

/* ---- configuration ---- */

/*
 * The core's own range checks name neither attribute nor range, and it warns
 * when it lists a policy that has a function for an integer: hence these,
 * called by ltp_nl_config_apply(). The texts hold numbers because 6.1 has no
 * macro that prints into them.
 */
#define LTP_NL_CHECK(name, get, good, text)				\
int ltp_nl_check_##name(const struct nlattr *attr,			\
			struct netlink_ext_ack *extack)			\
{									\
	u64 value = get(attr);						\
									\
	if (good)							\
		return 0;						\
	NL_SET_ERR_MSG_ATTR(extack, attr, text);			\
	return -ERANGE;							\
}

#define LTP_NL_RANGE(name, get, min, max, text)				\
	LTP_NL_CHECK(name, get, value >= (min) && value <= (max), text)
#define LTP_NL_TIME(name, text)						\
	LTP_NL_CHECK(name, nla_get_u64,					\
		     value <= LTP_TIME_MAX_US || value == LTP_TIME_ADAPTIVE, \
		     text)

static_assert(LTP_FRACTION_MAX == 1000000);
LTP_NL_RANGE(fraction, nla_get_u32, 1, LTP_FRACTION_MAX,
	     "fraction must be 1 to 1000000 (millionths)")
static_assert(LTP_TIME_MAX_US == 3600000000ULL);
LTP_NL_TIME(lt,
	    "lt must be 0 (none) to 3600000000 (microseconds: one hour), or 2^64-1: adaptive")
LTP_NL_TIME(deadline,
	    "deadline must be 0 (none) to 3600000000 (microseconds: one hour), or 2^64-1: adaptive")
LTP_NL_TIME(slack,
	    "slack must be 0 to 3600000000 (microseconds: one hour), or 2^64-1: the profile's")
static_assert(LTP_PROFILE_DCN == 1 && LTP_PROFILE_WAN == 2 &&
	      __LTP_PROFILES == 3);
LTP_NL_RANGE(profile, nla_get_u32, LTP_PROFILE_DCN, LTP_PROFILE_WAN,
	     "profile must be 1 (dcn) or 2 (wan)")
static_assert(INT_MAX == 2147483647);
LTP_NL_RANGE(epoch, nla_get_u32, 0, INT_MAX,
	     "epoch must be 0 (not counted) to 2147483647 (flows)")
static_assert(LTP_NL_BUF_MIN == 4096 && LTP_NL_BUF_MAX == 1073741824);
LTP_NL_RANGE(rcvbuf, nla_get_u32, LTP_NL_BUF_MIN, LTP_NL_BUF_MAX,
	     "rcvbuf must be 4096 to 1073741824 (bytes)")
LTP_NL_RANGE(sndbuf, nla_get_u32, LTP_NL_BUF_MIN, LTP_NL_BUF_MAX,
	     "sndbuf must be 4096 to 1073741824 (bytes)")
static_assert(LTP_NL_DEAD_MS_MIN == 100 && LTP_NL_DEAD_MS_MAX == 3600000);
LTP_NL_RANGE(dead, nla_get_u32, LTP_NL_DEAD_MS_MIN, LTP_NL_DEAD_MS_MAX,
	     "dead must be 100 to 3600000 (milliseconds)")

/* "cc must be ...: " and the names, once and for all by ltp_netlink_init(). */
static char ltp_nl_no_cc[48 + LTP_CC_NAMES_MAX] =
	"cc must be a congestion control of this module: ";

static_assert(U16_MAX == 65535);
LTP_NL_RANGE(encap_port, nla_get_u32, 0, U16_MAX,
	     "encap_port must be 0 (off) to 65535 (UDP port)")
LTP_NL_RANGE(encap_peer, nla_get_u32, 0, U16_MAX,
	     "encap_peer must be 0 (off) to 65535 (UDP port)")

int ltp_nl_check_cc(const struct nlattr *attr,
		    struct netlink_ext_ack *extack)
{
	if (ltp_cc_find(nla_data(attr)))
		return 0;
	NL_SET_BAD_ATTR(extack, attr);
	extack->_msg = ltp_nl_no_cc;
	return -ENOENT;
}

static const struct nla_policy ltp_nl_config_policy[LTP_A_CONFIG_MAX + 1] = {
	[LTP_A_CONFIG_FRACTION_PPM]	= { .type = NLA_U32 },
	[LTP_A_CONFIG_LT_US]		= { .type = NLA_U64 },
	[LTP_A_CONFIG_DEADLINE_US]	= { .type = NLA_U64 },
	[LTP_A_CONFIG_RCVBUF]		= { .type = NLA_U32 },
	[LTP_A_CONFIG_SNDBUF]		= { .type = NLA_U32 },
	[LTP_A_CONFIG_DEAD_MS]		= { .type = NLA_U32 },
	[LTP_A_CONFIG_CC]		= { .type = NLA_NUL_STRING },
	[LTP_A_CONFIG_SLACK_US]		= { .type = NLA_U64 },
	[LTP_A_CONFIG_PROFILE]		= { .type = NLA_U32 },
	[LTP_A_CONFIG_EPOCH]		= { .type = NLA_U32 },
	[LTP_A_CONFIG_ENCAP_PORT]	= { .type = NLA_U32 },
	[LTP_A_CONFIG_ENCAP_PEER]	= { .type = NLA_U32 },
};

static int (*const ltp_nl_config_check[LTP_A_CONFIG_MAX + 1])
	(const struct nlattr *attr, struct netlink_ext_ack *extack) = {
	[LTP_A_CONFIG_FRACTION_PPM]	= ltp_nl_check_fraction,
	[LTP_A_CONFIG_LT_US]		= ltp_nl_check_lt,
	[LTP_A_CONFIG_DEADLINE_US]	= ltp_nl_check_deadline,
	[LTP_A_CONFIG_RCVBUF]		= ltp_nl_check_rcvbuf,
	[LTP_A_CONFIG_SNDBUF]		= ltp_nl_check_sndbuf,
	[LTP_A_CONFIG_DEAD_MS]		= ltp_nl_check_dead,
	[LTP_A_CONFIG_CC]		= ltp_nl_check_cc,
	[LTP_A_CONFIG_SLACK_US]		= ltp_nl_check_slack,
	[LTP_A_CONFIG_PROFILE]		= ltp_nl_check_profile,
	[LTP_A_CONFIG_EPOCH]		= ltp_nl_check_epoch,
	[LTP_A_CONFIG_ENCAP_PORT]	= ltp_nl_check_encap_port,
	[LTP_A_CONFIG_ENCAP_PEER]	= ltp_nl_check_encap_peer,
};

/*
 * Not aligned to 8 bytes: padding would be an attribute too many, and those
 * who read attributes copy numbers out of them.
 */
int ltp_nl_put_u64(struct sk_buff *skb, int type, u64 value)
{
	return nla_put(skb, type, sizeof(value), &value);
}

u64 ltp_nl_us(u64 ns)
{
	return ns == LTP_NS_ADAPTIVE ? LTP_TIME_ADAPTIVE :
				       div_u64(ns, NSEC_PER_USEC);
}

/* Of a time that was checked. */
u64 ltp_nl_get_time(const struct nlattr *attr)
{
	u64 us = nla_get_u64(attr);

	return us == LTP_TIME_ADAPTIVE ? LTP_NS_ADAPTIVE : us * NSEC_PER_USEC;
}

static int ltp_nl_config_fill(struct sk_buff *skb, const struct ltp_conf *conf)
{
	if (nla_put_u32(skb, LTP_A_CONFIG_FRACTION_PPM, conf->fraction_ppm) ||
	    ltp_nl_put_u64(skb, LTP_A_CONFIG_LT_US, ltp_nl_us(conf->lt_ns)) ||
	    ltp_nl_put_u64(skb, LTP_A_CONFIG_DEADLINE_US,
			   ltp_nl_us(conf->deadline_ns)) ||
	    nla_put_u32(skb, LTP_A_CONFIG_RCVBUF, conf->rcvbuf) ||
	    nla_put_u32(skb, LTP_A_CONFIG_SNDBUF, conf->sndbuf) ||
	    nla_put_u32(skb, LTP_A_CONFIG_DEAD_MS, conf->dead_ms) ||
	    nla_put_string(skb, LTP_A_CONFIG_CC, conf->cc->name) ||
	    ltp_nl_put_u64(skb, LTP_A_CONFIG_SLACK_US,
			   ltp_nl_us(conf->slack_ns)) ||
	    nla_put_u32(skb, LTP_A_CONFIG_PROFILE, conf->profile) ||
	    nla_put_u32(skb, LTP_A_CONFIG_EPOCH, conf->epoch) ||
	    nla_put_u32(skb, LTP_A_CONFIG_ENCAP_PORT, conf->encap_port) ||
	    nla_put_u32(skb, LTP_A_CONFIG_ENCAP_PEER, conf->encap_peer))
		return -EMSGSIZE;
	return 0;
}

static int ltp_nl_config_get(struct sk_buff *req, struct genl_info *info)
{
	struct ltp_net *ln = ltp_pernet(genl_info_net(info));
	struct sk_buff *skb;
	void *hdr;
	int err;

	skb = nlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return -ENOMEM;
	hdr = genlmsg_put_reply(skb, info, &ltp_nl_family, 0,
				LTP_CMD_CONFIG_GET);
	err = hdr ? 0 : -EMSGSIZE;
	if (!err) {
		mutex_lock(&ltp_nl_lock);
		err = ltp_nl_config_fill(skb, &ln->conf);
		mutex_unlock(&ltp_nl_lock);
	}
	if (err) {
		nlmsg_free(skb);
		return err;
	}
	genlmsg_end(skb, hdr);
	return genlmsg_reply(skb, info);
}

static int ltp_nl_config_encap(struct ltp_conf *conf, struct genl_info *info)
{
	struct nlattr *port = info->attrs[LTP_A_CONFIG_ENCAP_PORT];
	struct nlattr *peer = info->attrs[LTP_A_CONFIG_ENCAP_PEER];

	if (port)
		conf->encap_port = nla_get_u32(port);
	if (peer)
		conf->encap_peer = nla_get_u32(peer);
	if (!conf->encap_peer || conf->encap_port)
		return 0;
	/* Only then one of them was given. */
	NL_SET_ERR_MSG_ATTR(info->extack, peer ?: port,
			    "encap_peer needs an encap_port, or answers are not heard");
	return -EINVAL;
}

/* Two times can be compared, if one of them is asked for. */
int ltp_nl_check_order(const struct nlattr *lt, u64 lt_ns,
		       const struct nlattr *deadline, u64 deadline_ns,
		       struct netlink_ext_ack *extack)
{
	if ((!lt && !deadline) || lt_ns == LTP_NS_ADAPTIVE || !deadline_ns ||
	    deadline_ns >= lt_ns)
		return 0;
	if (deadline)
		NL_SET_ERR_MSG_ATTR(extack, deadline,
				    "deadline must be 0 (none) or at least lt");
	else
		NL_SET_ERR_MSG_ATTR(extack, lt,
				    "lt must be 0 (none) or at most deadline");
	return -EINVAL;
}

/* Changes @conf as the request says, or refuses all of it. */
static int ltp_nl_config_apply(struct ltp_conf *conf, struct genl_info *info)
{
	struct nlattr *lt = info->attrs[LTP_A_CONFIG_LT_US];
	struct nlattr *deadline = info->attrs[LTP_A_CONFIG_DEADLINE_US];
	struct nlattr *attr;
	int err, i;

	for (i = 0; i <= LTP_A_CONFIG_MAX; i++) {
		if (!info->attrs[i] || !ltp_nl_config_check[i])
			continue;
		err = ltp_nl_config_check[i](info->attrs[i], info->extack);
		if (err)
			return err;
	}

	attr = info->attrs[LTP_A_CONFIG_FRACTION_PPM];
	if (attr)
		conf->fraction_ppm = nla_get_u32(attr);
	if (lt)
		conf->lt_ns = ltp_nl_get_time(lt);
	if (deadline)
		conf->deadline_ns = ltp_nl_get_time(deadline);
	attr = info->attrs[LTP_A_CONFIG_SLACK_US];
	if (attr)
		conf->slack_ns = ltp_nl_get_time(attr);
	attr = info->attrs[LTP_A_CONFIG_PROFILE];
	if (attr)
		conf->profile = nla_get_u32(attr);
	attr = info->attrs[LTP_A_CONFIG_EPOCH];
	if (attr)
		conf->epoch = nla_get_u32(attr);
	attr = info->attrs[LTP_A_CONFIG_RCVBUF];
	if (attr)
		conf->rcvbuf = nla_get_u32(attr);
	attr = info->attrs[LTP_A_CONFIG_SNDBUF];
	if (attr)
		conf->sndbuf = nla_get_u32(attr);
	attr = info->attrs[LTP_A_CONFIG_DEAD_MS];
	if (attr)
		conf->dead_ms = nla_get_u32(attr);
	attr = info->attrs[LTP_A_CONFIG_CC];
	if (attr)
		conf->cc = ltp_cc_find(nla_data(attr));
	err = ltp_nl_config_encap(conf, info);
	if (err)
		return err;

	return ltp_nl_check_order(lt, conf->lt_ns, deadline, conf->deadline_ns,
				  info->extack);
}

/* Flows that are under way have timers that were set by the old thresholds. */
void ltp_nl_thresholds_changed(struct ltp_net *ln)
{
	struct rhashtable_iter iter;
	struct ltp_sock *lp;

	rhashtable_walk_enter(&ln->assocs, &iter);
	rhashtable_walk_start(&iter);
	while ((lp = rhashtable_walk_next(&iter))) {
		struct sock *sk;

		/* The table was resized, the walk begins anew: no harm done. */
		if (IS_ERR(lp))
			continue;
		sk = &lp->inet.sk;
		if (!refcount_inc_not_zero(&sk->sk_refcnt))
			continue;
		rhashtable_walk_stop(&iter);
		lock_sock(sk);
		ltp_policy_apply(sk);
		release_sock(sk);
		sock_put(sk);
		rhashtable_walk_start(&iter);
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
}

static int ltp_nl_config_set(struct sk_buff *req, struct genl_info *info)
{
	struct ltp_net *ln = ltp_pernet(genl_info_net(info));
	struct ltp_conf *conf = &ln->conf;
	struct ltp_conf new;
	bool rejudge;
	int err;

	mutex_lock(&ltp_nl_lock);
	new = *conf;
	err = ltp_nl_config_apply(&new, info);
	/* All that can fail comes before anything is changed. */
	if (!err && new.encap_port != conf->encap_port) {
		err = ltp_encap_config(genl_info_net(info), new.encap_port);
		if (err)
			NL_SET_ERR_MSG_ATTR(info->extack,
					    info->attrs[LTP_A_CONFIG_ENCAP_PORT],
					    "encap_port cannot be had: is it in use?");
	}
	if (err) {
		mutex_unlock(&ltp_nl_lock);
		return err;
	}
	rejudge = new.fraction_ppm != conf->fraction_ppm ||
		  new.lt_ns != conf->lt_ns ||
		  new.deadline_ns != conf->deadline_ns ||
		  new.slack_ns != conf->slack_ns ||
		  new.profile != conf->profile || new.epoch != conf->epoch;
	WRITE_ONCE(conf->fraction_ppm, new.fraction_ppm);
	WRITE_ONCE(conf->lt_ns, new.lt_ns);
	WRITE_ONCE(conf->deadline_ns, new.deadline_ns);
	WRITE_ONCE(conf->slack_ns, new.slack_ns);
	WRITE_ONCE(conf->profile, new.profile);
	WRITE_ONCE(conf->epoch, new.epoch);
	WRITE_ONCE(conf->rcvbuf, new.rcvbuf);
	WRITE_ONCE(conf->sndbuf, new.sndbuf);
	WRITE_ONCE(conf->dead_ms, new.dead_ms);
	WRITE_ONCE(conf->cc, new.cc);
	WRITE_ONCE(conf->encap_peer, new.encap_peer);
	if (rejudge)
		ltp_policy_changed(ln);
	mutex_unlock(&ltp_nl_lock);

	if (rejudge)
		ltp_nl_thresholds_changed(ln);
	return 0;
}

/* ---- dumps of associations and of their flows ---- */

/**
 * struct ltp_nl_keys - the associations that a dump tells of
 * @count: number of entries in @key
 * @key: their keys
 */
struct ltp_nl_keys {
	u32 count;
	struct ltp_key key[];
};

/**
 * struct ltp_nl_dump - how far a dump has come, in netlink_callback.ctx
 * @keys: the associations
 * @next: index of the first of them that is not done
 * @flow: in that one: last flow told of, if @some
 * @some: told of a flow in this direction
 * @out: done with the flows that come in
 */
struct ltp_nl_dump {
	struct ltp_nl_keys *keys;
	u32 next;
	u32 flow;
	bool some;
	bool out;
};

static struct ltp_nl_dump *ltp_nl_dump(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct ltp_nl_dump) > sizeof(cb->ctx));
	return (struct ltp_nl_dump *)cb->ctx;
}

/* Returns the number of keys, which did not all fit if it is above @room. */
static u32 ltp_nl_collect(struct ltp_net *ln, struct ltp_nl_keys *keys,
			  u32 room)
{
	struct rhashtable_iter iter;
	struct ltp_sock *lp;
	u32 count = 0;

	rhashtable_walk_enter(&ln->assocs, &iter);
	rhashtable_walk_start(&iter);
	while ((lp = rhashtable_walk_next(&iter))) {
		if (IS_ERR(lp)) {
			/* Resized: the walk begins anew. */
			count = 0;
			continue;
		}
		if (count < room)
			keys->key[count] = lp->key;
		count++;
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
	return count;
}

static int ltp_nl_dump_start(struct netlink_callback *cb)
{
	struct ltp_net *ln = ltp_pernet(sock_net(cb->skb->sk));
	u32 count = atomic_read(&ln->assocs.nelems);
	struct ltp_nl_keys *keys;
	u32 room;

	do {
		room = count + count / 8 + 8;
		keys = kvmalloc(struct_size(keys, key, room),
				GFP_KERNEL_ACCOUNT);
		if (!keys)
			return -ENOMEM;
		count = ltp_nl_collect(ln, keys, room);
		if (count <= room)
			break;
		kvfree(keys);
		cond_resched();
	} while (1);
	keys->count = count;
	*ltp_nl_dump(cb) = (struct ltp_nl_dump){ .keys = keys };
	return 0;
}

static int ltp_nl_dump_done(struct netlink_callback *cb)
{
	kvfree(ltp_nl_dump(cb)->keys);
	return 0;
}

/*
 * Has @fill tell of one association after the other until the message is full.
 * @fill is called with the socket locked.
 */
static int ltp_nl_dump_assocs(struct sk_buff *skb, struct netlink_callback *cb,
			      int (*fill)(struct sk_buff *skb,
					  struct netlink_callback *cb,
					  struct sock *sk))
{
	struct net *net = sock_net(skb->sk);
	struct ltp_nl_dump *d = ltp_nl_dump(cb);

	for (; d->next < d->keys->count; d->next++) {
		struct sock *sk;
		int err = 0;

		rcu_read_lock();
		sk = ltp_assoc_find(net, &d->keys->key[d->next]);
		rcu_read_unlock();
		if (!sk)
			continue;
		lock_sock(sk);
		if (ltp_sk(sk)->hashed)
			err = fill(skb, cb, sk);
		release_sock(sk);
		sock_put(sk);
		if (err)
			return skb->len ?: err;
		d->some = false;
		d->out = false;
	}
	return skb->len;
}

void *ltp_nl_put(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
			   cb->nlh->nlmsg_seq, &ltp_nl_family, NLM_F_MULTI,
			   cmd);
}

static u64 ltp_nl_cookie(struct sock *sk)
{
	u32 half[2];

	sock_diag_save_cookie(sk, half);
	return half[0] | (u64)half[1] << 32;
}

/* What associations and flows begin with has the same numbers in both. */
static_assert((int)LTP_A_ASSOC_COOKIE == (int)LTP_A_FLOW_COOKIE);
static_assert((int)LTP_A_ASSOC_LOCAL_PORT == (int)LTP_A_FLOW_LOCAL_PORT);
static_assert((int)LTP_A_ASSOC_PEER_PORT == (int)LTP_A_FLOW_PEER_PORT);
static_assert((int)LTP_A_ASSOC_LOCAL_IPV4 == (int)LTP_A_FLOW_LOCAL_IPV4);
static_assert((int)LTP_A_ASSOC_PEER_IPV4 == (int)LTP_A_FLOW_PEER_IPV4);
static_assert((int)LTP_A_ASSOC_LOCAL_IPV6 == (int)LTP_A_FLOW_LOCAL_IPV6);
static_assert((int)LTP_A_ASSOC_PEER_IPV6 == (int)LTP_A_FLOW_PEER_IPV6);
static_assert((int)LTP_A_ASSOC_IFINDEX == (int)LTP_A_FLOW_IFINDEX);

static int ltp_nl_put_ends(struct sk_buff *skb, struct sock *sk)
{
	const struct ltp_key *key = &ltp_sk(sk)->key;
	int ifindex = key->scope ?: READ_ONCE(sk->sk_bound_dev_if);

	if (ltp_nl_put_u64(skb, LTP_A_ASSOC_COOKIE, ltp_nl_cookie(sk)) ||
	    nla_put_be16(skb, LTP_A_ASSOC_LOCAL_PORT, key->lport) ||
	    nla_put_be16(skb, LTP_A_ASSOC_PEER_PORT, key->rport))
		return -EMSGSIZE;
	if (ifindex && nla_put_u32(skb, LTP_A_ASSOC_IFINDEX, ifindex))
		return -EMSGSIZE;
	if (ipv6_addr_v4mapped(&key->laddr)) {
		if (nla_put_in_addr(skb, LTP_A_ASSOC_LOCAL_IPV4,
				    key->laddr.s6_addr32[3]) ||
		    nla_put_in_addr(skb, LTP_A_ASSOC_PEER_IPV4,
				    key->raddr.s6_addr32[3]))
			return -EMSGSIZE;
		return 0;
	}
	if (nla_put_in6_addr(skb, LTP_A_ASSOC_LOCAL_IPV6, &key->laddr) ||
	    nla_put_in6_addr(skb, LTP_A_ASSOC_PEER_IPV6, &key->raddr))
		return -EMSGSIZE;
	return 0;
}

static int ltp_nl_put_info(struct sk_buff *skb, const struct ltp_info *info)
{
	if (nla_put_u32(skb, LTP_A_ASSOC_STATE, info->state) ||
	    nla_put_u32(skb, LTP_A_ASSOC_SRTT_US, info->srtt_us) ||
	    nla_put_u32(skb, LTP_A_ASSOC_RTTVAR_US, info->rttvar_us) ||
	    nla_put_u32(skb, LTP_A_ASSOC_RTPROP_US, info->rtprop_us) ||
	    ltp_nl_put_u64(skb, LTP_A_ASSOC_BTLBW, info->btlbw) ||
	    ltp_nl_put_u64(skb, LTP_A_ASSOC_PACING_RATE, info->pacing_rate) ||
	    nla_put_u32(skb, LTP_A_ASSOC_CWND, info->cwnd) ||
	    nla_put_u32(skb, LTP_A_ASSOC_IN_FLIGHT, info->in_flight) ||
	    nla_put_u32(skb, LTP_A_ASSOC_PEER_WINDOW, info->peer_window) ||
	    nla_put_u32(skb, LTP_A_ASSOC_SEG_SIZE, info->seg_size) ||
	    nla_put_u32(skb, LTP_A_ASSOC_FLOWS_OUT, info->flows_out) ||
	    nla_put_u32(skb, LTP_A_ASSOC_FLOWS_IN, info->flows_in) ||
	    nla_put_u32(skb, LTP_A_ASSOC_SEGMENTS_OUT, info->segments_out) ||
	    nla_put_u32(skb, LTP_A_ASSOC_SEGMENTS_IN, info->segments_in) ||
	    nla_put_u32(skb, LTP_A_ASSOC_RETRANSMITTED, info->retransmitted) ||
	    nla_put_u32(skb, LTP_A_ASSOC_LOST, info->lost) ||
	    nla_put_u32(skb, LTP_A_ASSOC_SPURIOUS, info->spurious) ||
	    nla_put_u32(skb, LTP_A_ASSOC_PROBES, info->probes) ||
	    ltp_nl_put_u64(skb, LTP_A_ASSOC_BYTES_ACKED, info->bytes_acked) ||
	    ltp_nl_put_u64(skb, LTP_A_ASSOC_BYTES_RECEIVED,
			   info->bytes_received) ||
	    (info->encap &&
	     nla_put_u32(skb, LTP_A_ASSOC_ENCAP_PORT, info->encap)))
		return -EMSGSIZE;
	return 0;
}

static int ltp_nl_assoc_fill(struct sk_buff *skb, struct netlink_callback *cb,
			     struct sock *sk)
{
	const struct ltp_cc_ops *cc = ltp_sk(sk)->tx.cc.ops;
	struct ltp_info info;
	void *hdr;

	hdr = ltp_nl_put(skb, cb, LTP_CMD_ASSOC_GET);
	if (!hdr)
		return -EMSGSIZE;
	ltp_info_fill(sk, &info);
	if (ltp_nl_put_ends(skb, sk) || ltp_nl_put_info(skb, &info) ||
	    (cc && nla_put_string(skb, LTP_A_ASSOC_CC, cc->name))) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

static int ltp_nl_assoc_get(struct sk_buff *skb, struct netlink_callback *cb)
{
	return ltp_nl_dump_assocs(skb, cb, ltp_nl_assoc_fill);
}

/**
 * struct ltp_nl_flow - what there is to tell of a flow in either direction
 * @map: segments that arrived
 * @tag: the program's
 * @direction: enum ltp_direction
 * @id: flow id
 * @len: length of the message
 * @seg_size: bytes in a segment
 * @ncrit: critical segments
 * @crit_got: how many of them arrived
 * @reason: enum ltp_close_reason
 * @tolerant: may be closed early
 */
struct ltp_nl_flow {
	const struct ltp_ackmap *map;
	u64 tag;
	u32 direction;
	u32 id;
	u32 len;
	u32 seg_size;
	u32 ncrit;
	u32 crit_got;
	u32 reason;
	bool tolerant;
};

static int ltp_nl_put_flow(struct sk_buff *skb, const struct ltp_nl_flow *flow)
{
	if (nla_put_u32(skb, LTP_A_FLOW_DIRECTION, flow->direction) ||
	    nla_put_u32(skb, LTP_A_FLOW_FLOW, flow->id) ||
	    ltp_nl_put_u64(skb, LTP_A_FLOW_TAG, flow->tag) ||
	    nla_put_u32(skb, LTP_A_FLOW_LENGTH, flow->len) ||
	    nla_put_u32(skb, LTP_A_FLOW_SEG_SIZE, flow->seg_size) ||
	    nla_put_u32(skb, LTP_A_FLOW_SEGMENTS, flow->map->segs) ||
	    nla_put_u32(skb, LTP_A_FLOW_ARRIVED, flow->map->count) ||
	    nla_put_u32(skb, LTP_A_FLOW_CRITICAL, flow->ncrit) ||
	    nla_put_u32(skb, LTP_A_FLOW_CRITICAL_ARRIVED, flow->crit_got) ||
	    nla_put_u32(skb, LTP_A_FLOW_REASON, flow->reason) ||
	    (flow->tolerant && nla_put_flag(skb, LTP_A_FLOW_TOLERANT)))
		return -EMSGSIZE;
	return 0;
}

static int ltp_nl_flow_tx_fill(struct sk_buff *skb,
			       const struct ltp_flow_tx *flow)
{
	struct ltp_nl_flow told = {
		.map		= &flow->map,
		.tag		= flow->tag,
		.direction	= LTP_DIRECTION_OUT,
		.id		= flow->id,
		.len		= flow->len,
		.seg_size	= flow->seg_size,
		.ncrit		= flow->ncrit,
		.crit_got	= bitmap_weight(flow->map.bits, flow->ncrit),
		.reason		= flow->reason,
		.tolerant	= flow->tolerant,
	};

	return ltp_nl_put_flow(skb, &told);
}

static int ltp_nl_flow_rx_fill(struct sk_buff *skb, struct sock *sk,
			       const struct ltp_flow_rx *flow)
{
	struct ltp_nl_flow told = {
		.map		= &flow->map,
		.tag		= flow->tag,
		.direction	= LTP_DIRECTION_IN,
		.id		= flow->id,
		.len		= flow->len,
		.seg_size	= flow->seg_size,
		.ncrit		= flow->ncrit,
		.crit_got	= flow->crit_got,
		.reason		= flow->reason,
		.tolerant	= flow->tolerant,
	};
	struct ltp_ec_thresholds th;
	u64 age = flow->elapsed_ns;

	if (flow->reason == LTP_OPEN)
		age = ltp_ec_elapsed(&flow->ec, ltp_now());
	if (ltp_nl_put_flow(skb, &told) ||
	    ltp_nl_put_u64(skb, LTP_A_FLOW_AGE_US, ltp_nl_us(age)))
		return -EMSGSIZE;
	if (!flow->tolerant)
		return 0;
	ltp_adapt_thresholds(sk, flow, &th);
	if (flow->th.calibrating &&
	    nla_put_flag(skb, LTP_A_FLOW_CALIBRATING))
		return -EMSGSIZE;
	if (nla_put_u32(skb, LTP_A_FLOW_FRACTION_PPM, th.fraction_ppm) ||
	    ltp_nl_put_u64(skb, LTP_A_FLOW_LT_US, ltp_nl_us(th.lt_ns)) ||
	    ltp_nl_put_u64(skb, LTP_A_FLOW_DEADLINE_US,
			   ltp_nl_us(th.deadline_ns)))
		return -EMSGSIZE;
	return 0;
}

/* Tells of the flow that is not NULL. */
static int ltp_nl_flow_fill(struct sk_buff *skb, struct netlink_callback *cb,
			    struct sock *sk, const struct ltp_flow_rx *rx,
			    const struct ltp_flow_tx *tx)
{
	struct ltp_nl_dump *d = ltp_nl_dump(cb);
	void *hdr;
	int err;

	hdr = ltp_nl_put(skb, cb, LTP_CMD_FLOW_GET);
	if (!hdr)
		return -EMSGSIZE;
	err = ltp_nl_put_ends(skb, sk);
	if (!err)
		err = rx ? ltp_nl_flow_rx_fill(skb, sk, rx) :
			   ltp_nl_flow_tx_fill(skb, tx);
	if (err) {
		genlmsg_cancel(skb, hdr);
		return err;
	}
	genlmsg_end(skb, hdr);
	d->flow = rx ? rx->id : tx->id;
	d->some = true;
	return 0;
}

/* Both lists are in order of id, and ids are never used again. */
static bool ltp_nl_told(const struct ltp_nl_dump *d, u32 id)
{
	return d->some && !ltp_after(id, d->flow);
}

static int ltp_nl_flows_fill(struct sk_buff *skb, struct netlink_callback *cb,
			     struct sock *sk)
{
	struct ltp_nl_dump *d = ltp_nl_dump(cb);
	const struct ltp_flow_rx *rx;
	const struct ltp_flow_tx *tx;
	int err;

	if (!d->out) {
		list_for_each_entry(rx, &ltp_sk(sk)->rx.flows, node) {
			if (ltp_nl_told(d, rx->id))
				continue;
			err = ltp_nl_flow_fill(skb, cb, sk, rx, NULL);
			if (err)
				return err;
		}
		d->some = false;
		d->out = true;
	}
	list_for_each_entry(tx, &ltp_sk(sk)->tx.flows, node) {
		if (ltp_nl_told(d, tx->id))
			continue;
		err = ltp_nl_flow_fill(skb, cb, sk, NULL, tx);
		if (err)
			return err;
	}
	return 0;
}

static int ltp_nl_flow_get(struct sk_buff *skb, struct netlink_callback *cb)
{
	return ltp_nl_dump_assocs(skb, cb, ltp_nl_flows_fill);
}

/* ---- counters ---- */

static int ltp_nl_stat_get(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct net *net = sock_net(skb->sk);
	long *which = (long *)cb->ctx;

	for (; *which < __LTP_MIB_MAX; ++*which) {
		const struct ltp_mib_entry *entry = &ltp_mib_entries[*which];
		void *hdr = ltp_nl_put(skb, cb, LTP_CMD_STAT_GET);

		if (!hdr)
			break;
		if (nla_put_string(skb, LTP_A_STAT_NAME, entry->name) ||
		    ltp_nl_put_u64(skb, LTP_A_STAT_VALUE,
				   ltp_mib_sum(net, *which)) ||
		    nla_put_string(skb, LTP_A_STAT_DOC, entry->doc)) {
			genlmsg_cancel(skb, hdr);
			break;
		}
		genlmsg_end(skb, hdr);
	}
	return skb->len;
}

/* ---- the family ---- */

static const struct genl_ops ltp_nl_ops[] = {
	{
		.cmd		= LTP_CMD_CONFIG_GET,
		.doit		= ltp_nl_config_get,
	},
	{
		.cmd		= LTP_CMD_CONFIG_SET,
		.flags		= GENL_UNS_ADMIN_PERM,
		.policy		= ltp_nl_config_policy,
		.maxattr	= ARRAY_SIZE(ltp_nl_config_policy) - 1,
		.doit		= ltp_nl_config_set,
	},
	{
		.cmd		= LTP_CMD_ASSOC_GET,
		.start		= ltp_nl_dump_start,
		.dumpit		= ltp_nl_assoc_get,
		.done		= ltp_nl_dump_done,
	},
	{
		.cmd		= LTP_CMD_FLOW_GET,
		.start		= ltp_nl_dump_start,
		.dumpit		= ltp_nl_flow_get,
		.done		= ltp_nl_dump_done,
	},
	{
		.cmd		= LTP_CMD_STAT_GET,
		.dumpit		= ltp_nl_stat_get,
	},
	{
		.cmd		= LTP_CMD_RULE_ADD,
		.flags		= GENL_UNS_ADMIN_PERM,
		.policy		= ltp_nl_rule_policy,
		.maxattr	= LTP_A_RULE_MAX,
		.doit		= ltp_nl_rule_add,
	},
	{
		.cmd		= LTP_CMD_RULE_SET,
		.flags		= GENL_UNS_ADMIN_PERM,
		.policy		= ltp_nl_rule_policy,
		.maxattr	= LTP_A_RULE_MAX,
		.doit		= ltp_nl_rule_add,
	},
	{
		.cmd		= LTP_CMD_RULE_DEL,
		.flags		= GENL_UNS_ADMIN_PERM,
		.policy		= ltp_nl_rule_policy,
		.maxattr	= LTP_NL_RULE_WHOM,
		.doit		= ltp_nl_rule_del,
	},
	{
		.cmd		= LTP_CMD_RULE_FLUSH,
		.flags		= GENL_UNS_ADMIN_PERM,
		.doit		= ltp_nl_rule_flush,
	},
	{
		.cmd		= LTP_CMD_RULE_GET,
		.start		= ltp_nl_rule_start,
		.dumpit		= ltp_nl_rule_get,
		.done		= ltp_nl_rule_end,
	},
};

static struct genl_family ltp_nl_family __ro_after_init = {
	.name		= LTP_FAMILY_NAME,
	.version	= LTP_FAMILY_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.ops		= ltp_nl_ops,
	.n_ops		= ARRAY_SIZE(ltp_nl_ops),
};

MODULE_ALIAS_GENL_FAMILY(LTP_FAMILY_NAME);

/**
 * ltp_netlink_init() - let ltpctl and others in
 *
 * Context: namespaces, sockets and flows are ready.
 * Return: 0 or an error
 */
int __init ltp_netlink_init(void)
{
	size_t len = strlen(ltp_nl_no_cc);

	ltp_cc_names(ltp_nl_no_cc + len, sizeof(ltp_nl_no_cc) - len);
	return genl_register_family(&ltp_nl_family);
}

/**
 * ltp_netlink_exit() - wait for those who are in, let no more in
 */
void ltp_netlink_exit(void)
{
	genl_unregister_family(&ltp_nl_family);
}
