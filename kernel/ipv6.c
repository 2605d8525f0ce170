// SPDX-License-Identifier: GPL-2.0
/*
 * IPv6: the differences, and only they. A socket of IPv6 that talks to a mapped
 * address is one of IPv4 in all but its names: see ltp_v6_connect_mapped().
 */
#include <linux/icmpv6.h>
#include <net/inet_common.h>
#include <net/ip6_checksum.h>
#include <net/ip6_route.h>
#include <net/protocol.h>

#include "addr.h"
#include "encap.h"
#include "handshake.h"
#include "icmp.h"
#include "input.h"
#include "ipv4.h"
#include "ipv6.h"
#include "port.h"
#include "socket.h"

static struct proto ltp6_prot;

/* ip6_xmit() takes the addresses from the socket's own flow. */
static struct dst_entry *ltp_v6_route(struct sock *sk)
{
	struct flowi6 *fl6 = &inet_sk(sk)->cork.fl.u.ip6;
	const struct ipv6_pinfo *np = inet6_sk(sk);
	__be16 encap = ltp_sk(sk)->encap_port;

	memset(fl6, 0, sizeof(*fl6));
	fl6->flowi6_proto = encap ? IPPROTO_UDP : sk->sk_protocol;
	fl6->daddr = sk->sk_v6_daddr;
	fl6->saddr = np->saddr;
	fl6->flowlabel = ip6_make_flowinfo(np->tclass & ~INET_ECN_MASK,
					   np->flow_label);
	fl6->flowi6_oif = sk->sk_bound_dev_if;
	fl6->flowi6_mark = READ_ONCE(sk->sk_mark);
	fl6->fl6_sport = encap ? ltp_encap_port(sock_net(sk)) :
				 inet_sk(sk)->inet_sport;
	fl6->fl6_dport = encap ?: inet_sk(sk)->inet_dport;
	fl6->flowi6_uid = sk_uid(sk);
	security_sk_classify_flow(sk, flowi6_to_flowi_common(fl6));
	return ip6_dst_lookup_flow(sock_net(sk), sk, fl6, NULL);
}

static struct dst_entry *ltp_v6_dst(struct sock *sk)
{
	return __sk_dst_check(sk, inet6_sk(sk)->dst_cookie);
}

static struct dst_entry *ltp_v6_dst_or_route(struct sock *sk)
{
	struct dst_entry *dst = ltp_v6_dst(sk);

	if (dst)
		return dst;
	dst = ltp_v6_route(sk);
	if (!IS_ERR(dst))
		ltp_ip6_dst_store(sk, dst);
	return dst;
}

/* ---- connect ---- */

/* Which interface a link-local address is meant at. */
static int ltp_v6_connect_scope(struct sock *sk, const struct sockaddr_in6 *to,
				int len)
{
	if (!(ipv6_addr_type(&to->sin6_addr) & IPV6_ADDR_LINKLOCAL))
		return 0;
	if (len >= (int)sizeof(*to) && to->sin6_scope_id) {
		if (!sk_dev_equal_l3scope(sk, to->sin6_scope_id))
			return -EINVAL;
		sk->sk_bound_dev_if = to->sin6_scope_id;
	}
	return sk->sk_bound_dev_if ? 0 : -EINVAL;
}

/* The label that the program has chosen, if it is its to choose. */
static int ltp_v6_connect_label(struct sock *sk, const struct sockaddr_in6 *to)
{
	__be32 label = to->sin6_flowinfo & IPV6_FLOWLABEL_MASK;
	struct ip6_flowlabel *known;

	inet6_sk(sk)->flow_label = 0;
	if (!inet6_test_bit(SNDFLOW, sk) || !label)
		return 0;
	known = fl6_sock_lookup(sk, label);
	if (IS_ERR(known))
		return -EINVAL;
	fl6_sock_release(known);
	inet6_sk(sk)->flow_label = label;
	return 0;
}

