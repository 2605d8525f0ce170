// SPDX-License-Identifier: GPL-2.0
/* Who is bound to which port: bind(), and finding the listener of an INIT. */
#include <linux/jhash.h>
#include <net/ip.h>

#include "addr.h"
#include "port.h"

static struct hlist_head *ltp_port_bucket(struct ltp_net *ln, u16 port)
{
	return &ln->ports[port % LTP_PORT_BUCKETS];
}

static void ltp_port_local(const struct sock *sk, struct ltp_local *local)
{
	local->v6only = false;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		local->addr = sk->sk_v6_rcv_saddr;
		local->v6only = ipv6_only_sock(sk);
		return;
	}
#endif
	ipv6_addr_set_v4mapped(inet_sk(sk)->inet_rcv_saddr, &local->addr);
}

static bool ltp_port_conflict(const struct sock *a, const struct sock *b)
{
	struct ltp_local local_a, local_b;

	if (a == b)
		return false;
	if (a->sk_bound_dev_if && b->sk_bound_dev_if &&
	    a->sk_bound_dev_if != b->sk_bound_dev_if)
		return false;
	if (a->sk_reuse && b->sk_reuse && a->sk_state != TCP_LISTEN &&
	    b->sk_state != TCP_LISTEN)
		return false;
	ltp_port_local(a, &local_a);
	ltp_port_local(b, &local_b);
	return ltp_addr_overlap(&local_a, &local_b);
}

static bool ltp_port_free(struct ltp_net *ln, struct sock *sk, u16 port)
{
	struct ltp_sock *other;

	hlist_for_each_entry(other, ltp_port_bucket(ln, port), bound_node) {
		struct sock *osk = (struct sock *)other;

		if (inet_sk(osk)->inet_num == port &&
		    ltp_port_conflict(sk, osk))
			return false;
	}
	return true;
}

static u16 ltp_port_pick(struct ltp_net *ln, struct sock *sk)
{
	int low, high, i, count, offset;

	inet_sk_get_local_port_range(sk, &low, &high);
	count = high - low + 1;
	offset = get_random_u32_below(count);
	for (i = 0; i < count; i++) {
		u16 port = low + (offset + i) % count;

		if (!inet_is_local_reserved_port(sock_net(sk), port) &&
		    ltp_port_free(ln, sk, port))
			return port;
	}
	return 0;
}

/**
 * ltp_port_get() - bind a socket to a port, proto.get_port
 * @sk: the socket, its local address set
 * @port: the port, 0: any that is free
 *
 * Context: socket locked.
 * Return: 0 or -EADDRINUSE
 */
int ltp_port_get(struct sock *sk, unsigned short port)
{
	struct ltp_net *ln = ltp_sock_net(sk);
	struct ltp_sock *lp = ltp_sk(sk);
	int err = 0;

	spin_lock_bh(&ln->ports_lock);
	if (!port)
		port = ltp_port_pick(ln, sk);
	else if (!ltp_port_free(ln, sk, port))
		port = 0;
	if (port) {
		inet_sk(sk)->inet_num = port;
		if (hlist_unhashed(&lp->bound_node))
			hlist_add_head_rcu(&lp->bound_node,
					   ltp_port_bucket(ln, port));
	} else {
		err = -EADDRINUSE;
	}
	spin_unlock_bh(&ln->ports_lock);
	return err;
}

/**
 * ltp_port_auto() - bind a socket that has no port yet
 * @sk: the socket
 *
 * Context: socket locked.
 * Return: 0 or -EAGAIN when all ports are taken, as TCP says it
 */
int ltp_port_auto(struct sock *sk)
{
	if (inet_sk(sk)->inet_num)
		return 0;
	if (ltp_port_get(sk, 0))
		return -EAGAIN;
	inet_sk(sk)->inet_sport = htons(inet_sk(sk)->inet_num);
	return 0;
}

/**
 * ltp_port_inherit() - an accepted socket shares its listener's port
 * @child: the new socket
 * @listener: the one it comes from
 *
 * Context: softirq.
 */
void ltp_port_inherit(struct sock *child, const struct sock *listener)
{
	struct ltp_net *ln = ltp_sock_net(child);
	u16 port = inet_sk(listener)->inet_num;

	inet_sk(child)->inet_num = port;
	spin_lock_bh(&ln->ports_lock);
	hlist_add_head_rcu(&ltp_sk(child)->bound_node,
			   ltp_port_bucket(ln, port));
	spin_unlock_bh(&ln->ports_lock);
}

/**
 * ltp_port_put() - give a port back, if there is one
 * @sk: the socket
 *
 * inet_num stays for those who still print it.
 *
 * Context: any that may take a bottom-half lock.
 */
void ltp_port_put(struct sock *sk)
{
	struct ltp_net *ln = ltp_sock_net(sk);
	struct ltp_sock *lp = ltp_sk(sk);

	spin_lock_bh(&ln->ports_lock);
	if (!hlist_unhashed(&lp->bound_node))
		hlist_del_init_rcu(&lp->bound_node);
	spin_unlock_bh(&ln->ports_lock);
}

/**
 * ltp_port_listen() - become a listener, if no other has the port
 * @sk: a bound socket
 *
 * Two sockets with SO_REUSEADDR may share a port until one of them listens.
 *
 * Context: socket locked.
 * Return: whether it is one now
 */
bool ltp_port_listen(struct sock *sk)
{
	struct ltp_net *ln = ltp_sock_net(sk);
	struct ltp_sock *other;
	bool ok = true;
	u16 port = inet_sk(sk)->inet_num;

	spin_lock_bh(&ln->ports_lock);
	hlist_for_each_entry(other, ltp_port_bucket(ln, port), bound_node) {
		struct sock *osk = (struct sock *)other;

		if (inet_sk(osk)->inet_num == port &&
		    osk->sk_state == TCP_LISTEN && ltp_port_conflict(sk, osk))
			ok = false;
	}
	if (ok)
		ltp_set_state(sk, TCP_LISTEN);
	spin_unlock_bh(&ln->ports_lock);
	return ok;
}

/**
 * ltp_port_listener() - find the socket that listens at an address
 * @net: namespace
 * @key: addresses and ports of the packet
 * @dev: interface it came in by
 *
 * Context: under rcu_read_lock().
 * Return: the most specific listener, with a reference, or NULL
 */
struct sock *ltp_port_listener(struct net *net, const struct ltp_key *key,
			       int dev)
{
	struct ltp_net *ln = ltp_pernet(net);
	u16 port = ntohs(key->lport);
	struct sock *best = NULL;
	struct ltp_sock *lp;
	int best_score = 0;

	hlist_for_each_entry_rcu(lp, ltp_port_bucket(ln, port), bound_node) {
		struct sock *sk = (struct sock *)lp;
		struct ltp_local local;
		int score;

		if (inet_sk(sk)->inet_num != port ||
		    READ_ONCE(sk->sk_state) != TCP_LISTEN)
			continue;
		if (sk->sk_bound_dev_if && sk->sk_bound_dev_if != dev)
			continue;
		ltp_port_local(sk, &local);
		score = ltp_addr_match(&local, &key->laddr);
		if (!score)
			continue;
		/* More than any address, less than this one. */
		if (sk->sk_bound_dev_if)
			score += LTP_ADDR_EXACT / 2;
		if (score > best_score) {
			best_score = score;
			best = sk;
		}
	}
	if (best && !refcount_inc_not_zero(&best->sk_refcnt))
		best = NULL;
	return best;
}
