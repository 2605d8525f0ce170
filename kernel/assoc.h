/* SPDX-License-Identifier: GPL-2.0 */
/* Association life: setup, lookup, liveness, orderly and abortive end. */
#ifndef _LTP_ASSOC_H
#define _LTP_ASSOC_H

#include "ltp.h"

extern const struct rhashtable_params ltp_assoc_params;

void ltp_assoc_setup(struct sock *sk);
void ltp_assoc_clear(struct sock *sk);
int ltp_assoc_net_init(struct net *net);
void ltp_assoc_net_exit(struct net *net);
int ltp_assoc_hash(struct sock *sk);
struct sock *ltp_assoc_find(struct net *net, const struct ltp_key *key);
void ltp_assoc_params_out(struct sock *sk, struct ltp_params *params);
void ltp_assoc_open(struct sock *sk, const struct ltp_params *peer,
		    u64 rtt_ns);
u64 ltp_assoc_dead_ns(struct sock *sk);
void ltp_assoc_heard(struct sock *sk, u64 now);
void ltp_assoc_retry_at(struct sock *sk, u64 when);
void ltp_assoc_rearm(struct sock *sk, u64 now);
void ltp_assoc_fin(struct sock *sk);
void ltp_assoc_fin_received(struct sock *sk, u32 flow_end);
void ltp_assoc_fin_acked(struct sock *sk);
void ltp_assoc_end(struct sock *sk, int err);
void ltp_assoc_abort(struct sock *sk, int err);
void ltp_assoc_release_cb(struct sock *sk);

static inline bool ltp_assoc_is_open(const struct ltp_sock *lp)
{
	return lp->phase == LTP_ESTABLISHED || lp->phase == LTP_CLOSING;
}

#endif /* _LTP_ASSOC_H */
