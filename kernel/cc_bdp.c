// SPDX-License-Identifier: GPL-2.0
/*
 * "bdp": about one bandwidth-delay product in flight, paced at the rate of the
 * bottleneck. After BBR (Cardwell et al., 2016); gains and thresholds are our
 * own choice.
 *
 * Model. BtlBw is the largest delivery rate of the last ten round trips that
 * had the data to measure it, RTprop the smallest RTT of ten seconds.
 *
 * Phases. STARTUP doubles until the rate stops growing or a queue stands, DRAIN
 * empties that queue, STEADY then asks for more in one round trip of eight.
 * PROBE_RTT makes room for a look at RTprop when ten seconds showed none.
 *
 * Congestion is a queue that stands for whole round trips (by RTT or by ECN), and
 * loss that depends on our rate: what exceeds the share that is lost when we
 * send least. That smallest share, the floor, belongs to the path. Where no
 * queue is seen it is made up for, or a path with 30 % of loss would talk the
 * estimate down round after round.
 *
 * Ceiling. While there is a queue the receiver's word counts for more than our
 * estimate; and more than we have is claimed when the receiver offers it
 * (Documentation/protocol.rst, Gather coordination).
 */
#include <linux/build_bug.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/time64.h>
#include "cc.h"
#include "compat/compat.h"

/* Gains, in units of 1 / BDP_UNIT. */
#define BDP_UNIT		256
#define BDP_GAIN_STARTUP	739	/* 2 / ln 2: doubles each round */
#define BDP_GAIN_SHARED		384	/* 3/2: STARTUP at the ceiling */
#define BDP_GAIN_UP		320	/* 5/4 */
#define BDP_GAIN_DOWN		192	/* 3/4 */
#define BDP_GAIN_YIELD		224	/* 7/8: drain a queue that stands */
#define BDP_GAIN_MARGIN		254	/* under 1: do not keep a queue */
#define BDP_CWND_STARTUP	512	/* 2 */
#define BDP_CWND_STEADY		320	/* 5/4: what the step up asks for */
#define BDP_CWND_CLAIM		640	/* 5/2: twice the rate, as STEADY */
#define BDP_CWND_COMPETE	512	/* 2 */
#define BDP_CWND_PROBE_RTT	128	/* 1/2 */

/* In flight beyond the product: an ACK that answers four packets. */
#define BDP_ACK_SEGS		4

#define BDP_RTPROP_WINDOW_NS	(10 * NSEC_PER_SEC)
#define BDP_PROBE_RTT_NS	(2 * NSEC_PER_MSEC)
#define BDP_RATE_ROUNDS		10
#define BDP_RATE_MAX		1000000000000ULL
#define BDP_RTT_MAX_NS		(60 * NSEC_PER_SEC)
/* RTT to pace the first window by if the handshake gave none. */
#define BDP_NOMINAL_RTT_NS	NSEC_PER_MSEC

/* A queue of this, and this part of RTprop, makes the ceiling hold. */
#define BDP_CROWDED_NS		(10 * NSEC_PER_USEC)
#define BDP_CROWDED		16

/* STARTUP takes this many times its rate in one round if the ceiling allows. */
#define BDP_JUMP		32ULL
/* The first window leaves in this time: the receiver measures the link by it. */
#define BDP_FIRST_NS		(250 * NSEC_PER_USEC)

#define BDP_FULL_ROUNDS		3
#define BDP_CYCLE		8
#define BDP_STEP_SEGS		8ULL
/*
 * A queue that outlives so many rounds of yielding is not ours: then compete,
 * and after this many rounds see again.
 */
#define BDP_YIELD_ROUNDS	16
#define BDP_QUEUE_ROUNDS	64
/* Longer than by the queues that others keep. */
#define BDP_LONGER		3
#define BDP_LONGER_NS		(100 * NSEC_PER_USEC)

/*
 * A claim to what the ceiling allows shows in the delivery rate after so many
 * rounds, or our bottleneck is another one: then not again for a while.
 */
#define BDP_CLAIM_ROUNDS	3
#define BDP_REFUSED_ROUNDS	32

/* A busy time of so many rounds gives a mean to begin the next one with. */
#define BDP_SHARE_ROUNDS	4

