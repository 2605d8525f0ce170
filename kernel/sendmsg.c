// SPDX-License-Identifier: GPL-2.0
/* sendmsg(): from the program into a flow. ltp(7) is the contract. */
#include "assoc.h"
#include "flow_tx.h"
#include "output.h"
#include "sched.h"
#include "sendmsg.h"
#include "timer.h"
#include "wait.h"

static int ltp_sndinfo_parse(struct msghdr *msg, struct ltp_sndinfo *info)
{
	struct cmsghdr *cmsg;
	bool seen = false;

	memset(info, 0, sizeof(*info));
	for_each_cmsghdr(cmsg, msg) {
		if (!CMSG_OK(msg, cmsg))
			return -EINVAL;
		if (cmsg->cmsg_level != SOL_LTP)
			continue;
		if (cmsg->cmsg_type != LTP_SNDINFO || seen ||
		    cmsg->cmsg_len != CMSG_LEN(sizeof(*info)))
			return -EINVAL;
		memcpy(info, CMSG_DATA(cmsg), sizeof(*info));
		seen = true;
	}
	if (info->flags & ~LTP_TOLERANT || info->reserved[0] ||
	    info->reserved[1] || info->reserved[2])
		return -EINVAL;
	/* Who gives up does not want all of it. */
	if (info->giveup_us && !(info->flags & LTP_TOLERANT))
		return -EINVAL;
	return 0;
}

/**
 * struct ltp_send - one system call
 * @msg: what it was given
 * @base: where the message begins, of a moving one
 * @moving: the flow, if its segments are not taken in their order
 * @timeo: how long it may still wait
 * @copied: bytes taken over
 */
struct ltp_send {
	struct msghdr *msg;
	struct iov_iter base;
	const struct ltp_flow_tx *moving;
	long timeo;
	int copied;
};

/* The error itself is taken when it is returned: sk_stream_error() does that. */
static int ltp_send_state(struct sock *sk)
{
	if (sk->sk_err || (sk->sk_shutdown & SEND_SHUTDOWN))
		return -EPIPE;
	return ltp_assoc_is_open(ltp_sk(sk)) ? 0 : -ENOTCONN;
}

/**
 * ltp_send_room() - may a message be begun or continued?
 * @sk: connected socket
 *
 * Context: socket locked.
 * Return: whether buffer and peer have room
 */
bool ltp_send_room(const struct sock *sk)
{
	const struct ltp_tx *tx = &ltp_sk(sk)->tx;

	return sk_stream_memory_free(sk) &&
	       (tx->partial || ltp_tx_may_begin(ltp_sk(sk)));
}

/* Two messages at a time would be mixed up. */
static int ltp_send_turn(struct sock *sk, long *timeo_p)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	long timeo = *timeo_p;
	int err = 0;

	tx->waiting++;
	while (tx->writing && !err)
		ltp_wait(!tx->writing);
	tx->waiting--;
	*timeo_p = timeo;
	return err;
}

/*
 * Wait until a message may be begun or continued. What was taken of a moving
 * one is no prefix: a signal cannot cut it there.
 */
static int ltp_send_wait(struct sock *sk, struct ltp_send *s)
{
	long timeo = s->timeo;
	int err = 0;

	while (!err) {
		err = ltp_send_state(sk);
		if (err || ltp_send_room(sk))
			break;
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		if (s->moving)
			ltp_wait_killable(ltp_send_room(sk) ||
					  ltp_send_state(sk));
		else
			ltp_wait(ltp_send_room(sk) || sk->sk_err ||
				 (sk->sk_shutdown & SEND_SHUTDOWN));
	}
	s->timeo = timeo;
	return err;
}

/*
 * There is room, but no memory: what all sockets together may have is used up,
 * or the kernel has none. Whoever gives it back does not know of us: try again
 * a little later, as sk_stream_wait_memory() does.
 */
