// SPDX-License-Identifier: GPL-2.0
/* listen(), accept(), and what becomes of those that nobody accepted. */
#include <linux/net.h>

#include "assoc.h"
#include "flow_rx.h"
#include "group.h"
#include "listen.h"
#include "port.h"
#include "wait.h"

/**
 * ltp_close_listener() - reset the children that nobody will accept
 * @sk: what was a listener
 *
 * Context: socket owned.
 */
void ltp_close_listener(struct sock *sk)
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

/**
 * ltp_listen() - proto_ops.listen
 * @sock: the socket
 * @backlog: how many may wait to be accepted
 *
 * Context: process.
 * Return: 0 or an error of ltp(7)
 */
int ltp_listen(struct socket *sock, int backlog)
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

/**
 * ltp_accept() - proto.accept
 * @sk: listener
 * @arg: flags in, error out
 *
 * Context: process.
 * Return: the child, or NULL and an error of ltp(7) in @arg
 */
struct sock *ltp_accept(struct sock *sk, struct proto_accept_arg *arg)
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
