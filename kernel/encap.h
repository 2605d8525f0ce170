/* SPDX-License-Identifier: GPL-2.0 */
/* LTP in UDP, for what lies between hosts and knows nothing else. */
#ifndef _LTP_ENCAP_H
#define _LTP_ENCAP_H

#include <linux/udp.h>
#include <net/route.h>

#include "ltp.h"

/* LTP_ENCAP was not set: the namespace says. */
#define LTP_ENCAP_DEFAULT	(-1)

#if IS_ENABLED(CONFIG_NET_UDP_TUNNEL)

int ltp_encap_config(struct net *net, u16 port);
void ltp_encap_net_exit(struct net *net);
int ltp_encap_connect(struct sock *sk);
void ltp_encap_follow(struct sock *sk, const struct sk_buff *skb);
bool ltp_encap_push4(struct net *net, struct sk_buff *skb, __be16 port,
		     const struct flowi4 *fl4);
bool ltp_encap_push6(struct net *net, struct sk_buff *skb, __be16 port,
		     const struct flowi6 *fl6);

/* Where packets in UDP come from, 0: there are none. */
static inline __be16 ltp_encap_port(const struct net *net)
{
	return htons(READ_ONCE(ltp_pernet(net)->conf.encap_port));
}

#else /* a kernel that was built without UDP tunnels */

static inline int ltp_encap_config(struct net *net, u16 port)
{
	return port ? -EOPNOTSUPP : 0;
}

static inline void ltp_encap_net_exit(struct net *net)
{
}

static inline int ltp_encap_connect(struct sock *sk)
{
	return ltp_sk(sk)->encap_want > 0 ? -EOPNOTSUPP : 0;
}

static inline void ltp_encap_follow(struct sock *sk, const struct sk_buff *skb)
{
}

static inline bool ltp_encap_push4(struct net *net, struct sk_buff *skb,
				   __be16 port, const struct flowi4 *fl4)
{
	return false;
}

static inline bool ltp_encap_push6(struct net *net, struct sk_buff *skb,
				   __be16 port, const struct flowi6 *fl6)
{
	return false;
}

static inline __be16 ltp_encap_port(const struct net *net)
{
	return 0;
}

#endif

/* The port that an unconnected socket will connect to, 0: none. */
static inline u16 ltp_encap_wanted(const struct sock *sk)
{
	int want = ltp_sk(sk)->encap_want;

	return want == LTP_ENCAP_DEFAULT ?
		       READ_ONCE(ltp_sock_net(sk)->conf.encap_peer) : want;
}

#endif /* _LTP_ENCAP_H */
