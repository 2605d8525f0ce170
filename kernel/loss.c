// SPDX-License-Identifier: GPL-2.0
/*
 * Round-trip time, loss verdicts and the tail probe.
 *
 * The newest packet that arrived makes earlier ones lost: three packets later
 * (RFC 9002, 6.1.1) as long as the path keeps the order, and after 9/8 of a
 * round trip (6.1.2) in any case. A path that was seen to reorder has an
 * allowance beside (RFC 8985, 6.2), learnt from verdicts that were wrong.
 */
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "loss.h"
#include "compat/compat.h"

/* More is a mistake; it keeps all sums below far from overflow. */
#define LOSS_RTT_MAX_NS		(60 * NSEC_PER_SEC)
/* Interrupt coalescing alone makes this much disorder between flows. */
#define LOSS_REO_MIN_NS		(10 * NSEC_PER_USEC)
/* RFC 8985, 6.2: what was learnt lasts for so many recoveries without error. */
#define LOSS_REO_KEEP		16
#define LOSS_BACKOFF_MAX	16

static u64 loss_rtt(const struct ltp_loss *loss)
{
	return max(loss->latest_rtt_ns, loss->srtt_ns) ?: LTP_INITIAL_RTT_NS;
}

/* RFC 8985 has min_rtt / 4; where a queue stands that would be very little. */
static u64 loss_step(const struct ltp_loss *loss)
{
	return max3(loss->min_rtt_ns / 4, loss->srtt_ns / 32, 1ULL);
}

static void loss_update_reo(struct ltp_loss *loss)
{
	/* RFC 9002, 6.1.2 */
	u64 reo = loss_rtt(loss) / 8;

	/* RFC 8985, 6.2 step 4: at most srtt. */
	if (loss->reo_seen)
		reo = max(reo, min(loss_step(loss) * (1 + loss->reo_steps),
				   loss->srtt_ns));
	loss->reo_ns = max_t(u64, reo, LOSS_REO_MIN_NS);
}

/**
 * ltp_loss_init() - begin with a path of which nothing is known
 * @loss: state of the association
 */
void ltp_loss_init(struct ltp_loss *loss)
{
	memset(loss, 0, sizeof(*loss));
	loss_update_reo(loss);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_loss_init);

/**
 * ltp_loss_rtt() - take a round-trip time sample in
 * @loss: state of the association
 * @rtt_ns: from the transmission of a packet to the ACK that answers it
 * @delay_ns: how long the peer says it held the ACK back, already limited to
 *	what the peer may
 *
 * RFC 9002, 5.3: the delay does not count, unless the sample would become
 * smaller than the smallest that was ever seen.
 */
void ltp_loss_rtt(struct ltp_loss *loss, u64 rtt_ns, u64 delay_ns)
{
	u64 rtt = clamp_t(u64, rtt_ns, 1, LOSS_RTT_MAX_NS);
	u64 dev;

	loss->latest_rtt_ns = rtt;
	if (!loss->srtt_ns) {
		loss->min_rtt_ns = rtt;
		loss->srtt_ns = rtt;
		loss->rttvar_ns = rtt / 2;
		loss_update_reo(loss);
		return;
	}

	loss->min_rtt_ns = min(loss->min_rtt_ns, rtt);
	if (rtt - loss->min_rtt_ns >= delay_ns)
		rtt -= delay_ns;
	dev = rtt > loss->srtt_ns ? rtt - loss->srtt_ns : loss->srtt_ns - rtt;
	loss->rttvar_ns = (3 * loss->rttvar_ns + dev) / 4;
	loss->srtt_ns = (7 * loss->srtt_ns + rtt) / 8;
	/* 0 means that there was no sample. */
	loss->srtt_ns = max(loss->srtt_ns, 1ULL);
	loss_update_reo(loss);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_loss_rtt);

/**
 * ltp_loss_arrived() - a packet is known to have arrived
 * @loss: state of the association
 * @pn: its packet number
 * @sent_ns: when it was sent
 *
 * Of the packets that one ACK reports, pass the newest only, or all in the
 * order in which they were sent: an older one after a newer one counts as
 * reordering.
 */
