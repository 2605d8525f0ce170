/* SPDX-License-Identifier: GPL-2.0 */
/* sendmsg(). */
#ifndef _LTP_SENDMSG_H
#define _LTP_SENDMSG_H

#include "ltp.h"

int ltp_sendmsg(struct sock *sk, struct msghdr *msg, size_t len);
bool ltp_send_room(const struct sock *sk);

#endif /* _LTP_SENDMSG_H */
