// SPDX-License-Identifier: GPL-2.0
/* recvmsg(): from a flow to the program. ltp(7) is the contract. */
#include <linux/slab.h>

#include "assoc.h"
#include "flow_rx.h"
#include "reader.h"
#include "recvmsg.h"
#include "report.h"
#include "wait.h"

static struct ltp_rcvmap *ltp_make_map(const struct ltp_flow_rx *flow)
{
	u32 words = ltp_ackmap_words64(&flow->map), i;
	struct ltp_rcvmap *map;

	map = kvmalloc(struct_size(map, bitmap, words), GFP_KERNEL);
	if (!map)
		return NULL;
	map->seg_size = flow->seg_size;
	map->segments = flow->map.segs;
	for (i = 0; i < words; i++)
		map->bitmap[i] = ltp_ackmap_word64(&flow->map, i);
	return map;
}

static void ltp_put_info(struct msghdr *msg, const struct ltp_flow_rx *flow)
{
	struct ltp_rcvinfo info = {
		.tag = flow->tag,
		.length = flow->len,
		.received = flow->received,
		.elapsed_us = div_u64(flow->elapsed_ns, NSEC_PER_USEC),
		.flow = flow->id,
		.reason = flow->reason,
		.flags = flow->tolerant ? LTP_TOLERANT : 0,
	};

	put_cmsg(msg, SOL_LTP, LTP_RCVINFO, sizeof(info), &info);
}

/* Hand an ended flow to the reader. */
static int ltp_recv_flow(struct sock *sk, struct ltp_flow_rx *flow,
			 struct msghdr *msg, int flags)
{
	struct iov_iter to = msg->msg_iter;
	size_t len = iov_iter_count(&to);
	struct ltp_rcvmap *map = NULL;
	int err;

	err = ltp_rx_place(sk, flow, &to, flags & MSG_PEEK);
	if (!err && !ltp_sk(sk)->holes_keep)
		err = ltp_rx_fill_holes(flow, &to);
	if (err)
		return err;
	if (ltp_sk(sk)->recvrcvmap) {
		map = ltp_make_map(flow);
		if (!map)
			return -ENOBUFS;
	}
	/* The map takes all the room there is: it comes last. */
	if (ltp_sk(sk)->recvrcvinfo)
		ltp_put_info(msg, flow);
	if (map)
		put_cmsg(msg, SOL_LTP, LTP_RCVMAP,
			 struct_size(map, bitmap,
				     ltp_ackmap_words64(&flow->map)), map);
	kvfree(map);
	if (len > flow->len)
		len = flow->len;
	else if (len < flow->len)
		msg->msg_flags |= MSG_TRUNC;
	msg->msg_flags |= MSG_EOR;
	iov_iter_advance(&msg->msg_iter, len);
	if (flags & MSG_TRUNC)
		len = flow->len;
	if (!(flags & MSG_PEEK))
		ltp_rx_done(sk, flow);
	return len;
}

/**
 * ltp_recv_eof() - is there nothing more to read, ever?
 * @sk: socket
 *
 * Context: socket locked.
 * Return: whether recvmsg() may return 0
 */
bool ltp_recv_eof(const struct sock *sk)
{
	const struct ltp_rx *rx = &ltp_sk(sk)->rx;

	return (sk->sk_shutdown & RCV_SHUTDOWN) ||
	       (rx->fin && rx->next_flow == rx->flow_end);
}

/* The peer has said all, and the flow asked for is not among it. */
static bool ltp_recv_no_tag(struct sock *sk)
{
	return ltp_sk(sk)->rx.fin && ltp_sk(sk)->has_rcvtag && !ltp_rx_pick(sk);
}

/* Why recvmsg() need not wait any longer; 1: go on waiting. */
static int ltp_recv_state(struct sock *sk)
{
	const struct ltp_rx *rx = &ltp_sk(sk)->rx;

	/* The peer had said all: what happened afterwards is the sender's. */
	if (rx->fin && rx->next_flow == rx->flow_end)
		return 0;
	if (sk->sk_err)
		return sock_error(sk);
	if (ltp_recv_eof(sk))
		return 0;
	if (ltp_recv_no_tag(sk))
		return -ENOMSG;
	if (sk->sk_state == TCP_CLOSE || sk->sk_state == TCP_LISTEN)
		return -ENOTCONN;
	return 1;
}

/* What cannot be taken as it comes must have ended, or never will. */
static bool ltp_recv_ready(struct sock *sk, bool peek)
{
	const struct ltp_flow_rx *flow;

	if (!peek)
		return ltp_rx_readable(sk);
	flow = ltp_rx_pick(sk);
	return flow && (flow->reason != LTP_OPEN || ltp_rx_full(sk, flow));
}

/*
 * A message larger than the receive buffer is placed as it comes. A reader
 * that does not block, or is interrupted, finds it where it was left when it
 * calls again with the same buffer.
 */
static int ltp_recv_one(struct sock *sk, struct msghdr *msg, int flags,
			long timeo)
{
	struct iov_iter to = msg->msg_iter;
	int err = 0, ret;

	while (!err) {
		struct ltp_flow_rx *flow = ltp_rx_pick(sk);

		if (flow && flow->reason == LTP_LOST)
			flow = NULL;
		if (flow && !ltp_rx_same_buffer(flow, &to))
			return -EINVAL;
		if (flow && flow->reason != LTP_OPEN)
			return ltp_recv_flow(sk, flow, msg, flags);
		ret = ltp_recv_state(sk);
		if (ret <= 0)
			return ret;
		if (flow && (flags & MSG_PEEK) && ltp_rx_full(sk, flow))
			return -EMSGSIZE;
		if (flow && !(flags & MSG_PEEK) &&
		    ltp_rx_worth_placing(sk, flow)) {
			err = ltp_rx_place(sk, flow, &to, false);
			ltp_rx_update(sk);
			continue;
		}
		ltp_wait(ltp_recv_ready(sk, flags & MSG_PEEK) || sk->sk_err ||
			 ltp_recv_eof(sk) || ltp_recv_no_tag(sk) ||
			 sk->sk_state == TCP_CLOSE);
	}
	return err;
}

/**
 * ltp_recvmsg() - proto.recvmsg
 * @sk: socket
 * @msg: where the message goes
 * @len: room there
 * @flags: MSG_*
 *
 * Context: process.
 * Return: length of the message or an error of ltp(7)
 */
int ltp_recvmsg(struct sock *sk, struct msghdr *msg, size_t len, int flags)
{
	struct ltp_rx *rx = &ltp_sk(sk)->rx;
	int err = 0;
	long timeo;

	if (flags & MSG_ERRQUEUE)
		return ltp_report_read(sk, msg, len);
	if (flags & MSG_OOB)
		return -EOPNOTSUPP;
	lock_sock(sk);
	timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	/* One reader at a time: a message goes into one buffer. */
	rx->waiting++;
	while (rx->reading && !err)
		ltp_wait(!rx->reading);
	rx->waiting--;
	if (!err) {
		rx->reading = true;
		err = ltp_recv_one(sk, msg, flags, timeo);
		rx->reading = false;
		ltp_rx_update(sk);
		if (rx->waiting)
			sk->sk_data_ready(sk);
	}
	release_sock(sk);
	return err;
}
