/* SPDX-License-Identifier: GPL-2.0 */
/* Packets in. */
#ifndef _LTP_INPUT_H
#define _LTP_INPUT_H

#include "ltp.h"

int ltp_input(struct sk_buff *skb, const struct ltp_af *af, __be16 encap);
int ltp_input_locked(struct sock *sk, struct sk_buff *skb);

#endif /* _LTP_INPUT_H */