/* Shares of loss, in units of 1 / BDP_LOSS_UNIT. */
#define BDP_LOSS_UNIT		1024
#define BDP_LOSS_EXCESS		128	/* 1/8 over the floor */
#define BDP_LOSS_FLOOR_MAX	341	/* 1/3: gain at most 1.5 times */
#define BDP_LOSS_UNKNOWN	U16_MAX
#define BDP_LOSS_SEGS		64	/* fewer give no share */
#define BDP_LOSS_EPOCHS		8
/* Loss beyond the floor takes at most this off the rate: 7/10. */
#define BDP_LOSS_KEEP		179

enum bdp_phase {
	BDP_STARTUP,
	BDP_DRAIN,
	BDP_STEADY,
	BDP_PROBE_RTT,
};

/* Steps of BDP_STEADY; all further ones cruise. */
enum bdp_step {
	BDP_UP,
	BDP_DOWN,
	BDP_CRUISE,
};

/**
 * struct bdp - state of one association
 * @rate: largest delivery rate of each of the last rounds that had one
 * @btlbw: largest of them, bytes a second, 0: nothing measured
 * @full_rate: @btlbw when STARTUP last saw it grow
 * @up_rate: @btlbw when the last step up began, 0: there was none
 * @rtprop_ns: smallest RTT, 0: none measured
 * @rtprop_at_ns: when it was measured
 * @round_rtt_ns: smallest RTT in this round
 * @yield_rtt_ns: smallest RTT since @queue_rounds was 1
 * @rtt_sum_ns: sum of its RTTs
 * @round_rate: largest delivery rate in this round
 * @round_end: the round ends with a packet sent when this was delivered
 * @round_at_ns: start of this round
 * @phase_at_ns: start of the phase, or of the step in STEADY
 * @delivered: bytes acknowledged on this association
 * @busy_delivered: value of @delivered at the end of the last idle time
 * @busy_at_ns: when that was, 0: nothing was acknowledged yet
 * @acked: bytes acknowledged in this epoch of loss
 * @lost: bytes lost in it
 * @rtts: number of RTTs in this round
 * @acks: ACKs in it
 * @ce_acks: how many of them carried a mark of ECN
 * @rate_round: value of @rounds at the newest entry of @rate
 * @rounds: round trips so far
 * @jump: rate that STARTUP may try because of the ceiling, 0: none
 * @low_share: lowest ceiling that held since the last idle time, 0: none did
 * @claim_rate: @btlbw when the claim for more began
 * @claim_round: value of @rounds at that time
 * @refused_round: no claim before that round: the last one found nothing
 * @busy_round: value of @rounds at the end of the last idle time
 * @floor: smallest share of loss in this window of epochs
 * @old_floor: and in the window before
 * @epochs: epochs of loss in this window
 * @rate_slot: newest entry of @rate
 * @phase: enum bdp_phase
 * @step: enum bdp_step
 * @full_rounds: rounds without growth
 * @queue_rounds: rounds with a queue, one after the other
 * @empty: the last round saw an empty queue
 * @idled: nothing was acknowledged since an idle time
 * @crowded: there is a queue right now
 * @renew_rtprop: the next RTT replaces @rtprop_ns
 * @round_limited: this round, the application had nothing to send
 * @busy_limited: nor at some time since the last idle time
 */
struct bdp {
	u64 rate[BDP_RATE_ROUNDS];
	u64 btlbw;
	u64 full_rate;
	u64 up_rate;
	u64 rtprop_ns;
	u64 rtprop_at_ns;
	u64 round_rtt_ns;
	u64 yield_rtt_ns;
	u64 rtt_sum_ns;
	u64 round_rate;
	u64 round_end;
	u64 phase_at_ns;
	u64 delivered;
	u64 round_at_ns;
	u64 busy_delivered;
	u64 busy_at_ns;
	u64 jump;
	u64 low_share;
	u64 claim_rate;
	u32 claim_round;
	u32 refused_round;
	u32 acked;
	u32 lost;
	u32 rtts;
	u32 acks;
	u32 ce_acks;
	u32 rate_round;
	u32 rounds;
	u32 busy_round;
	u16 floor;
	u16 old_floor;
	u8 epochs;
	u8 rate_slot;
	u8 phase;
	u8 step;
	u8 full_rounds;
	u8 queue_rounds;
	u8 empty:1;
	u8 idled:1;
	u8 crowded:1;
	u8 renew_rtprop:1;
	u8 round_limited:1;
	u8 busy_limited:1;
};

