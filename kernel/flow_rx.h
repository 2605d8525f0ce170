/* SPDX-License-Identifier: GPL-2.0 */
/* Flows at their receiver. */
#ifndef _LTP_FLOW_RX_H
#define _LTP_FLOW_RX_H

#include "packet.h"

int ltp_rx_init(void);
void ltp_rx_exit(void);
void ltp_rx_setup(struct sock *sk);
void ltp_rx_cut(struct sock *sk);
void ltp_rx_purge(struct sock *sk);

int ltp_rx_data(struct sock *sk, struct sk_buff *skb,
		const struct ltp_packet *p, u64 now);
int ltp_rx_giveup(struct sock *sk, const struct ltp_packet *p, u64 now);
int ltp_rx_close_acked(struct sock *sk, u32 id, u32 part, u64 now);
bool ltp_rx_all_ended(struct sock *sk, u32 flow_end);
void ltp_rx_ack_due(struct sock *sk, u64 now);
void ltp_rx_timers_missed(struct sock *sk);
void ltp_rx_thresholds(const struct sock *sk, struct ltp_ec_thresholds *th);
void ltp_rx_thresholds_changed(struct sock *sk);

u32 ltp_rx_window(const struct sock *sk, bool later);
u32 ltp_rx_advertise(struct sock *sk);
void ltp_rx_update(struct sock *sk);

struct ltp_flow_rx *ltp_rx_pick(struct sock *sk);
bool ltp_rx_readable(const struct sock *sk);
bool ltp_rx_worth_placing(const struct sock *sk,
			  const struct ltp_flow_rx *flow);
int ltp_rx_place(struct sock *sk, struct ltp_flow_rx *flow,
		 const struct iov_iter *to, bool peek);
int ltp_rx_fill_holes(const struct ltp_flow_rx *flow,
		      const struct iov_iter *to);
void ltp_rx_done(struct sock *sk, struct ltp_flow_rx *flow);
u32 ltp_rx_unread(const struct sock *sk);

#endif /* _LTP_FLOW_RX_H */
