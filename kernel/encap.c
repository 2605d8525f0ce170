// SPDX-License-Identifier: GPL-2.0
/*
 * LTP in UDP, as RFC 6951 has it for SCTP: for NATs, clouds and switches that
 * drop protocol 253 or do not spread it. A namespace has one UDP port for all
 * of LTP: what leaves comes from it, what comes is expected there. Addresses
 * and ports of an association are what they are without UDP; the peer's UDP
 * port is no part of its key, because a NAT may change it.
 *
 * The LTP checksum is 0 within UDP. A NAT changes addresses and puts right the
 * UDP checksum alone, which covers the same bytes; and it is the one that
 * devices compute.
 */
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <net/icmp.h>
#include <net/ip6_checksum.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>

#include "addr.h"
#include "encap.h"
#include "icmp.h"
#include "input.h"
#include "ipv4.h"
#include "ipv6.h"

/* ---- packets out ---- */

static struct udphdr *ltp_encap_push(struct net *net, struct sk_buff *skb,
				     __be16 port)
{
	struct udphdr *uh;
	__be16 source = ltp_encap_port(net);

	if (!source)
		return NULL;
	uh = skb_push(skb, sizeof(*uh));
	skb_reset_transport_header(skb);
	uh->source = source;
	uh->dest = port;
	uh->len = htons(skb->len);
	skb->ip_summed = CHECKSUM_NONE;
	ltp_mib_inc(net, LTP_MIB_OUT_ENCAP);
	return uh;
}

/**
 * ltp_encap_push4() - put a UDP header in front of an LTP packet
 * @net: namespace
 * @skb: the packet, its checksum 0
 * @port: the peer's UDP port
 * @fl4: addresses
 *
 * Return: false if encapsulation is off in this namespace
 */
bool ltp_encap_push4(struct net *net, struct sk_buff *skb, __be16 port,
		     const struct flowi4 *fl4)
{
	if (!ltp_encap_push(net, skb, port))
		return false;
	udp_set_csum(false, skb, fl4->saddr, fl4->daddr, skb->len);
	return true;
}

/**
 * ltp_encap_push6() - put a UDP header in front of an LTP packet
 * @net: namespace
 * @skb: the packet, its checksum 0
 * @port: the peer's UDP port
 * @fl6: addresses
 *
 * Return: false if encapsulation is off in this namespace
 */
bool ltp_encap_push6(struct net *net, struct sk_buff *skb, __be16 port,
		     const struct flowi6 *fl6)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (!ltp_encap_push(net, skb, port))
		return false;
	udp6_set_csum(false, skb, &fl6->saddr, &fl6->daddr, skb->len);
	return true;
#else
	return false;
#endif
}

/* ---- which port ---- */

/**
 * ltp_encap_connect() - decide how a connection begins
 * @sk: socket that is about to look for its route
 *
 * Context: socket locked.
 * Return: 0, or -EOPNOTSUPP if answers in UDP would not be heard
 */
int ltp_encap_connect(struct sock *sk)
{
	u16 port = ltp_encap_wanted(sk);

	if (port && !ltp_encap_port(sock_net(sk)))
		return -EOPNOTSUPP;
	ltp_sk(sk)->encap_port = htons(port);
	return 0;
}

/**
 * ltp_encap_follow() - answer the way the peer's packets come
 * @sk: socket
 * @skb: a packet from the peer, newer than all before; its tag is right
 *
 * A NAT on the way may have chosen another port for it.
 *
 * Context: socket locked.
 */
void ltp_encap_follow(struct sock *sk, const struct sk_buff *skb)
{
	struct ltp_sock *lp = ltp_sk(sk);
	__be16 port = LTP_INPUT_CB(skb)->encap;

	if (likely(port == lp->encap_port))
		return;
	lp->encap_port = port;
	ltp_mib_inc(sock_net(sk), LTP_MIB_ENCAP_MOVED);
	/* To another protocol or port there may be another way. */
	sk_dst_reset(sk);
}

/* ---- packets in ---- */

static int ltp_encap_rcv(struct sock *sk, struct sk_buff *skb)
{
	struct net *net = dev_net(skb->dev);
	const struct udphdr *uh = udp_hdr(skb);
	__be16 source = uh->source;

	/* The tunnel is going away. UDP has checked length and checksum. */
	if (!rcu_dereference_sk_user_data(sk))
		goto drop;
	if (!uh->check || !source) {
		ltp_mib_inc(net, LTP_MIB_IN_PACKETS);
		ltp_mib_inc(net, LTP_MIB_DROP_ENCAP);
		goto drop;
	}
	__skb_pull(skb, sizeof(*uh));
	skb_reset_transport_header(skb);
	ltp_mib_inc(net, LTP_MIB_IN_ENCAP);
	return ltp_input(skb, ltp_v6_own(sk) ?: &ltp_ipv4, source);

drop:
	kfree_skb(skb);
	return 0;
}

/*
 * An ICMP error about a UDP packet of ours. Quoting the first eight bytes
 * behind the IP header is all that ICMP demands of routers, and that is UDP's
 * header: then nobody can tell which association sent it. Most quote more.
 */