static struct bdp *bdp_priv(struct ltp_cc *cc)
{
	BUILD_BUG_ON(sizeof(struct bdp) > sizeof(cc->priv));
	return (struct bdp *)cc->priv;
}

static u64 bdp_scale(u64 value, u32 gain)
{
	return value * gain / BDP_UNIT;
}

/* The share of loss that does not depend on our rate. */
static u32 bdp_loss_floor(const struct bdp *b)
{
	u16 floor = min(b->floor, b->old_floor);

	if (floor == BDP_LOSS_UNKNOWN)
		return 0;
	return min_t(u32, floor, BDP_LOSS_FLOOR_MAX);
}

/* What must be sent so that @value arrives. */
static u64 bdp_make_up(const struct bdp *b, u64 value)
{
	return div_u64(value * BDP_LOSS_UNIT,
		       BDP_LOSS_UNIT - bdp_loss_floor(b));
}

/* Bytes in flight at a rate. */
static u64 bdp_product(const struct bdp *b, u64 rate)
{
	u64 rtt = b->rtprop_ns ?: BDP_NOMINAL_RTT_NS;

	return min_t(u64, mul_u64_u64_div_u64(rate, rtt, NSEC_PER_SEC),
		     S32_MAX);
}

/* Bytes in flight that are @gain products; no less than the minimum. */
static u32 bdp_in_flight(const struct ltp_cc *cc, const struct bdp *b, u32 gain)
{
	u64 bytes = bdp_product(b, b->btlbw);

	bytes = bdp_scale(bdp_make_up(b, bytes), gain);
	return clamp_t(u64, bytes, LTP_CC_MIN_SEGS * cc->mss, S32_MAX);
}

/* The first window each round trip. */
static u64 bdp_first_rate(const struct ltp_cc *cc, const struct bdp *b)
{
	return div64_u64((u64)ltp_cc_initial_window(cc) * NSEC_PER_SEC,
			 b->rtprop_ns ?: BDP_NOMINAL_RTT_NS);
}

/* The estimate, or before there is one a window each round trip. */
static u64 bdp_rate(const struct ltp_cc *cc, const struct bdp *b)
{
	if (b->btlbw)
		return b->btlbw;
	return div64_u64((u64)cc->cwnd * NSEC_PER_SEC,
			 b->rtprop_ns ?: BDP_NOMINAL_RTT_NS);
}

/* With a ceiling, only until the queue has gone: the rate is known. */
static bool bdp_yields(const struct ltp_cc *cc, const struct bdp *b)
{
	return (b->crowded || !cc->ceiling) && b->queue_rounds >= 2 &&
	       b->queue_rounds <= BDP_YIELD_ROUNDS;
}

/* What the ceiling leaves us, or lets us have. */
static u64 bdp_share(const struct ltp_cc *cc, const struct bdp *b)
{
	return bdp_make_up(b, cc->ceiling);
}

/*
 * While there is a queue our part of the bottleneck is what the receiver says,
 * unless the queue is not one of its group: that one would outlive our yielding.
 */
static bool bdp_is_bound(const struct ltp_cc *cc, const struct bdp *b)
{
	return cc->ceiling && b->crowded &&
	       b->queue_rounds <= BDP_YIELD_ROUNDS;
}

/* There is more for us than we have: others have left, or we just came. */
static bool bdp_claims(const struct ltp_cc *cc, const struct bdp *b)
{
	return cc->ceiling > b->btlbw + b->btlbw / 8 &&
	       (s32)(b->rounds - b->refused_round) >= 0;
}

static void bdp_enter(struct bdp *b, u8 phase, u64 now)
{
	b->phase = phase;
	b->phase_at_ns = now;
}

static void bdp_enter_steady(const struct ltp_cc *cc, struct bdp *b, u64 now)
{
	bdp_enter(b, BDP_STEADY, now);
	/* Associations that start together should not ask together. */
	b->step = BDP_DOWN + hash_64(now + cc->seed, 32) % (BDP_CYCLE - 1);
}

