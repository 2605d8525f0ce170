// SPDX-License-Identifier: GPL-2.0
/*
 * What became of the segments in flight: what ACKs say, loss verdicts and the
 * tail probe. The judgements themselves are in loss.c and cc.c.
 */
#include "assoc.h"
#include "flow_tx.h"
#include "output.h"
#include "path.h"
#include "recovery.h"
#include "sched.h"

/*
 * Where the fraction threshold is soon reached, a bubble that may stay is filled
 * when all was sent once. But a few are filled at once: at the end of the flow
 * each loss of a retransmission would cost everybody a round trip.
 */
static enum ltp_queue ltp_tx_lost_queue(const struct ltp_seg *seg)
{
	struct ltp_flow_tx *flow = seg->flow;
	bool few = flow->lost++ < flow->map.segs / LTP_FEW_LOST;

	return seg->critical || few ? LTP_Q_CRITICAL : LTP_Q_AGAIN;
}

static void ltp_tx_lose(struct sock *sk, struct ltp_seg *seg)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;

	ltp_path_lost(sk, seg, true, ltp_now());
	tx->flight -= seg->len;
	tx->again += seg->len;
	tx->lost++;
	seg->state = LTP_SEG_LOST;
	seg->was_lost = 1;
	seg->lost_pn = seg->pn;
	seg->lost_ns = seg->sent_ns;
	ltp_loss_lost(&tx->loss, seg->pn, tx->pn);
	list_move_tail(&seg->link, &tx->queue[ltp_tx_lost_queue(seg)]);
	ltp_mib_inc(sock_net(sk), LTP_MIB_LOSS_VERDICTS);
}

/* Judge what was sent before the newest packet that arrived. */
static void ltp_tx_detect(struct sock *sk, struct ltp_cc_sample *s)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	struct ltp_seg *seg, *next;
	u64 when;

	tx->loss_at = U64_MAX;
	list_for_each_entry_safe(seg, next, &tx->in_flight, link) {
		if (!ltp_loss_verdict(&tx->loss, seg->pn, seg->sent_ns,
				      s->now_ns, &when)) {
			/* Those behind it were sent later. */
			tx->loss_at = when;
			break;
		}
		s->lost += seg->len;
		s->lost_pn = seg->pn;
		ltp_tx_lose(sk, seg);
	}
}

/* What there is to tell after an ACK, or a verdict that was due. */
static void ltp_tx_tell(struct sock *sk, struct ltp_cc_sample *s)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;

	s->delivered = tx->delivered;
	s->in_flight = tx->flight;
	s->next_pn = tx->pn;
	tx->cc.ops->on_ack(&tx->cc, s);
}

/* The newest packet that an ACK is known to speak of. */
struct ltp_newest {
	u64 sent_ns;
	u32 pn;
	bool known;
};

/*
 * How long did it take to send, and to deliver, what was delivered? If it came
 * as fast as we sent, and no window held us back, it says how fast we sent (a
 * timer was late, the host busy) and nothing of the path.
 */
static void ltp_tx_take_intervals(const struct ltp_seg *seg,
				  struct ltp_cc_sample *s)
{
	u64 sent = seg->sent_ns - seg->first_sent_ns;
	u64 came = s->now_ns - seg->delivered_ns;

	s->interval_ns = max(sent, came);
	s->app_limited = seg->app_limited;
	s->paced = !seg->cwnd_limited && came <= sent + sent / 8;
}

/*
 * A segment that was found lost has arrived. Was it not lost after all? It says
 * so that it was not sent again yet, or not long enough ago; or the ACK answers
 * the very packet. Else a duplicate may prove it later.
 */
static void ltp_tx_take_lost(struct sock *sk, const struct ltp_seg *seg,
			     u32 acked_pn, u64 age, struct ltp_cc_sample *s)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	struct ltp_doubt doubt = {
		.pn = seg->pn,
		.lost_pn = seg->lost_pn,
		.bytes = seg->len,
		.named = acked_pn == seg->pn,
	};

	if (seg->state == LTP_SEG_LOST || acked_pn == seg->lost_pn ||
	    (acked_pn != seg->pn && age < tx->loss.min_rtt_ns)) {
		ltp_loss_spurious(&tx->loss, seg->lost_pn, seg->lost_ns,
				  tx->pn, s->now_ns);
		ltp_mib_inc(sock_net(sk), LTP_MIB_SPURIOUS);
		s->spurious += seg->len;
	} else {
		ltp_loss_doubt(&tx->loss, &doubt);
	}
}

/* The ACK answers a packet that was sent then. */
static void ltp_tx_take_rtt(struct ltp_tx *tx, u64 sent_ns,
			    const struct ltp_ack_fields *a,
			    struct ltp_cc_sample *s)
{
	u64 age = max(s->now_ns - sent_ns, 1ULL);
	u64 delay = min_t(u64, a->delay_us * (u64)NSEC_PER_USEC,
			  LTP_ACK_DELAY_NS);

