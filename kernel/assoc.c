// SPDX-License-Identifier: GPL-2.0
/* Association life: setup, lookup, liveness, orderly and abortive end. */
#include <linux/rhashtable.h>

#include "adapt.h"
#include "assoc.h"
#include "flow_rx.h"
#include "flow_tx.h"
#include "recovery.h"
#include "sched.h"
#include "group.h"
#include "handshake.h"
#include "icmp.h"
#include "output.h"
#include "path.h"
#include "port.h"
#include "timer.h"

const struct rhashtable_params ltp_assoc_params = {
	.key_len = sizeof(struct ltp_key),
	.key_offset = offsetof(struct ltp_sock, key),
	.head_offset = offsetof(struct ltp_sock, assoc_node),
	.automatic_shrinking = true,
};

static void ltp_assoc_retry_due(struct ltp_timer *t);

static void ltp_assoc_ack_due(struct ltp_timer *t)
{
	ltp_rx_ack_due(t->sk, ltp_now());
}

static void ltp_assoc_pace_due(struct ltp_timer *t)
{
	ltp_tx_paced(t->sk);
}

/**
 * ltp_assoc_clear() - forget the association that a socket was, or never was
 * @sk: the socket, options and address family already right; not in
 *	ltp_net.assocs, all flows purged
 *
 * Context: socket locked, or known to nobody else.
 */
void ltp_assoc_clear(struct sock *sk)
{
	struct ltp_sock *lp = ltp_sk(sk);

	memset(&lp->key, 0, sizeof(lp->key));
	lp->group = NULL;
	memset(&lp->member, 0, sizeof(lp->member));
	lp->phase = LTP_CLOSED;
	lp->hashed = 0;
	lp->events = 0;
	atomic_set(&lp->report_mem, 0);
	lp->hello = NULL;
	lp->peer_tag = 0;
	lp->first_flow = 0;
	lp->first_pn = 0;
	do
		lp->local_tag = get_random_u32();
	while (!lp->local_tag);
	lp->peer_mtu = 0;
	lp->encap_port = 0;
	lp->tries = 0;
	lp->asked_ns = 0;
	lp->open_ns = 0;
	lp->heard_ns = 0;
	lp->orphan_ns = 0;
	lp->retry_ns = 0;
	lp->ack_ns = 0;
	lp->has_rcvtag = 0;
	ltp_policy_own_changed(sk);
	ltp_tx_setup(sk);
	ltp_rx_setup(sk);
}

/**
 * ltp_assoc_setup() - initialise what a new or cloned socket has of its own
 * @sk: the socket, options and address family already right
 *
 * Context: the socket is known to nobody else.
 */
void ltp_assoc_setup(struct sock *sk)
{
	struct ltp_sock *lp = ltp_sk(sk);

	INIT_HLIST_NODE(&lp->bound_node);
	INIT_LIST_HEAD(&lp->accept_queue);
	INIT_LIST_HEAD(&lp->accept_node);
	ltp_timer_setup(&lp->retry, sk, ltp_assoc_retry_due, NULL, NULL);
	ltp_timer_setup(&lp->pace, sk, ltp_assoc_pace_due, NULL, NULL);
	ltp_timer_setup(&lp->ack, sk, ltp_assoc_ack_due, NULL, NULL);
	ltp_assoc_clear(sk);
}

/**
 * ltp_assoc_hash() - let packets find a socket by its key
 * @sk: the socket
 *
 * Context: socket locked, softirqs may be on.
 * Return: 0, -EADDRNOTAVAIL if another has the key, -ENOMEM
 */
int ltp_assoc_hash(struct sock *sk)
{
	struct ltp_sock *lp = ltp_sk(sk);
	int err;

	sock_hold(sk);
	err = rhashtable_lookup_insert_fast(&ltp_sock_net(sk)->assocs,
					    &lp->assoc_node, ltp_assoc_params);
	if (err) {
		__sock_put(sk);
		return err == -EEXIST ? -EADDRNOTAVAIL : -ENOMEM;
	}
	lp->hashed = 1;
	ltp_policy_own_changed(sk);
	if (lp->group)
		atomic_inc(&lp->group->members);
	return 0;
}