/* Delivery rate: a new round evicts the oldest, but only if it has a sample. */
static void bdp_update_btlbw(struct bdp *b)
{
	unsigned int i;

	b->btlbw = 0;
	for (i = 0; i < BDP_RATE_ROUNDS; i++)
		b->btlbw = max(b->btlbw, b->rate[i]);
}

static void bdp_limit_btlbw(struct bdp *b, u64 rate)
{
	unsigned int i;

	for (i = 0; i < BDP_RATE_ROUNDS; i++)
		b->rate[i] = min(b->rate[i], rate);
	bdp_update_btlbw(b);
}

static void bdp_take_rate(const struct ltp_cc *cc, struct bdp *b,
			  const struct ltp_cc_sample *s)
{
	u64 bytes, rate;

	/* Shorter than a round trip is a burst of ACKs, not a rate. */
	if (!s->interval_ns || s->interval_ns < b->rtprop_ns ||
	    s->delivered <= s->prior_delivered)
		return;
	bytes = min_t(u64, s->delivered - s->prior_delivered, U32_MAX);
	rate = div64_u64(bytes * NSEC_PER_SEC, s->interval_ns);
	rate = min(rate, BDP_RATE_MAX);
	b->round_rate = max(b->round_rate, rate);
	/* Less was sent than could have been: that is no news of the path. */
	if ((s->app_limited || s->paced || bdp_yields(cc, b)) && rate < b->btlbw)
		return;

	if (b->rate_round != b->rounds) {
		b->rate_round = b->rounds;
		b->rate_slot = (b->rate_slot + 1) % BDP_RATE_ROUNDS;
		b->rate[b->rate_slot] = 0;
	}
	b->rate[b->rate_slot] = max(b->rate[b->rate_slot], rate);
	bdp_update_btlbw(b);
}

static void bdp_take_rtt(struct bdp *b, const struct ltp_cc_sample *s)
{
	u64 rtt = min_t(u64, s->rtt_ns, BDP_RTT_MAX_NS);
	bool expired;

	if (!rtt)
		return;
	b->round_rtt_ns = min(b->round_rtt_ns, rtt);
	b->rtt_sum_ns += rtt;
	b->rtts++;

	expired = s->now_ns > b->rtprop_at_ns + BDP_RTPROP_WINDOW_NS;
	if (expired && b->phase == BDP_STEADY && !b->idled)
		bdp_enter(b, BDP_PROBE_RTT, 0);
	if (!b->rtprop_ns || rtt <= b->rtprop_ns || expired ||
	    b->renew_rtprop) {
		b->rtprop_ns = rtt;
		b->rtprop_at_ns = s->now_ns;
		b->renew_rtprop = 0;
	}
	b->crowded = s->ce || rtt > b->rtprop_ns + b->rtprop_ns / BDP_CROWDED +
				    BDP_CROWDED_NS;
}

/*
 * At the end of a round: is there a queue? The mean RTT says it, the smallest
 * would favour whoever has many samples. The fewer segments an association has
 * in flight the more queue it bears, so that the large ones give way first (as
 * in Swift, Kumar et al., 2020).
 */
static void bdp_judge_queue(const struct ltp_cc *cc, struct bdp *b)
{
	u64 rtprop = b->rtprop_ns;
	u64 limit = rtprop + rtprop / 8;
	bool queue = b->ce_acks * 2 > b->acks;

	limit += min_t(u64, rtprop / 4 + 10 * NSEC_PER_USEC, NSEC_PER_MSEC);
	limit += div_u64(rtprop, int_sqrt(bdp_in_flight(cc, b, BDP_UNIT) /
					  cc->mss));
	b->empty = 0;
	if (b->rtts) {
		queue |= div_u64(b->rtt_sum_ns, b->rtts) > limit;
		/*
		 * A buffer that overflows is full all the time: even ten
		 * packets show. Below that noise would hide an empty one.
		 */
		b->empty = b->round_rtt_ns <=
			   rtprop + rtprop / 512 + 10 * NSEC_PER_USEC;
	}
	if (!queue) {
		b->queue_rounds = 0;
		return;
	}
	if (++b->queue_rounds == BDP_QUEUE_ROUNDS)
		b->queue_rounds = 1;
	if (b->queue_rounds == 1)
		b->yield_rtt_ns = U64_MAX;
	b->yield_rtt_ns = min(b->yield_rtt_ns, b->round_rtt_ns);
}