void ltp_loss_arrived(struct ltp_loss *loss, u32 pn, u64 sent_ns)
{
	if (loss->have_newest && !ltp_after(pn, loss->newest_pn)) {
		if (pn != loss->newest_pn && !loss->reo_seen) {
			loss->reo_seen = 1;
			loss_update_reo(loss);
		}
		return;
	}
	loss->have_newest = 1;
	loss->newest_pn = pn;
	loss->newest_sent_ns = sent_ns;
	/* Forgotten in time, before the numbers come round. */
	if (!ltp_before(pn, loss->recovery_pn))
		loss->recovery = 0;
	if (!ltp_before(pn, loss->reo_pn))
		loss->reo_grew = 0;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_loss_arrived);

/**
 * ltp_loss_lost() - a packet was found lost
 * @loss: state of the association
 * @pn: its packet number
 * @next_pn: number that the next packet will have
 *
 * Losses of one round trip are one recovery. What was learnt of reordering is
 * forgotten after 16 of them without a wrong verdict.
 */
void ltp_loss_lost(struct ltp_loss *loss, u32 pn, u32 next_pn)
{
	if (loss->recovery && ltp_before(pn, loss->recovery_pn))
		return;
	loss->recovery = 1;
	loss->recovery_pn = next_pn;
	if (loss->reo_steps && !--loss->reo_keep) {
		loss->reo_steps = 0;
		loss_update_reo(loss);
	}
}
EXPORT_SYMBOL_IF_KUNIT(ltp_loss_lost);

/**
 * ltp_loss_spurious() - a packet that was found lost has arrived
 * @loss: state of the association
 * @pn: its packet number
 * @sent_ns: when it was sent
 * @next_pn: number that the next packet will have
 * @now: time in ns
 *
 * Later verdicts wait longer: as long as this one should have, and at least a
 * step longer, once a round trip.
 */
void ltp_loss_spurious(struct ltp_loss *loss, u32 pn, u64 sent_ns, u32 next_pn,
		       u64 now)
{
	u64 step = loss_step(loss);
	u64 took = now > sent_ns ? now - sent_ns : 0;
	u64 rtt = loss_rtt(loss);
	u64 steps = 0;

	loss->spurious++;
	loss->reo_seen = 1;
	loss->reo_keep = LOSS_REO_KEEP;
	if (took > rtt)
		steps = div64_u64(took - rtt, step);
	if (!loss->reo_grew || !ltp_before(pn, loss->reo_pn)) {
		loss->reo_grew = 1;
		loss->reo_pn = next_pn;
		steps = max(steps, loss->reo_steps + 1ULL);
	}
	/* More than the allowance can be would only be kept for longer. */
	steps = min(steps, DIV64_U64_ROUND_UP(loss->srtt_ns, step));
	loss->reo_steps = max_t(u64, loss->reo_steps, steps);
	loss_update_reo(loss);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_loss_spurious);

/**
 * ltp_loss_doubt() - a segment has arrived, but which of its packets?
 * @loss: state of the association
 * @doubt: what is known of it; the oldest entry is forgotten for it
 */
void ltp_loss_doubt(struct ltp_loss *loss, const struct ltp_doubt *doubt)
{
	loss->doubt[loss->next_doubt] = *doubt;
	loss->next_doubt = (loss->next_doubt + 1) % LTP_LOSS_DOUBTS;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_loss_doubt);

/**
 * ltp_loss_past() - the segment of a packet in flight is sent again
 * @loss: state of the association
 * @pn: number of the packet it was in
 * @sent_ns: when that was sent
 *
 * An ACK may answer the old packet yet: then that is an RTT sample, or else a
 * path that became slower than the tail probe would never give one.
 */
void ltp_loss_past(struct ltp_loss *loss, u32 pn, u64 sent_ns)
{
	struct ltp_past *past = &loss->past[loss->next_past];

	past->pn = pn;
	past->sent_ns = sent_ns;
	loss->next_past = (loss->next_past + 1) % LTP_LOSS_PAST;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_loss_past);

/**
 * ltp_loss_past_sent() - when was a packet sent whose segment was sent again?
 * @loss: state of the association
 * @pn: its number; it is forgotten
 *
 * Return: time in ns, 0: it is not remembered.
 */
