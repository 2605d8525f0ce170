// SPDX-License-Identifier: GPL-2.0
/*
 * "reno": loss is congestion, as for TCP. NewReno in the form that QUIC gave it
 * (RFC 9002, section 7, after RFC 5681 and RFC 6582), paced.
 *
 * Slow start adds what was acknowledged, congestion avoidance a segment a round
 * trip, loss and marks of ECN halve the window: once a round trip, because what
 * was sent before that says nothing of the halved one. Only a window that was
 * in use grows. What turns out not to have been lost is taken back.
 */
#include <linux/build_bug.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include "cc.h"
#include "serial.h"
#include "compat/compat.h"

/* Pacing gains, in quarters: RFC 9002, 7.7, has 5/4; in slow start as TCP. */
#define RENO_GAIN_IDLE		4
#define RENO_GAIN_AVOID		5
#define RENO_GAIN_START		8
/* RTT to pace the first window by if the handshake gave none. */
#define RENO_NOMINAL_RTT_NS	NSEC_PER_MSEC
#define RENO_RTT_MAX_NS		(60 * NSEC_PER_SEC)
/*
 * A window that was not used for so long is halved (RFC 2861), the smallest
 * retransmission timeout of RFC 6298. Below that pacing does what is needed.
 */
#define RENO_IDLE_NS		NSEC_PER_SEC

/**
 * struct reno - state of one association
 * @srtt_ns: smoothed RTT, 0: none measured
 * @ssthresh: below this window slow start
 * @acked: bytes acknowledged in congestion avoidance since the window grew
 * @recovery_pn: packets before this one were sent before the window was reduced
 * @round_pn: and these before the round began
 * @flight: most bytes in flight in this round
 * @last_flight: and in the one before
 * @undo_cwnd: window before the reduction, 0: nothing to take back
 * @undo_ssthresh: the same of @ssthresh
 * @undo_lost: bytes lost since, not known to have been found lost in error
 * @recovery: @recovery_pn is valid
 * @round: @round_pn is valid
 * @idled: nothing was acknowledged since an idle time
 * @collapsed: nor since persistent loss
 */
struct reno {
	u64 srtt_ns;
	u32 ssthresh;
	u32 acked;
	u32 recovery_pn;
	u32 round_pn;
	u32 flight;
	u32 last_flight;
	u32 undo_cwnd;
	u32 undo_ssthresh;
	u32 undo_lost;
	u8 recovery:1;
	u8 round:1;
	u8 idled:1;
	u8 collapsed:1;
};

static struct reno *reno_priv(struct ltp_cc *cc)
{
	BUILD_BUG_ON(sizeof(struct reno) > sizeof(cc->priv));
	return (struct reno *)cc->priv;
}

static u32 reno_min_cwnd(const struct ltp_cc *cc)
{
	return LTP_CC_MIN_SEGS * cc->mss;
}

static void reno_set_cwnd(struct ltp_cc *cc, u64 cwnd)
{
	cc->cwnd = clamp_t(u64, cwnd, reno_min_cwnd(cc), S32_MAX);
}

static void reno_set_pacing(struct ltp_cc *cc, const struct reno *r)
{
	u32 gain = RENO_GAIN_AVOID;

	if (r->idled)
		gain = RENO_GAIN_IDLE;
	else if (cc->cwnd < r->ssthresh)
		gain = RENO_GAIN_START;
	cc->pacing_rate = div64_u64((u64)cc->cwnd * NSEC_PER_SEC,
				    r->srtt_ns ?: RENO_NOMINAL_RTT_NS);
	cc->pacing_rate = max(cc->pacing_rate * gain / 4, (u64)cc->mss);
}

static void reno_take_rtt(struct reno *r, u64 rtt_ns)
{
	u64 rtt = min_t(u64, rtt_ns, RENO_RTT_MAX_NS);

	if (!rtt)
		return;
	r->srtt_ns = r->srtt_ns ? max((7 * r->srtt_ns + rtt) / 8, 1ULL) : rtt;
}

/* The most that was in flight during a round trip. */
static void reno_take_flight(struct reno *r, const struct ltp_cc_sample *s)
{
	u64 flight = (u64)s->in_flight + s->acked + s->lost;

	if (!r->round || (s->acked && !ltp_before(s->acked_pn, r->round_pn))) {
		r->round = 1;
		r->round_pn = s->next_pn;
		r->last_flight = r->flight;
		r->flight = 0;
	}
	r->flight = max(r->flight, min_t(u64, flight, S32_MAX));
}

/* RFC 9002, 7.8; in slow start as TCP, that the window may double. */
static bool reno_window_is_used(const struct ltp_cc *cc, const struct reno *r)
{
	u64 flight = max(r->flight, r->last_flight);

	if (cc->cwnd < r->ssthresh)
		return cc->cwnd < 2 * flight;
	return flight + cc->mss > cc->cwnd;
}

static void reno_grow(struct ltp_cc *cc, struct reno *r, u32 acked)
{
	u32 start = 0;

	if (cc->cwnd < r->ssthresh) {
		start = min(acked, r->ssthresh - cc->cwnd);
		reno_set_cwnd(cc, (u64)cc->cwnd + start);
	}
	/* RFC 3465, 2.1: a segment for each window that was acknowledged. */
	r->acked = min_t(u64, (u64)r->acked + acked - start, S32_MAX);
	if (r->acked >= cc->cwnd) {
		r->acked -= cc->cwnd;
		reno_set_cwnd(cc, (u64)cc->cwnd + cc->mss);
	}
}

