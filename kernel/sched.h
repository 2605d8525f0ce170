/* SPDX-License-Identifier: GPL-2.0 */
/* Which segment leaves next, and when. */
#ifndef _LTP_SCHED_H
#define _LTP_SCHED_H

#include "packet.h"

void ltp_tx_push(struct sock *sk);
void ltp_tx_paced(struct sock *sk);
void ltp_tx_clock(struct sock *sk, u64 now);
void ltp_tx_group(struct sock *sk, u32 group, u64 now);
void ltp_tx_stamp(struct sock *sk, struct ltp_seg *seg, u64 now);
void ltp_tx_new_window(struct ltp_tx *tx, u32 pn,
		       const struct ltp_window_fields *w);
void ltp_tx_window(struct sock *sk, u32 pn, const struct ltp_window_fields *w);
bool ltp_tx_blocked(const struct ltp_sock *lp);

#endif /* _LTP_SCHED_H */
