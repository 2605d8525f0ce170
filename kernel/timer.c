// SPDX-License-Identifier: GPL-2.0
/*
 * Timers that take the socket lock. They fire in softirq. An armed timer holds
 * a reference to what it belongs to, so that stopping it never has to wait for
 * a handler that is spinning on the lock the stopper holds.
 *
 * of an association:
 * - retry: armed while something waits for an answer: a handshake packet, a
 *   segment (loss verdict, tail probe), a FIN, a probe of the path's MTU; else
 *   it keeps an eye on the peer (assoc.c, flow_tx.c, path.c)
 * - pace: armed when the sending clock holds the next segment back (flow_tx.c)
 * - ack: armed when packets wait for an ACK (flow_rx.c)
 *
 * of a flow:
 * - ltp_flow_rx.close: when the Early Close verdict may change by time alone;
 *   afterwards when CLOSE is to be repeated (flow_rx.c)
 * - ltp_flow_tx.giveup: when its sender gives it up, and to repeat that
 *   (flow_tx.c)
 */
#include "timer.h"

static void ltp_timer_hold(struct ltp_timer *t)
{
	sock_hold(t->sk);
	if (t->ref)
		refcount_inc(t->ref);
}

static void ltp_timer_drop(struct ltp_timer *t)
{
	struct sock *sk = t->sk;

	if (t->ref)
		t->put(t);
	sock_put(sk);
}

static enum hrtimer_restart ltp_timer_fired(struct hrtimer *hr)
{
	struct ltp_timer *t = container_of(hr, struct ltp_timer, hr);
	struct sock *sk = t->sk;
	bool again;

	bh_lock_sock(sk);
	if (sock_owned_by_user(sk))
		set_bit(LTP_TIMER_MISSED, &ltp_sk(sk)->events);
	else
		t->due(t);
	bh_unlock_sock(sk);
	/*
	 * Started anew, by @due or by a system call: the reference goes with
	 * it. It cannot expire before this handler returns.
	 */
	spin_lock(&t->lock);
	again = hrtimer_is_queued(hr);
	t->armed = again;
	spin_unlock(&t->lock);
	if (!again)
		ltp_timer_drop(t);
	return HRTIMER_NORESTART;
}

/**
 * ltp_timer_setup() - prepare a timer
 * @t: the timer
 * @sk: its socket
 * @due: called in softirq with the socket locked; decides from the clock what
 *	is due, as it may be called early, late and again
 * @ref: count of the object the timer is in, NULL: the socket itself
 * @put: drops that count
 */
void ltp_timer_setup(struct ltp_timer *t, struct sock *sk,
		     void (*due)(struct ltp_timer *t), refcount_t *ref,
		     void (*put)(struct ltp_timer *t))
{
	hrtimer_setup(&t->hr, ltp_timer_fired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_PINNED_SOFT);
	t->sk = sk;
	t->due = due;
	t->ref = ref;
	t->put = put;
	t->armed = false;
	spin_lock_init(&t->lock);
}

/**
 * ltp_timer_start() - arm a timer, or move it
 * @t: the timer
 * @when_ns: when, on CLOCK_MONOTONIC
 *
 * Context: socket locked.
 */
void ltp_timer_start(struct ltp_timer *t, u64 when_ns)
{
	/* A system call that owns the socket does not keep the handler out. */
	spin_lock_bh(&t->lock);
	if (!t->armed)
		ltp_timer_hold(t);
	t->armed = true;
	hrtimer_start(&t->hr, ns_to_ktime(when_ns),
		      HRTIMER_MODE_ABS_PINNED_SOFT);
	spin_unlock_bh(&t->lock);
}

/**
 * ltp_timer_stop() - disarm a timer
 * @t: the timer
 *
 * Its handler may still run, once, after the socket lock is released.
 *
 * Context: socket locked; the caller holds a reference of its own.
 */
void ltp_timer_stop(struct ltp_timer *t)
{
	bool stopped;

	/* If its handler is running, the reference is the handler's to drop. */
	spin_lock_bh(&t->lock);
	stopped = hrtimer_try_to_cancel(&t->hr) == 1;
	if (stopped)
		t->armed = false;
	spin_unlock_bh(&t->lock);
	if (stopped)
		ltp_timer_drop(t);
}
