// SPDX-License-Identifier: GPL-2.0
/* A model of a path; see link.h. */
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "link.h"
#include "random.h"

static struct link_packet *link_packet(struct link_sender *s, u32 pn)
{
	return &s->packets[pn % LINK_PACKETS];
}

static u32 link_active(const struct link *link)
{
	u32 active = 0;
	u32 i;

	for (i = 0; i < link->senders; i++)
		active += link->sender[i].left || link->sender[i].flight;
	return active;
}

static void link_send_ack(struct link *link, struct link_sender *s, u64 at)
{
	s->ack.delay_ns = at - s->ack_newest_ns;
	if (link->group)
		s->ack.ceiling = ltp_ceiling_share(&link->ceiling,
						   link_active(link));
	if (s->ack_tail - s->ack_head < LINK_ACKS) {
		s->ack.at_ns = at + link->rtt_ns;
		s->acks[s->ack_tail++ % LINK_ACKS] = s->ack;
	}
	memset(&s->ack, 0, sizeof(s->ack));
	s->ack_due_ns = 0;
}

/*
 * A packet passes the bottleneck. All delay is behind it, so what the receiver
 * does at @at can be worked out now; only the ACK travels.
 */
static void link_pass(struct link *link, struct link_sender *s, u32 pn,
		      bool answer)
{
	u64 queue = link->free_ns > link->now ? link->free_ns - link->now : 0;
	bool ce = link->mark_ns && queue > link->mark_ns;
	u64 at;

	link->queue_max_ns = max(link->queue_max_ns, queue);
	link->queue_sum_ns += queue;
	link->queue_seen++;
	if (random_next(&link->random) % 1000000 < link->loss_ppm)
		return;
	if (queue > link->buffer_ns) {
		link->dropped++;
		return;
	}
	link->free_ns = max(link->free_ns, link->now) +
			div64_u64(LINK_WIRE * NSEC_PER_SEC, link->rate);
	at = link->free_ns;

	if (link->group)
		ltp_ceiling_arrived(&link->ceiling, LINK_MSS, at);
	/* Held back too long before this one came. */
	if (s->ack_due_ns && s->ack_due_ns <= at)
		link_send_ack(link, s, s->ack_due_ns);
	if (!s->ack.count)
		s->ack_due_ns = at + link->ack_delay_ns;
	s->ack.pn[s->ack.count++] = pn;
	s->ack.ce = ce;
	s->ack_newest_ns = at;
	if (answer || s->ack.count == link->ack_every)
		link_send_ack(link, s, at);
}

static void link_send(struct link *link, struct link_sender *s, bool answer)
{
	struct link_packet *p = link_packet(s, s->pn);
	u64 rate = s->cc.pacing_rate;

	if (s->idle) {
		s->idle = false;
		ltp_pacing_restart(&s->pacing, link->now);
		s->cc.ops->on_idle(&s->cc, link->now,
				   link->now - s->last_sent_ns);
	}
	if (!s->flight) {
		s->first_sent_ns = link->now;
		s->delivered_ns = link->now;
	}
	p->sent_ns = link->now;
	p->delivered = s->delivered;
	p->delivered_ns = s->delivered_ns;
	p->first_sent_ns = s->first_sent_ns;
	p->gone = false;
	p->lost = false;
	s->flight += LINK_MSS;
	s->left -= min_t(u64, s->left, LINK_MSS);
	s->last_sent_ns = link->now;
	ltp_pacing_sent(&s->pacing, rate, LINK_MSS, link->now);
	link_pass(link, s, s->pn++, answer || !s->left);
}

static void link_find_lost(struct link *link, struct link_sender *s)
{
	s->when_ns = U64_MAX;
	for (; s->oldest != s->pn; s->oldest++) {
		struct link_packet *p = link_packet(s, s->oldest);

		if (p->gone)
			continue;
		if (!ltp_loss_verdict(&s->loss, s->oldest, p->sent_ns,
				      link->now, &s->when_ns))
			break;
		ltp_loss_lost(&s->loss, s->oldest, s->pn);
		p->gone = true;
		p->lost = true;
		s->flight -= LINK_MSS;
		s->left += LINK_MSS;
		s->lost++;
		s->news_lost += LINK_MSS;
		s->news_lost_pn = s->oldest;
	}
}