/*
 * All of our queue must have gone while we yielded. If each packet still takes
 * several times as long the path has become longer; to wait for RTprop to expire
 * would be seconds with next to nothing in flight.
 */
static void bdp_judge_path(struct bdp *b, u64 now)
{
	if (b->queue_rounds != BDP_YIELD_ROUNDS + 1 ||
	    b->yield_rtt_ns == U64_MAX ||
	    b->yield_rtt_ns < BDP_LONGER * b->rtprop_ns + BDP_LONGER_NS)
		return;
	b->rtprop_ns = b->yield_rtt_ns;
	b->rtprop_at_ns = now;
	b->queue_rounds = 0;
}

/* At the end of a round: is more lost than the path loses by itself? */
static bool bdp_judge_loss(const struct ltp_cc *cc, struct bdp *b)
{
	u64 sent = (u64)b->acked + b->lost;
	u32 share, limit;

	if (sent < (u64)BDP_LOSS_SEGS * cc->mss)
		return false;
	share = div64_u64((u64)b->lost * BDP_LOSS_UNIT, sent);
	b->acked = 0;
	b->lost = 0;

	/* Only then is the loss none of ours. */
	if (b->empty)
		b->floor = min_t(u16, b->floor, share);
	limit = bdp_loss_floor(b);
	limit += limit / 2 + BDP_LOSS_EXCESS;
	if (++b->epochs == BDP_LOSS_EPOCHS) {
		b->epochs = 0;
		b->old_floor = b->floor;
		b->floor = BDP_LOSS_UNKNOWN;
	}
	return share > limit && !b->empty;
}

/* Does the delivery rate follow a claim? Then the bottleneck is the receiver's. */
static void bdp_judge_claim(const struct ltp_cc *cc, struct bdp *b)
{
	if (b->phase != BDP_STEADY || !bdp_claims(cc, b)) {
		b->claim_rate = 0;
		return;
	}
	if (b->claim_rate &&
	    b->rounds - b->claim_round < BDP_CLAIM_ROUNDS)
		return;
	if (b->claim_rate && !b->round_limited &&
	    b->btlbw < b->claim_rate + b->claim_rate / 8) {
		b->claim_rate = 0;
		b->refused_round = b->rounds + BDP_REFUSED_ROUNDS;
		return;
	}
	b->claim_rate = b->btlbw;
	b->claim_round = b->rounds;
}

/* STARTUP need not search for what the receiver has seen already. */
static void bdp_plan_jump(const struct ltp_cc *cc, struct bdp *b)
{
	u64 rate = max(b->jump, bdp_first_rate(cc, b));

	b->jump = 0;
	if (b->phase == BDP_STARTUP && !b->crowded)
		b->jump = min(bdp_share(cc, b), BDP_JUMP * rate);
}

static void bdp_busy_from(struct bdp *b, u64 now)
{
	b->busy_delivered = b->delivered;
	b->busy_at_ns = now;
	b->busy_round = b->rounds;
	b->busy_limited = 0;
}

static void bdp_end_round(struct ltp_cc *cc, struct bdp *b, u64 now)
{
	bool congested;

	bdp_judge_queue(cc, b);
	bdp_judge_path(b, now);
	congested = bdp_judge_loss(cc, b);
	bdp_judge_claim(cc, b);
	if (bdp_is_bound(cc, b))
		bdp_limit_btlbw(b, bdp_scale(bdp_share(cc, b), BDP_GAIN_UP));
	bdp_plan_jump(cc, b);

	if (b->phase == BDP_STARTUP && bdp_is_bound(cc, b) &&
	    b->btlbw < bdp_scale(bdp_share(cc, b), BDP_GAIN_DOWN)) {
		/* The queue is that of others, who make room for us. */
	} else if (b->phase == BDP_STARTUP) {
		if (b->btlbw >= b->full_rate + b->full_rate / 4) {
			b->full_rate = b->btlbw;
			b->full_rounds = 0;
		} else if (!b->round_limited) {
			b->full_rounds++;
		}
		if (b->btlbw && (b->full_rounds >= BDP_FULL_ROUNDS ||
				 b->queue_rounds || congested)) {
			/* What it had of the bottleneck until now is no mean. */
			bdp_busy_from(b, now);
			bdp_enter(b, BDP_DRAIN, now);
		}
	} else if (congested && b->phase == BDP_STEADY) {
		if (b->step == BDP_UP) {
			b->step = BDP_DOWN;
			b->phase_at_ns = now;
		} else {
			bdp_limit_btlbw(b, max(b->round_rate,
					       bdp_scale(b->btlbw,
							 BDP_LOSS_KEEP)));
		}
	}
}

