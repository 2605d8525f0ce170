/* SPDX-License-Identifier: GPL-2.0 */
/* The four-way handshake. */
#ifndef _LTP_HANDSHAKE_H
#define _LTP_HANDSHAKE_H

#include "packet.h"

int ltp_handshake_start(struct sock *sk);
void ltp_handshake_retry(struct sock *sk, u64 now);
void ltp_handshake_init(struct sock *listener, const struct sk_buff *skb,
			const struct ltp_packet *p);
int ltp_handshake_init_ack(struct sock *sk, const struct ltp_packet *p);
int ltp_handshake_echo(struct sock *listener, const struct sk_buff *skb,
		       const struct ltp_packet *p);
void ltp_handshake_cookie_ack(struct sock *sk, const struct ltp_packet *p,
			      u64 now);
void ltp_handshake_ended(struct sock *sk);
int ltp_handshake_net_init(struct ltp_net *ln);
void ltp_handshake_net_exit(struct ltp_net *ln);
bool ltp_handshake_same(const struct ltp_sock *lp,
			const struct ltp_cookie *cookie);

#endif /* _LTP_HANDSHAKE_H */