static int ltp_v6_connect_mapped(struct sock *sk, const struct in6_addr *daddr,
				 __be16 dport)
{
	int err;

	if (ipv6_only_sock(sk))
		return -ENETUNREACH;
	ltp_sk(sk)->af = &ltp_ipv4;
	err = ltp_v4_connect_to(sk, daddr->s6_addr32[3], dport);
	if (err)
		ltp_sk(sk)->af = &ltp_ipv6;
	return err;
}

static int ltp_v6_connect_native(struct sock *sk, const struct in6_addr *daddr,
				 __be16 dport)
{
	struct ltp_key *key = &ltp_sk(sk)->key;
	struct ipv6_pinfo *np = inet6_sk(sk);
	struct dst_entry *dst;
	int err;

	err = ltp_encap_connect(sk);
	if (err)
		return err;
	sk->sk_v6_daddr = *daddr;
	np->saddr = sk->sk_v6_rcv_saddr;
	inet_sk(sk)->inet_dport = dport;
	dst = ltp_v6_route(sk);
	if (IS_ERR(dst))
		return PTR_ERR(dst);
	np->saddr = inet_sk(sk)->cork.fl.u.ip6.saddr;
	sk->sk_v6_rcv_saddr = np->saddr;
	memset(key, 0, sizeof(*key));
	key->laddr = np->saddr;
	key->raddr = *daddr;
	key->lport = inet_sk(sk)->inet_sport;
	key->rport = dport;
	if (ltp_addr_scoped(&key->laddr, &key->raddr))
		key->scope = sk->sk_bound_dev_if ?: dst->dev->ifindex;
	ltp_ip6_dst_store(sk, dst);
	return ltp_handshake_start(sk);
}

static int ltp_v6_connect(struct sock *sk, struct sockaddr_unsized *addr,
			  int len)
{
	struct sockaddr_in6 *to = (struct sockaddr_in6 *)addr;
	struct in6_addr saddr = sk->sk_v6_rcv_saddr;
	int bound = sk->sk_bound_dev_if;
	struct in6_addr daddr;
	int err;

	if (len < SIN6_LEN_RFC2133)
		return -EINVAL;
	if (to->sin6_family != AF_INET6)
		return -EAFNOSUPPORT;
	if (!to->sin6_port)
		return -EINVAL;
	daddr = to->sin6_addr;
	if (ipv6_addr_any(&daddr)) {
		/* As TCP: this host. */
		if (ipv6_addr_v4mapped(&saddr))
			ipv6_addr_set_v4mapped(htonl(INADDR_LOOPBACK), &daddr);
		else
			daddr = in6addr_loopback;
	}
	if (ipv6_addr_is_multicast(&daddr))
		return -ENETUNREACH;
	err = ltp_v6_connect_label(sk, to);
	if (err)
		return err;
	err = ltp_v6_connect_scope(sk, to, len);
	if (err)
		goto fail;
	err = ltp_port_auto(sk);
	if (err)
		goto fail;
	sk_set_txhash(sk);
	if (ipv6_addr_v4mapped(&daddr))
		err = ltp_v6_connect_mapped(sk, &daddr, to->sin6_port);
	else
		err = ltp_v6_connect_native(sk, &daddr, to->sin6_port);
	if (!err)
		return 0;
fail:
	sk_dst_reset(sk);
	sk->sk_bound_dev_if = bound;
	sk->sk_v6_rcv_saddr = saddr;
	inet6_sk(sk)->saddr = saddr;
	sk->sk_v6_daddr = in6addr_any;
	inet_sk(sk)->inet_dport = 0;
	ltp_sk(sk)->encap_port = 0;
	return err;
}

/**
 * ltp_v6_mapped() - give a socket of IPv6 the names of its IPv4 addresses
 * @sk: socket of either family, with its IPv4 addresses set
 *
 * Context: socket locked.
 */
