// SPDX-License-Identifier: GPL-2.0
/*
 * Gather coordination: the receiver is the only one who sees all flows of a
 * gather arrive, so it measures how much can, and divides that.
 *
 * The capacity is the highest rate at which packets arrived for the length of a
 * window. It may be far too low, when the senders had little to send or slow
 * paths of their own; only where a queue stands is it the bottleneck's rate.
 * Whether one stands a sender knows: it obeys the ceiling then, and only then.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include "ceiling.h"
#include "compat/compat.h"

/*
 * Shorter windows would measure how fast a batch was taken from the device, not
 * the link. Until there was one, a burst has to do: the first packets of a
 * gather are when the ceiling is needed most.
 */
#define CEILING_WINDOW_NS	(100 * NSEC_PER_USEC)
#define CEILING_PACKETS		32
#define CEILING_QUICK_PACKETS	16
/* A capacity that was not seen for so many windows is forgotten. */
#define CEILING_EPOCH		128
#define CEILING_RATE_MAX	1000000000000ULL

/* What is divided: a little less than all, so that a queue goes away. */
#define CEILING_KEEP		63
#define CEILING_UNIT		64

static u64 ceiling_rate(const struct ltp_ceiling *c, u64 took)
{
	u64 bytes = min_t(u64, c->bytes, U32_MAX);

	return min(div64_u64(bytes * NSEC_PER_SEC, took), CEILING_RATE_MAX);
}

/**
 * ltp_ceiling_arrived() - a packet for the group arrived
 * @c: the group's arrivals
 * @bytes: its payload
 * @now: when
 */
void ltp_ceiling_arrived(struct ltp_ceiling *c, u32 bytes, u64 now)
{
	u64 took;

	if (!c->start_ns || now < c->start_ns) {
		c->start_ns = now;
		c->bytes = 0;
		c->packets = 0;
		return;
	}
	c->bytes += bytes;
	c->packets++;
	took = now - c->start_ns;
	if (!c->best && !c->before && took &&
	    c->packets >= CEILING_QUICK_PACKETS)
		c->quick = max(c->quick, ceiling_rate(c, took));
	if (took < CEILING_WINDOW_NS || c->packets < CEILING_PACKETS)
		return;

	c->best = max(c->best, ceiling_rate(c, took));
	if (++c->windows == CEILING_EPOCH) {
		c->windows = 0;
		c->before = c->best;
		c->best = 0;
	}
	c->start_ns = now;
	c->bytes = 0;
	c->packets = 0;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ceiling_arrived);

/**
 * ltp_ceiling_capacity() - the highest rate seen lately
 * @c: the group's arrivals
 *
 * Return: bytes a second, 0: nothing measured
 */
u64 ltp_ceiling_capacity(const struct ltp_ceiling *c)
{
	return max(c->best, c->before) ?: c->quick;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ceiling_capacity);

/**
 * ltp_ceiling_share() - the rate ceiling of each sender
 * @c: the group's arrivals
 * @active: senders with a flow under way
 *
 * Return: bytes a second, 0: none. One alone would be bound to what it had, and
 * lose to others who are not of the group.
 */
u64 ltp_ceiling_share(const struct ltp_ceiling *c, u32 active)
{
	u64 capacity = ltp_ceiling_capacity(c);

	if (active < 2)
		return 0;
	return div_u64(capacity * CEILING_KEEP / CEILING_UNIT, active);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ceiling_share);
