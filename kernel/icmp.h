/* SPDX-License-Identifier: GPL-2.0 */
/* What an ICMP error means to an association, of whatever address family. */
#ifndef _LTP_ICMP_H
#define _LTP_ICMP_H

#include "ltp.h"

enum ltp_icmp_kind {
	LTP_ICMP_IGNORED,
	LTP_ICMP_UNREACHABLE,
	LTP_ICMP_TOO_BIG,
	LTP_ICMP_REDIRECT,
};

/**
 * struct ltp_icmp - an ICMP error about a packet of ours
 * @key: addresses and ports of that packet, as its association has them
 * @tag: verification tag it carried
 * @pn: and its packet number
 * @kind: what the error says
 * @err: UNREACHABLE: the errno that belongs to it, positive
 * @mtu: TOO_BIG: largest packet that would have passed, bytes
 * @has_pn: @pn is valid: so much was quoted
 */
struct ltp_icmp {
	struct ltp_key key;
	u32 tag;
	u32 pn;
	enum ltp_icmp_kind kind;
	int err;
	u32 mtu;
	bool has_pn;
};

bool ltp_icmp_quote(struct ltp_icmp *icmp, const struct sk_buff *skb,
		    int offset);
int ltp_icmp(struct net *net, struct sk_buff *skb, const struct ltp_icmp *icmp);
void ltp_icmp_missed(struct sock *sk);

#endif /* _LTP_ICMP_H */
