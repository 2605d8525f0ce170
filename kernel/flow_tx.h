/* SPDX-License-Identifier: GPL-2.0 */
/* Flows at their sender. */
#ifndef _LTP_FLOW_TX_H
#define _LTP_FLOW_TX_H

#include "packet.h"

int ltp_tx_init(void);
void ltp_tx_exit(void);
void ltp_tx_setup(struct sock *sk);
void ltp_tx_purge(struct sock *sk);

u32 ltp_tx_segsize(struct sock *sk);
struct ltp_flow_tx *ltp_tx_begin(struct sock *sk, u32 len,
				 const struct ltp_sndinfo *info);
int ltp_tx_fill(struct sock *sk, struct ltp_flow_tx *flow, struct msghdr *msg);
void ltp_tx_filled(struct sock *sk, struct ltp_flow_tx *flow);
void ltp_tx_unbegin(struct sock *sk, struct ltp_flow_tx *flow);
void ltp_tx_give_up(struct sock *sk, struct ltp_flow_tx *flow);
void ltp_tx_push(struct sock *sk);
u32 ltp_tx_unacked(const struct sock *sk);

int ltp_tx_ack(struct sock *sk, const struct ltp_packet *p, u64 now);
int ltp_tx_close(struct sock *sk, const struct ltp_close_fields *c, u64 now);
void ltp_tx_window(struct sock *sk, u32 pn,
		   const struct ltp_window_fields *w);

u64 ltp_tx_due(struct sock *sk);
void ltp_tx_retry(struct sock *sk, u64 now);
void ltp_tx_timers_missed(struct sock *sk);
bool ltp_tx_blocked(const struct ltp_sock *lp);

static inline bool ltp_tx_may_begin(const struct ltp_sock *lp)
{
	return ltp_before(lp->tx.next_flow, lp->tx.flow_limit);
}

#endif /* _LTP_FLOW_TX_H */
