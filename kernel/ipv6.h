/* SPDX-License-Identifier: GPL-2.0 */
/* IPv6: the differences, and only they. */
#ifndef _LTP_IPV6_H
#define _LTP_IPV6_H

#include "icmp.h"

#if IS_ENABLED(CONFIG_IPV6)

extern const struct ltp_af ltp_ipv6;

void ltp_v6_mapped(struct sock *sk);
void ltp_v6_child(struct sock *child);
void ltp_v6_disconnect(struct sock *sk);
void ltp_v6_destruct(struct sock *sk);

void ltp_v6_icmp_read(struct ltp_icmp *icmp, u8 type, u8 code, u32 info);
void ltp_ipv6_prepare(const struct proto *prot);
int ltp_ipv6_proto_register(void);
void ltp_ipv6_proto_unregister(void);
int ltp_ipv6_net_init(struct net *net);
void ltp_ipv6_net_exit(struct net *net);
int ltp_ipv6_register(void);
void ltp_ipv6_unregister(void);

/* What a socket begins with, NULL: it is no socket of IPv6. */
static inline const struct ltp_af *ltp_v6_own(const struct sock *sk)
{
	return sk->sk_family == AF_INET6 ? &ltp_ipv6 : NULL;
}

/* Are options of this level those of IPv6? */
static inline bool ltp_v6_level(const struct sock *sk, int level)
{
	return level == SOL_IPV6 && sk->sk_family == AF_INET6;
}

#else /* a kernel that was built without IPv6 */

static inline const struct ltp_af *ltp_v6_own(const struct sock *sk)
{
	return NULL;
}

static inline bool ltp_v6_level(const struct sock *sk, int level)
{
	return false;
}

static inline void ltp_v6_mapped(struct sock *sk)
{
}

static inline void ltp_v6_child(struct sock *child)
{
}

static inline void ltp_v6_disconnect(struct sock *sk)
{
}

static inline void ltp_v6_destruct(struct sock *sk)
{
}

static inline void ltp_ipv6_prepare(const struct proto *prot)
{
}

static inline int ltp_ipv6_proto_register(void)
{
	return 0;
}

static inline void ltp_ipv6_proto_unregister(void)
{
}

static inline int ltp_ipv6_net_init(struct net *net)
{
	return 0;
}

static inline void ltp_ipv6_net_exit(struct net *net)
{
}

static inline int ltp_ipv6_register(void)
{
	return 0;
}

static inline void ltp_ipv6_unregister(void)
{
}

#endif

#endif /* _LTP_IPV6_H */
