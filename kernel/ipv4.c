// SPDX-License-Identifier: GPL-2.0
/* IPv4: the differences, and only they. */
#include <linux/icmp.h>
#include <linux/inetdevice.h>
#include <net/icmp.h>
#include <net/inet_common.h>
#include <net/ip.h>
#include <net/protocol.h>
#include <net/route.h>

#include "encap.h"
#include "handshake.h"
#include "icmp.h"
#include "input.h"
#include "ipv4.h"
#include "ipv6.h"
#include "port.h"
#include "socket.h"

/* ip_queue_xmit() takes the addresses from the socket's own flow. */
static struct rtable *ltp_v4_route(struct sock *sk)
{
	struct inet_sock *inet = inet_sk(sk);
	struct flowi4 *fl4 = &inet->cork.fl.u.ip4;
	__be16 encap = ltp_sk(sk)->encap_port;

	flowi4_init_output(fl4, sk->sk_bound_dev_if, READ_ONCE(sk->sk_mark),
			   inet->tos & ~INET_ECN_MASK, RT_SCOPE_UNIVERSE,
			   encap ? IPPROTO_UDP : sk->sk_protocol,
			   inet_sk_flowi_flags(sk),
			   inet->inet_daddr, inet->inet_saddr,
			   encap ?: inet->inet_dport,
			   encap ? ltp_encap_port(sock_net(sk)) :
				   inet->inet_sport, sk_uid(sk));
	security_sk_classify_flow(sk, flowi4_to_flowi_common(fl4));
	return ip_route_output_flow(sock_net(sk), fl4, sk);
}

static void ltp_v4_key(struct sock *sk)
{
	struct ltp_key *key = &ltp_sk(sk)->key;

	memset(key, 0, sizeof(*key));
	ipv6_addr_set_v4mapped(inet_sk(sk)->inet_saddr, &key->laddr);
	ipv6_addr_set_v4mapped(inet_sk(sk)->inet_daddr, &key->raddr);
	key->lport = inet_sk(sk)->inet_sport;
	key->rport = inet_sk(sk)->inet_dport;
}

/* Find the way to inet_daddr, and the address to come from. */
static int ltp_v4_connect_route(struct sock *sk)
{
	struct inet_sock *inet = inet_sk(sk);
	const struct flowi4 *fl4 = &inet->cork.fl.u.ip4;
	struct rtable *rt;

	rt = ltp_v4_route(sk);
	if (IS_ERR(rt))
		return PTR_ERR(rt);
	if (rt->rt_flags & (RTCF_MULTICAST | RTCF_BROADCAST)) {
		ip_rt_put(rt);
		return -ENETUNREACH;
	}
	if (!inet->inet_saddr) {
		inet->inet_saddr = fl4->saddr;
		inet->inet_rcv_saddr = fl4->saddr;
	}
	inet->inet_daddr = fl4->daddr;
	sk_setup_caps(sk, &rt->dst);
	return 0;
}

/**
 * ltp_v4_connect_to() - connect a socket of either family
 * @sk: socket in TCP_CLOSE that has a port
 * @daddr: the peer's address
 * @dport: its port
 *
 * Context: socket locked.
 * Return: 0 when the handshake is under way, or an error; then the socket is as
 * it was before
 */
int ltp_v4_connect_to(struct sock *sk, __be32 daddr, __be16 dport)
{
	struct inet_sock *inet = inet_sk(sk);
	__be32 saddr = inet->inet_saddr;
	int err;

	inet->inet_daddr = daddr;
	inet->inet_dport = dport;
	err = ltp_encap_connect(sk);
	if (err)
		goto fail;
	err = ltp_v4_connect_route(sk);
	if (err)
		goto fail;
	ltp_v4_key(sk);
	ltp_v6_mapped(sk);
	err = ltp_handshake_start(sk);
	if (!err)
		return 0;
fail:
	sk_dst_reset(sk);
	inet->inet_saddr = saddr;
	inet->inet_rcv_saddr = saddr;
	inet->inet_daddr = 0;
	inet->inet_dport = 0;
	ltp_sk(sk)->encap_port = 0;
	return err;
}

/**
 * ltp_v4_connect() - proto.connect
 * @sk: socket in TCP_CLOSE
 * @addr: struct sockaddr_in
 * @len: its length
 *
 * Context: socket locked.
 * Return: 0 when the handshake is under way, or an error
 */
