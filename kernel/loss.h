/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Round-trip time, loss verdicts from the order of transmissions, and the
 * tail probe: after RFC 6298, RFC 8985 (RACK) and RFC 9002. Pure logic, one
 * instance an association; times are arguments, in nanoseconds.
 */
#ifndef _LTP_LOSS_H
#define _LTP_LOSS_H

#include <linux/time64.h>
#include <linux/types.h>
#include "serial.h"

/**
 * struct ltp_loss - what one association knows of its path
 * @srtt_ns: smoothed RTT, 0: no sample yet
 * @rttvar_ns: mean deviation
 * @min_rtt_ns: smallest sample
 * @latest_rtt_ns: newest sample
 * @newest_pn: largest packet number known to have arrived
 * @newest_sent_ns: when it was sent
 * @reo_ns: reordering allowance beyond the RTT of the newest packet
 * @reo_since_ns: transmission time of the newest packet at the last change of
 *	@reo_steps
 * @reo_steps: how often a verdict was wrong, each adds min_rtt / 4
 * @reo_seen: a packet arrived after one that was sent later
 * @have_newest: @newest_pn is valid
 * @backoff: tail probes since something was acknowledged
 * @spurious: verdicts that turned out to be wrong
 */
struct ltp_loss {
	u64 srtt_ns;
	u64 rttvar_ns;
	u64 min_rtt_ns;
	u64 latest_rtt_ns;
	u64 newest_sent_ns;
	u64 reo_ns;
	u64 reo_since_ns;
	u32 newest_pn;
	u32 spurious;
	u16 reo_steps;
	u8 backoff;
	u8 have_newest:1;
	u8 reo_seen:1;
};

/* RFC 9002, 6.1.1: a packet this many later in order makes one lost. */
#define LTP_LOSS_PACKETS	3
/* RFC 9002, 6.2.2: before there is a sample. */
#define LTP_INITIAL_RTT_NS	(333 * NSEC_PER_MSEC)
/*
 * RFC 9002, 6.1.2, takes 1 ms for the granularity of timers. Ours are hrtimers:
 * this is room for a softirq that comes late, at a data centre's RTT.
 */
#define LTP_GRANULARITY_NS	(200 * NSEC_PER_USEC)
#define LTP_PTO_MAX_NS		(10 * NSEC_PER_SEC)

void ltp_loss_init(struct ltp_loss *loss);
void ltp_loss_rtt(struct ltp_loss *loss, u64 rtt_ns, u64 delay_ns);
void ltp_loss_arrived(struct ltp_loss *loss, u32 pn, u64 sent_ns);
void ltp_loss_spurious(struct ltp_loss *loss);
bool ltp_loss_verdict(const struct ltp_loss *loss, u32 pn, u64 sent_ns,
		      u64 now, u64 *when);
void ltp_loss_acked(struct ltp_loss *loss);
void ltp_loss_probed(struct ltp_loss *loss);
u64 ltp_loss_pto(const struct ltp_loss *loss, u64 max_ack_delay_ns);

#endif /* _LTP_LOSS_H */
