// SPDX-License-Identifier: GPL-2.0
/* What a system call on a socket reaches: ltp(7) is the contract. */
#include <asm/ioctls.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <net/inet_common.h>

#include "assoc.h"
#include "flow_rx.h"
#include "flow_tx.h"
#include "group.h"
#include "input.h"
#include "ipv4.h"
#include "output.h"
#include "port.h"
#include "reader.h"
#include "report.h"
#include "sched.h"
#include "socket.h"

static struct percpu_counter ltp_sockets;
static atomic_long_t ltp_memory;
static DEFINE_PER_CPU(int, ltp_memory_cpu);
static unsigned long ltp_memory_pressure;
/* Pages: low, pressure, high; set by ltp_socket_init() from the RAM. */
static long ltp_sysctl_mem[3];
/* What a socket gets even under pressure, default, largest; bytes. */
static int ltp_sysctl_wmem[3] = { 4096, LTP_SNDBUF_DEFAULT, INT_MAX };
static int ltp_sysctl_rmem[3] = { 4096, LTP_RCVBUF_DEFAULT, INT_MAX };

/* ---- waiting ---- */

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

static void ltp_write_space(struct sock *sk)
{
	struct socket_wq *wq;

	if (!sk_stream_is_writeable(sk))
		return;
	rcu_read_lock();
	wq = rcu_dereference(sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_interruptible_poll(&wq->wait, EPOLLOUT |
					   EPOLLWRNORM | EPOLLWRBAND);
	if (wq && wq->fasync_list && !(sk->sk_shutdown & SEND_SHUTDOWN))
		sk_wake_async(sk, SOCK_WAKE_SPACE, POLL_OUT);
	rcu_read_unlock();
}

/* ---- life ---- */

static void ltp_destruct(struct sock *sk)
{
	/* The last reference is gone: nobody can hold the lock. */
	ltp_tx_purge(sk);
	ltp_rx_purge(sk);
	ltp_group_put(ltp_sk(sk)->group);
	kfree(ltp_sk(sk)->hello);
	sk_sockets_allocated_dec(sk);
	sock_prot_inuse_add(sock_net(sk), sk->sk_prot, -1);
	inet_sock_destruct(sk);
}

static int ltp_init_sock(struct sock *sk)
{
	struct ltp_net *ln = ltp_sock_net(sk);
	struct ltp_sock *lp = ltp_sk(sk);

	lp->af = &ltp_ipv4;
	lp->tx.cc.ops = NULL;
	memset(&lp->thresholds, 0, sizeof(lp->thresholds));
	ltp_assoc_setup(sk);
	sk->sk_rcvbuf = READ_ONCE(ln->conf.rcvbuf);
	sk->sk_sndbuf = READ_ONCE(ln->conf.sndbuf);
	sk->sk_write_space = ltp_write_space;
	sk->sk_destruct = ltp_destruct;
	/* Packets are looked up under RCU. */
	sock_set_flag(sk, SOCK_RCU_FREE);
	/* Transmitted copies do not call sk_write_space(). */
	sock_set_flag(sk, SOCK_USE_WRITE_QUEUE);
	sk_sockets_allocated_inc(sk);
	sock_prot_inuse_add(sock_net(sk), sk->sk_prot, 1);
	return 0;
}

/* Children that nobody will accept. */
static void ltp_close_listener(struct sock *sk)
{
	struct ltp_sock *lp, *next;
	LIST_HEAD(children);

	list_splice_init(&ltp_sk(sk)->accept_queue, &children);
	list_for_each_entry_safe(lp, next, &children, accept_node) {
		struct sock *child = &lp->inet.sk;

		list_del_init(&lp->accept_node);
		sk_acceptq_removed(sk);
		local_bh_disable();
		bh_lock_sock_nested(child);
		sock_orphan(child);
		ltp_assoc_abort(child, 0);
		ltp_rx_purge(child);
		ltp_port_put(child);
		bh_unlock_sock(child);
		local_bh_enable();
		sock_put(child);
	}
}

static bool ltp_unread_data(const struct sock *sk)
{
	const struct ltp_flow_rx *flow;

	list_for_each_entry(flow, &ltp_sk(sk)->rx.flows, node)
		if (!flow->read && flow->map.count)
			return true;
	return false;
}

/* The program sends no more: end a message it has not finished. */
static void ltp_finish_sending(struct sock *sk)
{
	struct ltp_flow_tx *partial = ltp_sk(sk)->tx.partial;

	if (partial && !partial->tolerant) {
		/* The peer must not take half of it for the whole. */
		ltp_assoc_abort(sk, ECONNRESET);
		return;
	}
	if (partial) {
		if (partial->linked && !partial->gave_up)
			ltp_tx_give_up(sk, partial);
		ltp_tx_filled(sk, partial);
	}
	ltp_assoc_fin(sk);
}

static void ltp_linger(struct sock *sk, long timeo)
{
	struct ltp_sock *lp = ltp_sk(sk);
	int err = 0;

	while (ltp_assoc_is_open(lp) && !lp->tx.fin_acked && !err)
		ltp_wait(!ltp_assoc_is_open(lp) || lp->tx.fin_acked);
}

static void ltp_close(struct sock *sk, long timeout)
{
	struct ltp_sock *lp = ltp_sk(sk);

	lock_sock(sk);
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	if (sk->sk_state == TCP_LISTEN) {
		ltp_set_state(sk, TCP_CLOSE);
		ltp_close_listener(sk);
	} else if (!ltp_assoc_is_open(lp)) {
		ltp_assoc_end(sk, 0);
	} else if (ltp_unread_data(sk) ||
		   (sock_flag(sk, SOCK_LINGER) && !sk->sk_lingertime)) {
		/* Data will be lost: as TCP does, an abortive end. */
		ltp_assoc_abort(sk, 0);
	} else {
		ltp_finish_sending(sk);
		if (timeout)
			ltp_linger(sk, timeout);
	}
	sock_hold(sk);
	release_sock(sk);

	/* What still comes finds an orphan. */
	local_bh_disable();
	bh_lock_sock(sk);
	sock_orphan(sk);
	lp->orphan_ns = ltp_now();
	if (!ltp_assoc_is_open(lp)) {
		ltp_rx_purge(sk);
		ltp_port_put(sk);
	}
	bh_unlock_sock(sk);
	local_bh_enable();
	sock_put(sk);
	sock_put(sk);
}

static void ltp_shutdown(struct sock *sk, int how)
{
	/* inet_shutdown() has set sk_shutdown. */
	if (how & SEND_SHUTDOWN)
		ltp_finish_sending(sk);
}

/* connect(AF_UNSPEC), shutdown() of a listener or while connecting. */
static int ltp_disconnect(struct sock *sk, int flags)
{
	if (sk->sk_state == TCP_LISTEN) {
		ltp_set_state(sk, TCP_CLOSE);
		ltp_close_listener(sk);
		return 0;
	}
	ltp_assoc_abort(sk, 0);
	ltp_rx_purge(sk);
	if (!(sk->sk_userlocks & SOCK_BINDPORT_LOCK)) {
		ltp_port_put(sk);
		inet_sk(sk)->inet_num = 0;
		inet_sk(sk)->inet_sport = 0;
	}
	if (!(sk->sk_userlocks & SOCK_BINDADDR_LOCK))
		inet_reset_saddr(sk);
	inet_sk(sk)->inet_dport = 0;
	inet_sk(sk)->inet_daddr = 0;
	sk_dst_reset(sk);
	sk->sk_err = 0;
	WRITE_ONCE(sk->sk_shutdown, 0);
	ltp_group_put(ltp_sk(sk)->group);
	ltp_assoc_clear(sk);
	return 0;
}

/* ---- listen and accept ---- */

static int ltp_listen(struct socket *sock, int backlog)
{
	struct sock *sk = sock->sk;
	struct ltp_sock *lp = ltp_sk(sk);
	int err = -EINVAL;

	lock_sock(sk);
	if (sock->state != SS_UNCONNECTED || lp->phase != LTP_CLOSED)
		goto out;
	WRITE_ONCE(sk->sk_max_ack_backlog, backlog);
	err = 0;
	if (sk->sk_state == TCP_LISTEN)
		goto out;
	err = -ENOMEM;
	if (!lp->group)
		lp->group = ltp_group_new(GFP_KERNEL);
	if (!lp->group)
		goto out;
	err = ltp_port_auto(sk);
	if (err)
		goto out;
	err = -EADDRINUSE;
	sk->sk_ack_backlog = 0;
	if (ltp_port_listen(sk))
		err = 0;
out:
	release_sock(sk);
	return err;
}

static struct sock *ltp_accept(struct sock *sk, struct proto_accept_arg *arg)
{
	struct ltp_sock *lp = ltp_sk(sk);
	struct sock *child = NULL;
	int err = 0;
	long timeo;

	lock_sock(sk);
	timeo = sock_rcvtimeo(sk, arg->flags & O_NONBLOCK);
	while (!err) {
		struct ltp_sock *first =
			list_first_entry_or_null(&lp->accept_queue,
						 struct ltp_sock, accept_node);

		if (sk->sk_state != TCP_LISTEN) {
			err = -EINVAL;
			break;
		}
		if (first) {
			child = &first->inet.sk;
			list_del_init(&first->accept_node);
			sk_acceptq_removed(sk);
			break;
		}
		ltp_wait(!list_empty(&lp->accept_queue) ||
			 sk->sk_state != TCP_LISTEN);
	}
	release_sock(sk);
	arg->err = err;
	return child;
}

LTP_COMPAT_ACCEPT(ltp_accept);

/* ---- send ---- */

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

static bool ltp_send_room(const struct sock *sk)
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

static int ltp_sendmsg(struct sock *sk, struct msghdr *msg, size_t len)
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
	err = ltp_send_wait(sk, &timeo);
	if (!err)
		err = ltp_send_open(sk, msg, len);
	while (!err) {
		err = ltp_send_copy(sk, msg, &copied);
		ltp_tx_push(sk);
		if (!err)
			err = ltp_send_wait(sk, &timeo);
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

/* ---- receive ---- */

static struct ltp_rcvmap *ltp_make_map(const struct ltp_flow_rx *flow)
{
	u32 words = ltp_ackmap_words64(&flow->map), i;
	struct ltp_rcvmap *map;

	map = kvmalloc(struct_size(map, bitmap, words), GFP_KERNEL);
	if (!map)
		return NULL;
	map->seg_size = flow->seg_size;
	map->segments = flow->map.segs;
	for (i = 0; i < words; i++)
		map->bitmap[i] = ltp_ackmap_word64(&flow->map, i);
	return map;
}

static void ltp_put_info(struct msghdr *msg, const struct ltp_flow_rx *flow)
{
	struct ltp_rcvinfo info = {
		.tag = flow->tag,
		.length = flow->len,
		.received = flow->received,
		.elapsed_us = div_u64(flow->elapsed_ns, NSEC_PER_USEC),
		.flow = flow->id,
		.reason = flow->reason,
		.flags = flow->tolerant ? LTP_TOLERANT : 0,
	};

	put_cmsg(msg, SOL_LTP, LTP_RCVINFO, sizeof(info), &info);
}

/* Hand an ended flow to the reader. */
static int ltp_recv_flow(struct sock *sk, struct ltp_flow_rx *flow,
			 struct msghdr *msg, int flags)
{
	struct iov_iter to = msg->msg_iter;
	size_t len = iov_iter_count(&to);
	struct ltp_rcvmap *map = NULL;
	int err;

	err = ltp_rx_place(sk, flow, &to, flags & MSG_PEEK);
	if (!err && !ltp_sk(sk)->holes_keep)
		err = ltp_rx_fill_holes(flow, &to);
	if (err)
		return err;
	if (ltp_sk(sk)->recvrcvmap) {
		map = ltp_make_map(flow);
		if (!map)
			return -ENOBUFS;
	}
	/* The map takes all the room there is: it comes last. */
	if (ltp_sk(sk)->recvrcvinfo)
		ltp_put_info(msg, flow);
	if (map)
		put_cmsg(msg, SOL_LTP, LTP_RCVMAP,
			 struct_size(map, bitmap,
				     ltp_ackmap_words64(&flow->map)), map);
	kvfree(map);
	if (len > flow->len)
		len = flow->len;
	else if (len < flow->len)
		msg->msg_flags |= MSG_TRUNC;
	msg->msg_flags |= MSG_EOR;
	iov_iter_advance(&msg->msg_iter, len);
	if (flags & MSG_TRUNC)
		len = flow->len;
	if (!(flags & MSG_PEEK))
		ltp_rx_done(sk, flow);
	return len;
}

static bool ltp_recv_eof(const struct sock *sk)
{
	const struct ltp_rx *rx = &ltp_sk(sk)->rx;

	return (sk->sk_shutdown & RCV_SHUTDOWN) ||
	       (rx->fin && rx->next_flow == rx->flow_end);
}

/* The peer has said all, and the flow asked for is not among it. */
static bool ltp_recv_no_tag(struct sock *sk)
{
	return ltp_sk(sk)->rx.fin && ltp_sk(sk)->has_rcvtag && !ltp_rx_pick(sk);
}

/* Why recvmsg() need not wait any longer; 1: go on waiting. */
static int ltp_recv_state(struct sock *sk)
{
	const struct ltp_rx *rx = &ltp_sk(sk)->rx;

	/* The peer had said all: what happened afterwards is the sender's. */
	if (rx->fin && rx->next_flow == rx->flow_end)
		return 0;
	if (sk->sk_err)
		return sock_error(sk);
	if (ltp_recv_eof(sk))
		return 0;
	if (ltp_recv_no_tag(sk))
		return -ENOMSG;
	if (sk->sk_state == TCP_CLOSE || sk->sk_state == TCP_LISTEN)
		return -ENOTCONN;
	return 1;
}

/* What cannot be taken as it comes must have ended, or never will. */
static bool ltp_recv_ready(struct sock *sk, bool peek)
{
	const struct ltp_flow_rx *flow;

	if (!peek)
		return ltp_rx_readable(sk);
	flow = ltp_rx_pick(sk);
	return flow && (flow->reason != LTP_OPEN || ltp_rx_full(sk, flow));
}

/*
 * A message larger than the receive buffer is placed as it comes. A reader
 * that does not block, or is interrupted, finds it where it was left when it
 * calls again with the same buffer.
 */
static int ltp_recv_one(struct sock *sk, struct msghdr *msg, int flags,
			long timeo)
{
	struct iov_iter to = msg->msg_iter;
	int err = 0, ret;

	while (!err) {
		struct ltp_flow_rx *flow = ltp_rx_pick(sk);

		if (flow && flow->reason == LTP_LOST)
			flow = NULL;
		if (flow && flow->reason != LTP_OPEN)
			return ltp_recv_flow(sk, flow, msg, flags);
		ret = ltp_recv_state(sk);
		if (ret <= 0)
			return ret;
		if (flow && (flags & MSG_PEEK) && ltp_rx_full(sk, flow))
			return -EMSGSIZE;
		if (flow && !(flags & MSG_PEEK) &&
		    ltp_rx_worth_placing(sk, flow)) {
			err = ltp_rx_place(sk, flow, &to, false);
			ltp_rx_update(sk);
			continue;
		}
		ltp_wait(ltp_recv_ready(sk, flags & MSG_PEEK) || sk->sk_err ||
			 ltp_recv_eof(sk) || ltp_recv_no_tag(sk) ||
			 sk->sk_state == TCP_CLOSE);
	}
	return err;
}

static int ltp_recvmsg(struct sock *sk, struct msghdr *msg, size_t len,
		       int flags)
{
	struct ltp_rx *rx = &ltp_sk(sk)->rx;
	int err = 0;
	long timeo;

	if (flags & MSG_ERRQUEUE)
		return ltp_report_read(sk, msg, len);
	if (flags & MSG_OOB)
		return -EOPNOTSUPP;
	lock_sock(sk);
	timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	/* One reader at a time: a message goes into one buffer. */
	rx->waiting++;
	while (rx->reading && !err)
		ltp_wait(!rx->reading);
	rx->waiting--;
	if (!err) {
		rx->reading = true;
		err = ltp_recv_one(sk, msg, flags, timeo);
		rx->reading = false;
		ltp_rx_update(sk);
		if (rx->waiting)
			sk->sk_data_ready(sk);
	}
	release_sock(sk);
	return err;
}

LTP_COMPAT_RECVMSG(ltp_recvmsg);

/* ---- the rest ---- */

static __poll_t ltp_poll(struct file *file, struct socket *sock,
			 struct poll_table_struct *wait)
{
	struct sock *sk = sock->sk;
	struct ltp_sock *lp = ltp_sk(sk);
	__poll_t mask = 0;

	sock_poll_wait(file, sock, wait);
	lock_sock(sk);
	if (sk->sk_state == TCP_LISTEN) {
		if (!list_empty(&lp->accept_queue))
			mask = EPOLLIN | EPOLLRDNORM;
		goto out;
	}
	if (sk->sk_err || !skb_queue_empty_lockless(&sk->sk_error_queue))
		mask |= EPOLLERR;
	if (ltp_recv_eof(sk))
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if (sk->sk_shutdown == SHUTDOWN_MASK || lp->phase == LTP_CLOSED)
		mask |= EPOLLHUP;
	if (ltp_rx_readable(sk))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (sk->sk_shutdown & SEND_SHUTDOWN) {
		mask |= EPOLLOUT | EPOLLWRNORM;
	} else if (ltp_assoc_is_open(lp)) {
		if (sk_stream_is_writeable(sk) &&
		    !lp->tx.writing && ltp_send_room(sk)) {
			mask |= EPOLLOUT | EPOLLWRNORM;
		} else {
			sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
			set_bit(SOCK_NOSPACE, &sock->flags);
		}
	}
out:
	release_sock(sk);
	return mask;
}

static int ltp_ioctl(struct sock *sk, int cmd, int *karg)
{
	int err = 0;

	lock_sock(sk);
	if (sk->sk_state == TCP_LISTEN)
		err = -EINVAL;
	else if (cmd == SIOCINQ)
		*karg = ltp_rx_unread(sk);
	else if (cmd == SIOCOUTQ)
		*karg = ltp_tx_unacked(sk);
	else
		err = -ENOIOCTLCMD;
	release_sock(sk);
	return err;
}

LTP_COMPAT_IOCTL(ltp_ioctl);

/* proto.hash and unhash: the tables are ours, see assoc.c and port.c. */
static int ltp_hash(struct sock *sk)
{
	return 0;
}

static void ltp_unhash(struct sock *sk)
{
}

struct proto ltp_prot = {
	.name			= "LTP",
	.owner			= THIS_MODULE,
	.init			= ltp_init_sock,
	.close			= ltp_close,
	.connect		= ltp_v4_connect,
	.disconnect		= ltp_disconnect,
	.accept			= LTP_ACCEPT(ltp_accept),
	.shutdown		= ltp_shutdown,
	.setsockopt		= ltp_setsockopt,
	.getsockopt		= ltp_getsockopt,
	.sendmsg		= ltp_sendmsg,
	.recvmsg		= LTP_RECVMSG(ltp_recvmsg),
	.ioctl			= LTP_IOCTL(ltp_ioctl),
	.backlog_rcv		= ltp_input_locked,
	.release_cb		= ltp_assoc_release_cb,
	.hash			= ltp_hash,
	.unhash			= ltp_unhash,
	.get_port		= ltp_port_get,
	.sockets_allocated	= &ltp_sockets,
	.memory_allocated	= &ltp_memory,
	.per_cpu_fw_alloc	= &ltp_memory_cpu,
	.memory_pressure	= &ltp_memory_pressure,
	.sysctl_mem		= ltp_sysctl_mem,
	.sysctl_wmem		= ltp_sysctl_wmem,
	.sysctl_rmem		= ltp_sysctl_rmem,
	.obj_size		= sizeof(struct ltp_sock),
	.no_autobind		= true,
};

const struct proto_ops ltp_proto_ops = {
	.family		= PF_INET,
	.owner		= THIS_MODULE,
	.release	= inet_release,
	.bind		= inet_bind,
	.connect	= inet_stream_connect,
	.socketpair	= sock_no_socketpair,
	.accept		= inet_accept,
	.getname	= inet_getname,
	.poll		= ltp_poll,
	.ioctl		= inet_ioctl,
	.gettstamp	= sock_gettstamp,
	.listen		= ltp_listen,
	.shutdown	= inet_shutdown,
	.setsockopt	= sock_common_setsockopt,
	.getsockopt	= sock_common_getsockopt,
	.sendmsg	= inet_sendmsg,
	.recvmsg	= inet_recvmsg,
	.mmap		= sock_no_mmap,
};

/**
 * ltp_socket_init() - make sockets possible
 *
 * Context: module load.
 * Return: 0 or an error
 */
int ltp_socket_init(void)
{
	unsigned long pages = nr_free_buffer_pages();
	int err;

	/* As TCP: at most an eighth of the memory for buffers. */
	ltp_sysctl_mem[0] = max(pages / 16, 128UL);
	ltp_sysctl_mem[1] = max(pages / 12, 128UL);
	ltp_sysctl_mem[2] = max(pages / 8, 128UL);
	err = percpu_counter_init(&ltp_sockets, 0, GFP_KERNEL);
	if (err)
		return err;
	err = proto_register(&ltp_prot, 1);
	if (err)
		percpu_counter_destroy(&ltp_sockets);
	return err;
}

/**
 * ltp_socket_exit() - undo ltp_socket_init(), with no socket left
 */
void ltp_socket_exit(void)
{
	proto_unregister(&ltp_prot);
	percpu_counter_destroy(&ltp_sockets);
}