static void ltp_assoc_unhash(struct sock *sk)
{
	struct ltp_sock *lp = ltp_sk(sk);

	if (!lp->hashed)
		return;
	lp->hashed = 0;
	if (lp->group)
		atomic_dec(&lp->group->members);
	rhashtable_remove_fast(&ltp_sock_net(sk)->assocs, &lp->assoc_node,
			       ltp_assoc_params);
	/* Never the last one: whoever ends an association holds another. */
	__sock_put(sk);
}

/**
 * ltp_assoc_find() - find an association
 * @net: namespace
 * @key: addresses and ports
 *
 * Context: under rcu_read_lock().
 * Return: its socket, with a reference, or NULL
 */
struct sock *ltp_assoc_find(struct net *net, const struct ltp_key *key)
{
	struct ltp_sock *lp;

	lp = rhashtable_lookup(&ltp_pernet(net)->assocs, key,
			       ltp_assoc_params);
	if (!lp || !refcount_inc_not_zero(&lp->inet.sk.sk_refcnt))
		return NULL;
	return &lp->inet.sk;
}

/**
 * ltp_assoc_params_out() - what this end says of itself in the handshake
 * @sk: connecting or listening socket
 * @params: filled in; tag, flow and pn are the caller's
 */
void ltp_assoc_params_out(struct sock *sk, struct ltp_params *params)
{
	params->rwnd = cpu_to_be32(ltp_rx_window(sk, false));
	params->mtu = cpu_to_be16(U16_MAX);
	params->max_flows = cpu_to_be16(LTP_MAX_FLOWS);
	params->grain = cpu_to_be16(LTP_GRAIN);
	params->group = cpu_to_be16(ltp_group_members(ltp_sk(sk)->group));
}

/**
 * ltp_assoc_open() - the handshake is done
 * @sk: socket with its own tag, first flow and packet number set
 * @peer: what the peer said of itself
 * @rtt_ns: round-trip time of the handshake, 0: unknown
 *
 * Context: socket locked.
 */
void ltp_assoc_open(struct sock *sk, const struct ltp_params *peer, u64 rtt_ns)
{
	struct ltp_sock *lp = ltp_sk(sk);
	u64 now = ltp_now();

	lp->peer_tag = be32_to_cpu(peer->tag);
	lp->peer_mtu = be16_to_cpu(peer->mtu);
	lp->newest_pn = be32_to_cpu(peer->pn) - 1;
	lp->rx.next_flow = be32_to_cpu(peer->flow);
	lp->rx.limit_told = lp->rx.next_flow + LTP_MAX_FLOWS;
	lp->rx.advertised = ltp_rx_window(sk, false);
	lp->tx.window = be32_to_cpu(peer->rwnd);
	lp->tx.window_later = lp->tx.window / 2;
	lp->tx.window_pn = be32_to_cpu(peer->pn) - 1;
	lp->tx.next_read = lp->tx.next_flow;
	lp->tx.max_flows = be16_to_cpu(peer->max_flows);
	lp->tx.flow_limit = lp->tx.next_flow + lp->tx.max_flows;
	if (rtt_ns)
		ltp_loss_rtt(&lp->tx.loss, rtt_ns, 0);
	if (ltp_policy(sk)->set & LTP_P_CC)
		lp->tx.cc.ops = lp->policy.cc;
	ltp_path_open(sk);
	lp->tx.cc.seed = lp->local_tag;
	lp->tx.cc.group = be16_to_cpu(peer->group) + 1;
	ltp_cc_init(&lp->tx.cc, lp->tx.cc.ops, ltp_tx_segsize(sk), now,
		    lp->tx.loss.min_rtt_ns);
	kfree(lp->hello);
	lp->hello = NULL;
	lp->tries = 0;
	lp->phase = LTP_ESTABLISHED;
	ltp_set_state(sk, TCP_ESTABLISHED);
	ltp_mib_inc(sock_net(sk), LTP_MIB_ASSOC_ESTABLISHED);
	lp->open_ns = now;
	lp->tx.busy_since_ns = now;
	ltp_assoc_heard(sk, now);
	ltp_assoc_rearm(sk, now);
	if (!sock_flag(sk, SOCK_DEAD)) {
		sk->sk_state_change(sk);
		sk_wake_async(sk, SOCK_WAKE_IO, POLL_OUT);
	}
}

