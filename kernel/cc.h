/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Congestion control: the table through which an association asks how much
 * may be in flight and how fast. Pure logic; the caller holds the socket lock
 * and passes the time. Rates are bytes a second, times nanoseconds, sizes
 * payload bytes.
 */
#ifndef _LTP_CC_H
#define _LTP_CC_H

#include <linux/types.h>
#include "../uapi/linux/ltp.h"

/**
 * struct ltp_cc_sample - what one ACK tells
 * @now_ns: when it came
 * @rtt_ns: round-trip time of the newest packet, 0: none measured
 * @acked: bytes newly acknowledged by it
 * @lost: bytes newly found lost
 * @in_flight: bytes in flight after it
 * @delivered: bytes acknowledged on this association so far, it included
 * @prior_delivered: value of @delivered when the newest packet was sent
 * @interval_ns: time over which @delivered - @prior_delivered took place: the
 *	longer of the send and the ACK interval
 * @spurious: bytes found lost before, and now known not to have been
 * @next_pn: number that the next packet will have
 * @acked_pn: newest packet that it answers, if @acked
 * @lost_pn: newest packet of @lost
 * @app_limited: the sender had nothing to send in that time
 * @paced: all that was sent in that time came as fast: more might have as well
 * @ce: the packet was marked by ECN
 */
struct ltp_cc_sample {
	u64 now_ns;
	u64 rtt_ns;
	u64 delivered;
	u64 prior_delivered;
	u64 interval_ns;
	u32 acked;
	u32 lost;
	u32 in_flight;
	u32 spurious;
	u32 next_pn;
	u32 acked_pn;
	u32 lost_pn;
	bool app_limited;
	bool paced;
	bool ce;
};

/**
 * struct ltp_cc - congestion control of one association
 * @ops: the algorithm
 * @cwnd: bytes that may be in flight
 * @pacing_rate: 0: not paced
 * @ceiling: rate the receiver allows us while there is a queue, 0: any
 * @mss: bytes in a full segment
 * @group: senders that may begin together with this one
 * @seed: a number that others hardly have, set before ltp_cc_init(): what all
 *	should not do at the same time depends on it
 * @priv: the algorithm's own state
 */
struct ltp_cc {
	const struct ltp_cc_ops *ops;
	u64 pacing_rate;
	u64 ceiling;
	u32 cwnd;
	u32 mss;
	u32 group;
	u32 seed;
	u64 priv[40];
};

/**
 * struct ltp_cc_ops - one algorithm
 * @name: for LTP_CONGESTION and ltpctl
 * @init: set @cwnd and @priv; @rtt_ns is the handshake's sample or 0
 * @resume: after @init, in the middle of an association: go on with this
 *	window; NULL: @cwnd is all there is to set
 * @on_ack: an ACK with news came, or a loss verdict was due
 * @on_loss: the tail probe went unanswered twice: persistent loss
 * @on_idle: the first packet after a time with nothing in flight is to leave;
 *	so long after the last
 * @info: fill btlbw and rtprop_us; NULL: it estimates neither
 */
struct ltp_cc_ops {
	char name[LTP_CC_NAME_MAX];
	void (*init)(struct ltp_cc *cc, u64 now_ns, u64 rtt_ns);
	void (*resume)(struct ltp_cc *cc, u32 cwnd);
	void (*on_ack)(struct ltp_cc *cc, const struct ltp_cc_sample *s);
	void (*on_loss)(struct ltp_cc *cc, u64 now_ns);
	void (*on_idle)(struct ltp_cc *cc, u64 now_ns, u64 idle_ns);
	void (*info)(const struct ltp_cc *cc, struct ltp_info *info);
};

#define LTP_CC_MIN_SEGS		4
#define LTP_CC_INITIAL_SEGS	10	/* of one alone; RFC 6928 */
#define LTP_CC_INITIAL_GROUP	64	/* of all in a group together */

/* Room for the names of all algorithms, as ltp_cc_names() writes them. */
#define LTP_CC_NAMES_MAX	64

extern const struct ltp_cc_ops ltp_cc_bdp;
extern const struct ltp_cc_ops ltp_cc_reno;

const struct ltp_cc_ops *ltp_cc_find(const char *name);
void ltp_cc_names(char *names, size_t room);
u32 ltp_cc_initial_window(const struct ltp_cc *cc);
void ltp_cc_init(struct ltp_cc *cc, const struct ltp_cc_ops *ops, u32 mss,
		 u64 now_ns, u64 rtt_ns);
void ltp_cc_switch(struct ltp_cc *cc, const struct ltp_cc_ops *ops, u64 now_ns,
		   u64 rtt_ns);

#endif /* _LTP_CC_H */
