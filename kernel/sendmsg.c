// SPDX-License-Identifier: GPL-2.0
/* sendmsg(): from the program into a flow. ltp(7) is the contract. */
#include "assoc.h"
#include "flow_tx.h"
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

/* Wait until a message may be begun or continued. */
static int ltp_send_wait(struct sock *sk, long *timeo_p)
{
	long timeo = *timeo_p;
	int err = 0;

	while (!err) {
		err = ltp_send_state(sk);
		if (err || ltp_send_room(sk))
			break;
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		ltp_wait(ltp_send_room(sk) || sk->sk_err ||
			 (sk->sk_shutdown & SEND_SHUTDOWN));
	}
	*timeo_p = timeo;
	return err;
}

/*
 * There is room, but no memory: what all sockets together may have is used up,
 * or the kernel has none. Whoever gives it back does not know of us: try again
 * a little later, as sk_stream_wait_memory() does.
 */
static int ltp_send_starved(struct sock *sk, long *timeo_p)
{
	long pause = get_random_u32_below(HZ / 20 + 1) + 2;
	struct ltp_sock *lp = ltp_sk(sk);
	long timeo = min(*timeo_p, pause);
	int err = 0;

	if (!timeo) {
		lp->tx.starved = true;
		/* One that fires earlier does as well. */
		if (!hrtimer_is_queued(&lp->pace.hr))
			ltp_timer_start(&lp->pace, ltp_now() + LTP_STARVED_NS);
		return -EAGAIN;
	}
	pause = timeo;
	ltp_wait(sk->sk_err || (sk->sk_shutdown & SEND_SHUTDOWN));
	if (err)
		return sock_intr_errno(*timeo_p);
	if (*timeo_p != MAX_SCHEDULE_TIMEOUT)
		*timeo_p -= pause - timeo;
	return 0;
}

/* The message to write: a new one, or the one a short send left. */
static int ltp_send_open(struct sock *sk, struct msghdr *msg, size_t len)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	struct ltp_sndinfo info;
	int err;

	if (tx->partial)
		return len > tx->partial->len - tx->partial->copied ?
			       -EMSGSIZE : 0;
	if (!len)
		return -EINVAL;
	/* What is too long for a system call was cut before we saw it. */
	if (len > LTP_MESSAGE_MAX)
		return -EMSGSIZE;
	err = ltp_sndinfo_parse(msg, &info);
	if (err)
		return err;
	return ltp_tx_begin(sk, len, &info) ? 0 : -ENOBUFS;
}

/*
 * Copy as many whole segments as fit; the lock is not released. Returns
 * whether the end of the message or of what the program gave was reached.
 */
static int ltp_send_copy(struct sock *sk, struct msghdr *msg, int *copied)
{
	struct ltp_flow_tx *flow = ltp_sk(sk)->tx.partial;
	int n = 0, ret;

	while (flow->copied < flow->len) {
		u32 want = min(flow->seg_size, flow->len - flow->copied);

		if (msg_data_left(msg) < want)
			return 1;
		if (!sk_stream_memory_free(sk))
			return 0;
		ret = ltp_tx_fill(sk, flow, msg);
		if (ret < 0)
			return ret;
		*copied += ret;
		if (!(++n % LTP_TRAIN)) {
			ltp_tx_push(sk);
			sk_flush_backlog(sk);
			/* The association may have ended under it. */
			if (ltp_sk(sk)->tx.partial != flow)
				return 0;
		}
	}
	ltp_tx_filled(sk, flow);
	return 1;
}

/* Nothing was copied: there never was a message, unless the peer was told. */
static void ltp_send_undo(struct sock *sk, struct ltp_flow_tx *flow)
{
	if (flow->gave_up || !flow->linked)
		ltp_tx_filled(sk, flow);
	else
		ltp_tx_unbegin(sk, flow);
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
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	int copied = 0, err;
	long timeo;

	if (msg->msg_flags & MSG_OOB)
		return -EOPNOTSUPP;
	lock_sock(sk);
	timeo = sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT);
	if (sk->sk_state == TCP_SYN_SENT) {
		err = sk_stream_wait_connect(sk, &timeo);
		if (err)
			goto out;
	}
	if (msg->msg_name && ltp_assoc_is_open(ltp_sk(sk))) {
		err = -EISCONN;
		goto out;
	}
	err = ltp_send_turn(sk, &timeo);
	if (err)
		goto out;
	tx->writing = true;
	tx->starved = false;
	while (!err) {
		err = ltp_send_wait(sk, &timeo);
		if (!err)
			err = ltp_send_open(sk, msg, msg_data_left(msg));
		if (!err) {
			err = ltp_send_copy(sk, msg, &copied);
			ltp_tx_push(sk);
		}
		if (err == -ENOBUFS)
			err = ltp_send_starved(sk, &timeo);
	}
	tx->writing = false;
	if (err > 0)
		err = -EINVAL; /* unless copied: less than a segment was given */
	if (tx->partial && !tx->partial->copied)
		ltp_send_undo(sk, tx->partial);
	if (tx->waiting)
		sk->sk_write_space(sk);
out:
	if (copied)
		err = copied;
	else if (err < 0)
		err = sk_stream_error(sk, msg->msg_flags, err);
	release_sock(sk);
	return err;
}