static void bdp_start_round(struct bdp *b, u64 delivered, u64 now)
{
	b->round_at_ns = now;
	b->rounds++;
	b->round_end = delivered;
	b->round_rtt_ns = U64_MAX;
	b->rtt_sum_ns = 0;
	b->rtts = 0;
	b->round_rate = 0;
	b->round_limited = 0;
	b->acks = 0;
	b->ce_acks = 0;
}

/*
 * Did the step up find all that it asked for, and no queue? Then somebody has
 * left, or the estimate was made in a bad moment: ask again at once.
 */
static bool bdp_rate_is_free(const struct bdp *b)
{
	return b->up_rate && b->empty &&
	       b->btlbw >= b->up_rate + b->up_rate / 6;
}

static void bdp_advance(const struct ltp_cc *cc, struct bdp *b,
			const struct ltp_cc_sample *s)
{
	u64 product = bdp_in_flight(cc, b, BDP_UNIT);
	u64 since = s->now_ns - b->phase_at_ns;
	u64 step_ns = b->rtprop_ns;

	switch (b->phase) {
	case BDP_DRAIN:
		if (s->in_flight <= product || since > 4 * b->rtprop_ns)
			bdp_enter_steady(cc, b, s->now_ns);
		break;
	case BDP_STEADY:
		/* A step that sends less than this is not seen. */
		step_ns = max(step_ns, div64_u64(BDP_STEP_SEGS * cc->mss *
						 NSEC_PER_SEC,
						 b->btlbw ?: BDP_RATE_MAX));
		if (since <= step_ns &&
		    !(b->step == BDP_DOWN && s->in_flight <= product))
			break;
		if (b->step == BDP_DOWN && bdp_rate_is_free(b))
			b->step = BDP_UP;
		else
			b->step = (b->step + 1) % BDP_CYCLE;
		b->phase_at_ns = s->now_ns;
		if (b->step == BDP_UP)
			b->up_rate = b->btlbw;
		break;
	case BDP_PROBE_RTT:
		if (!b->phase_at_ns) {
			if (s->in_flight <=
			    bdp_in_flight(cc, b, BDP_CWND_PROBE_RTT))
				b->phase_at_ns = s->now_ns;
		} else if (since > max_t(u64, 2 * b->rtprop_ns,
					 BDP_PROBE_RTT_NS)) {
			bdp_enter_steady(cc, b, s->now_ns);
		}
		break;
	}
}

/* Is it what the ceiling allows? That may still be far less than there is. */
static bool bdp_has_share(const struct ltp_cc *cc, const struct bdp *b)
{
	return cc->ceiling && b->btlbw >= bdp_scale(bdp_share(cc, b),
						    BDP_GAIN_YIELD);
}

static void bdp_set_pacing(struct ltp_cc *cc, const struct bdp *b)
{
	u64 rate = bdp_rate(cc, b);

	if (b->phase == BDP_STEADY && bdp_claims(cc, b)) {
		cc->pacing_rate = min(2 * rate, bdp_share(cc, b));
		return;
	}
	if (b->phase != BDP_STARTUP && bdp_is_bound(cc, b))
		rate = min(rate, bdp_share(cc, b));

	switch (b->phase) {
	case BDP_STARTUP:
		/* The first samples are of less than a window. */
		rate = max3(bdp_scale(rate, bdp_has_share(cc, b) ?
					    BDP_GAIN_SHARED : BDP_GAIN_STARTUP),
			    bdp_first_rate(cc, b), b->jump);
		if (bdp_is_bound(cc, b))
			rate = min(rate, bdp_share(cc, b));
		break;
	case BDP_STEADY:
		if (bdp_yields(cc, b))
			rate = bdp_scale(rate, BDP_GAIN_YIELD);
		else if (b->step == BDP_UP)
			rate = bdp_scale(b->empty ? bdp_make_up(b, rate) : rate,
					 BDP_GAIN_UP);
		else if (b->step == BDP_DOWN)
			rate = bdp_scale(rate, BDP_GAIN_DOWN);
		else
			rate = bdp_scale(b->empty ? bdp_make_up(b, rate) : rate,
					 BDP_GAIN_MARGIN);
		break;
	default:
		rate = bdp_scale(rate, BDP_GAIN_MARGIN);
		break;
	}
	cc->pacing_rate = clamp(rate, 10ULL * cc->mss, 4 * BDP_RATE_MAX);
}