/* Was it sent before the window was reduced? */
static bool reno_is_old(const struct reno *r, u32 pn)
{
	return r->recovery && ltp_before(pn, r->recovery_pn);
}

static void reno_recover_until(struct reno *r, u32 pn)
{
	r->recovery = 1;
	r->recovery_pn = pn;
	r->acked = 0;
}

static void reno_reduce(struct ltp_cc *cc, struct reno *r, u32 next_pn)
{
	r->ssthresh = max(cc->cwnd / 2, reno_min_cwnd(cc));
	reno_set_cwnd(cc, r->ssthresh);
	reno_recover_until(r, next_pn);
}

static void reno_take_loss(struct ltp_cc *cc, struct reno *r,
			   const struct ltp_cc_sample *s)
{
	u32 cwnd = cc->cwnd, ssthresh = r->ssthresh;

	if (!s->lost)
		return;
	if (r->collapsed) {
		/* What the persistent loss left behind. */
		reno_recover_until(r, s->next_pn);
		return;
	}
	if (!reno_is_old(r, s->lost_pn)) {
		reno_reduce(cc, r, s->next_pn);
		r->undo_cwnd = cwnd;
		r->undo_ssthresh = ssthresh;
		r->undo_lost = 0;
	}
	r->undo_lost += min(s->lost, U32_MAX - r->undo_lost);
}

/* As TCP: if all that was found lost was not, the window was not too large. */
static void reno_take_spurious(struct ltp_cc *cc, struct reno *r, u32 spurious)
{
	if (!spurious || !r->undo_cwnd)
		return;
	r->undo_lost -= min(spurious, r->undo_lost);
	if (r->undo_lost)
		return;
	reno_set_cwnd(cc, max(cc->cwnd, r->undo_cwnd));
	r->ssthresh = max(r->ssthresh, r->undo_ssthresh);
	r->undo_cwnd = 0;
	r->recovery = 0;
}

static void reno_take_mark(struct ltp_cc *cc, struct reno *r,
			   const struct ltp_cc_sample *s)
{
	if (!s->ce || reno_is_old(r, s->acked_pn))
		return;
	reno_reduce(cc, r, s->next_pn);
	r->undo_cwnd = 0;
}

static void reno_on_ack(struct ltp_cc *cc, const struct ltp_cc_sample *s)
{
	struct reno *r = reno_priv(cc);

	reno_take_rtt(r, s->rtt_ns);
	reno_take_flight(r, s);
	reno_take_spurious(cc, r, s->spurious);
	reno_take_loss(cc, r, s);
	reno_take_mark(cc, r, s);
	if (s->acked) {
		r->idled = 0;
		r->collapsed = 0;
		if (!reno_is_old(r, s->acked_pn)) {
			r->recovery = 0;
			if (reno_window_is_used(cc, r))
				reno_grow(cc, r, s->acked);
		}
	}
	reno_set_pacing(cc, r);
}

/* RFC 9002, 7.6.2 */
static void reno_on_loss(struct ltp_cc *cc, u64 now_ns)
{
	struct reno *r = reno_priv(cc);

	/* RFC 5681, 3.1: the first timeout of several says what it was. */
	if (!r->collapsed)
		r->ssthresh = max(cc->cwnd / 2, reno_min_cwnd(cc));
	r->collapsed = 1;
	r->recovery = 0;
	r->undo_cwnd = 0;
	r->acked = 0;
	reno_set_cwnd(cc, 0);
	reno_set_pacing(cc, r);
}

static void reno_on_idle(struct ltp_cc *cc, u64 now_ns, u64 idle_ns)
{
	struct reno *r = reno_priv(cc);
	u32 start = LTP_CC_INITIAL_SEGS * cc->mss;

	/* An ACK that emptied the pipe a moment ago: not idle. */
	if (idle_ns < 2 * r->srtt_ns)
		return;
	r->idled = 1;
	if (idle_ns >= RENO_IDLE_NS && cc->cwnd > start) {
		u64 times = min(div_u64(idle_ns, RENO_IDLE_NS), 31ULL);

		r->ssthresh = max(r->ssthresh, cc->cwnd / 4 * 3);
		reno_set_cwnd(cc, max(cc->cwnd >> times, start));
	}
	reno_set_pacing(cc, r);
}

static void reno_init(struct ltp_cc *cc, u64 now_ns, u64 rtt_ns)
{
	struct reno *r = reno_priv(cc);

	r->ssthresh = S32_MAX;
	reno_take_rtt(r, rtt_ns);
	/* A window each round trip, until the first answer. */
	r->idled = 1;
	cc->cwnd = ltp_cc_initial_window(cc);
	reno_set_pacing(cc, r);
}

static void reno_resume(struct ltp_cc *cc, u32 cwnd)
{
	struct reno *r = reno_priv(cc);

	r->idled = 0;
	reno_set_cwnd(cc, cwnd);
	r->ssthresh = cc->cwnd;
	reno_set_pacing(cc, r);
}

const struct ltp_cc_ops ltp_cc_reno = {
	.name		= "reno",
	.init		= reno_init,
	.resume		= reno_resume,
	.on_ack		= reno_on_ack,
	.on_loss	= reno_on_loss,
	.on_idle	= reno_on_idle,
};
EXPORT_SYMBOL_IF_KUNIT(ltp_cc_reno);