static int ltp_send_starved(struct sock *sk, struct ltp_send *s)
{
	long pause = get_random_u32_below(HZ / 20 + 1) + 2;
	struct ltp_sock *lp = ltp_sk(sk);
	long timeo = min(s->timeo, pause);
	int err = 0;

	if (!timeo) {
		lp->tx.starved = true;
		/* One that fires earlier does as well. */
		if (!hrtimer_is_queued(&lp->pace.hr))
			ltp_timer_start(&lp->pace, ltp_now() + LTP_STARVED_NS);
		return -EAGAIN;
	}
	pause = timeo;
	if (s->moving)
		ltp_wait_killable(ltp_send_state(sk));
	else
		ltp_wait(sk->sk_err || (sk->sk_shutdown & SEND_SHUTDOWN));
	if (err)
		return sock_intr_errno(s->timeo);
	if (s->timeo != MAX_SCHEDULE_TIMEOUT)
		s->timeo -= pause - timeo;
	return 0;
}

/* Is there room for all of a flow at once? */
static bool ltp_send_fits(const struct sock *sk, const struct ltp_flow_tx *flow)
{
	/* An allocation is rounded up to at most twice what was asked for. */
	u64 need = (u64)flow->map.segs * (2 * SKB_TRUESIZE(LTP_HEADROOM) +
					  sizeof(struct ltp_seg)) + flow->len;

	return READ_ONCE(sk->sk_wmem_queued) + need <=
	       READ_ONCE(sk->sk_sndbuf);
}

/*
 * May the start of a new flow move? Not if the call might have to return in the
 * middle: what it has taken by then would have to be the beginning.
 */
static void ltp_send_move(struct sock *sk, struct ltp_flow_tx *flow,
			  struct ltp_send *s)
{
	if (!ltp_sk(sk)->moving_start || !flow->tolerant ||
	    (s->timeo != MAX_SCHEDULE_TIMEOUT && !ltp_send_fits(sk, flow)) ||
	    fault_in_iov_iter_readable(&s->msg->msg_iter, flow->len))
		return;
	flow->start = ltp_start_segment(flow->id, flow->map.segs, flow->ncrit);
	if (flow->start == flow->ncrit)
		return;
	s->base = s->msg->msg_iter;
	s->moving = flow;
}

/* The message to write: a new one, or the one a short send left. */
static int ltp_send_open(struct sock *sk, struct ltp_send *s)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	size_t len = msg_data_left(s->msg);
	struct ltp_flow_tx *flow;
	struct ltp_sndinfo info;
	int err;

	if (s->moving)
		return tx->partial == s->moving ? 0 : -EPIPE;
	if (tx->partial)
		return len > tx->partial->len - tx->partial->copied ?
			       -EMSGSIZE : 0;
	if (!len)
		return -EINVAL;
	/* What is too long for a system call was cut before we saw it. */
	if (len > LTP_MESSAGE_MAX)
		return -EMSGSIZE;
	err = ltp_sndinfo_parse(s->msg, &info);
	if (err)
		return err;
	flow = ltp_tx_begin(sk, len, &info);
	if (!flow)
		return -ENOBUFS;
	ltp_send_move(sk, flow, s);
	return 0;
}

/* The next segment of a moving message may be somewhere else. */
static void ltp_send_seek(struct ltp_send *s, const struct ltp_flow_tx *flow)
{
	u32 index;

	if (ltp_flow_tx_over(flow))
		return; /* what is left of it is swallowed */
	index = ltp_flow_tx_next(flow);
	/* Behind the critical ones, and when it goes round. */
	if (flow->taken != flow->ncrit && index != flow->ncrit)
		return;
	s->msg->msg_iter = s->base;
	iov_iter_advance(&s->msg->msg_iter, (size_t)index * flow->seg_size);
}

/*
 * Copy as many whole segments as fit; the lock is not released. Returns
 * whether the end of the message or of what the program gave was reached.
 */
