/* SPDX-License-Identifier: GPL-2.0 */
/* What decides when the flows of an association may be closed early. */
#ifndef _LTP_ADAPT_H
#define _LTP_ADAPT_H

#include "ltp.h"

const struct ltp_policy *ltp_policy(struct sock *sk);
void ltp_policy_own_changed(struct sock *sk);
void ltp_policy_changed(struct ltp_net *ln);
void ltp_policy_apply(struct sock *sk);

void ltp_adapt_thresholds(struct sock *sk, const struct ltp_flow_rx *flow,
			  struct ltp_ec_thresholds *th);
void ltp_adapt_begin(struct sock *sk, struct ltp_flow_rx *flow);
void ltp_adapt_end(struct sock *sk, struct ltp_flow_rx *flow, u64 now);
void ltp_adapt_epoch(struct sock *sk);
u32 ltp_adapt_epochs(struct sock *sk);
void ltp_adapt_pong(struct sock *sk, u32 token, u64 now);
void ltp_adapt_info(struct sock *sk, struct ltp_info *info);

#endif /* _LTP_ADAPT_H */