	ltp_loss_rtt(&tx->loss, age, delay);
	/* As there: no smaller than what was ever seen. */
	s->rtt_ns = age - tx->loss.min_rtt_ns >= delay ? age - delay : age;
}

/* One segment has arrived; @s and @newest learn from it if it was sent once. */
static void ltp_tx_acked_seg(struct sock *sk, struct ltp_seg *seg,
			     const struct ltp_ack_fields *a,
			     struct ltp_cc_sample *s,
			     struct ltp_newest *newest)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	u64 age = max(s->now_ns - seg->sent_ns, 1ULL);
	bool sure = seg->sends == 1 || seg->pn == a->acked_pn;

	if (seg->state == LTP_SEG_IN_FLIGHT)
		tx->flight -= seg->len;
	if (seg->was_lost)
		ltp_tx_take_lost(sk, seg, a->acked_pn, age, s);
	if (sure && (!newest->known || ltp_after(seg->pn, newest->pn))) {
		newest->known = true;
		newest->pn = seg->pn;
		newest->sent_ns = seg->sent_ns;
		s->prior_delivered = seg->delivered;
		ltp_tx_take_intervals(seg, s);
		tx->first_sent_ns = seg->sent_ns;
	}
	if (seg->pn == a->acked_pn)
		ltp_tx_take_rtt(tx, seg->sent_ns, a, s);
	else if (seg->was_lost && seg->lost_pn == a->acked_pn)
		ltp_tx_take_rtt(tx, seg->lost_ns, a, s);
	ltp_path_acked(sk, seg, sure, s->now_ns);
	tx->delivered += seg->len;
	tx->delivered_ns = s->now_ns;
	s->acked += seg->len;
	ltp_ackmap_set(&seg->flow->map, seg->index);
	ltp_seg_free(sk, seg);
}

/* Returns 0, or a drop reason when the ACK speaks of what was never sent. */
static int ltp_tx_take_in(struct sock *sk, struct ltp_flow_tx *flow,
			  const struct ltp_ack_fields *a,
			  struct ltp_cc_sample *s)
{
	struct ltp_loss *loss = &ltp_sk(sk)->tx.loss;
	struct ltp_newest newest = {};
	int drop = 0;
	u32 i = 0;

	for (;;) {
		struct ltp_seg *seg;

		i = ltp_ackmap_next_new(&flow->map, i, a->base, a->first,
					a->bitmap, a->words);
		if (i >= flow->map.segs)
			break;
		seg = ltp_tx_find_seg(flow, i);
		if (!seg || !seg->sends) {
			drop = LTP_MIB_DROP_ACK_INVALID;
			break;
		}
		ltp_tx_acked_seg(sk, seg, a, s, &newest);
	}
	if (s->acked && !s->rtt_ns) {
		u64 sent_ns = ltp_loss_past_sent(loss, a->acked_pn);

		if (sent_ns)
			ltp_tx_take_rtt(&ltp_sk(sk)->tx, sent_ns, a, s);
	}
	/* Once: within an ACK the order of segments is not that of sending. */
	if (newest.known)
		ltp_loss_arrived(loss, newest.pn, newest.sent_ns);
	return drop;
}

/* A segment came once too often: was it sent again in error? */
static void ltp_tx_duplicate(struct sock *sk, u32 pn, u64 now)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	struct ltp_cc_sample s = { .now_ns = now, .acked_pn = pn };

	s.spurious = ltp_loss_duplicate(&tx->loss, pn, tx->pn, now);
	if (!s.spurious)
		return;
	ltp_mib_inc(sock_net(sk), LTP_MIB_SPURIOUS);
	ltp_tx_tell(sk, &s);
}

/**
 * ltp_tx_ack() - an ACK came
 * @sk: socket
 * @p: the packet
 * @now: the time
 *
 * Context: socket locked.
 * Return: 0 or a drop reason
 */
