/* SPDX-License-Identifier: GPL-2.0 */
/* How a system call waits. */
#ifndef _LTP_WAIT_H
#define _LTP_WAIT_H

#include <linux/sched/signal.h>
#include <net/sock.h>

/*
 * Sleep until @condition or an error. Uses the names sk, timeo and err of its
 * caller; the socket lock is released meanwhile, so all else must be read
 * again.
 */
#define ltp_wait(condition)						\
({									\
	DEFINE_WAIT_FUNC(__wait, woken_wake_function);			\
									\
	add_wait_queue(sk_sleep(sk), &__wait);				\
	sk_set_bit(SOCKWQ_ASYNC_WAITDATA, sk);				\
	if (!timeo)							\
		err = -EAGAIN;						\
	else if (signal_pending(current))				\
		err = sock_intr_errno(timeo);				\
	else								\
		sk_wait_event(sk, &timeo, condition, &__wait);		\
	sk_clear_bit(SOCKWQ_ASYNC_WAITDATA, sk);			\
	remove_wait_queue(sk_sleep(sk), &__wait);			\
	err;								\
})

#endif /* _LTP_WAIT_H */