void ltp_v6_mapped(struct sock *sk)
{
	if (sk->sk_family != AF_INET6)
		return;
	ipv6_addr_set_v4mapped(inet_sk(sk)->inet_saddr, &inet6_sk(sk)->saddr);
	ipv6_addr_set_v4mapped(inet_sk(sk)->inet_rcv_saddr,
			       &sk->sk_v6_rcv_saddr);
	ipv6_addr_set_v4mapped(inet_sk(sk)->inet_daddr, &sk->sk_v6_daddr);
}

/**
 * ltp_v6_disconnect() - forget the peer
 * @sk: socket of either family; its own address was reset if it was not bound
 *
 * Context: socket locked.
 */
void ltp_v6_disconnect(struct sock *sk)
{
	if (sk->sk_family != AF_INET6)
		return;
	ltp_sk(sk)->af = &ltp_ipv6;
	sk->sk_v6_daddr = in6addr_any;
	inet6_sk(sk)->flow_label = 0;
}

/**
 * ltp_v6_child() - part a clone from what it must not share with its listener
 * @child: fresh from sk_clone_lock(), of either family
 */
void ltp_v6_child(struct sock *child)
{
	struct ipv6_pinfo *np;

	if (child->sk_family != AF_INET6)
		return;
	np = &((struct ltp6_sock *)child)->inet6;
	inet_sk(child)->pinet6 = np;
	ltp_ip6_no_labels(child);
	np->ipv6_mc_list = NULL;
	np->ipv6_ac_list = NULL;
	np->pktoptions = NULL;
	np->rxpmtu = NULL;
	RCU_INIT_POINTER(np->opt, NULL);
	np->dst_cookie = 0;
}

/**
 * ltp_v6_destruct() - the last of a socket of IPv6
 * @sk: socket without a reference
 */
void ltp_v6_destruct(struct sock *sk)
{
	inet6_sock_destruct(sk);
}

/* ---- packets out ---- */

static u32 ltp_v6_mtu(struct sock *sk)
{
	struct dst_entry *dst = ltp_v6_dst_or_route(sk);
	u32 mtu, limit = inet6_sk(sk)->frag_size;

	if (IS_ERR(dst))
		return IPV6_MIN_MTU;
	/* IPV6_PMTUDISC_PROBE and beyond: what the device takes. */
	mtu = inet6_sk(sk)->pmtudisc < IPV6_PMTUDISC_PROBE ?
		      dst_mtu(dst) :
		      min_t(u32, READ_ONCE(dst->dev->mtu), IP6_MAX_MTU);
	if (limit) /* IPV6_MTU */
		mtu = min(mtu, limit);
	return max_t(u32, mtu, IPV6_MIN_MTU);
}

static void ltp_v6_too_big(struct sock *sk, u32 mtu)
{
	struct dst_entry *dst = ltp_v6_dst(sk);

	if (dst)
		dst->ops->update_pmtu(dst, sk, NULL, mtu, true);
}

/* The names of IPv6 have the values of those of IPv4. */
static u8 ltp_v6_pmtudisc(struct sock *sk)
{
	const struct dst_entry *dst = __sk_dst_get(sk);
	u8 how = inet6_sk(sk)->pmtudisc;

	if (how == IPV6_PMTUDISC_WANT && dst &&
	    dst_metric_locked(dst, RTAX_MTU))
		return IPV6_PMTUDISC_DONT;
	return how;
}

static void ltp_v6_sum(struct sk_buff *skb, const struct in6_addr *saddr,
		       const struct in6_addr *daddr)
{
	struct ltp_hdr *hdr = (struct ltp_hdr *)skb_transport_header(skb);

	/* The device, or skb_checksum_help(), adds the rest. */
	hdr->check = ~csum_ipv6_magic(saddr, daddr, skb->len, IPPROTO_LTP, 0);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct ltp_hdr, check);
}

