/* SPDX-License-Identifier: GPL-2.0 */
/* What a sending program is told of its flows. */
#ifndef _LTP_REPORT_H
#define _LTP_REPORT_H

#include "ltp.h"

void ltp_report_queue(struct sock *sk, const struct ltp_flow_tx *flow);
int ltp_report_read(struct sock *sk, struct msghdr *msg, size_t len);

#endif /* _LTP_REPORT_H */
