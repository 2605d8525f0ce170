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

/* Segments in doubt, and packets before the last of a segment: remembered. */
#define LTP_LOSS_DOUBTS		16
#define LTP_LOSS_PAST		8

/**
 * struct ltp_doubt - a segment that was found lost, sent again, and arrived
 * @pn: the packet it was sent again in, which may have been one too many
 * @lost_pn: the packet that was found lost
 * @bytes: its payload, 0: no entry
 * @named: the ACK named @pn: that was not one too many
 */
struct ltp_doubt {
	u32 pn;
	u32 lost_pn;
	u32 bytes;
	bool named;
};

/**
 * struct ltp_past - a packet whose segment has been sent again since, unasked
 * @sent_ns: when it was sent, 0: no entry
 * @pn: its packet number
 */
struct ltp_past {
	u64 sent_ns;
	u32 pn;
};

/**
 * struct ltp_loss - what one association knows of its path
 * @srtt_ns: smoothed RTT, 0: no sample yet
 * @rttvar_ns: mean deviation
 * @min_rtt_ns: smallest sample
 * @latest_rtt_ns: newest sample
 * @newest_pn: largest packet number known to have arrived
 * @newest_sent_ns: when it was sent
 * @reo_ns: reordering allowance beyond the larger of newest and smoothed RTT
 * @doubt: verdicts that may turn out to be wrong, a ring
 * @past: packets that a tail probe followed, a ring
 * @reo_pn: packets before this one were sent before @reo_steps last grew
 * @recovery_pn: packets before this one were sent before the last loss
 * @reo_steps: learnt from wrong verdicts; a step is a quarter of the smallest RTT,
 *	or a 32nd of srtt
 * @reo_keep: after so many more recoveries the steps are forgotten
 * @next_doubt: oldest entry of @doubt
 * @next_past: and of @past
 * @reo_seen: a packet arrived after one that was sent later
 * @reo_grew: @reo_pn is valid
 * @recovery: @recovery_pn is valid
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
	struct ltp_doubt doubt[LTP_LOSS_DOUBTS];
	struct ltp_past past[LTP_LOSS_PAST];
	u32 newest_pn;
	u32 spurious;
	u32 reo_pn;
	u32 recovery_pn;
	u16 reo_steps;
	u8 reo_keep;
	u8 next_doubt;
	u8 next_past;
	u8 backoff;
	u8 have_newest:1;
	u8 reo_seen:1;
	u8 reo_grew:1;
	u8 recovery:1;
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
#define LTP_PTO_LINEAR		3	/* probes before the first doubling */
#define LTP_PTO_DOUBLINGS	8

void ltp_loss_init(struct ltp_loss *loss);
void ltp_loss_rtt(struct ltp_loss *loss, u64 rtt_ns, u64 delay_ns);
void ltp_loss_arrived(struct ltp_loss *loss, u32 pn, u64 sent_ns);
void ltp_loss_lost(struct ltp_loss *loss, u32 pn, u32 next_pn);
void ltp_loss_spurious(struct ltp_loss *loss, u32 pn, u64 sent_ns, u32 next_pn,
		       u64 now);
void ltp_loss_doubt(struct ltp_loss *loss, const struct ltp_doubt *doubt);
void ltp_loss_past(struct ltp_loss *loss, u32 pn, u64 sent_ns);
u64 ltp_loss_past_sent(struct ltp_loss *loss, u32 pn);
u32 ltp_loss_duplicate(struct ltp_loss *loss, u32 pn, u32 next_pn, u64 now);
bool ltp_loss_verdict(const struct ltp_loss *loss, u32 pn, u64 sent_ns,
		      u64 now, u64 *when);
void ltp_loss_acked(struct ltp_loss *loss);
void ltp_loss_probed(struct ltp_loss *loss);
u64 ltp_loss_pto(const struct ltp_loss *loss, u64 max_ack_delay_ns);

#endif /* _LTP_LOSS_H */
