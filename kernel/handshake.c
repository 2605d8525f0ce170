// SPDX-License-Identifier: GPL-2.0
/*
 * The four-way handshake (after RFC 9260, 5.1):
 *
 *	connect()			listener
 *	INIT		------------>	keeps nothing
 *			<------------	INIT_ACK, with a cookie
 *	COOKIE_ECHO	------------>	checks it, makes the child
 *			<------------	COOKIE_ACK
 */
#include <linux/slab.h>

#include "assoc.h"
#include "cookie.h"
#include "flow_tx.h"
#include "group.h"
#include "handshake.h"
#include "ipv6.h"
#include "output.h"
#include "port.h"

/* First wait for an answer, when the path's RTT is unknown. */
#define LTP_HELLO_FIRST_NS	(250 * NSEC_PER_MSEC)
#define LTP_HELLO_MAX_NS	(4 * (u64)NSEC_PER_SEC)

static void ltp_handshake_send(struct sock *sk, u64 now)
{
	struct ltp_sock *lp = ltp_sk(sk);
	u64 wait = LTP_HELLO_FIRST_NS;

	if (lp->phase == LTP_COOKIE_SENT) {
		ltp_output_hello(sk, LTP_COOKIE_ECHO,
				 be32_to_cpu(lp->hello->params.tag),
				 &lp->hello->cookie,
				 sizeof(lp->hello->cookie));
		if (lp->tx.loss.srtt_ns)
			wait = ltp_loss_pto(&lp->tx.loss, 0);
	} else {
		struct ltp_init init = {};

		ltp_assoc_params_out(sk, &init.params);
		init.params.tag = cpu_to_be32(lp->local_tag);
		init.params.flow = cpu_to_be32(lp->tx.next_flow);
		init.params.pn = cpu_to_be32(lp->tx.pn);
		ltp_output_hello(sk, LTP_INIT, 0, &init, sizeof(init));
	}
	lp->tx.last_sent_ns = now;
	wait = min(wait << min(lp->tries, 8U), LTP_HELLO_MAX_NS);
	lp->tries++;
	/* No later than the time to give up. */
	ltp_assoc_retry_at(sk, min(now + wait,
				   max(lp->asked_ns + ltp_assoc_dead_ns(sk),
				       now + 1)));
}

/**
 * ltp_handshake_start() - connect
 * @sk: socket with its addresses, ports and key set
 *
 * Context: socket locked.
 * Return: 0, or an error of ltp_assoc_hash()
 */
int ltp_handshake_start(struct sock *sk)
{
	struct ltp_sock *lp = ltp_sk(sk);
	u64 now = ltp_now();
	int err = ltp_assoc_hash(sk);

	if (err)
		return err;
	lp->phase = LTP_INIT_SENT;
	ltp_set_state(sk, TCP_SYN_SENT);
	lp->tx.next_flow = get_random_u32();
	lp->tx.pn = get_random_u32();
	lp->born_ns = now;
	lp->asked_ns = now;
	lp->tries = 0;
	ltp_mib_inc(sock_net(sk), LTP_MIB_ASSOC_ACTIVE);
	ltp_handshake_send(sk, now);
	return 0;
}

/**
 * ltp_handshake_retry() - no answer came
 * @sk: connecting socket
 * @now: the time
 *
 * Context: socket locked.
 */
void ltp_handshake_retry(struct sock *sk, u64 now)
{
	struct ltp_sock *lp = ltp_sk(sk);

	if (now - lp->asked_ns >= ltp_assoc_dead_ns(sk)) {
		ltp_mib_inc(sock_net(sk), LTP_MIB_ASSOC_TIMEOUT);
		ltp_assoc_end(sk, ETIMEDOUT);
		return;
	}
	/* A cookie that went unanswered for so long will have expired. */
	if (lp->phase == LTP_COOKIE_SENT &&
	    now - lp->heard_ns >= LTP_COOKIE_LIFE_MS / 2 * (u64)NSEC_PER_MSEC) {
		kfree(lp->hello);
		lp->hello = NULL;
		lp->phase = LTP_INIT_SENT;
		lp->tries = 0;
	}
	ltp_handshake_send(sk, now);
}