/**
 * ltp_assoc_heard() - a packet with the right tag came
 * @sk: socket
 * @now: the time
 *
 * Context: socket locked.
 */
void ltp_assoc_heard(struct sock *sk, u64 now)
{
	ltp_sk(sk)->heard_ns = now;
	ltp_sk(sk)->asked_ns = 0;
}

/**
 * ltp_assoc_dead_ns() - how long an answer is waited for
 * @sk: socket
 *
 * Context: socket locked.
 * Return: ns: the socket's own LTP_USER_TIMEOUT, or that of its namespace
 */
u64 ltp_assoc_dead_ns(struct sock *sk)
{
	u32 ms = ltp_sk(sk)->user_timeout_ms;

	return (ms ?: READ_ONCE(ltp_sock_net(sk)->conf.dead_ms)) *
	       (u64)NSEC_PER_MSEC;
}

/* Something else than a segment waits for an answer. */
static bool ltp_assoc_waits(const struct ltp_sock *lp)
{
	return (lp->tx.fin_sent && !lp->tx.fin_acked) || ltp_tx_blocked(lp);
}

/* When something is to be sent again, or asked. */
static u64 ltp_assoc_next(struct sock *sk)
{
	struct ltp_sock *lp = ltp_sk(sk);

	if (lp->tx.flight)
		return ltp_tx_due(sk);
	if (ltp_assoc_waits(lp))
		return lp->tx.last_sent_ns +
		       (ltp_loss_pto(&lp->tx.loss, LTP_ACK_DELAY_NS) <<
			min(lp->tries, 8U));
	/* Nothing is going on: is the peer still there? */
	return max(lp->heard_ns, lp->tx.last_sent_ns) +
	       max_t(u64, ltp_assoc_dead_ns(sk), LTP_DEAD_MIN_NS) / 3;
}

/* And when it has waited for too long. */
static u64 ltp_assoc_death(struct sock *sk)
{
	u64 asked = ltp_sk(sk)->asked_ns;

	return asked ? asked + ltp_assoc_dead_ns(sk) : U64_MAX;
}

/**
 * ltp_assoc_retry_at() - wake up no later than at a given time
 * @sk: socket
 * @when: the time
 *
 * An earlier wake-up that is armed already will see for itself.
 *
 * Context: socket locked.
 */
void ltp_assoc_retry_at(struct sock *sk, u64 when)
{
	struct ltp_sock *lp = ltp_sk(sk);

	if (lp->retry_ns && lp->retry_ns <= when)
		return;
	lp->retry_ns = when;
	ltp_timer_start(&lp->retry, when);
}

/**
 * ltp_assoc_rearm() - see to it that nothing waits for ever
 * @sk: socket of an open association
 * @now: the time
 *
 * Context: socket locked.
 */
void ltp_assoc_rearm(struct sock *sk, u64 now)
{
	u64 when;

	if (!ltp_assoc_is_open(ltp_sk(sk)))
		return;
	when = min3(ltp_assoc_next(sk), ltp_assoc_death(sk), ltp_path_due(sk));
	ltp_assoc_retry_at(sk, max(when, now + 1));
}

static void ltp_assoc_send_fin(struct sock *sk)
{
	struct ltp_sock *lp = ltp_sk(sk);
	struct ltp_fin fin = { .flow = cpu_to_be32(lp->tx.next_flow) };

	ltp_output_control(sk, LTP_FIN, 0, &fin, sizeof(fin));
}

/* Nothing in flight is to be probed, but an answer is due. */
static void ltp_assoc_ask(struct sock *sk, u64 now)
{
	struct ltp_sock *lp = ltp_sk(sk);

	if (!lp->asked_ns)
		lp->asked_ns = now;
	lp->tries++;
	lp->tx.last_sent_ns = now;
	if (lp->tx.fin_sent && !lp->tx.fin_acked)
		ltp_assoc_send_fin(sk);
	else
		ltp_output_ping(sk);
}

/*
 * A closed socket whose peer lives on but never closes its end, or reads no
 * more, cannot be kept for ever: TCP's FIN_WAIT_2 and its orphans have a limit
 * too. In the first case all was said, and nothing needs to be.
 */
