/* SPDX-License-Identifier: GPL-2.0 */
/* listen() and accept(). */
#ifndef _LTP_LISTEN_H
#define _LTP_LISTEN_H

#include "ltp.h"

int ltp_listen(struct socket *sock, int backlog);
struct sock *ltp_accept(struct sock *sk, struct proto_accept_arg *arg);
void ltp_close_listener(struct sock *sk);

#endif /* _LTP_LISTEN_H */