static void link_on_ack(struct link *link, struct link_sender *s,
			const struct link_ack *ack)
{
	u32 newest = ack->pn[ack->count - 1];
	struct link_packet *p = link_packet(s, newest);
	struct ltp_cc_sample sample = {
		.now_ns = link->now,
		.rtt_ns = link->now - p->sent_ns - ack->delay_ns,
		.prior_delivered = p->delivered,
		.acked_pn = newest,
		.next_pn = s->pn,
		.ce = ack->ce,
	};
	unsigned int i;

	for (i = 0; i < ack->count; i++) {
		struct link_packet *q = link_packet(s, ack->pn[i]);

		ltp_loss_arrived(&s->loss, ack->pn[i], q->sent_ns);
		if (q->lost) {
			ltp_loss_spurious(&s->loss, ack->pn[i], q->sent_ns,
					  s->pn, link->now);
			sample.spurious += LINK_MSS;
		}
		if (!q->gone) {
			s->flight -= LINK_MSS;
			sample.acked += LINK_MSS;
		}
		q->gone = true;
		q->lost = false;
	}
	ltp_loss_rtt(&s->loss, link->now - p->sent_ns, ack->delay_ns);
	ltp_loss_acked(&s->loss);

	s->delivered += sample.acked;
	s->delivered_ns = link->now;
	s->first_sent_ns = p->sent_ns;
	sample.delivered = s->delivered;
	sample.interval_ns = max(p->sent_ns - p->first_sent_ns,
				 link->now - p->delivered_ns);
	s->cc.ceiling = ack->ceiling;
	link_find_lost(link, s);
	sample.lost = s->news_lost;
	sample.lost_pn = s->news_lost_pn;
	s->news_lost = 0;
	sample.in_flight = s->flight;
	s->cc.ops->on_ack(&s->cc, &sample);
	if (!s->flight && !s->left)
		s->idle = true;
}

static u64 link_next_send(const struct link *link, const struct link_sender *s)
{
	if (!s->left || s->flight + LINK_MSS > s->cc.cwnd ||
	    s->pn - s->oldest >= LINK_PACKETS)
		return U64_MAX;
	return max3(s->start_ns, s->pacing.next_ns, link->now);
}

static u64 link_next_probe(const struct link *link, const struct link_sender *s)
{
	if (!s->flight)
		return U64_MAX;
	return s->last_sent_ns + ltp_loss_pto(&s->loss, link->ack_delay_ns);
}

static void link_probe(struct link *link, struct link_sender *s)
{
	ltp_loss_probed(&s->loss);
	if (s->loss.backoff > 2)
		s->cc.ops->on_loss(&s->cc, link->now);
	link_send(link, s, true);
}

static u64 link_next_ack(const struct link *link, const struct link_sender *s)
{
	if (s->ack_head == s->ack_tail)
		return U64_MAX;
	return s->acks[s->ack_head % LINK_ACKS].at_ns;
}

/**
 * link_alloc() - a path with senders, at rest
 * @rate: of the bottleneck, bytes a second
 * @rtt_ns: round-trip time without any queue
 * @senders: number of associations
 *
 * The buffer takes one product of both, ACKs come for each fourth packet.
 *
 * Return: the path, or NULL.
 */
struct link *link_alloc(u64 rate, u64 rtt_ns, u32 senders)
{
	struct link *link = kvzalloc(sizeof(*link), GFP_KERNEL);
	u32 i;

	if (!link)
		return NULL;
	link->rate = rate;
	link->rtt_ns = rtt_ns;
	link->buffer_ns = rtt_ns;
	link->ack_every = 4;
	link->ack_delay_ns = NSEC_PER_MSEC;
	link->senders = senders;
	link->random = RANDOM_SEED;
	for (i = 0; i < senders; i++) {
		struct link_sender *s = &link->sender[i];

		s->packets = kvcalloc(LINK_PACKETS, sizeof(*s->packets),
				      GFP_KERNEL);
		s->acks = kvcalloc(LINK_ACKS, sizeof(*s->acks), GFP_KERNEL);
		if (!s->packets || !s->acks) {
			link_free(link);
			return NULL;
		}
		s->left = U64_MAX / 2;
		s->when_ns = U64_MAX;
	}
	return link;
}