/* The checksum, and a UDP header if there is to be one. */
static int ltp_v6_seal(struct net *net, struct sk_buff *skb, __be16 encap,
		       const struct flowi6 *fl6)
{
	if (!encap)
		ltp_v6_sum(skb, &fl6->saddr, &fl6->daddr);
	else if (!ltp_encap_push6(net, skb, encap, fl6))
		return -EOPNOTSUPP;
	return 0;
}

static int ltp_v6_xmit(struct sock *sk, struct sk_buff *skb)
{
	struct flowi6 *fl6 = &inet_sk(sk)->cork.fl.u.ip6;
	struct dst_entry *dst = ltp_v6_dst_or_route(sk);
	int err;

	err = PTR_ERR_OR_ZERO(dst);
	if (!err)
		err = ltp_v6_seal(sock_net(sk), skb, ltp_sk(sk)->encap_port,
				  fl6);
	if (err) {
		kfree_skb(skb);
		return err;
	}
	if (skb->ignore_df)
		IP6CB(skb)->frag_max_size = ltp_sk(sk)->frag_size;
	else if (inet6_sk(sk)->pmtudisc == IPV6_PMTUDISC_PROBE)
		skb->ignore_df = 1; /* only the device limits it */
	/* One flow label for all of an association. */
	skb_set_hash_from_sk(skb, sk);
	rcu_read_lock();
	skb_dst_set_noref(skb, dst);
	err = ip6_xmit(sk, skb, fl6, READ_ONCE(sk->sk_mark), NULL,
		       inet6_sk(sk)->tclass, READ_ONCE(sk->sk_priority));
	rcu_read_unlock();
	return err;
}

static int ltp_v6_reply(struct net *net, struct sk_buff *skb,
			const struct sk_buff *to)
{
	const struct ltp_hdr *hdr = (const struct ltp_hdr *)to->data;
	struct sock *ctl = ltp_pernet(net)->ctl_sk6;
	__be16 encap = LTP_INPUT_CB(to)->encap;
	const struct ipv6hdr *ip6h = ipv6_hdr(to);
	struct flowi6 fl6 = {
		.flowi6_proto = encap ? IPPROTO_UDP : IPPROTO_LTP,
		.flowi6_mark = IP6_REPLY_MARK(net, to->mark),
		.flowi6_uid = sock_net_uid(net, NULL),
		.daddr = ip6h->saddr,
		.saddr = ip6h->daddr,
		.fl6_sport = encap ? ltp_encap_port(net) : hdr->dest,
		.fl6_dport = encap ?: hdr->source,
	};
	struct dst_entry *dst;
	int err;

	/* Other addresses need no interface, the way back may be another. */
	if (rt6_need_strict(&fl6.daddr) || rt6_need_strict(&fl6.saddr))
		fl6.flowi6_oif = inet6_iif(to);
	security_skb_classify_flow((struct sk_buff *)to,
				   flowi6_to_flowi_common(&fl6));
	dst = ip6_dst_lookup_flow(net, ctl, &fl6, NULL);
	if (IS_ERR(dst)) {
		kfree_skb(skb);
		return PTR_ERR(dst);
	}
	skb_dst_set(skb, dst);
	err = ltp_v6_seal(net, skb, encap, &fl6);
	if (err) {
		kfree_skb(skb);
		return err;
	}
	err = ip6_xmit(ctl, skb, &fl6, fl6.flowi6_mark, NULL, 0, 0);
	return net_xmit_eval(err);
}

/* ---- packets in ---- */

static bool ltp_v6_unicast(const struct sk_buff *skb)
{
	const struct ipv6hdr *ip6h = ipv6_hdr(skb);

	/* On the wire, a mapped address would be taken for one of IPv4. */
	return ipv6_unicast_destination(skb) &&
	       !ipv6_addr_v4mapped(&ip6h->saddr) &&
	       !ipv6_addr_v4mapped(&ip6h->daddr);
}

