// SPDX-License-Identifier: GPL-2.0
/* A socket's life, what it says of itself, and the tables that system calls go by. */
#include <asm/ioctls.h>
#include <linux/poll.h>
#include <linux/sockios.h>
#include <linux/slab.h>
#include <net/inet_common.h>

#include "assoc.h"
#include "encap.h"
#include "flow_rx.h"
#include "flow_tx.h"
#include "group.h"
#include "input.h"
#include "ipv4.h"
#include "ipv6.h"
#include "listen.h"
#include "port.h"
#include "reader.h"
#include "recvmsg.h"
#include "sendmsg.h"
#include "socket.h"
#include "wait.h"

static struct percpu_counter ltp_sockets;
static atomic_long_t ltp_memory;
static DEFINE_PER_CPU(int, ltp_memory_cpu);
static unsigned long ltp_memory_pressure;
/* Pages: low, pressure, high; set by ltp_socket_init() from the RAM. */
static long ltp_sysctl_mem[3];
/* What a socket gets even under pressure, default, largest; bytes. */
static int ltp_sysctl_wmem[3] = { 4096, LTP_SNDBUF_DEFAULT, INT_MAX };
static int ltp_sysctl_rmem[3] = { 4096, LTP_RCVBUF_DEFAULT, INT_MAX };

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
	ltp_group_tell(ltp_sk(sk)->group, &ltp_sk(sk)->member, 0);
	ltp_group_put(ltp_sk(sk)->group);
	kfree(ltp_sk(sk)->hello);
	sk_sockets_allocated_dec(sk);
	sock_prot_inuse_add(sock_net(sk), sk->sk_prot, -1);
	if (sk->sk_family == AF_INET6)
		ltp_v6_destruct(sk);
	else
		inet_sock_destruct(sk);
}

static int ltp_init_sock(struct sock *sk)
{
	struct ltp_net *ln = ltp_sock_net(sk);
	struct ltp_sock *lp = ltp_sk(sk);

	lp->af = ltp_v6_own(sk) ?: &ltp_ipv4;
	lp->tx.cc.ops = NULL;
	lp->encap_want = LTP_ENCAP_DEFAULT;
	memset(&lp->own, 0, sizeof(lp->own));
	lp->moving_start = 1;
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
	/* Nobody reads its flows: the group need not wait for them. */
	ltp_group_tell(lp->group, &lp->member, 0);
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
	ltp_v6_disconnect(sk);
	sk_dst_reset(sk);
	sk->sk_err = 0;
	WRITE_ONCE(sk->sk_shutdown, 0);
	ltp_group_put(ltp_sk(sk)->group);
	ltp_assoc_clear(sk);
	return 0;
}

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
	if ((sk->sk_shutdown & SEND_SHUTDOWN) || lp->phase == LTP_CLOSED) {
		/* A send fails at once. */
		mask |= EPOLLOUT | EPOLLWRNORM;
	} else if (ltp_assoc_is_open(lp)) {
		if (sk_stream_is_writeable(sk) && !lp->tx.starved &&
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

LTP_COMPAT_ACCEPT(ltp_accept);
LTP_COMPAT_RECVMSG(ltp_recvmsg);

static int ltp_ioctl(struct sock *sk, int cmd, int *karg)
{
	int err = 0;

	if (cmd != SIOCINQ && cmd != SIOCOUTQ && cmd != SIOCOUTQNSD)
		return -ENOIOCTLCMD;
	lock_sock(sk);
	if (sk->sk_state == TCP_LISTEN)
		err = -EINVAL;
	else if (cmd == SIOCINQ)
		*karg = ltp_rx_unread(sk);
	else if (cmd == SIOCOUTQ)
		*karg = ltp_tx_unacked(sk);
	else
		*karg = min_t(u32, ltp_sk(sk)->tx.fresh, INT_MAX);
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

/*
 * Pages of a pipe are another buffer each time, and a message that is longer
 * than they are would be cut in silence.
 */
static ssize_t ltp_splice_read(struct socket *sock, loff_t *ppos,
			       struct pipe_inode_info *pipe, size_t len,
			       unsigned int flags)
{
	return -EINVAL;
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
	.splice_read	= ltp_splice_read,
};

#if IS_ENABLED(CONFIG_IPV6)
const struct proto_ops ltp6_proto_ops = {
	.family		= PF_INET6,
	.owner		= THIS_MODULE,
	.release	= inet6_release,
	.bind		= inet6_bind,
	.connect	= inet_stream_connect,
	.socketpair	= sock_no_socketpair,
	.accept		= inet_accept,
	.getname	= inet6_getname,
	.poll		= ltp_poll,
	.ioctl		= inet6_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl	= inet6_compat_ioctl,
#endif
	.gettstamp	= sock_gettstamp,
	.listen		= ltp_listen,
	.shutdown	= inet_shutdown,
	.setsockopt	= sock_common_setsockopt,
	.getsockopt	= sock_common_getsockopt,
	.sendmsg	= inet_sendmsg,
	.recvmsg	= inet_recvmsg,
	.mmap		= sock_no_mmap,
};
#endif

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
	/* Before its slab is there: the two share everything else. */
	ltp_ipv6_prepare(&ltp_prot);
	err = proto_register(&ltp_prot, 1);
	if (err)
		goto counter;
	err = ltp_ipv6_proto_register();
	if (err)
		goto prot;
	return 0;

prot:
	proto_unregister(&ltp_prot);
counter:
	percpu_counter_destroy(&ltp_sockets);
	return err;
}

/**
 * ltp_socket_exit() - undo ltp_socket_init(), with no socket left
 */
void ltp_socket_exit(void)
{
	ltp_ipv6_proto_unregister();
	proto_unregister(&ltp_prot);
	percpu_counter_destroy(&ltp_sockets);
}