static void bdp_set_cwnd(struct ltp_cc *cc, const struct bdp *b,
			 const struct ltp_cc_sample *s)
{
	u64 more = BDP_ACK_SEGS * cc->mss;
	u64 cwnd;

	switch (b->phase) {
	case BDP_STARTUP:
		cwnd = cc->cwnd;
		if (!b->btlbw || s->delivered < LTP_CC_INITIAL_SEGS * cc->mss ||
		    cwnd < bdp_in_flight(cc, b, BDP_CWND_STARTUP) + more)
			cwnd += s->acked;
		cwnd = max(cwnd, bdp_product(b, b->jump) + more);
		break;
	case BDP_DRAIN:
		cwnd = bdp_in_flight(cc, b, BDP_UNIT) + more;
		break;
	case BDP_PROBE_RTT:
		cwnd = bdp_in_flight(cc, b, BDP_CWND_PROBE_RTT);
		break;
	default:
		if (bdp_claims(cc, b))
			cwnd = bdp_in_flight(cc, b, BDP_CWND_CLAIM) + more;
		else if (bdp_yields(cc, b))
			cwnd = bdp_in_flight(cc, b, BDP_UNIT);
		else if (b->queue_rounds)
			cwnd = bdp_in_flight(cc, b, BDP_CWND_COMPETE) + more;
		else
			cwnd = bdp_in_flight(cc, b, BDP_CWND_STEADY) + more;
		break;
	}
	cc->cwnd = clamp_t(u64, cwnd, LTP_CC_MIN_SEGS * cc->mss, S32_MAX);
}

static void bdp_on_ack(struct ltp_cc *cc, const struct ltp_cc_sample *s)
{
	struct bdp *b = bdp_priv(cc);

	bdp_take_rtt(b, s);
	bdp_take_rate(cc, b, s);
	b->acked += min(s->acked, S32_MAX - min_t(u32, b->acked, S32_MAX));
	b->lost += min(s->lost, S32_MAX - min_t(u32, b->lost, S32_MAX));
	b->lost -= min(b->lost, s->spurious);
	b->acks++;
	b->ce_acks += s->ce;
	b->round_limited |= s->app_limited | s->paced;
	/* The first round trip of a busy time is always. */
	b->busy_limited |= s->app_limited && b->rounds - b->busy_round > 1;
	if (bdp_is_bound(cc, b))
		b->low_share = min(b->low_share ?: U64_MAX, bdp_share(cc, b));
	b->idled = 0;
	if (s->acked) {
		if (!b->busy_at_ns)
			b->busy_at_ns = s->now_ns - s->rtt_ns;
		b->delivered = s->delivered;
	}

	if (s->prior_delivered >= b->round_end && s->interval_ns) {
		bdp_end_round(cc, b, s->now_ns);
		bdp_start_round(b, s->delivered, s->now_ns);
	}
	if (!b->jump)
		bdp_plan_jump(cc, b);
	bdp_advance(cc, b, s);
	bdp_set_pacing(cc, b);
	bdp_set_cwnd(cc, b, s);
}

static void bdp_reset(struct bdp *b, u64 now)
{
	memset(b->rate, 0, sizeof(b->rate));
	b->btlbw = 0;
	b->full_rate = 0;
	b->up_rate = 0;
	b->full_rounds = 0;
	b->queue_rounds = 0;
	b->empty = 0;
	bdp_enter(b, BDP_STARTUP, now);
}

static void bdp_on_loss(struct ltp_cc *cc, u64 now_ns)
{
	struct bdp *b = bdp_priv(cc);

	bdp_reset(b, now_ns);
	b->renew_rtprop = 1;
	cc->cwnd = LTP_CC_MIN_SEGS * cc->mss;
	cc->pacing_rate = bdp_rate(cc, b);
}

