/* SPDX-License-Identifier: GPL-2.0 */
/* The generic netlink family "ltp". */
#ifndef _LTP_NETLINK_H
#define _LTP_NETLINK_H

#include <linux/mutex.h>
#include <net/genetlink.h>

#include "ltp.h"
#include "../uapi/linux/ltp_netlink.h"

int ltp_netlink_init(void);
void ltp_netlink_exit(void);

/* Within the family: netlink.c and netlink_rules.c. */
extern struct mutex ltp_nl_lock;

int ltp_nl_check_fraction(const struct nlattr *attr,
			  struct netlink_ext_ack *extack);
int ltp_nl_check_lt(const struct nlattr *attr, struct netlink_ext_ack *extack);
int ltp_nl_check_deadline(const struct nlattr *attr,
			  struct netlink_ext_ack *extack);
int ltp_nl_check_slack(const struct nlattr *attr,
		       struct netlink_ext_ack *extack);
int ltp_nl_check_profile(const struct nlattr *attr,
			 struct netlink_ext_ack *extack);
int ltp_nl_check_epoch(const struct nlattr *attr,
		       struct netlink_ext_ack *extack);
int ltp_nl_check_rcvbuf(const struct nlattr *attr,
			struct netlink_ext_ack *extack);
int ltp_nl_check_sndbuf(const struct nlattr *attr,
			struct netlink_ext_ack *extack);
int ltp_nl_check_dead(const struct nlattr *attr,
		      struct netlink_ext_ack *extack);
int ltp_nl_check_cc(const struct nlattr *attr, struct netlink_ext_ack *extack);
int ltp_nl_check_encap_port(const struct nlattr *attr,
			    struct netlink_ext_ack *extack);
int ltp_nl_check_encap_peer(const struct nlattr *attr,
			    struct netlink_ext_ack *extack);
int ltp_nl_check_order(const struct nlattr *lt, u64 lt_ns,
		       const struct nlattr *deadline, u64 deadline_ns,
		       struct netlink_ext_ack *extack);

int ltp_nl_put_u64(struct sk_buff *skb, int type, u64 value);
u64 ltp_nl_us(u64 ns);
u64 ltp_nl_get_time(const struct nlattr *attr);
void ltp_nl_thresholds_changed(struct ltp_net *ln);
void *ltp_nl_put(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd);

/* Attributes that say for whom a rule is: all that a request to delete has. */
#define LTP_NL_RULE_WHOM	LTP_A_RULE_PEER_PORT

extern const struct nla_policy ltp_nl_rule_policy[LTP_A_RULE_MAX + 1];

int ltp_nl_rule_add(struct sk_buff *req, struct genl_info *info);
int ltp_nl_rule_del(struct sk_buff *req, struct genl_info *info);
int ltp_nl_rule_flush(struct sk_buff *req, struct genl_info *info);
int ltp_nl_rule_start(struct netlink_callback *cb);
int ltp_nl_rule_get(struct sk_buff *skb, struct netlink_callback *cb);
int ltp_nl_rule_end(struct netlink_callback *cb);

#endif /* _LTP_NETLINK_H */
