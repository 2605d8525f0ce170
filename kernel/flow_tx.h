/* SPDX-License-Identifier: GPL-2.0 */
/* Flows at their sender. */
#ifndef _LTP_FLOW_TX_H
#define _LTP_FLOW_TX_H

#include "packet.h"
#include "start.h"

int ltp_tx_init(void);
void ltp_tx_exit(void);
void ltp_tx_setup(struct sock *sk);
void ltp_tx_purge(struct sock *sk);
void ltp_tx_set_cc(struct sock *sk, const struct ltp_cc_ops *ops);

u32 ltp_tx_segsize(struct sock *sk);
struct ltp_flow_tx *ltp_tx_begin(struct sock *sk, u32 len,
				 const struct ltp_sndinfo *info);

/* The segment that is taken over from the program next, unless it is over. */
static inline u32 ltp_flow_tx_next(const struct ltp_flow_tx *flow)
{
	return ltp_start_order(flow->taken, flow->map.segs, flow->ncrit,
			       flow->start);
}

int ltp_tx_fill(struct sock *sk, struct ltp_flow_tx *flow, struct msghdr *msg);
void ltp_tx_filled(struct sock *sk, struct ltp_flow_tx *flow);
void ltp_tx_unbegin(struct sock *sk, struct ltp_flow_tx *flow);
void ltp_tx_give_up(struct sock *sk, struct ltp_flow_tx *flow);
int ltp_tx_close(struct sock *sk, const struct ltp_close_fields *c, u64 now);
void ltp_tx_timers_missed(struct sock *sk);
u32 ltp_tx_unacked(const struct sock *sk);

struct ltp_flow_tx *ltp_tx_find(struct ltp_tx *tx, u32 id);
struct ltp_seg *ltp_tx_find_seg(struct ltp_flow_tx *flow, u32 index);
void ltp_seg_free(struct sock *sk, struct ltp_seg *seg);
void ltp_flow_tx_end(struct sock *sk, struct ltp_flow_tx *flow,
		     enum ltp_close_reason reason);

static inline bool ltp_tx_may_begin(const struct ltp_sock *lp)
{
	return ltp_before(lp->tx.next_flow, lp->tx.flow_limit);
}

/* No more of it is wanted: ended, given up, or the receiver has closed it. */
static inline bool ltp_flow_tx_over(const struct ltp_flow_tx *flow)
{
	return flow->reason || flow->gave_up || flow->close_parts;
}

#endif /* _LTP_FLOW_TX_H */
