/* SPDX-License-Identifier: GPL-2.0 */
/* Who is bound to which port. */
#ifndef _LTP_PORT_H
#define _LTP_PORT_H

#include "ltp.h"

int ltp_port_get(struct sock *sk, unsigned short port);
int ltp_port_auto(struct sock *sk);
void ltp_port_inherit(struct sock *child, const struct sock *listener);
void ltp_port_put(struct sock *sk);
bool ltp_port_listen(struct sock *sk);
struct sock *ltp_port_listener(struct net *net, const struct ltp_key *key,
			       int dev);

#endif /* _LTP_PORT_H */