static bool ltp_assoc_abandon(struct sock *sk, u64 now)
{
	const struct ltp_sock *lp = ltp_sk(sk);
	u64 progress = max(lp->orphan_ns, lp->tx.delivered_ns);
	u64 limit = ltp_assoc_dead_ns(sk);

	if (!lp->tx.fin_acked)
		limit *= LTP_ORPHAN_DEAD;
	if (!lp->orphan_ns || now < progress || now - progress < limit)
		return false;
	ltp_mib_inc(sock_net(sk), LTP_MIB_ASSOC_TIMEOUT);
	if (lp->tx.fin_acked)
		ltp_assoc_end(sk, 0);
	else
		ltp_assoc_abort(sk, ETIMEDOUT);
	return true;
}

static void ltp_assoc_retry(struct sock *sk, u64 now)
{
	struct ltp_sock *lp = ltp_sk(sk);

	if (ltp_assoc_abandon(sk, now))
		return;
	if (now >= ltp_assoc_death(sk)) {
		ltp_mib_inc(sock_net(sk), LTP_MIB_ASSOC_TIMEOUT);
		ltp_assoc_end(sk, ETIMEDOUT);
		return;
	}
	if (now >= ltp_assoc_next(sk)) {
		if (lp->tx.flight)
			ltp_tx_retry(sk, now);
		else
			ltp_assoc_ask(sk, now);
	}
	if (ltp_assoc_is_open(lp))
		ltp_path_run(sk, now);
	ltp_assoc_rearm(sk, now);
}

static void ltp_assoc_retry_due(struct ltp_timer *t)
{
	struct sock *sk = t->sk;
	struct ltp_sock *lp = ltp_sk(sk);
	u64 now = ltp_now();

	if (!lp->retry_ns)
		return;
	if (now < lp->retry_ns) {
		ltp_timer_start(t, lp->retry_ns);
		return;
	}
	lp->retry_ns = 0;
	if (ltp_assoc_is_open(lp))
		ltp_assoc_retry(sk, now);
	else if (lp->phase == LTP_INIT_SENT || lp->phase == LTP_COOKIE_SENT)
		ltp_handshake_retry(sk, now);
}

/**
 * ltp_assoc_fin() - send a FIN if the program is done and so are its flows
 * @sk: socket
 *
 * Context: socket locked.
 */
void ltp_assoc_fin(struct sock *sk)
{
	struct ltp_sock *lp = ltp_sk(sk);
	u64 now = ltp_now();

	if (!ltp_assoc_is_open(lp) || lp->tx.fin_sent ||
	    !(sk->sk_shutdown & SEND_SHUTDOWN) || !list_empty(&lp->tx.flows))
		return;
	lp->tx.fin_sent = true;
	lp->tx.last_sent_ns = now;
	lp->phase = LTP_CLOSING;
	ltp_assoc_send_fin(sk);
	ltp_assoc_rearm(sk, now);
}

static void ltp_assoc_maybe_done(struct sock *sk)
{
	struct ltp_sock *lp = ltp_sk(sk);

	if (lp->tx.fin_acked && lp->rx.fin)
		ltp_assoc_end(sk, 0);
}

/**
 * ltp_assoc_fin_received() - the peer will send no more
 * @sk: socket
 * @flow_end: id behind its last flow
 *
 * A peer sends FIN when all its flows have ended: a FIN that disagrees is not
 * believed.
 *
 * Context: socket locked.
 */
void ltp_assoc_fin_received(struct sock *sk, u32 flow_end)
{
	struct ltp_sock *lp = ltp_sk(sk);

	if (lp->rx.fin ? flow_end != lp->rx.flow_end :
			 !ltp_rx_all_ended(sk, flow_end)) {
		ltp_mib_inc(sock_net(sk), LTP_MIB_DROP_STATE);
		return;
	}
	ltp_output_control(sk, LTP_FIN_ACK, 0, NULL, 0);
	if (lp->rx.fin)
		return;
	lp->rx.fin = true;
	lp->rx.flow_end = flow_end;
	/* No more of its flows: the group need not wait for them. */
	ltp_group_tell(lp->group, &lp->member, 0);
	lp->phase = LTP_CLOSING;
	if (!sock_flag(sk, SOCK_DEAD)) {
		sk->sk_state_change(sk);
		sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_IN);
	}
	ltp_assoc_maybe_done(sk);
}