/*
 * Does the cookie of this very peer, asking once more, lie behind us? Its
 * COOKIE_ACK was lost for so long that it took its cookie for expired: it gets
 * one for the association that it made. Afterwards nothing of this changes, so
 * it can be read without the lock.
 */
static bool ltp_handshake_known(const struct sock *listener,
				const struct ltp_key *key,
				const struct ltp_params *peer,
				struct ltp_params *local)
{
	const struct ltp_sock *lp;
	struct sock *sk;
	bool known;

	rcu_read_lock();
	sk = ltp_assoc_find(sock_net(listener), key);
	rcu_read_unlock();
	if (!sk)
		return false;
	lp = ltp_sk(sk);
	known = lp->first_pn && lp->peer_tag == be32_to_cpu(peer->tag);
	if (known) {
		local->tag = cpu_to_be32(lp->local_tag);
		local->flow = cpu_to_be32(lp->first_flow);
		local->pn = cpu_to_be32(lp->first_pn);
	}
	sock_put(sk);
	return known;
}

/**
 * ltp_handshake_init() - answer an INIT with a cookie, keeping nothing
 * @listener: who would accept it
 * @skb: the packet
 * @p: the same, parsed
 *
 * Context: softirq; the listener is not locked.
 */
void ltp_handshake_init(struct sock *listener, const struct sk_buff *skb,
			const struct ltp_packet *p)
{
	/* The packet's family: a listener of IPv6 may take IPv4 as well. */
	const struct ltp_af *af = LTP_INPUT_CB(skb)->af;
	struct ltp_init_ack ack = {};
	struct ltp_key key;

	af->key(&key, skb);
	ltp_assoc_params_out(listener, &ack.params);
	if (!ltp_handshake_known(listener, &key, p->params, &ack.params)) {
		do
			ack.params.tag = cpu_to_be32(get_random_u32());
		while (!ack.params.tag);
		ack.params.flow = cpu_to_be32(get_random_u32());
		ack.params.pn = cpu_to_be32(get_random_u32());
	}
	ack.cookie.peer = *p->params;
	ack.cookie.local = ack.params;
	ltp_cookie_make(&ack.cookie, &ltp_sock_net(listener)->cookie_key, &key,
			ltp_now());
	BUILD_BUG_ON(sizeof(ack) > sizeof(struct ltp_init));
	ltp_output_reply(sock_net(listener), skb, p, LTP_INIT_ACK, 0,
			 be32_to_cpu(p->params->tag), &ack, sizeof(ack));
}

/**
 * ltp_handshake_init_ack() - a listener answered
 * @sk: connecting socket
 * @p: its packet
 *
 * Context: socket locked.
 * Return: 0 or a drop reason
 */
int ltp_handshake_init_ack(struct sock *sk, const struct ltp_packet *p)
{
	struct ltp_sock *lp = ltp_sk(sk);
	u64 now = ltp_now();

	if (lp->phase != LTP_INIT_SENT)
		return LTP_MIB_DROP_STATE;
	lp->hello = kmalloc(sizeof(*lp->hello), GFP_ATOMIC);
	if (!lp->hello)
		return LTP_MIB_DROP_MEMORY;
	lp->hello->params = *p->params;
	lp->hello->cookie = *p->cookie;
	/* Only an INIT that was sent once has an unambiguous RTT. */
	if (lp->tries == 1)
		ltp_loss_rtt(&lp->tx.loss,
			     max(now - lp->tx.last_sent_ns, 1ULL), 0);
	lp->phase = LTP_COOKIE_SENT;
	lp->heard_ns = now;
	lp->tries = 0;
	ltp_handshake_send(sk, now);
	return 0;
}

/**
 * ltp_handshake_cookie_ack() - the listener has made its end
 * @sk: socket that sent a cookie
 * @p: what the listener's new end sent first: COOKIE_ACK can be lost
 * @now: the time
 *
 * Context: socket locked.
 */