static bool ltp_encap_quote(struct ltp_icmp *icmp, const struct sk_buff *skb)
{
	return ltp_icmp_quote(icmp, skb, skb_transport_offset(skb) +
			      (int)sizeof(struct udphdr));
}

/*
 * udp_tunnel_sock_cfg.encap_err_lookup: the network header is that of the
 * quoted packet, ICMP's is in front of it. All is done here; that UDP is told
 * of an error (nobody's) keeps it from doing what it does for sockets.
 */
static int ltp_encap_err4(struct sock *sk, struct sk_buff *skb)
{
	const struct iphdr *iph = ip_hdr(skb);
	const struct icmphdr *icmph = (const struct icmphdr *)iph - 1;
	struct ltp_icmp icmp = {};

	if (!rcu_dereference_sk_user_data(sk) || !ltp_encap_quote(&icmp, skb))
		return -ENOENT;
	ipv6_addr_set_v4mapped(iph->saddr, &icmp.key.laddr);
	ipv6_addr_set_v4mapped(iph->daddr, &icmp.key.raddr);
	/* A redirect is about the outer header, which UDP's own code reads. */
	if (icmph->type == ICMP_REDIRECT)
		return -ENOENT;
	ltp_v4_icmp_read(&icmp, icmph, ntohs(icmph->un.frag.mtu));
	ltp_icmp(dev_net(skb->dev), skb, &icmp);
	return 1;
}

#if IS_ENABLED(CONFIG_IPV6)
static int ltp_encap_err6(struct sock *sk, struct sk_buff *skb)
{
	const struct ipv6hdr *ip6h = ipv6_hdr(skb);
	const struct icmp6hdr *icmph = (const struct icmp6hdr *)ip6h - 1;
	struct ltp_icmp icmp = {};

	if (!rcu_dereference_sk_user_data(sk) || !ltp_encap_quote(&icmp, skb))
		return -ENOENT;
	icmp.key.laddr = ip6h->saddr;
	icmp.key.raddr = ip6h->daddr;
	if (ltp_addr_scoped(&icmp.key.laddr, &icmp.key.raddr))
		icmp.key.scope = inet6_iif(skb);
	if (icmph->icmp6_type == NDISC_REDIRECT)
		return -ENOENT;
	ltp_v6_icmp_read(&icmp, icmph->icmp6_type, icmph->icmp6_code,
			 ntohl(icmph->icmp6_mtu));
	ltp_icmp(dev_net(skb->dev), skb, &icmp);
	return 1;
}
#endif

/* ---- the tunnel's sockets ---- */

static int ltp_encap_open(struct net *net, struct udp_port_cfg *port,
			  int (*err_lookup)(struct sock *sk,
					    struct sk_buff *skb),
			  struct socket **sock)
{
	struct udp_tunnel_sock_cfg cfg = {
		.sk_user_data = ltp_pernet(net),
		.encap_type = 1,
		.encap_rcv = ltp_encap_rcv,
		.encap_err_lookup = err_lookup,
	};
	int err;

	err = udp_sock_create(net, port, sock);
	if (!err)
		setup_udp_tunnel_sock(net, (*sock)->sk, &cfg);
	return err;
}

static void ltp_encap_close(struct ltp_encap *encap)
{
	if (encap->sock4)
		udp_tunnel_sock_release(encap->sock4->sk);
	if (encap->sock6)
		udp_tunnel_sock_release(encap->sock6->sk);
	memset(encap, 0, sizeof(*encap));
}

static int ltp_encap_open_both(struct net *net, u16 port,
			       struct ltp_encap *encap)
{
	struct udp_port_cfg cfg4 = {
		.family = AF_INET,
		.local_udp_port = htons(port),
	};
	int err = ltp_encap_open(net, &cfg4, ltp_encap_err4, &encap->sock4);

#if IS_ENABLED(CONFIG_IPV6)
	if (!err && ipv6_mod_enabled()) {
		struct udp_port_cfg cfg6 = {
			.family = AF_INET6,
			.local_udp_port = htons(port),
			.use_udp6_rx_checksums = true,
			.ipv6_v6only = true,
		};

		err = ltp_encap_open(net, &cfg6, ltp_encap_err6,
				     &encap->sock6);
		if (err)
			ltp_encap_close(encap);
	}
#endif
	return err;
}

/**
 * ltp_encap_config() - listen at another UDP port, or at none
 * @net: namespace
 * @port: the port, 0: switch encapsulation off
 *
 * If it fails all is as before.
 *
 * Context: process, may sleep; calls for one namespace do not overlap.
 * Return: 0, or an error of bind() such as -EADDRINUSE
 */
int ltp_encap_config(struct net *net, u16 port)
{
	struct ltp_net *ln = ltp_pernet(net);
	struct ltp_encap encap = {};
	int err;

	if (port) {
		err = ltp_encap_open_both(net, port, &encap);
		if (err)
			return err;
	}
	WRITE_ONCE(ln->conf.encap_port, port);
	ltp_encap_close(&ln->encap);
	ln->encap = encap;
	return 0;
}

/**
 * ltp_encap_net_exit() - close the tunnel of a namespace that goes
 * @net: the namespace
 */
void ltp_encap_net_exit(struct net *net)
{
	ltp_encap_close(&ltp_pernet(net)->encap);
}
