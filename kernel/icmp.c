// SPDX-License-Identifier: GPL-2.0
/*
 * What an ICMP error means to an association. An error quotes eight bytes of
 * ours: ports and tag; mostly the packet number too. It must know the tag, and
 * it only matters where nothing else would tell.
 */
#include "assoc.h"
#include "icmp.h"
#include "path.h"

/* Ports and tag: all that an error has to quote of a packet. */
#define LTP_ICMP_QUOTE		8
/* A packet that is further back than this is not worth a message. */
#define LTP_ICMP_PACKETS	65536

/**
 * ltp_icmp_quote() - read the quoted part of a packet of ours
 * @icmp: ports of its key, its tag and packet number are filled in
 * @skb: the error
 * @offset: where in it the packet's common header begins
 *
 * Return: whether there is as much as there has to be
 */
bool ltp_icmp_quote(struct ltp_icmp *icmp, const struct sk_buff *skb,
		    int offset)
{
	struct ltp_hdr space = {};
	const struct ltp_hdr *hdr;

	hdr = skb_header_pointer(skb, offset, sizeof(space), &space);
	icmp->has_pn = hdr;
	if (hdr)
		icmp->pn = be32_to_cpu(hdr->pn);
	else
		hdr = skb_header_pointer(skb, offset, LTP_ICMP_QUOTE, &space);
	if (!hdr)
		return false;
	icmp->key.lport = hdr->source;
	icmp->key.rport = hdr->dest;
	icmp->tag = be32_to_cpu(hdr->tag);
	return true;
}

/* Is it a packet that this association sent, not too long ago? */
static bool ltp_icmp_ours(const struct ltp_sock *lp,
			  const struct ltp_icmp *icmp)
{
	if (lp->phase == LTP_CLOSED || icmp->tag != lp->peer_tag)
		return false;
	/* A router gives fragments up after a minute: that is late, and no harm. */
	return icmp->kind == LTP_ICMP_IGNORED || !icmp->has_pn ||
	       !ltp_assoc_is_open(lp) ||
	       (ltp_before(icmp->pn, lp->tx.pn) &&
		lp->tx.pn - icmp->pn <= LTP_ICMP_PACKETS);
}

static void ltp_icmp_act(struct sock *sk, struct sk_buff *skb,
			 const struct ltp_icmp *icmp)
{
	struct ltp_sock *lp = ltp_sk(sk);
	struct dst_entry *dst;

	switch (icmp->kind) {
	case LTP_ICMP_TOO_BIG:
		ltp_path_too_big(sk, icmp->mtu);
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
	if (!ltp_icmp_ours(lp, icmp)) {
		ltp_mib_inc(net, LTP_MIB_DROP_TAG);
	} else if (icmp->kind == LTP_ICMP_TOO_BIG &&
		   icmp->mtu < lp->af->mtu_min) {
		ltp_mib_inc(net, LTP_MIB_PMTU_ICMP_IGNORED);
	} else if (!sock_owned_by_user(sk)) {
		ltp_icmp_act(sk, skb, icmp);
	} else if (icmp->kind == LTP_ICMP_TOO_BIG) {
		/* Of several the smallest, which is what the path takes. */
		if (!lp->missed_mtu || icmp->mtu < lp->missed_mtu)
			lp->missed_mtu = icmp->mtu;
		set_bit(LTP_ICMP_MISSED, &lp->events);
	} else if (icmp->kind == LTP_ICMP_UNREACHABLE) {
		lp->missed_err = icmp->err;
		set_bit(LTP_ICMP_MISSED, &lp->events);
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
	u32 mtu = lp->missed_mtu;
	int err = lp->missed_err;

	if (!test_and_clear_bit(LTP_ICMP_MISSED, &lp->events))
		return;
	lp->missed_mtu = 0;
	lp->missed_err = 0;
	if (mtu && lp->phase != LTP_CLOSED)
		ltp_path_too_big(sk, mtu);
	if (err && lp->phase == LTP_INIT_SENT)
		ltp_assoc_end(sk, err);
}