static bool ltp_v6_checksum(struct sk_buff *skb)
{
	return skb_checksum_init(skb, IPPROTO_LTP, ip6_compute_pseudo) ||
	       skb_checksum_complete(skb);
}

static int ltp_v6_iif(const struct sk_buff *skb)
{
	return inet6_iif(skb);
}

static void ltp_v6_key(struct ltp_key *key, const struct sk_buff *skb)
{
	const struct ltp_hdr *hdr = (const struct ltp_hdr *)skb->data;
	const struct ipv6hdr *ip6h = ipv6_hdr(skb);

	memset(key, 0, sizeof(*key));
	key->laddr = ip6h->daddr;
	key->raddr = ip6h->saddr;
	key->lport = hdr->dest;
	key->rport = hdr->source;
	if (ltp_addr_scoped(&key->laddr, &key->raddr))
		key->scope = inet6_iif(skb);
}

static void ltp_v6_addrs(struct sock *child, const struct ltp_key *key)
{
	inet6_sk(child)->saddr = key->laddr;
	child->sk_v6_rcv_saddr = key->laddr;
	child->sk_v6_daddr = key->raddr;
	if (key->scope)
		child->sk_bound_dev_if = key->scope;
}

const struct ltp_af ltp_ipv6 = {
	.family		= AF_INET6,
	.header_len	= sizeof(struct ipv6hdr),
	.mtu_min	= IPV6_MIN_MTU,
	.mtu		= ltp_v6_mtu,
	.pmtudisc	= ltp_v6_pmtudisc,
	.too_big	= ltp_v6_too_big,
	.dst		= ltp_v6_dst,
	.xmit		= ltp_v6_xmit,
	.reply		= ltp_v6_reply,
	.unicast	= ltp_v6_unicast,
	.checksum	= ltp_v6_checksum,
	.iif		= ltp_v6_iif,
	.key		= ltp_v6_key,
	.addrs		= ltp_v6_addrs,
};

static int ltp_v6_rcv(struct sk_buff *skb)
{
	return ltp_input(skb, &ltp_ipv6, 0);
}

/**
 * ltp_v6_icmp_read() - what an ICMPv6 error says
 * @icmp: kind, error and MTU are filled in
 * @type: ICMPV6_*
 * @code: of that type
 * @info: MTU of "packet too big"
 */
void ltp_v6_icmp_read(struct ltp_icmp *icmp, u8 type, u8 code, u32 info)
{
	icmp->kind = LTP_ICMP_IGNORED;
	switch (type) {
	case NDISC_REDIRECT:
		icmp->kind = LTP_ICMP_REDIRECT;
		break;
	case ICMPV6_PKT_TOOBIG:
		icmp->kind = LTP_ICMP_TOO_BIG;
		icmp->mtu = info;
		break;
	case ICMPV6_PARAMPROB:
		/* What IPv4 calls "protocol unreachable". */
		if (code != ICMPV6_UNK_NEXTHDR)
			break;
		fallthrough;
	case ICMPV6_DEST_UNREACH:
		icmp->kind = LTP_ICMP_UNREACHABLE;
		icmpv6_err_convert(type, code, &icmp->err);
		break;
	}
}

static int ltp_v6_err(struct sk_buff *skb, struct inet6_skb_parm *opt, u8 type,
		      u8 code, int offset, __be32 info)
{
	const struct ipv6hdr *ip6h = (const struct ipv6hdr *)skb->data;
	struct ltp_icmp icmp = {};

	icmp.key.laddr = ip6h->saddr;
	icmp.key.raddr = ip6h->daddr;
	if (ltp_addr_scoped(&icmp.key.laddr, &icmp.key.raddr))
		icmp.key.scope = inet6_iif(skb);
	if (!ltp_icmp_quote(&icmp, skb, offset))
		return -ENOENT;
	ltp_v6_icmp_read(&icmp, type, code, ntohl(info));
	return ltp_icmp(dev_net(skb->dev), skb, &icmp);
}

