// SPDX-License-Identifier: GPL-2.0
/*
 * Which segment leaves next, and when: the three queues, the peer's windows,
 * congestion window and pacing.
 */
#include "assoc.h"
#include "flow_tx.h"
#include "output.h"
#include "sched.h"
#include "timer.h"

static struct ltp_seg *ltp_tx_first(struct ltp_tx *tx, int queue)
{
	return list_first_entry_or_null(&tx->queue[queue], struct ltp_seg,
					link);
}

static struct ltp_seg *ltp_tx_next(struct ltp_tx *tx)
{
	struct ltp_seg *critical = ltp_tx_first(tx, LTP_Q_CRITICAL);
	struct ltp_seg *fresh = ltp_tx_first(tx, LTP_Q_FRESH);
	struct ltp_seg *again = ltp_tx_first(tx, LTP_Q_AGAIN);

	if (critical)
		return critical;
	/*
	 * A flow's bubbles are filled when all of it was sent once. Messages
	 * that wait behind it wait for that too: their clocks have not begun,
	 * its clock runs.
	 */
	if (fresh && again && ltp_before(again->flow->id, fresh->flow->id))
		return again;
	return fresh ?: again;
}

/* The smaller of what congestion control and program say; 0: any. */
static u64 ltp_tx_rate(const struct sock *sk)
{
	const struct ltp_tx *tx = &ltp_sk(sk)->tx;
	u64 rate = READ_ONCE(sk->sk_max_pacing_rate);

	if (rate == ~0UL)
		rate = 0;
	return min_not_zero(rate, tx->cc.pacing_rate);
}

/**
 * ltp_tx_stamp() - mark a segment as sent now
 * @sk: socket
 * @seg: the segment: gets a number, and what its ACK will be judged by
 * @now: the time
 *
 * Context: socket locked.
 */
void ltp_tx_stamp(struct sock *sk, struct ltp_seg *seg, u64 now)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;

	if (!tx->flight) {
		tx->first_sent_ns = now;
		tx->delivered_ns = now;
	}
	if (!seg->sends) {
		seg->flow->unsent--;
		tx->fresh -= seg->len;
	} else {
		tx->retransmitted++;
		tx->bytes_again += seg->len;
		if (seg->state == LTP_SEG_LOST)
			tx->again -= seg->len;
		ltp_mib_inc(sock_net(sk), LTP_MIB_RETRANSMITTED);
	}
	if (seg->state != LTP_SEG_IN_FLIGHT)
		tx->flight += seg->len;
	if (seg->sends < U8_MAX)
		seg->sends++;
	seg->state = LTP_SEG_IN_FLIGHT;
	seg->pn = tx->pn++;
	seg->delivered = tx->delivered;
	seg->delivered_ns = tx->delivered_ns;
	seg->first_sent_ns = tx->first_sent_ns;
	seg->app_limited = !!tx->app_limited;
	seg->cwnd_limited = tx->cwnd_limited;
	tx->sent++;
	tx->bytes += seg->len;
	tx->last_sent_ns = now;
	tx->data_ns = now;
	ltp_pacing_sent(&tx->pacing, ltp_tx_rate(sk), seg->len, now);
}

static bool ltp_tx_fits(const struct ltp_tx *tx, const struct ltp_seg *seg)
{
	u32 window = seg->flow->id == tx->next_read ? tx->window :
						      tx->window_later;

	if (!tx->flight)
		return window;
	return tx->flight + seg->len <= min(tx->cc.cwnd, window);
}

/*
 * The segment to send next, NULL if there is none or it does not fit. What the
 * reader needs next must not wait behind what it has no room for: it would
 * never make room.
 */
static struct ltp_seg *ltp_tx_pick(struct ltp_tx *tx)
{
	struct ltp_seg *seg = ltp_tx_next(tx);
	int i;

	if (!seg || ltp_tx_fits(tx, seg))
		return seg;
	if (seg->flow->id == tx->next_read || tx->window <= tx->window_later)
		return NULL;
	for (i = 0; i < LTP_QUEUES; i++)
		list_for_each_entry(seg, &tx->queue[i], link)
			if (seg->flow->id == tx->next_read)
				return ltp_tx_fits(tx, seg) ? seg : NULL;
	return NULL;
}

/* The peer waits for more before it answers, and would wait in vain. */
static bool ltp_tx_window_closes(const struct ltp_tx *tx)
{
	u32 window = min(tx->cc.cwnd, tx->window);

	return window < 2 * LTP_ACK_EVERY * tx->cc.mss &&
	       tx->flight + tx->cc.mss > window;
}

/*
 * The first segment after a time in which none could leave. What pacing did not
 * let out then is not made up for: that is for timers that are late. Idle is who
 * had nothing to send, not whose pipe is empty.
 */
static void ltp_tx_resume(struct ltp_tx *tx, u64 now)
{
	if (tx->paused && tx->sent)
		ltp_pacing_restart(&tx->pacing, now);
	if (tx->dry && !tx->flight && tx->sent && tx->cc.ops->on_idle)
		tx->cc.ops->on_idle(&tx->cc, now, now - tx->last_sent_ns);
	tx->paused = false;
	tx->dry = false;
}

