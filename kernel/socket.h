/* SPDX-License-Identifier: GPL-2.0 */
/* What a system call on a socket reaches; options are in sockopt.c. */
#ifndef _LTP_SOCKET_H
#define _LTP_SOCKET_H

#include "ltp.h"

extern struct proto ltp_prot;
extern const struct proto_ops ltp_proto_ops;
extern const struct proto_ops ltp6_proto_ops;

int ltp_socket_init(void);
void ltp_socket_exit(void);

int ltp_setsockopt(struct sock *sk, int level, int name, sockptr_t val,
		   unsigned int len);
int ltp_getsockopt(struct sock *sk, int level, int name, char __user *val,
		   int __user *len);

#endif /* _LTP_SOCKET_H */