void ltp_handshake_cookie_ack(struct sock *sk, const struct ltp_packet *p,
			      u64 now)
{
	struct ltp_sock *lp = ltp_sk(sk);
	struct ltp_params peer = lp->hello->params;
	u64 rtt_ns = 0;

	/* INIT may have waited for an address to be resolved, this one not. */
	if (p->type == LTP_COOKIE_ACK && lp->tries == 1)
		rtt_ns = max(now - lp->tx.last_sent_ns, 1ULL);
	ltp_assoc_open(sk, &peer, rtt_ns);
}

/**
 * ltp_handshake_same() - did this cookie make this association?
 * @lp: the association
 * @cookie: a cookie
 *
 * Context: any; the tags never change once the association can be found.
 * Return: whether it did
 */
bool ltp_handshake_same(const struct ltp_sock *lp,
			const struct ltp_cookie *cookie)
{
	return be32_to_cpu(cookie->local.tag) == lp->local_tag &&
	       be32_to_cpu(cookie->peer.tag) == lp->peer_tag;
}

static u64 ltp_handshake_id(u32 local_tag, u32 peer_tag)
{
	return (u64)local_tag << 32 | peer_tag;
}

/**
 * ltp_handshake_ended() - no cookie may make this association again
 * @sk: socket of an association that has ended, and can still be found
 *
 * Context: socket locked.
 */
void ltp_handshake_ended(struct sock *sk)
{
	struct ltp_net *ln = ltp_sock_net(sk);
	const struct ltp_sock *lp = ltp_sk(sk);

	if (!lp->first_pn)
		return; /* not made by a cookie */
	spin_lock_bh(&ln->replay_lock);
	ltp_replay_add(ln->replay, ltp_handshake_id(lp->local_tag,
						    lp->peer_tag), ltp_now());
	spin_unlock_bh(&ln->replay_lock);
}

/*
 * Has the association of this cookie ended? One who still asks for it is told
 * so, at an address that is proven by the cookie.
 */
static bool ltp_handshake_used(struct sock *listener, const struct sk_buff *skb,
			       const struct ltp_packet *p)
{
	struct ltp_net *ln = ltp_sock_net(listener);
	const struct ltp_cookie *cookie = p->cookie;
	u64 id = ltp_handshake_id(be32_to_cpu(cookie->local.tag),
				  be32_to_cpu(cookie->peer.tag));
	enum ltp_replay_verdict verdict;

	spin_lock_bh(&ln->replay_lock);
	verdict = ltp_replay_check(ln->replay, id,
				   get_unaligned_be64(&cookie->time_ns));
	spin_unlock_bh(&ln->replay_lock);
	if (verdict == LTP_REPLAY_USED)
		ltp_output_reply(sock_net(listener), skb, p, LTP_RESET,
				 LTP_F_REFLECT, p->tag, NULL, 0);
	return verdict != LTP_REPLAY_NEW;
}

/**
 * ltp_handshake_net_init() - room to remember what has ended
 * @ln: of the namespace
 *
 * Return: 0 or -ENOMEM
 */
int ltp_handshake_net_init(struct ltp_net *ln)
{
	spin_lock_init(&ln->replay_lock);
	get_random_bytes(&ln->cookie_key, sizeof(ln->cookie_key));
	ln->replay = kvzalloc(sizeof(*ln->replay), GFP_KERNEL);
	return ln->replay ? 0 : -ENOMEM;
}

/**
 * ltp_handshake_net_exit() - undo ltp_handshake_net_init()
 * @ln: of a namespace with no socket left
 */
void ltp_handshake_net_exit(struct ltp_net *ln)
{
	kvfree(ln->replay);
}

static struct sock *ltp_handshake_child(struct sock *listener,
					const struct sk_buff *skb,
					const struct ltp_key *key,
					const struct ltp_cookie *cookie)
{
	const struct ltp_af *af = LTP_INPUT_CB(skb)->af;
	struct ltp_sock *lp;
	struct sock *child;

	child = sk_clone_lock(listener, GFP_ATOMIC);
	if (!child)
		return NULL;
	lp = ltp_sk(child);
	sock_prot_inuse_add(sock_net(child), child->sk_prot, 1);
	/* What the clone must not share with the listener, or look like. */
	child->sk_state = TCP_CLOSE;
	inet_sk(child)->inet_opt = NULL;
	inet_sk(child)->mc_list = NULL;
	inet_sk(child)->inet_dport = key->rport;
	ltp_v6_child(child);
	sk_set_txhash(child);
	lp->af = af;
	ltp_assoc_setup(child);
	af->addrs(child, key);
	lp->encap_port = LTP_INPUT_CB(skb)->encap;
	lp->key = *key;
	lp->group = ltp_group_get(ltp_sk(listener)->group);
	lp->local_tag = be32_to_cpu(cookie->local.tag);
	lp->first_flow = be32_to_cpu(cookie->local.flow);
	lp->first_pn = be32_to_cpu(cookie->local.pn);
	lp->tx.next_flow = lp->first_flow;
	lp->tx.pn = lp->first_pn;
	return child;
}