/*
 * At the end of a busy time: what we had of the bottleneck is less than the
 * best round shows, when others came and went. If all begin the next time with
 * their best, that is a multiple of the bottleneck.
 */
static void bdp_take_share(struct bdp *b)
{
	u64 bytes = b->round_end - b->busy_delivered;
	u64 took = b->round_at_ns - b->busy_at_ns;

	if (b->phase == BDP_STARTUP || b->busy_limited ||
	    took <= 2 * b->rtprop_ns ||
	    b->rounds - b->busy_round < BDP_SHARE_ROUNDS ||
	    b->round_end <= b->busy_delivered)
		return;
	/* The first answer took a round trip. */
	took -= b->rtprop_ns;
	bdp_limit_btlbw(b, mul_u64_u64_div_u64(bytes, NSEC_PER_SEC, took));
}

static u64 bdp_restart_rate(const struct ltp_cc *cc, const struct bdp *b)
{
	u64 rate = bdp_rate(cc, b);

	/* Small messages were all there was to see: that is not the path. */
	if (b->phase == BDP_STARTUP)
		rate = max(rate, bdp_first_rate(cc, b));
	return rate;
}

static void bdp_on_idle(struct ltp_cc *cc, u64 now_ns, u64 idle_ns)
{
	struct bdp *b = bdp_priv(cc);

	/* All may begin again together: at what was left when all were busy. */
	if (b->low_share)
		bdp_limit_btlbw(b, b->low_share);
	b->low_share = 0;
	cc->pacing_rate = min(bdp_restart_rate(cc, b), cc->pacing_rate);
	/* It was for those who were active at that time. */
	cc->ceiling = 0;

	/* An ACK that emptied the pipe a moment ago: not idle. */
	if (idle_ns < 2 * b->rtprop_ns)
		return;
	bdp_take_share(b);
	bdp_busy_from(b, now_ns);
	b->idled = 1;
	b->queue_rounds = 0;
	/* The queue is empty of ours: a good time to look at RTprop again. */
	if (now_ns > b->rtprop_at_ns + BDP_RTPROP_WINDOW_NS / 2)
		b->renew_rtprop = 1;
	if (b->phase != BDP_STARTUP) {
		bdp_enter(b, BDP_STEADY, now_ns);
		/*
		 * Not all that answer one trigger may ask for more at once; but
		 * flows shorter than a cycle must come to its end together.
		 */
		if (b->step < BDP_CRUISE)
			b->step = BDP_CRUISE;
	}
	/* Neither a gain nor what loss asked for: the last rate, no more. */
	cc->pacing_rate = min(bdp_restart_rate(cc, b), cc->pacing_rate);
}

static void bdp_init(struct ltp_cc *cc, u64 now_ns, u64 rtt_ns)
{
	struct bdp *b = bdp_priv(cc);

	b->floor = BDP_LOSS_UNKNOWN;
	b->old_floor = BDP_LOSS_UNKNOWN;
	b->round_rtt_ns = U64_MAX;
	b->rtprop_ns = min_t(u64, rtt_ns, BDP_RTT_MAX_NS);
	b->rtprop_at_ns = now_ns;
	bdp_reset(b, now_ns);
	cc->cwnd = ltp_cc_initial_window(cc);
	cc->pacing_rate = max(bdp_rate(cc, b),
			      div_u64((u64)cc->cwnd * NSEC_PER_SEC,
				      BDP_FIRST_NS));
}

static void bdp_info(const struct ltp_cc *cc, struct ltp_info *info)
{
	const struct bdp *b = (const struct bdp *)cc->priv;

	info->btlbw = b->btlbw;
	info->rtprop_us = min_t(u64, div_u64(b->rtprop_ns, NSEC_PER_USEC),
				U32_MAX);
}

const struct ltp_cc_ops ltp_cc_bdp = {
	.name		= "bdp",
	.init		= bdp_init,
	.on_ack		= bdp_on_ack,
	.on_loss	= bdp_on_loss,
	.on_idle	= bdp_on_idle,
	.info		= bdp_info,
};
EXPORT_SYMBOL_IF_KUNIT(ltp_cc_bdp);
