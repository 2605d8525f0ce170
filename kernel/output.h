/* SPDX-License-Identifier: GPL-2.0 */
/* Packets out. */
#ifndef _LTP_OUTPUT_H
#define _LTP_OUTPUT_H

#include "packet.h"

/* Room in front of a payload for every header that may come before it. */
#define LTP_HEADROOM	(MAX_HEADER + sizeof(struct ipv6hdr) + \
			 sizeof(struct udphdr) + sizeof(struct ltp_hdr) + \
			 sizeof(struct ltp_data))

void ltp_output_train(struct sock *sk, struct list_head *train, u64 now);
int ltp_output_control(struct sock *sk, u8 type, u8 flags, const void *body,
		       u32 len);
void ltp_output_hello(struct sock *sk, u8 type, u32 tag, const void *body,
		      u32 len);
void ltp_output_ack(struct sock *sk, struct ltp_flow_rx *flow, u64 now);
void ltp_output_whole(struct sock *sk, const struct ltp_data_fields *data,
		      u32 pn);
void ltp_output_window(struct sock *sk, u32 token);
void ltp_output_ping(struct sock *sk);
void ltp_output_probe(struct sock *sk, u32 token, u32 len);
void ltp_output_reset(struct sock *sk);
void ltp_output_reply(struct net *net, const struct sk_buff *to,
		      const struct ltp_packet *p, u8 type, u8 flags, u32 tag,
		      const void *body, u32 len);

#endif /* _LTP_OUTPUT_H */
