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

/* Those who wake interruptible sleepers wake these, too. */
static inline int ltp_wake_killable(struct wait_queue_entry *wait,
				    unsigned int mode, int sync, void *key)
{
	return woken_wake_function(wait, TASK_NORMAL, sync, key);
}

/* The same, but no signal ends it that does not end the program. */
#define ltp_wait_killable(condition)					\
({									\
	DEFINE_WAIT_FUNC(__wait, ltp_wake_killable);			\
									\
	add_wait_queue(sk_sleep(sk), &__wait);				\
	if (!timeo) {							\
		err = -EAGAIN;						\
	} else if (fatal_signal_pending(current)) {			\
		err = -EINTR;						\
	} else {							\
		release_sock(sk);					\
		if (!(condition))					\
			timeo = wait_woken(&__wait, TASK_KILLABLE, timeo); \
		lock_sock(sk);						\
	}								\
	remove_wait_queue(sk_sleep(sk), &__wait);			\
	err;								\
})

#endif /* _LTP_WAIT_H */
