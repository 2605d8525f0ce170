/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All differences between the kernels this module is built for.
 *
 * The module's code is written for the newest kernel. Here an older one gets
 * the same names, so that no other file asks which kernel it is. What is there
 * is found in the headers in use: by probe.sh, which gives LTP_HAVE_..., or by
 * the preprocessor where it sees a macro. Never by a version number,
 * distributions backport. When the oldest kernel that lacks something is no
 * longer supported, its section goes.
 *
 * Where a function pointer's type changed, the kernel's own name cannot be
 * kept. Then the function, written the new way, is followed by a line that
 * makes the old way of it, and named in the table through a macro:
 *
 *	static int ltp_ioctl(struct sock *sk, int cmd, int *karg) { ... }
 *	LTP_COMPAT_IOCTL(ltp_ioctl);
 *	...
 *		.ioctl	= LTP_IOCTL(ltp_ioctl),
 */
#ifndef _LTP_COMPAT_H
#define _LTP_COMPAT_H

#include <kunit/visibility.h>
#include <linux/hrtimer.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <net/inet_sock.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/udp_tunnel.h>

/* ---- headers that were split off others ---- */

#ifdef LTP_HAVE_UNALIGNED_H
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif
#ifdef LTP_HAVE_GSO_H
#include <net/gso.h>
#endif
#ifdef LTP_HAVE_PROTO_MEMORY_H
#include <net/proto_memory.h>
#endif
#ifdef LTP_HAVE_RPS_H
#include <net/rps.h>
#endif

/* ---- struct proto and struct proto_ops ---- */

/* 6.19: addresses of unknown length have a type of their own. */
#ifndef LTP_HAVE_SOCKADDR_UNSIZED
#define sockaddr_unsized sockaddr
#endif

/* 6.10: accept() of struct proto has its arguments in a structure. */
#ifdef LTP_HAVE_PROTO_ACCEPT_ARG
#define LTP_COMPAT_ACCEPT(fn) static_assert(true)
#define LTP_ACCEPT(fn) fn
#else
struct proto_accept_arg {
	int flags;
	int err;
	int is_empty;
	bool kern;
};

#define LTP_COMPAT_ACCEPT(fn)						\
static struct sock *fn##_compat(struct sock *sk, int flags, int *err,	\
				bool kern)				\
{									\
	struct proto_accept_arg arg = {					\
		.flags = flags,						\
		.kern = kern,						\
	};								\
	struct sock *child = fn(sk, &arg);				\
									\
	*err = arg.err;							\
	return child;							\
}									\
static_assert(true)
#define LTP_ACCEPT(fn) fn##_compat
#endif

/* 6.5: ioctl() of struct proto is given a kernel variable for its result. */
#ifdef LTP_HAVE_PROTO_IOCTL_KARG
#define LTP_COMPAT_IOCTL(fn) static_assert(true)
#define LTP_IOCTL(fn) fn
#else
#define LTP_COMPAT_IOCTL(fn)						\
static int fn##_compat(struct sock *sk, int cmd, unsigned long arg)	\
{									\
	int karg = 0;							\
	int err = fn(sk, cmd, &karg);					\
									\
	return err ?: put_user(karg, (int __user *)arg);		\
}									\
static_assert(true)
#define LTP_IOCTL(fn) fn##_compat
#endif

/* 7.1: recvmsg() of struct proto sets msg_namelen itself. */
#ifdef LTP_HAVE_PROTO_RECVMSG_4
#define LTP_COMPAT_RECVMSG(fn) static_assert(true)
#define LTP_RECVMSG(fn) fn
#else
#define LTP_COMPAT_RECVMSG(fn)						\
static int fn##_compat(struct sock *sk, struct msghdr *msg, size_t len,	\
		       int flags, int *addr_len)			\
{									\
	int ret;							\
									\
	msg->msg_namelen = 0;						\
	ret = fn(sk, msg, len, flags);					\
	*addr_len = msg->msg_namelen;					\
	return ret;							\
}									\
static_assert(true)
#define LTP_RECVMSG(fn) fn##_compat
#endif

/*
 * 6.6: struct proto says where struct ipv6_pinfo is. Before, it is taken for
 * the end of the socket, so it must be the last member everywhere.
 */
#ifdef LTP_HAVE_PROTO_PINFO_OFFSET
#define ltp_set_pinfo_offset(prot, type, member)			\
	((prot)->ipv6_pinfo_offset = offsetof(type, member))
#else
#define ltp_set_pinfo_offset(prot, type, member) ((void)(prot))
#endif

/* ---- struct sock ---- */

/* After 6.12: the owner can change under a reader. */
#ifndef LTP_HAVE_SK_UID
static inline kuid_t sk_uid(const struct sock *sk)
{
	return READ_ONCE(sk->sk_uid);
}
#endif

/* After 6.12: the drop counter may be split by NUMA node. */
#ifndef LTP_HAVE_SK_DROPS_INC
static inline void sk_drops_inc(struct sock *sk)
{
	atomic_inc(&sk->sk_drops);
}
#endif

/*
 * 6.6: the flags of struct inet_sock and struct ipv6_pinfo are atomic bits, no
 * bitfields. Only names that both sides have are here.
 */