int ltp_v4_connect(struct sock *sk, struct sockaddr_unsized *addr, int len)
{
	struct sockaddr_in *to = (struct sockaddr_in *)addr;
	int err;

	if (len < (int)sizeof(*to))
		return -EINVAL;
	if (to->sin_family != AF_INET)
		return -EAFNOSUPPORT;
	if (!to->sin_port)
		return -EINVAL;
	err = ltp_port_auto(sk);
	if (err)
		return err;
	return ltp_v4_connect_to(sk, to->sin_addr.s_addr, to->sin_port);
}

static struct dst_entry *ltp_v4_dst(struct sock *sk)
{
	return __sk_dst_check(sk, 0);
}

static struct rtable *ltp_v4_dst_or_route(struct sock *sk)
{
	struct dst_entry *dst = ltp_v4_dst(sk);
	struct rtable *rt;

	if (dst)
		return container_of(dst, struct rtable, dst);
	rt = ltp_v4_route(sk);
	if (!IS_ERR(rt))
		sk_setup_caps(sk, &rt->dst);
	return rt;
}

static void ltp_v4_too_big(struct sock *sk, u32 mtu)
{
	struct dst_entry *dst = ltp_v4_dst(sk);

	if (dst)
		dst->ops->update_pmtu(dst, sk, NULL, mtu, true);
}

static u32 ltp_v4_mtu(struct sock *sk)
{
	struct rtable *rt = ltp_v4_dst_or_route(sk);
	u32 mtu = LTP_MTU_MIN;

	if (IS_ERR(rt))
		return mtu;
	if (!ip_sk_use_pmtu(sk))
		return clamp_t(u32, READ_ONCE(rt->dst.dev->mtu), mtu,
			       IP_MAX_MTU);
	return max(dst_mtu(&rt->dst), mtu);
}

static u8 ltp_v4_pmtudisc(struct sock *sk)
{
	const struct dst_entry *dst = __sk_dst_get(sk);
	u8 how = READ_ONCE(inet_sk(sk)->pmtudisc);

	if (how == IP_PMTUDISC_WANT && dst && ip_mtu_locked(dst))
		return IP_PMTUDISC_DONT;
	return how;
}

static void ltp_v4_sum(struct sk_buff *skb, __be32 saddr, __be32 daddr)
{
	struct ltp_hdr *hdr = (struct ltp_hdr *)skb_transport_header(skb);

	/* The device, or skb_checksum_help(), adds the rest. */
	hdr->check = ~csum_tcpudp_magic(saddr, daddr, skb->len, IPPROTO_LTP,
					0);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct ltp_hdr, check);
}

/*
 * What ip_queue_xmit() does, which knows no other protocol than the socket's,
 * and of IP_PMTUDISC_PROBE neither the bit nor the size. The route stays the
 * caller's.
 */
static int ltp_v4_send(struct net *net, struct sock *sk, struct sk_buff *skb,
		       struct rtable *rt, const struct flowi4 *fl4, u8 proto)
{
	const struct inet_sock *inet = inet_sk(sk);
	struct iphdr *iph = skb_push(skb, sizeof(*iph));
	int ttl = READ_ONCE(inet->uc_ttl);
	int err;

	rcu_read_lock();
	skb_dst_set_noref(skb, &rt->dst);
	skb_reset_network_header(skb);
	iph->version = 4;
	iph->ihl = sizeof(*iph) / 4;
	iph->tos = READ_ONCE(inet->tos);
	iph->frag_off = 0;
	if (!skb->ignore_df &&
	    (ip_dont_fragment(sk, &rt->dst) ||
	     READ_ONCE(inet->pmtudisc) == IP_PMTUDISC_PROBE))
		iph->frag_off = htons(IP_DF);
	iph->ttl = ttl < 0 ? ip4_dst_hoplimit(&rt->dst) : ttl;
	iph->protocol = proto;
	iph->saddr = fl4->saddr;
	iph->daddr = fl4->daddr;
	ip_select_ident(net, skb, sk);
	skb->priority = READ_ONCE(sk->sk_priority);
	skb->mark = fl4->flowi4_mark;
	err = ip_local_out(net, sk, skb);
	rcu_read_unlock();
	return err;
}

static int ltp_v4_xmit_encap(struct sock *sk, struct sk_buff *skb)
{
	const struct flowi4 *fl4 = &inet_sk(sk)->cork.fl.u.ip4;
	struct rtable *rt = ltp_v4_dst_or_route(sk);
	struct net *net = sock_net(sk);
	int err = -EOPNOTSUPP;

	if (IS_ERR(rt))
		err = PTR_ERR(rt);
	if (IS_ERR(rt) ||
	    !ltp_encap_push4(net, skb, ltp_sk(sk)->encap_port, fl4)) {
		kfree_skb(skb);
		return err;
	}
	return ltp_v4_send(net, sk, skb, rt, fl4, IPPROTO_UDP);
}

