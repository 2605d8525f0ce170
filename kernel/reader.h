/* SPDX-License-Identifier: GPL-2.0 */
/* From the segments that came into the reader's buffer. */
#ifndef _LTP_READER_H
#define _LTP_READER_H

#include "ltp.h"

struct ltp_flow_rx *ltp_rx_pick(struct sock *sk);
bool ltp_rx_readable(const struct sock *sk);
bool ltp_rx_worth_placing(const struct sock *sk,
			  const struct ltp_flow_rx *flow);
bool ltp_rx_full(const struct sock *sk, const struct ltp_flow_rx *flow);
bool ltp_rx_same_buffer(const struct ltp_flow_rx *flow,
			const struct iov_iter *to);
int ltp_rx_place(struct sock *sk, struct ltp_flow_rx *flow,
		 const struct iov_iter *to, bool peek);
int ltp_rx_fill_holes(const struct ltp_flow_rx *flow,
		      const struct iov_iter *to);
void ltp_rx_done(struct sock *sk, struct ltp_flow_rx *flow);
u32 ltp_rx_unread(const struct sock *sk);

#endif /* _LTP_READER_H */
