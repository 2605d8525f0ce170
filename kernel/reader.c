// SPDX-License-Identifier: GPL-2.0
/* From the segments that came into the reader's buffer. */
#include "flow_rx.h"
#include "reader.h"

/* A reader is woken for this much, if the flow has not ended. */
#define LTP_WAKE_BYTES	(256 << 10)

/**
 * ltp_rx_pick() - the flow that the next recvmsg() is about
 * @sk: socket
 *
 * Context: socket locked.
 * Return: the flow, or NULL if nothing of it came yet
 */
struct ltp_flow_rx *ltp_rx_pick(struct sock *sk)
{
	struct ltp_flow_rx *flow;

	list_for_each_entry(flow, &ltp_sk(sk)->rx.flows, node)
		if (ltp_rx_is_next(sk, flow))
			return flow;
	return NULL;
}

/**
 * ltp_rx_worth_placing() - is there enough to wake a reader for?
 * @sk: socket
 * @flow: a flow that has not ended
 *
 * Context: socket locked.
 * Return: whether there is
 */
bool ltp_rx_worth_placing(const struct sock *sk,
			  const struct ltp_flow_rx *flow)
{
	if (ltp_sk(sk)->rx.starved && flow->queued)
		return true;
	return flow->queued >= min(READ_ONCE(sk->sk_rcvbuf) / 8,
				   LTP_WAKE_BYTES);
}

/**
 * ltp_rx_full() - is the buffer full before the flow is whole?
 * @sk: socket
 * @flow: a flow that has not ended
 *
 * Context: socket locked.
 * Return: whether only a reader can make room for the rest
 */
bool ltp_rx_full(const struct sock *sk, const struct ltp_flow_rx *flow)
{
	return flow->queued && !ltp_rx_window(sk, false);
}

/**
 * ltp_rx_readable() - would recvmsg() make progress?
 * @sk: socket
 *
 * Context: socket locked.
 * Return: whether it would
 */
bool ltp_rx_readable(const struct sock *sk)
{
	const struct ltp_flow_rx *flow = ltp_rx_pick((struct sock *)sk);

	return flow && (flow->reason != LTP_OPEN ||
			ltp_rx_worth_placing(sk, flow));
}

/* Where a buffer begins; of one that is no program's, where its pieces are. */
static const void *ltp_rx_buffer(const struct iov_iter *to)
{
	if (iter_is_ubuf(to))
		return (const void __force *)to->ubuf + to->iov_offset;
	if (iter_is_iovec(to))
		return (const void __force *)iter_iov_addr(to);
	return to->bvec;
}

/**
 * ltp_rx_same_buffer() - is what was placed in this buffer?
 * @flow: a flow, of which part may have been placed by an earlier call
 * @to: the reader's buffer, from its beginning
 *
 * It is not copied again: with another buffer it would be missing there.
 *
 * Context: socket owned.
 * Return: whether the flow can go on in this buffer
 */
bool ltp_rx_same_buffer(const struct ltp_flow_rx *flow,
			const struct iov_iter *to)
{
	return !flow->placed_at || !iov_iter_count(to) ||
	       (flow->placed_at == ltp_rx_buffer(to) &&
		flow->placed_room == iov_iter_count(to));
}

static int ltp_rx_place_skb(const struct ltp_flow_rx *flow,
			    const struct sk_buff *skb,
			    const struct iov_iter *to)
{
	u64 at = (u64)LTP_RX_CB(skb)->seg * flow->seg_size;
	struct iov_iter it = *to;

	if (at >= iov_iter_count(&it))
		return 0; /* the reader's buffer is too small */
	iov_iter_advance(&it, at);
	return skb_copy_datagram_iter(skb, 0, &it,
				      min_t(size_t, skb->len,
					    iov_iter_count(&it)));
}

/**
 * ltp_rx_place() - copy the segments that came to their places
 * @sk: socket
 * @flow: their flow
 * @to: the reader's buffer, from its beginning
 * @peek: leave them in the queue
 *
 * Context: socket owned, may sleep.
 * Return: 0 or -EFAULT; the segment that could not be placed is kept
 */
int ltp_rx_place(struct sock *sk, struct ltp_flow_rx *flow,
		 const struct iov_iter *to, bool peek)
{
	struct sk_buff *skb;
	u32 bytes = 0;

	if (peek) {
		skb_queue_walk(&flow->queue, skb)
			if (ltp_rx_place_skb(flow, skb, to))
				return -EFAULT;
		return 0;
	}
	while ((skb = skb_peek(&flow->queue))) {
		if (ltp_rx_place_skb(flow, skb, to))
			return -EFAULT;
		flow->placed_at = ltp_rx_buffer(to);
		flow->placed_room = iov_iter_count(to);
		__skb_unlink(skb, &flow->queue);
		flow->queued -= skb->truesize;
		bytes += skb->truesize;
		consume_skb(skb);
		/* Packets that wait for us are ACKs their sender waits for. */
		if (bytes >= LTP_WAKE_BYTES) {
			bytes = 0;
			sk_flush_backlog(sk);
		}
	}
	return 0;
}

/**
 * ltp_rx_fill_holes() - bubble filling: zeros where nothing arrived
 * @flow: a flow that has ended
 * @to: the reader's buffer, from its beginning
 *
 * Context: socket owned, may sleep.
 * Return: 0 or -EFAULT
 */
int ltp_rx_fill_holes(const struct ltp_flow_rx *flow,
		      const struct iov_iter *to)
{
	u32 hole = 0, end;

	while ((hole = ltp_ackmap_next_hole(&flow->map, hole)) <
	       flow->map.segs) {
		u64 at = (u64)hole * flow->seg_size, len;
		struct iov_iter it = *to;

		end = ltp_ackmap_hole_end(&flow->map, hole);
		len = min_t(u64, (u64)end * flow->seg_size, flow->len) - at;
		if (at >= iov_iter_count(&it))
			return 0;
		iov_iter_advance(&it, at);
		len = min_t(u64, len, iov_iter_count(&it));
		if (iov_iter_zero(len, &it) != len)
			return -EFAULT;
		hole = end;
	}
	return 0;
}

/**
 * ltp_rx_done() - the reader has had a flow
 * @sk: socket
 * @flow: the flow, it may be gone afterwards
 *
 * Context: socket owned.
 */
void ltp_rx_done(struct sock *sk, struct ltp_flow_rx *flow)
{
	ltp_flow_rx_drop_queue(flow);
	flow->read = true;
	ltp_sk(sk)->has_rcvtag = 0;
	ltp_rx_tidy(sk);
}

/**
 * ltp_rx_unread() - bytes that recvmsg() could return now
 * @sk: socket
 *
 * Context: socket locked.
 * Return: length of the next message, if it has ended
 */
u32 ltp_rx_unread(const struct sock *sk)
{
	const struct ltp_flow_rx *flow = ltp_rx_pick((struct sock *)sk);

	return flow && flow->reason != LTP_OPEN ?
		       min_t(u32, flow->len, INT_MAX) : 0;
}