void link_free(struct link *link)
{
	u32 i;

	for (i = 0; i < LINK_SENDERS; i++) {
		kvfree(link->sender[i].packets);
		kvfree(link->sender[i].acks);
	}
	kvfree(link);
}

/**
 * link_start() - the handshakes are over
 * @link: the path
 * @ops: congestion control of all senders
 */
void link_start(struct link *link, const struct ltp_cc_ops *ops)
{
	u32 i;

	link->now = NSEC_PER_SEC;
	link->marked_ns = link->now;
	for (i = 0; i < link->senders; i++) {
		struct link_sender *s = &link->sender[i];

		ltp_loss_init(&s->loss);
		ltp_loss_rtt(&s->loss, link->rtt_ns, 0);
		s->cc.seed = i;
		if (link->group)
			s->cc.group = link->senders;
		ltp_cc_init(&s->cc, ops, LINK_MSS, link->now, link->rtt_ns);
	}
}

/**
 * link_run() - let time pass
 * @link: the path
 * @until_ns: how much, in ns
 */
void link_run(struct link *link, u64 until_ns)
{
	u64 until = link->now + until_ns;

	for (;;) {
		enum { ACK, LATE_ACK, VERDICT, PROBE, SEND, KINDS } what = ACK;
		struct link_sender *which = NULL;
		u64 next = U64_MAX;
		u32 i;

		for (i = 0; i < link->senders; i++) {
			struct link_sender *s = &link->sender[i];
			const u64 times[KINDS] = {
				[ACK] = link_next_ack(link, s),
				[LATE_ACK] = s->ack_due_ns ?: U64_MAX,
				[VERDICT] = s->when_ns,
				[PROBE] = link_next_probe(link, s),
				[SEND] = link_next_send(link, s),
			};
			unsigned int k;

			for (k = 0; k < KINDS; k++) {
				if (times[k] < next) {
					next = times[k];
					which = s;
					what = k;
				}
			}
		}
		if (next > until)
			break;

		link->now = max(link->now, next);
		switch (what) {
		case ACK:
			link_on_ack(link, which,
				    &which->acks[which->ack_head++ % LINK_ACKS]);
			break;
		case LATE_ACK:
			link_send_ack(link, which, which->ack_due_ns);
			break;
		case VERDICT:
			link_find_lost(link, which);
			break;
		case PROBE:
			link_probe(link, which);
			break;
		default:
			link_send(link, which, false);
		}
	}
	link->now = until;
}

/**
 * link_mark() - measure from now on
 * @link: the path
 */
void link_mark(struct link *link)
{
	u32 i;

	for (i = 0; i < link->senders; i++)
		link->sender[i].marked = link->sender[i].delivered;
	link->queue_max_ns = 0;
	link->queue_sum_ns = 0;
	link->queue_seen = 0;
	link->dropped = 0;
	link->marked_ns = link->now;
}

/**
 * link_share() - what a sender had of the bottleneck since link_mark()
 * @link: the path
 * @sender: index of the sender
 *
 * Return: its acknowledged bytes as share of what the rate allows, headers
 * counted, in thousandths.
 */
u32 link_share(const struct link *link, u32 sender)
{
	const struct link_sender *s = &link->sender[sender];
	u64 packets = div_u64(s->delivered - s->marked, LINK_MSS);
	u64 room = div64_u64((link->now - link->marked_ns) * (link->rate / 1000),
			     1000000);

	return div64_u64(packets * LINK_WIRE * 1000, max(room, 1ULL));
}

/**
 * link_used() - what all senders had of it
 * @link: the path
 *
 * Return: as link_share().
 */
u32 link_used(const struct link *link)
{
	u32 used = 0;
	u32 i;

	for (i = 0; i < link->senders; i++)
		used += link_share(link, i);
	return used;
}

/**
 * link_queue() - mean queue that a packet saw since link_mark()
 * @link: the path
 *
 * Return: its length in ns.
 */
u64 link_queue(const struct link *link)
{
	return div64_u64(link->queue_sum_ns, max(link->queue_seen, 1ULL));
}