u64 ltp_loss_past_sent(struct ltp_loss *loss, u32 pn)
{
	unsigned int i;

	for (i = 0; i < LTP_LOSS_PAST; i++) {
		u64 sent_ns = loss->past[i].sent_ns;

		if (!sent_ns || loss->past[i].pn != pn)
			continue;
		loss->past[i].sent_ns = 0;
		return sent_ns;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_loss_past_sent);

/**
 * ltp_loss_duplicate() - a packet has arrived whose segment had arrived before
 * @loss: state of the association
 * @pn: its packet number
 * @next_pn: number that the next packet will have
 * @now: time in ns
 *
 * If it was sent because another had been found lost, or had been found lost
 * itself, that was wrong.
 *
 * Return: bytes that were found lost in error, or 0.
 */
u32 ltp_loss_duplicate(struct ltp_loss *loss, u32 pn, u32 next_pn, u64 now)
{
	unsigned int i;

	for (i = 0; i < LTP_LOSS_DOUBTS; i++) {
		struct ltp_doubt *doubt = &loss->doubt[i];
		u32 bytes = doubt->bytes;

		if (!bytes || (pn != doubt->lost_pn &&
			       (pn != doubt->pn || doubt->named)))
			continue;
		doubt->bytes = 0;
		/* It came at some time before now; the next step is enough. */
		ltp_loss_spurious(loss, doubt->lost_pn, now, next_pn, now);
		return bytes;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_loss_duplicate);

/**
 * ltp_loss_verdict() - is a packet in flight lost?
 * @loss: state of the association
 * @pn: its packet number
 * @sent_ns: when it was sent
 * @now: time in ns
 * @when: if it is not lost, set to the time from which it will be, in ns;
 *	U64_MAX if that needs the arrival of another packet first
 *
 * For packets in the order in which they were sent: the first that is not
 * lost ends the search, and its @when is the earliest.
 *
 * Return: true if it is lost.
 */
bool ltp_loss_verdict(const struct ltp_loss *loss, u32 pn, u64 sent_ns,
		      u64 now, u64 *when)
{
	u64 due = sent_ns + loss_rtt(loss) + loss->reo_ns;

	*when = U64_MAX;
	if (!loss->have_newest || !ltp_before(pn, loss->newest_pn))
		return false;
	if (!loss->reo_seen && loss->newest_pn - pn >= LTP_LOSS_PACKETS)
		return true;
	if (now >= due)
		return true;
	*when = due;
	return false;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_loss_verdict);

/**
 * ltp_loss_acked() - something in flight was acknowledged
 * @loss: state of the association
 *
 * Ends the backoff of the tail probe.
 */
void ltp_loss_acked(struct ltp_loss *loss)
{
	loss->backoff = 0;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_loss_acked);

/**
 * ltp_loss_probed() - a tail probe was sent
 * @loss: state of the association
 *
 * It makes the time to the next one longer, see ltp_loss_pto().
 */
void ltp_loss_probed(struct ltp_loss *loss)
{
	if (loss->backoff < LOSS_BACKOFF_MAX)
		loss->backoff++;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_loss_probed);

/**
 * ltp_loss_pto() - time from the last transmission to the tail probe
 * @loss: state of the association
 * @max_ack_delay_ns: how long the peer may hold an ACK back
 *
 * RFC 9002, 6.2.1. There is no minimum but the granularity: the handshake's
 * sample and rttvar carry the rest, and a probe too many is one packet. It
 * doubles from the fourth on, as a few packets are no load, and eight times
 * only: where a third of all packets is lost, or where a burst of losses ends
 * after so many packets, a row of ten in vain is no rarity.
 *
 * Return: ns, at most LTP_PTO_MAX_NS.
 */
u64 ltp_loss_pto(const struct ltp_loss *loss, u64 max_ack_delay_ns)
{
	u64 pto = 2 * LTP_INITIAL_RTT_NS;

	if (loss->srtt_ns)
		pto = loss->srtt_ns + min_t(u64, max_ack_delay_ns, LTP_PTO_MAX_NS) +
		      max_t(u64, 4 * loss->rttvar_ns, LTP_GRANULARITY_NS);
	if (loss->backoff > LTP_PTO_LINEAR)
		pto <<= min(loss->backoff - LTP_PTO_LINEAR, LTP_PTO_DOUBLINGS);
	return min_t(u64, pto, LTP_PTO_MAX_NS);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_loss_pto);