/**
 * ltp_assoc_fin_acked() - the peer knows that we send no more
 * @sk: socket
 *
 * Context: socket locked.
 */
void ltp_assoc_fin_acked(struct sock *sk)
{
	if (!ltp_sk(sk)->tx.fin_sent) {
		ltp_mib_inc(sock_net(sk), LTP_MIB_DROP_STATE);
		return;
	}
	ltp_sk(sk)->tx.fin_acked = true;
	ltp_sk(sk)->tries = 0;
	if (!sock_flag(sk, SOCK_DEAD))
		sk->sk_state_change(sk);
	ltp_assoc_maybe_done(sk);
}

/**
 * ltp_assoc_end() - the association is no more
 * @sk: socket in any phase
 * @err: what the program is told, 0: the end was orderly
 *
 * Flows that ended before can still be read.
 *
 * Context: socket locked, the caller holds a reference.
 */
void ltp_assoc_end(struct sock *sk, int err)
{
	struct ltp_sock *lp = ltp_sk(sk);

	if (lp->phase == LTP_CLOSED)
		return;
	lp->phase = LTP_CLOSED;
	lp->retry_ns = 0;
	lp->ack_ns = 0;
	ltp_timer_stop(&lp->retry);
	ltp_timer_stop(&lp->pace);
	ltp_timer_stop(&lp->ack);
	kfree(lp->hello);
	lp->hello = NULL;
	ltp_tx_purge(sk);
	ltp_tx_clock(sk, ltp_now());
	ltp_rx_cut(sk);
	ltp_handshake_ended(sk);
	ltp_group_tell(lp->group, &lp->member, 0);
	ltp_assoc_unhash(sk);
	if (sock_flag(sk, SOCK_DEAD)) {
		ltp_rx_purge(sk);
		ltp_port_put(sk);
	} else if (!(sk->sk_userlocks & SOCK_BINDPORT_LOCK)) {
		/* A port that nobody asked for; as TCP does. */
		ltp_port_put(sk);
		inet_sk(sk)->inet_num = 0;
	}
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	ltp_set_state(sk, TCP_CLOSE);
	if (err)
		WRITE_ONCE(sk->sk_err, err);
	if (sock_flag(sk, SOCK_DEAD))
		return;
	if (err)
		sk_error_report(sk);
	sk->sk_state_change(sk);
}

/**
 * ltp_assoc_abort() - end an association and tell the peer
 * @sk: socket
 * @err: what the program is told, 0: nothing
 *
 * Context: socket locked, the caller holds a reference.
 */
void ltp_assoc_abort(struct sock *sk, int err)
{
	if (ltp_assoc_is_open(ltp_sk(sk)))
		ltp_output_reset(sk);
	ltp_assoc_end(sk, err);
}

/**
 * ltp_assoc_release_cb() - do what timers and errors could not, proto.release_cb
 * @sk: socket whose owner is about to release it
 *
 * Context: socket spinlock held.
 */
void ltp_assoc_release_cb(struct sock *sk)
{
	struct ltp_sock *lp = ltp_sk(sk);

	/* The spinlock is held, but so is ownership: act as softirq would. */
	ltp_icmp_missed(sk);
	if (!test_and_clear_bit(LTP_TIMER_MISSED, &lp->events))
		return;
	ltp_assoc_retry_due(&lp->retry);
	ltp_rx_timers_missed(sk);
	ltp_tx_timers_missed(sk);
}

/**
 * ltp_assoc_net_init() - make the table of associations
 * @net: namespace
 *
 * Return: 0 or an error
 */
int ltp_assoc_net_init(struct net *net)
{
	return rhashtable_init(&ltp_pernet(net)->assocs, &ltp_assoc_params);
}

/**
 * ltp_assoc_net_exit() - free the table of associations
 * @net: namespace with no socket left: each holds the namespace
 */
void ltp_assoc_net_exit(struct net *net)
{
	rhashtable_destroy(&ltp_pernet(net)->assocs);
}
