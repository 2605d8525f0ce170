// SPDX-License-Identifier: GPL-2.0
/*
 * What a sending program is told of its flows: the map that the receiver had,
 * on the error queue, as MSG_ZEROCOPY tells of its pages.
 */
#include "report.h"

/* One 64-bit word of the map, as struct ltp_rcvmap has it. */
static int ltp_report_store(struct sk_buff *skb, const struct ltp_ackmap *map)
{
	u32 words = ltp_ackmap_words64(map), i;
	int err = 0;

	for (i = 0; i < words && !err; i++) {
		u64 word = ltp_ackmap_word64(map, i);

		err = skb_store_bits(skb, sizeof(struct ltp_report) +
				     i * sizeof(word), &word, sizeof(word));
	}
	return err;
}

static struct sk_buff *ltp_report_alloc(u32 map_bytes)
{
	struct sk_buff *skb;
	int err;

	skb = alloc_skb_with_frags(sizeof(struct ltp_report), map_bytes, 0,
				   &err, GFP_ATOMIC);
	if (!skb)
		return NULL;
	skb_put(skb, sizeof(struct ltp_report));
	skb->data_len = map_bytes;
	skb->len += map_bytes;
	return skb;
}

/**
 * ltp_report_queue() - tell the program how a flow ended
 * @sk: socket
 * @flow: the flow, with its reason and the receiver's map
 *
 * A program that does not read its reports loses the newest, which is counted.
 *
 * Context: socket locked.
 */
void ltp_report_queue(struct sock *sk, const struct ltp_flow_tx *flow)
{
	struct ltp_report report = {
		.tag = flow->tag,
		.length = flow->len,
		.received = flow->reason == LTP_COMPLETE ? flow->len :
							   flow->received,
		.flow = flow->id,
		.seg_size = flow->seg_size,
		.segments = flow->map.segs,
		.reason = flow->reason,
		.flags = flow->tolerant ? LTP_TOLERANT : 0,
	};
	struct sk_buff *skb;
	u32 mem;

	if (!ltp_sk(sk)->reports || sock_flag(sk, SOCK_DEAD))
		return;
	skb = ltp_report_alloc(ltp_ackmap_words64(&flow->map) * sizeof(u64));
	if (!skb)
		goto lost;
	memcpy(skb->data, &report, sizeof(report));
	memset(skb->cb, 0, sizeof(skb->cb));
	/* Before it can be read; unread reports are no reason to receive less. */
	mem = skb->truesize;
	atomic_add(mem, &ltp_sk(sk)->report_mem);
	if (!ltp_report_store(skb, &flow->map) && !sock_queue_err_skb(sk, skb))
		return;
	atomic_sub(mem, &ltp_sk(sk)->report_mem);
	kfree_skb(skb);
lost:
	ltp_mib_inc(sock_net(sk), LTP_MIB_REPORTS_LOST);
}

/**
 * ltp_report_read() - recvmsg(MSG_ERRQUEUE)
 * @sk: socket
 * @msg: gets LTP_REPORT as a control message, the map as data
 * @len: room for the map
 *
 * Context: process.
 * Return: bytes of map, -EAGAIN if there is no report, -EFAULT
 */
int ltp_report_read(struct sock *sk, struct msghdr *msg, size_t len)
{
	struct ltp_report report;
	struct sk_buff *skb;
	size_t map_bytes;
	int err;

	skb = sock_dequeue_err_skb(sk);
	if (!skb)
		return -EAGAIN;
	atomic_sub(skb->truesize, &ltp_sk(sk)->report_mem);
	memcpy(&report, skb->data, sizeof(report));
	map_bytes = skb->len - sizeof(report);
	if (map_bytes > len) {
		map_bytes = len;
		msg->msg_flags |= MSG_TRUNC;
	}
	err = skb_copy_datagram_msg(skb, sizeof(report), msg, map_bytes);
	consume_skb(skb);
	if (err)
		return err;
	put_cmsg(msg, SOL_LTP, LTP_REPORT, sizeof(report), &report);
	msg->msg_flags |= MSG_ERRQUEUE | MSG_EOR;
	return map_bytes;
}
