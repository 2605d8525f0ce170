/* SPDX-License-Identifier: GPL-2.0 */
/* Flows at their receiver. */
#ifndef _LTP_FLOW_RX_H
#define _LTP_FLOW_RX_H

#include "packet.h"

/* While a segment waits in ltp_flow_rx.queue. */
struct ltp_rx_cb {
	u32 seg;
};

#define LTP_RX_CB(skb)	((struct ltp_rx_cb *)(skb)->cb)

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
void ltp_rx_thresholds_changed(struct sock *sk);
void ltp_rx_rejudge(struct sock *sk);

u32 ltp_rx_window(const struct sock *sk, bool later);
u32 ltp_rx_advertise(struct sock *sk);
void ltp_rx_update(struct sock *sk);

bool ltp_rx_is_next(const struct sock *sk, const struct ltp_flow_rx *flow);
void ltp_flow_rx_drop_queue(struct ltp_flow_rx *flow);
void ltp_rx_tidy(struct sock *sk);

#endif /* _LTP_FLOW_RX_H */