static int ltp_send_copy(struct sock *sk, struct ltp_send *s)
{
	struct ltp_flow_tx *flow = ltp_sk(sk)->tx.partial;
	int n = 0, ret;

	while (flow->copied < flow->len) {
		if (s->moving)
			ltp_send_seek(s, flow);
		else if (msg_data_left(s->msg) <
			 min(flow->seg_size, flow->len - flow->copied))
			return 1;
		if (!sk_stream_memory_free(sk))
			return 0;
		ret = ltp_tx_fill(sk, flow, s->msg);
		if (ret < 0)
			return ret;
		s->copied += ret;
		/* What must not be cut and cannot wait can still be undone. */
		if (++n % LTP_TRAIN || (s->moving && !s->timeo))
			continue;
		ltp_tx_push(sk);
		sk_flush_backlog(sk);
		/* The association may have ended under it. */
		if (ltp_sk(sk)->tx.partial != flow)
			return 0;
	}
	if (s->moving) {
		s->msg->msg_iter = s->base;
		iov_iter_advance(&s->msg->msg_iter, flow->len);
		s->moving = NULL;
	}
	ltp_tx_filled(sk, flow);
	return 1;
}

/*
 * A message of which nothing was taken, or a moving one that was cut. If the
 * peer knows nothing of it there never was one, else it is told that no more
 * will come.
 */
static void ltp_send_undo(struct sock *sk, struct ltp_flow_tx *flow)
{
	bool over = flow->gave_up || !flow->linked;

	if (!over && flow->unsent < flow->map.segs)
		ltp_tx_give_up(sk, flow);
	else if (!over)
		ltp_tx_unbegin(sk, flow);
	if (ltp_sk(sk)->tx.partial)
		ltp_tx_filled(sk, flow);
}

/* The end of the call, whatever became of the message. */
static int ltp_send_done(struct sock *sk, struct ltp_send *s, int err)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;

	tx->writing = false;
	if (err > 0)
		err = -EINVAL; /* unless copied: less than a segment was given */
	if (s->moving)
		s->copied = 0; /* it is no prefix */
	if (tx->partial && (s->moving || !tx->partial->copied))
		ltp_send_undo(sk, tx->partial);
	if (tx->waiting)
		sk->sk_write_space(sk);
	return err;
}

/**
 * ltp_sendmsg() - proto.sendmsg
 * @sk: socket
 * @msg: the message, or a part of it
 * @len: its length
 *
 * Context: process.
 * Return: bytes taken over, or an error of ltp(7)
 */
int ltp_sendmsg(struct sock *sk, struct msghdr *msg, size_t len)
{
	struct ltp_send s = { .msg = msg };
	int err;

	if (msg->msg_flags & MSG_OOB)
		return -EOPNOTSUPP;
	lock_sock(sk);
	s.timeo = sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT);
	if (sk->sk_state == TCP_SYN_SENT) {
		err = sk_stream_wait_connect(sk, &s.timeo);
		if (err)
			goto out;
	}
	if (msg->msg_name && ltp_assoc_is_open(ltp_sk(sk))) {
		err = -EISCONN;
		goto out;
	}
	err = ltp_send_turn(sk, &s.timeo);
	if (err)
		goto out;
	ltp_sk(sk)->tx.writing = true;
	ltp_sk(sk)->tx.starved = false;
	while (!err) {
		err = ltp_send_wait(sk, &s);
		if (!err)
			err = ltp_send_open(sk, &s);
		if (!err) {
			err = ltp_send_copy(sk, &s);
			if (err >= 0 || s.timeo || !s.moving)
				ltp_tx_push(sk);
		}
		if (err == -ENOBUFS)
			err = ltp_send_starved(sk, &s);
	}
	err = ltp_send_done(sk, &s, err);
out:
	if (s.copied)
		err = s.copied;
	else if (err < 0)
		err = sk_stream_error(sk, msg->msg_flags, err);
	release_sock(sk);
	return err;
}