/*
 * A newer cookie: the peer has started anew, its old association cannot go on.
 * If a system call has it right now the peer will have to ask again. An older
 * one is a duplicate that was long on its way, or a replay. Returns whether the
 * way is free.
 */
static bool ltp_handshake_restart(struct sock *listener,
				  const struct ltp_key *key, u64 made_ns)
{
	bool free = false;
	struct sock *old;

	rcu_read_lock();
	old = ltp_assoc_find(sock_net(listener), key);
	rcu_read_unlock();
	if (!old)
		return true;
	bh_lock_sock(old);
	if (!sock_owned_by_user(old) && made_ns > ltp_sk(old)->born_ns) {
		ltp_assoc_end(old, ECONNRESET);
		free = true;
	}
	bh_unlock_sock(old);
	sock_put(old);
	return free;
}

/**
 * ltp_handshake_echo() - a cookie came back: make the association
 * @listener: who gave it out
 * @skb: the packet
 * @p: the same, parsed
 *
 * Context: listener locked.
 * Return: 0 or a drop reason
 */
int ltp_handshake_echo(struct sock *listener, const struct sk_buff *skb,
		       const struct ltp_packet *p)
{
	struct ltp_net *ln = ltp_sock_net(listener);
	const struct ltp_cookie *cookie = p->cookie;
	struct sock *child;
	struct ltp_key key;
	u64 now = ltp_now();
	u64 made;
	int drop;

	LTP_INPUT_CB(skb)->af->key(&key, skb);
	drop = ltp_cookie_check(cookie, &ln->cookie_key, &key, now);
	if (drop)
		return drop;
	if (p->tag != be32_to_cpu(cookie->local.tag))
		return LTP_MIB_DROP_TAG;
	if (ltp_handshake_used(listener, skb, p))
		return LTP_MIB_DROP_COOKIE_USED;
	if (sk_acceptq_is_full(listener))
		return LTP_MIB_DROP_BACKLOG;
	made = get_unaligned_be64(&cookie->time_ns);
	if (!ltp_handshake_restart(listener, &key, made))
		return LTP_MIB_DROP_STATE;
	child = ltp_handshake_child(listener, skb, &key, cookie);
	if (!child)
		return LTP_MIB_DROP_MEMORY;
	/* For sparse, which cannot see that sk_clone_lock() did. */
	__acquire(&child->sk_lock.slock);
	if (ltp_assoc_hash(child)) {
		/* Nobody has seen it: an orphan from birth. */
		sock_orphan(child);
		bh_unlock_sock(child);
		sock_put(child);
		sock_put(child);
		return LTP_MIB_DROP_MEMORY;
	}
	ltp_port_inherit(child, listener);
	ltp_mib_inc(sock_net(child), LTP_MIB_ASSOC_PASSIVE);
	ltp_sk(child)->born_ns = made;
	/* An older cookie was sent more than once: no round-trip time. */
	ltp_assoc_open(child, &cookie->peer,
		       now - made < LTP_HELLO_FIRST_NS ?
			       max(now - made, 1ULL) : 0);
	ltp_output_control(child, LTP_COOKIE_ACK, 0, NULL, 0);
	list_add_tail(&ltp_sk(child)->accept_node,
		      &ltp_sk(listener)->accept_queue);
	sk_acceptq_added(listener);
	bh_unlock_sock(child);
	/* sk_clone_lock() gave two: one stays with the accept queue. */
	sock_put(child);
	listener->sk_data_ready(listener);
	return 0;
}
