// SPDX-License-Identifier: GPL-2.0
/*
 * What an ICMP error means to an association. An error quotes eight bytes of
 * ours: ports and tag. It must know the tag, and it only matters where nothing
 * else would tell.
 */
#include "assoc.h"
#include "icmp.h"

/**
 * ltp_icmp_quote() - read the quoted part of a packet of ours
 * @icmp: ports of its key and its tag are filled in
 * @hdr: LTP_ICMP_QUOTE bytes of the packet, and no more
 */
void ltp_icmp_quote(struct ltp_icmp *icmp, const struct ltp_hdr *hdr)
{
	icmp->key.lport = hdr->source;
	icmp->key.rport = hdr->dest;
	icmp->tag = be32_to_cpu(hdr->tag);
}

static void ltp_icmp_act(struct sock *sk, struct sk_buff *skb,
			 const struct ltp_icmp *icmp)
{
	struct ltp_sock *lp = ltp_sk(sk);
	struct dst_entry *dst;

	switch (icmp->kind) {
	case LTP_ICMP_TOO_BIG:
		lp->af->too_big(sk, icmp->mtu);
		break;
	case LTP_ICMP_REDIRECT:
		dst = lp->af->dst(sk);
		if (dst)
			dst->ops->redirect(dst, sk, skb);
		break;
	case LTP_ICMP_UNREACHABLE:
		if (lp->phase == LTP_INIT_SENT)
			ltp_assoc_end(sk, icmp->err);
		break;
	case LTP_ICMP_IGNORED:
		break;
	}
}

/**
 * ltp_icmp() - an ICMP error came
 * @net: namespace
 * @skb: the error, its data begin with the quoted network header
 * @icmp: the same, read
 *
 * Context: softirq, rcu_read_lock().
 * Return: 0, or -ENOENT if no association sent the packet
 */
int ltp_icmp(struct net *net, struct sk_buff *skb, const struct ltp_icmp *icmp)
{
	struct ltp_sock *lp;
	struct sock *sk;

	sk = ltp_assoc_find(net, &icmp->key);
	if (!sk)
		return -ENOENT;
	lp = ltp_sk(sk);
	bh_lock_sock(sk);
	if (lp->phase == LTP_CLOSED || icmp->tag != lp->peer_tag) {
		ltp_mib_inc(net, LTP_MIB_DROP_TAG);
	} else if (!sock_owned_by_user(sk)) {
		ltp_icmp_act(sk, skb, icmp);
	} else if (icmp->kind == LTP_ICMP_TOO_BIG) {
		/* A system call may send for long before the next one comes. */
		lp->missed_mtu = icmp->mtu;
		set_bit(LTP_MTU_MISSED, &lp->events);
	}
	bh_unlock_sock(sk);
	sock_put(sk);
	return 0;
}

/**
 * ltp_icmp_missed() - act upon what came while a system call had the socket
 * @sk: socket whose owner is about to release it
 *
 * Context: socket spinlock held.
 */
void ltp_icmp_missed(struct sock *sk)
{
	struct ltp_sock *lp = ltp_sk(sk);

	if (test_and_clear_bit(LTP_MTU_MISSED, &lp->events) &&
	    lp->phase != LTP_CLOSED)
		lp->af->too_big(sk, lp->missed_mtu);
}