/* IP_PMTUDISC_PROBE: don't-fragment, and as large as the device takes. */
static int ltp_v4_xmit_probe(struct sock *sk, struct sk_buff *skb)
{
	const struct flowi4 *fl4 = &inet_sk(sk)->cork.fl.u.ip4;
	struct rtable *rt = ltp_v4_dst_or_route(sk);

	if (IS_ERR(rt)) {
		kfree_skb(skb);
		return PTR_ERR(rt);
	}
	return ltp_v4_send(sock_net(sk), sk, skb, rt, fl4, sk->sk_protocol);
}

static int ltp_v4_xmit(struct sock *sk, struct sk_buff *skb)
{
	struct inet_sock *inet = inet_sk(sk);

	if (skb->ignore_df)
		IPCB(skb)->frag_max_size = ltp_sk(sk)->frag_size;
	if (ltp_sk(sk)->encap_port)
		return ltp_v4_xmit_encap(sk, skb);
	ltp_v4_sum(skb, inet->inet_saddr, inet->inet_daddr);
	if (!skb->ignore_df &&
	    READ_ONCE(inet->pmtudisc) == IP_PMTUDISC_PROBE)
		return ltp_v4_xmit_probe(sk, skb);
	return ip_queue_xmit(sk, skb, &inet->cork.fl);
}

static int ltp_v4_reply(struct net *net, struct sk_buff *skb,
			const struct sk_buff *to)
{
	const struct ltp_hdr *hdr = (const struct ltp_hdr *)to->data;
	struct sock *ctl = ltp_pernet(net)->ctl_sk;
	__be16 encap = LTP_INPUT_CB(to)->encap;
	const struct iphdr *iph = ip_hdr(to);
	struct flowi fl = {};
	struct flowi4 *fl4 = &fl.u.ip4;
	struct rtable *rt;
	int err;

	flowi4_init_output(fl4, inet_iif(to), IP4_REPLY_MARK(net, to->mark), 0,
			   RT_SCOPE_UNIVERSE,
			   encap ? IPPROTO_UDP : IPPROTO_LTP, 0, iph->saddr,
			   iph->daddr, encap ?: hdr->source,
			   encap ? ltp_encap_port(net) : hdr->dest,
			   sock_net_uid(net, NULL));
	rt = ip_route_output_flow(net, fl4, ctl);
	if (IS_ERR(rt)) {
		kfree_skb(skb);
		return PTR_ERR(rt);
	}
	if (!encap) {
		skb_dst_set(skb, &rt->dst);
		ltp_v4_sum(skb, iph->daddr, iph->saddr);
		err = ip_queue_xmit(ctl, skb, &fl);
	} else if (ltp_encap_push4(net, skb, encap, fl4)) {
		err = ltp_v4_send(net, ctl, skb, rt, fl4, IPPROTO_UDP);
		ip_rt_put(rt);
	} else {
		err = -EOPNOTSUPP;
		kfree_skb(skb);
		ip_rt_put(rt);
	}
	return net_xmit_eval(err);
}

static bool ltp_v4_unicast(const struct sk_buff *skb)
{
	return skb_rtable(skb)->rt_type == RTN_LOCAL;
}

static bool ltp_v4_checksum(struct sk_buff *skb)
{
	return skb_checksum_init(skb, IPPROTO_LTP, inet_compute_pseudo) ||
	       skb_checksum_complete(skb);
}

static void ltp_v4_skb_key(struct ltp_key *key, const struct sk_buff *skb)
{
	const struct ltp_hdr *hdr = (const struct ltp_hdr *)skb->data;
	const struct iphdr *iph = ip_hdr(skb);

	memset(key, 0, sizeof(*key));
	ipv6_addr_set_v4mapped(iph->daddr, &key->laddr);
	ipv6_addr_set_v4mapped(iph->saddr, &key->raddr);
	key->lport = hdr->dest;
	key->rport = hdr->source;
}

static void ltp_v4_addrs(struct sock *child, const struct ltp_key *key)
{
	struct inet_sock *inet = inet_sk(child);

	inet->inet_saddr = key->laddr.s6_addr32[3];
	inet->inet_rcv_saddr = inet->inet_saddr;
	inet->inet_daddr = key->raddr.s6_addr32[3];
	ltp_v6_mapped(child);
}

static int ltp_v4_iif(const struct sk_buff *skb)
{
	return inet_iif(skb);
}