#ifndef inet_test_bit
#define LTP_INET_RECVERR		recverr
#define LTP_INET_RECVERR_RFC4884	recverr_rfc4884
#define LTP_INET_FREEBIND		freebind
#define LTP_INET_HDRINCL		hdrincl
#define LTP_INET_MC_LOOP		mc_loop
#define LTP_INET_MC_ALL			mc_all
#define LTP_INET_TRANSPARENT		transparent
#define LTP_INET_NODEFRAG		nodefrag
#define LTP_INET_BIND_ADDRESS_NO_PORT	bind_address_no_port
#define LTP_INET_DEFER_CONNECT		defer_connect
#define inet_test_bit(nr, sk) (inet_sk(sk)->LTP_INET_##nr)
#define inet_set_bit(nr, sk) ((void)(inet_sk(sk)->LTP_INET_##nr = 1))
#define inet_clear_bit(nr, sk) ((void)(inet_sk(sk)->LTP_INET_##nr = 0))
#define inet_assign_bit(nr, sk, val)					\
	((void)(inet_sk(sk)->LTP_INET_##nr = !!(val)))
#endif
#ifndef inet6_test_bit
#define LTP_INET6_MC6_LOOP		mc_loop
#define LTP_INET6_MC6_ALL		mc_all
#define LTP_INET6_RECVERR6		recverr
#define LTP_INET6_RECVERR6_RFC4884	recverr_rfc4884
#define LTP_INET6_AUTOFLOWLABEL		autoflowlabel
#define LTP_INET6_AUTOFLOWLABEL_SET	autoflowlabel_set
#define LTP_INET6_DONTFRAG		dontfrag
#define LTP_INET6_REPFLOW		repflow
#define LTP_INET6_SNDFLOW		sndflow
#define LTP_INET6_RTALERT_ISOLATE	rtalert_isolate
#define inet6_test_bit(nr, sk) (inet6_sk(sk)->LTP_INET6_##nr)
#define inet6_set_bit(nr, sk) ((void)(inet6_sk(sk)->LTP_INET6_##nr = 1))
#define inet6_clear_bit(nr, sk) ((void)(inet6_sk(sk)->LTP_INET6_##nr = 0))
#define inet6_assign_bit(nr, sk, val)					\
	((void)(inet6_sk(sk)->LTP_INET6_##nr = !!(val)))
#endif

/* ---- system calls ---- */

/* 6.4: where the first piece of a program's buffer is. */
#ifndef iter_iov_addr
#define iter_iov_addr(iter) ((iter)->iov->iov_base + (iter)->iov_offset)
#endif

/* ---- IPv6 ---- */

#if IS_ENABLED(CONFIG_IPV6)

/*
 * After 6.12: an IPv6 route is stored with two flags, no longer with pointers
 * to the addresses it was looked up for. A route that fits no later lookup by
 * ip6_sk_dst_lookup_flow() is stored here: the module looks up its own.
 */
static inline void ltp_ip6_dst_store(struct sock *sk, struct dst_entry *dst)
{
#ifdef LTP_HAVE_IP6_DST_STORE_BOOL
	ip6_dst_store(sk, dst, false, false);
#else
	ip6_dst_store(sk, dst, NULL, 0);
#endif
}

/* After 6.1: the list of flow labels moved. Parts a clone from it. */
static inline void ltp_ip6_no_labels(struct sock *child)
{
#ifdef LTP_HAVE_INET_FL_LIST
	RCU_INIT_POINTER(inet_sk(child)->ipv6_fl_list, NULL);
#else
	RCU_INIT_POINTER(inet6_sk(child)->ipv6_fl_list, NULL);
#endif
}

/* 7.1: reading the error queue sets msg_namelen itself. */
#ifndef LTP_HAVE_IPV6_RECV_ERROR_3
static inline int ltp_compat_ipv6_recv_error(struct sock *sk,
					     struct msghdr *msg, int len)
{
	int addr_len = msg->msg_namelen;
	int ret = ipv6_recv_error(sk, msg, len, &addr_len);

	msg->msg_namelen = addr_len;
	return ret;
}

#define ipv6_recv_error ltp_compat_ipv6_recv_error
#endif

#endif /* CONFIG_IPV6 */

/* ---- timers ---- */

/* 6.13: a timer gets its function when it is set up. */
#ifndef LTP_HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}
#endif

/* ---- tunnels ---- */

/* 7.1: the UDP tunnel's functions take a struct sock. */
#ifndef LTP_HAVE_UDP_TUNNEL_SK
static inline void ltp_compat_tunnel_setup(struct net *net, struct sock *sk,
					   struct udp_tunnel_sock_cfg *cfg)
{
	setup_udp_tunnel_sock(net, sk->sk_socket, cfg);
}

static inline void ltp_compat_tunnel_release(struct sock *sk)
{
	udp_tunnel_sock_release(sk->sk_socket);
}

#define setup_udp_tunnel_sock ltp_compat_tunnel_setup
#define udp_tunnel_sock_release ltp_compat_tunnel_release
#endif

/* After 6.12: and flags for the inner packet's control block at the end. */
#ifndef LTP_HAVE_UDP_TUNNEL_CB_FLAGS
#define udp_tunnel_xmit_skb(rt, sk, skb, src, dst, tos, ttl, df, sport,	\
			    dport, xnet, nocheck, flags)		\
	udp_tunnel_xmit_skb(rt, sk, skb, src, dst, tos, ttl, df, sport,	\
			    dport, xnet, nocheck)
#define udp_tunnel6_xmit_skb(dst, sk, skb, dev, saddr, daddr, prio, ttl, \
			     label, sport, dport, nocheck, flags)	\
	udp_tunnel6_xmit_skb(dst, sk, skb, dev,				\
			     (struct in6_addr *)(saddr),		\
			     (struct in6_addr *)(daddr), prio, ttl,	\
			     label, sport, dport, nocheck)
#endif

#endif /* _LTP_COMPAT_H */
