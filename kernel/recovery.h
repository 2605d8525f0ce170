/* SPDX-License-Identifier: GPL-2.0 */
/* What became of the segments in flight. */
#ifndef _LTP_RECOVERY_H
#define _LTP_RECOVERY_H

#include "packet.h"

int ltp_tx_ack(struct sock *sk, const struct ltp_packet *p, u64 now);
u64 ltp_tx_due(struct sock *sk);
void ltp_tx_retry(struct sock *sk, u64 now);
void ltp_tx_too_big(struct sock *sk, u32 len);

#endif /* _LTP_RECOVERY_H */