const struct ltp_af ltp_ipv4 = {
	.family		= AF_INET,
	.header_len	= sizeof(struct iphdr),
	.mtu_min	= LTP_MTU_MIN,
	.mtu		= ltp_v4_mtu,
	.too_big	= ltp_v4_too_big,
	.dst		= ltp_v4_dst,
	.pmtudisc	= ltp_v4_pmtudisc,
	.xmit		= ltp_v4_xmit,
	.reply		= ltp_v4_reply,
	.unicast	= ltp_v4_unicast,
	.checksum	= ltp_v4_checksum,
	.iif		= ltp_v4_iif,
	.key		= ltp_v4_skb_key,
	.addrs		= ltp_v4_addrs,
};

static int ltp_v4_rcv(struct sk_buff *skb)
{
	return ltp_input(skb, &ltp_ipv4, 0);
}

/**
 * ltp_v4_icmp_read() - what an ICMP error says
 * @icmp: kind, error and MTU are filled in
 * @icmph: its header
 * @info: MTU of "fragmentation needed"
 */
void ltp_v4_icmp_read(struct ltp_icmp *icmp, const struct icmphdr *icmph,
		      u32 info)
{
	if (icmph->type == ICMP_REDIRECT) {
		icmp->kind = LTP_ICMP_REDIRECT;
	} else if (icmph->type != ICMP_DEST_UNREACH ||
		   icmph->code > NR_ICMP_UNREACH) {
		icmp->kind = LTP_ICMP_IGNORED;
	} else if (icmph->code == ICMP_FRAG_NEEDED) {
		/* Routers of before RFC 1191 do not tell how much would do. */
		icmp->kind = info ? LTP_ICMP_TOO_BIG : LTP_ICMP_IGNORED;
		icmp->mtu = info;
	} else {
		icmp->kind = LTP_ICMP_UNREACHABLE;
		icmp->err = icmp_err_convert[icmph->code].errno;
	}
}

static int ltp_v4_err(struct sk_buff *skb, u32 info)
{
	const struct iphdr *iph = (const struct iphdr *)skb->data;
	struct ltp_icmp icmp = {};

	ipv6_addr_set_v4mapped(iph->saddr, &icmp.key.laddr);
	ipv6_addr_set_v4mapped(iph->daddr, &icmp.key.raddr);
	if (!ltp_icmp_quote(&icmp, skb, iph->ihl * 4))
		return -ENOENT;
	ltp_v4_icmp_read(&icmp, icmp_hdr(skb), info);
	return ltp_icmp(dev_net(skb->dev), skb, &icmp);
}

static const struct net_protocol ltp_v4_protocol = {
	.handler	= ltp_v4_rcv,
	.err_handler	= ltp_v4_err,
	.no_policy	= 1,
};

static struct inet_protosw ltp_v4_protosw = {
	.type		= SOCK_SEQPACKET,
	.protocol	= IPPROTO_LTP,
	.prot		= &ltp_prot,
	.ops		= &ltp_proto_ops,
};

/**
 * ltp_ipv4_net_init() - make what a namespace needs to answer strangers
 * @net: the namespace
 *
 * Return: 0 or an error
 */
int ltp_ipv4_net_init(struct net *net)
{
	return inet_ctl_sock_create(&ltp_pernet(net)->ctl_sk, PF_INET,
				    SOCK_RAW, IPPROTO_LTP, net);
}

/**
 * ltp_ipv4_net_exit() - undo ltp_ipv4_net_init()
 * @net: the namespace
 */
void ltp_ipv4_net_exit(struct net *net)
{
	inet_ctl_sock_destroy(ltp_pernet(net)->ctl_sk);
}

/**
 * ltp_ipv4_register() - packets first, sockets last
 *
 * Return: 0 or an error
 */
int ltp_ipv4_register(void)
{
	int err = inet_add_protocol(&ltp_v4_protocol, IPPROTO_LTP);

	if (!err)
		inet_register_protosw(&ltp_v4_protosw);
	return err;
}

/**
 * ltp_ipv4_unregister() - the reverse of ltp_ipv4_register()
 */
void ltp_ipv4_unregister(void)
{
	inet_unregister_protosw(&ltp_v4_protosw);
	inet_del_protocol(&ltp_v4_protocol, IPPROTO_LTP);
}

/* socket() loads the module: PF_INET, IPPROTO_LTP, SOCK_SEQPACKET. */
MODULE_ALIAS_NET_PF_PROTO_TYPE(PF_INET, 253, 5);
MODULE_ALIAS_NET_PF_PROTO(PF_INET, 253);