int ltp_tx_ack(struct sock *sk, const struct ltp_packet *p, u64 now)
{
	const struct ltp_ack_fields *a = &p->ack;
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	struct ltp_cc_sample s = {
		.now_ns = now,
		.acked_pn = a->acked_pn,
		.ce = p->flags & LTP_F_CE,
	};
	struct ltp_flow_tx *flow;
	int drop = 0;

	if (!ltp_before(a->acked_pn, tx->pn))
		return LTP_MIB_DROP_ACK_INVALID;
	flow = ltp_tx_find(tx, a->flow);
	if (flow && (a->base > flow->map.segs ||
		     (a->words && a->first >= flow->map.segs)))
		return LTP_MIB_DROP_ACK_INVALID;
	ltp_mib_inc(sock_net(sk), LTP_MIB_IN_ACKS);
	ltp_path_arrived(sk, a->acked_pn, now);
	ltp_tx_new_window(tx, p->pn, &a->window);
	tx->acked_ns = now;
	if (p->flags & LTP_F_DUP)
		ltp_tx_duplicate(sk, a->acked_pn, now);
	tx->cc.ceiling = a->ceiling * (u64)LTP_CEILING_UNIT;
	if (!flow)
		/* Ended meanwhile: its last ACK was sent twice. */
		return ltp_before(a->flow, tx->next_flow) ?
			       0 : LTP_MIB_DROP_FLOW_UNKNOWN;
	if (ltp_flow_tx_over(flow)) {
		/* Given up, but what had been sent was all of it. */
		if ((p->flags & LTP_F_WHOLE) && !flow->close_parts) {
			ltp_ackmap_assume(&flow->map);
			ltp_flow_tx_end(sk, flow, LTP_COMPLETE);
		}
		goto out;
	}
	drop = ltp_tx_take_in(sk, flow, a, &s);
	if (ltp_ackmap_whole(&flow->map))
		ltp_flow_tx_end(sk, flow, LTP_COMPLETE);
	if (s.acked) {
		ltp_loss_acked(&tx->loss);
		if (tx->app_limited && tx->delivered > tx->app_limited)
			tx->app_limited = 0;
	}
	ltp_tx_detect(sk, &s);
	if (s.acked || s.lost)
		ltp_tx_tell(sk, &s);
out:
	ltp_tx_push(sk);
	sk->sk_write_space(sk);
	ltp_assoc_fin(sk);
	return drop;
}

/**
 * ltp_tx_due() - when ltp_tx_retry() has something to do
 * @sk: socket with segments in flight
 *
 * Context: socket locked.
 * Return: time
 */
u64 ltp_tx_due(struct sock *sk)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	const struct ltp_seg *seg = list_last_entry(&tx->in_flight,
						    struct ltp_seg, link);
	/* What carried LTP_F_LAST is acknowledged at once (RFC 9002, 6.2.1). */
	u64 delay = seg->flow->unsent ? LTP_ACK_DELAY_NS : 0;

	return min(tx->loss_at, tx->last_sent_ns +
				ltp_loss_pto(&tx->loss, delay));
}

/* A segment in flight is sent again, and its ACK at once. */
static void ltp_tx_ask(struct sock *sk, struct ltp_seg *seg, u64 now)
{
	LIST_HEAD(train);

	seg->ack_now = 1;
	seg->was_lost = 0;
	ltp_loss_past(&ltp_sk(sk)->tx.loss, seg->pn, seg->sent_ns);
	ltp_path_lost(sk, seg, false, now);
	ltp_tx_stamp(sk, seg, now);
	list_move_tail(&seg->link, &train);
	ltp_output_train(sk, &train, now);
	seg->ack_now = 0;
}

/*
 * Ask with the segment sent last: the answer tells of all sent before. If that
 * was in vain, with the one sent first as well (RFC 9002, 6.2.4): it is two
 * losses, or two lost answers, that wait for a doubled time then.
 */
static void ltp_tx_probe(struct sock *sk, u64 now)
{
	struct ltp_tx *tx = &ltp_sk(sk)->tx;
	struct ltp_seg *first = list_first_entry(&tx->in_flight, struct ltp_seg,
						 link);
	struct ltp_seg *last = list_last_entry(&tx->in_flight, struct ltp_seg,
					       link);

	tx->probes++;
	ltp_mib_inc(sock_net(sk), LTP_MIB_TAIL_PROBES);
	if (tx->loss.backoff > 1 && first != last)
		ltp_tx_ask(sk, first, now);
	ltp_tx_ask(sk, last, now);
}

/**
 * ltp_tx_retry() - ltp_tx_due() has come: a loss verdict, or a tail probe
 * @sk: socket with segments in flight
 * @now: the time
 *
 * Context: socket locked.
 */
void ltp_tx_retry(struct sock *sk, u64 now)
{
	struct ltp_sock *lp = ltp_sk(sk);
	struct ltp_tx *tx = &lp->tx;

	if (tx->loss_at <= now) {
		struct ltp_cc_sample s = { .now_ns = now };

		ltp_tx_detect(sk, &s);
		ltp_tx_tell(sk, &s);
		ltp_tx_push(sk);
		return;
	}
	if (!lp->asked_ns)
		lp->asked_ns = now;
	ltp_loss_probed(&tx->loss);
	if (tx->loss.backoff > 2)
		tx->cc.ops->on_loss(&tx->cc, now);
	ltp_tx_probe(sk, now);
}

/**
 * ltp_tx_too_big() - what is in flight and was too big for the path is lost
 * @sk: socket
 * @len: payload that is not
 *
 * It is sent again at once, and may be fragmented now. That is no congestion.
 *
 * Context: socket locked.
 */
void ltp_tx_too_big(struct sock *sk, u32 len)
{
	struct ltp_seg *seg, *next;

	list_for_each_entry_safe(seg, next, &ltp_sk(sk)->tx.in_flight, link)
		if (seg->df && seg->len > len)
			ltp_tx_lose(sk, seg);
	ltp_tx_push(sk);
}
