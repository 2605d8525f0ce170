// SPDX-License-Identifier: GPL-2.0
/*
 * When the next packet may leave. All that was sent has a length in time, its
 * size over the rate; next_ns is when that time ends. It may lag behind the
 * present by the length of a burst, which makes up for a timer that fires late
 * and bounds what leaves at once after a time without sending.
 */
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include "pacing.h"
#include "compat/compat.h"

/* Up to this size two packets make a burst at any rate: a jumbo frame. */
#define PACING_PACKET_MAX	9216
/* A rate that was estimated far too low must not shut us up for long. */
#define PACING_COST_MAX_NS	NSEC_PER_SEC

static u64 pacing_ns(u64 rate, u32 bytes)
{
	return div64_u64(bytes * (u64)NSEC_PER_SEC, rate);
}

/* How far next_ns may lag before a packet of @bytes is sent. */
static u64 pacing_lag(u64 rate, u32 bytes)
{
	u64 burst = min_t(u64, LTP_BURST_NS, pacing_ns(rate, LTP_BURST_BYTES));
	u64 cost = pacing_ns(rate, bytes);
	u64 packet = pacing_ns(rate, min_t(u32, bytes, PACING_PACKET_MAX));

	/* The packet itself is part of the burst. */
	return min_t(u64, max(burst > cost ? burst - cost : 0, packet),
		     PACING_COST_MAX_NS);
}

/**
 * ltp_pacing_restart() - the next packet is the first after an idle time
 * @p: sending clock
 * @now: time in ns
 *
 * What was not sent in that time is not made up for: where many answer one
 * trigger, so many bursts would meet.
 */
void ltp_pacing_restart(struct ltp_pacing *p, u64 now)
{
	if (p->next_ns < now) {
		p->next_ns = now;
		p->rem = 0;
	}
}
EXPORT_SYMBOL_IF_KUNIT(ltp_pacing_restart);

/**
 * ltp_pacing_delay() - how long the next packet has to wait
 * @p: sending clock
 * @now: time in ns
 *
 * Return: ns; 0: it may leave now.
 */
u64 ltp_pacing_delay(const struct ltp_pacing *p, u64 now)
{
	return p->next_ns > now ? p->next_ns - now : 0;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_pacing_delay);

/**
 * ltp_pacing_budget() - how much may leave at once
 * @p: sending clock
 * @rate: bytes a second, 0: not paced
 * @packet: size of a packet in bytes
 * @now: time in ns
 *
 * For building a train: one that is not larger, charged as a whole or packet
 * by packet, makes no longer burst than single packets would.
 *
 * Return: bytes, at least one packet if ltp_pacing_delay() is 0; 0 if not;
 * U32_MAX if not paced.
 */
u32 ltp_pacing_budget(const struct ltp_pacing *p, u64 rate, u32 packet, u64 now)
{
	u64 lag;

	if (!rate)
		return U32_MAX;
	if (p->next_ns > now)
		return 0;
	lag = min(now - p->next_ns, pacing_lag(rate, packet));
	return min_t(u64, mul_u64_u64_div_u64(lag, rate, NSEC_PER_SEC) + packet,
		     max_t(u32, 2 * packet, LTP_BURST_BYTES));
}
EXPORT_SYMBOL_IF_KUNIT(ltp_pacing_budget);

/**
 * ltp_pacing_sent() - a packet, or a train of them, has left
 * @p: sending clock
 * @rate: bytes a second, 0: not paced
 * @bytes: size
 * @now: time in ns
 */
void ltp_pacing_sent(struct ltp_pacing *p, u64 rate, u32 bytes, u64 now)
{
	u64 lag, cost, rem;

	if (!rate) {
		p->next_ns = now;
		p->rem = 0;
		return;
	}
	/* At 400 Gbit/s a packet takes 30 ns: the fraction counts. */
	cost = div64_u64_rem(bytes * (u64)NSEC_PER_SEC +
			     min(p->rem, rate - 1), rate, &rem);
	p->rem = rem;
	lag = pacing_lag(rate, bytes);
	if (now > lag)
		p->next_ns = max(p->next_ns, now - lag);
	p->next_ns += min_t(u64, cost, PACING_COST_MAX_NS);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_pacing_sent);
