/* SPDX-License-Identifier: GPL-2.0 */
/* Timers that take the socket lock. */
#ifndef _LTP_TIMER_H
#define _LTP_TIMER_H

#include "ltp.h"

void ltp_timer_setup(struct ltp_timer *t, struct sock *sk,
		     void (*due)(struct ltp_timer *t), refcount_t *ref,
		     void (*put)(struct ltp_timer *t));
void ltp_timer_start(struct ltp_timer *t, u64 when_ns);
void ltp_timer_stop(struct ltp_timer *t);

#endif /* _LTP_TIMER_H */