static const struct inet6_protocol ltp_v6_protocol = {
	.handler	= ltp_v6_rcv,
	.err_handler	= ltp_v6_err,
	.flags		= INET6_PROTO_NOPOLICY | INET6_PROTO_FINAL,
};

static struct inet_protosw ltp_v6_protosw = {
	.type		= SOCK_SEQPACKET,
	.protocol	= IPPROTO_LTP,
	.prot		= &ltp6_prot,
	.ops		= &ltp6_proto_ops,
};

/* ---- coming and going ---- */

/**
 * ltp_ipv6_prepare() - make what sockets of IPv6 do of what those of IPv4 do
 * @prot: of IPv4, not registered yet
 *
 * Context: module load.
 */
void ltp_ipv6_prepare(const struct proto *prot)
{
	ltp6_prot = *prot;
	strscpy(ltp6_prot.name, "LTPv6", sizeof(ltp6_prot.name));
	ltp6_prot.connect = ltp_v6_connect;
	ltp6_prot.obj_size = sizeof(struct ltp6_sock);
	ltp_set_pinfo_offset(&ltp6_prot, struct ltp6_sock, inet6);
}

/**
 * ltp_ipv6_proto_register() - make the slab of sockets of IPv6
 *
 * Context: module load.
 * Return: 0 or an error
 */
int ltp_ipv6_proto_register(void)
{
	return proto_register(&ltp6_prot, 1);
}

/**
 * ltp_ipv6_proto_unregister() - undo ltp_ipv6_proto_register()
 *
 * Context: no socket is left.
 */
void ltp_ipv6_proto_unregister(void)
{
	proto_unregister(&ltp6_prot);
}

/**
 * ltp_ipv6_net_init() - make what a namespace needs to answer strangers
 * @net: the namespace
 *
 * Return: 0, also where IPv6 was disabled at boot; or an error
 */
int ltp_ipv6_net_init(struct net *net)
{
	if (!ipv6_mod_enabled())
		return 0;
	return inet_ctl_sock_create(&ltp_pernet(net)->ctl_sk6, PF_INET6,
				    SOCK_RAW, IPPROTO_LTP, net);
}

/**
 * ltp_ipv6_net_exit() - undo ltp_ipv6_net_init()
 * @net: the namespace
 */
void ltp_ipv6_net_exit(struct net *net)
{
	if (ltp_pernet(net)->ctl_sk6)
		inet_ctl_sock_destroy(ltp_pernet(net)->ctl_sk6);
}

/**
 * ltp_ipv6_register() - packets first, sockets last
 *
 * Return: 0, also where IPv6 was disabled at boot; or an error
 */
int ltp_ipv6_register(void)
{
	int err;

	if (!ipv6_mod_enabled())
		return 0;
	err = inet6_add_protocol(&ltp_v6_protocol, IPPROTO_LTP);
	if (err)
		return err;
	err = inet6_register_protosw(&ltp_v6_protosw);
	if (err)
		inet6_del_protocol(&ltp_v6_protocol, IPPROTO_LTP);
	return err;
}

/**
 * ltp_ipv6_unregister() - the reverse of ltp_ipv6_register()
 */
void ltp_ipv6_unregister(void)
{
	if (!ipv6_mod_enabled())
		return;
	inet6_unregister_protosw(&ltp_v6_protosw);
	inet6_del_protocol(&ltp_v6_protocol, IPPROTO_LTP);
}

/* socket() loads the module: PF_INET6, IPPROTO_LTP, SOCK_SEQPACKET. */
MODULE_ALIAS_NET_PF_PROTO_TYPE(PF_INET6, 253, 5);
MODULE_ALIAS_NET_PF_PROTO(PF_INET6, 253);
