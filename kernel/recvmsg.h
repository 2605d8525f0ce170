/* SPDX-License-Identifier: GPL-2.0 */
/* recvmsg(). */
#ifndef _LTP_RECVMSG_H
#define _LTP_RECVMSG_H

#include "ltp.h"

int ltp_recvmsg(struct sock *sk, struct msghdr *msg, size_t len, int flags);
bool ltp_recv_eof(const struct sock *sk);

#endif /* _LTP_RECVMSG_H */
