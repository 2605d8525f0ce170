/* SPDX-License-Identifier: GPL-2.0 */
/* IPv4: the differences, and only they. */
#ifndef _LTP_IPV4_H
#define _LTP_IPV4_H

#include "icmp.h"

struct icmphdr;

extern const struct ltp_af ltp_ipv4;

int ltp_v4_connect_to(struct sock *sk, __be32 daddr, __be16 dport);
int ltp_v4_connect(struct sock *sk, struct sockaddr_unsized *addr, int len);
void ltp_v4_icmp_read(struct ltp_icmp *icmp, const struct icmphdr *icmph,
		      u32 info);
int ltp_ipv4_net_init(struct net *net);
void ltp_ipv4_net_exit(struct net *net);
int ltp_ipv4_register(void);
void ltp_ipv4_unregister(void);

#endif /* _LTP_IPV4_H */