/* Gather the segments that may leave now, up to LTP_TRAIN of them. */
static int ltp_tx_train(struct sock *sk, struct list_head *train, u64 now)
{
	struct ltp_sock *lp = ltp_sk(sk);
	struct ltp_tx *tx = &lp->tx;
	struct ltp_seg *seg;
	u64 delay;
	int n;

	for (n = 0; n < LTP_TRAIN; n++) {
		seg = ltp_tx_pick(tx);
		if (!seg) {
			/* Is it congestion control that holds it back? */
			tx->cwnd_limited = tx->flight + tx->cc.mss >
					   tx->cc.cwnd;
			if (!tx->cwnd_limited)
				tx->app_limited = tx->delivered + tx->flight ?:
						  1;
			tx->paused = true;
			tx->dry |= !ltp_tx_next(tx);
			break;
		}
		ltp_tx_resume(tx, now);
		delay = ltp_pacing_delay(&tx->pacing, now);
		if (delay) {
			tx->cwnd_limited = false;
			ltp_timer_start(&lp->pace, now + delay);
			break;
		}
		ltp_tx_stamp(sk, seg, now);
		seg->ack_now = ltp_tx_window_closes(tx);
		list_move_tail(&seg->link, train);
	}
	return n;
}

static enum ltp_busy ltp_tx_busy(const struct sock *sk)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	const struct ltp_seg *seg = ltp_tx_next(tx);

	if (seg)
		return tx->flight + seg->len <= tx->cc.cwnd &&
		       !ltp_tx_fits(tx, seg) ? LTP_BUSY_WINDOW : LTP_BUSY;
	if (!tx->flight)
		return LTP_IDLE;
	return (tx->writing || tx->partial) && !sk_stream_memory_free(sk) ?
		       LTP_BUSY_SNDBUF : LTP_BUSY;
}

/**
 * ltp_tx_clock() - take note of what the time since the last call was spent with
 * @sk: socket
 * @now: the time
 *
 * Context: socket locked.
 */
void ltp_tx_clock(struct sock *sk, u64 now)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	enum ltp_busy busy = ltp_tx_busy(sk);

	if (busy == tx->busy)
		return;
	tx->busy_ns[tx->busy] += now - tx->busy_since_ns;
	tx->busy_since_ns = now;
	tx->busy = busy;
}

/**
 * ltp_tx_push() - send what windows and pacing allow
 * @sk: socket
 *
 * Context: socket locked.
 */
void ltp_tx_push(struct sock *sk)
{
	LIST_HEAD(train);
	u64 now;

	if (!ltp_assoc_is_open(ltp_sk(sk)))
		return;
	do {
		now = ltp_now();
		if (!ltp_tx_train(sk, &train, now))
			break;
		ltp_output_train(sk, &train, now);
	} while (true);
	ltp_tx_clock(sk, now);
	ltp_assoc_rearm(sk, now);
}

/**
 * ltp_tx_paced() - the timer of pacing fired
 * @sk: socket
 *
 * Context: socket locked.
 */
void ltp_tx_paced(struct sock *sk)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;

	ltp_tx_push(sk);
	if (tx->starved) {
		/* There may be memory now. */
		tx->starved = false;
		sk->sk_write_space(sk);
	}
}

/**
 * ltp_tx_group() - so many may answer the peer together with us
 * @sk: socket
 * @group: associations in the peer's group
 * @now: the time
 *
 * Context: socket locked.
 */
void ltp_tx_group(struct sock *sk, u32 group, u64 now)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;

	if (group <= tx->cc.group)
		return;
	tx->cc.group = group;
	/* Only the first window depends on it. */
	if (!tx->sent)
		ltp_cc_init(&tx->cc, tx->cc.ops, tx->cc.mss, now,
			    tx->loss.min_rtt_ns);
}

/**
 * ltp_tx_new_window() - take note of what the peer can take
 * @tx: sending half
 * @pn: number of the packet that said so: an older one that comes late knows
 *	nothing of the window now
 * @w: what it said
 *
 * Context: socket locked.
 */
void ltp_tx_new_window(struct ltp_tx *tx, u32 pn,
		       const struct ltp_window_fields *w)
{
	if (!ltp_after(pn, tx->window_pn))
		return;
	tx->window_pn = pn;
	tx->window = w->rwnd;
	tx->window_later = w->rwnd_later;
	if (ltp_after(w->flow_limit, tx->flow_limit) &&
	    w->flow_limit - tx->next_flow <= tx->max_flows) {
		tx->flow_limit = w->flow_limit;
		tx->next_read = w->flow_limit - tx->max_flows;
	}
}

/**
 * ltp_tx_window() - the peer said what it can take
 * @sk: socket
 * @pn: number of the packet that said so
 * @w: what it said
 *
 * Context: socket locked.
 */
void ltp_tx_window(struct sock *sk, u32 pn, const struct ltp_window_fields *w)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	u32 old = tx->window;

	ltp_tx_new_window(tx, pn, w);
	/* What was refused for want of room is worth asking for at once. */
	if (tx->window > old) {
		ltp_loss_acked(&tx->loss);
		ltp_sk(sk)->tries = 0;
		/* The pause was the reader's: no rate is measured across it. */
		tx->delivered_ns = ltp_now();
		tx->first_sent_ns = tx->delivered_ns;
	}
	ltp_tx_push(sk);
	sk->sk_write_space(sk);
}

/**
 * ltp_tx_blocked() - does something wait that is not in flight?
 * @lp: socket
 *
 * Context: socket locked.
 * Return: whether the peer must be asked for its window or an answer
 */
bool ltp_tx_blocked(const struct ltp_sock *lp)
{
	const struct ltp_flow_tx *flow;

	if (ltp_tx_next((struct ltp_tx *)&lp->tx))
		return true;
	list_for_each_entry(flow, &lp->tx.flows, node)
		if (flow->gave_up)
			return true;
	return false;
}
