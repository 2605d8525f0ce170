/* SPDX-License-Identifier: GPL-2.0 */
/* The path's MTU, as an association uses it. */
#ifndef _LTP_PATH_H
#define _LTP_PATH_H

#include <linux/udp.h>

#include "ltp.h"

void ltp_path_open(struct sock *sk);
u32 ltp_path_mtu(struct sock *sk);
u32 ltp_path_begin(struct sock *sk);
bool ltp_path_df(struct sock *sk, struct ltp_seg *seg);
void ltp_path_acked(struct sock *sk, const struct ltp_seg *seg, bool sure,
		    u64 now);
void ltp_path_arrived(struct sock *sk, u32 pn, u64 now);
void ltp_path_lost(struct sock *sk, const struct ltp_seg *seg, bool found,
		   u64 now);
void ltp_path_pong(struct sock *sk, u32 token, u64 now);
void ltp_path_too_big(struct sock *sk, u32 mtu);
u64 ltp_path_due(struct sock *sk);
void ltp_path_run(struct sock *sk, u64 now);

/* Bytes of headers in front of what follows the common header. */
static inline u32 ltp_path_headers(const struct ltp_sock *lp)
{
	return lp->af->header_len + sizeof(struct ltp_hdr) +
	       (lp->encap_port ? sizeof(struct udphdr) : 0);
}

/* And of those in front of a segment's payload. */
static inline u32 ltp_path_overhead(const struct ltp_sock *lp)
{
	return ltp_path_headers(lp) + sizeof(struct ltp_data);
}

#endif /* _LTP_PATH_H */
