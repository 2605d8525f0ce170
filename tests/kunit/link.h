/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of a path for the tests of congestion control: senders that always
 * have something to send share one bottleneck with a first-in-first-out
 * buffer. Nothing in it is random but the loss, and that has a seed: the same
 * input gives the same result to the nanosecond.
 *
 *	sender 0 --.                                 .-- receiver 0
 *	  ...       >-- loss -- buffer -- rate -- RTT --      ...
 *	sender n --'                                 '-- receiver n
 */
#ifndef _LTP_KUNIT_LINK_H
#define _LTP_KUNIT_LINK_H

#include <linux/types.h>
#include "../../kernel/cc.h"
#include "../../kernel/ceiling.h"
#include "../../kernel/loss.h"
#include "../../kernel/pacing.h"

#define LINK_SENDERS	8
#define LINK_MSS	1448
#define LINK_WIRE	1538	/* what a full segment takes of the rate */
#define LINK_PACKETS	65536	/* in flight, at most; a power of two */
#define LINK_ACKS	16384	/* under way, at most; a power of two */

/**
 * struct link_packet - a packet from its transmission to its verdict
 * @sent_ns: when it was sent
 * @delivered: bytes acknowledged at that time
 * @delivered_ns: when the newest of them were
 * @first_sent_ns: when the newest of them had been sent
 * @gone: acknowledged or found lost
 * @lost: found lost
 */
struct link_packet {
	u64 sent_ns;
	u64 delivered;
	u64 delivered_ns;
	u64 first_sent_ns;
	bool gone;
	bool lost;
};

/**
 * struct link_ack - an ACK under way
 * @at_ns: when it reaches the sender
 * @delay_ns: how long it was held back
 * @pn: packets it tells of, the newest last
 * @count: how many
 * @ceiling: rate ceiling it tells, 0: none
 * @ce: the newest was marked
 */
struct link_ack {
	u64 at_ns;
	u64 delay_ns;
	u64 ceiling;
	u32 pn[4];
	u8 count;
	bool ce;
};

/**
 * struct link_sender - one association
 * @cc: under test
 * @loss: decides what is lost
 * @pacing: decides when to send
 * @packets: by packet number
 * @acks: under way to this sender, in order
 * @ack: what the receiver has not told yet
 * @ack_newest_ns: when the newest packet of it came
 * @ack_due_ns: when it must, 0: nothing pending
 * @delivered: bytes acknowledged
 * @delivered_ns: when that last grew
 * @first_sent_ns: when the newest acknowledged packet was sent
 * @last_sent_ns: when something was last sent
 * @when_ns: next verdict by time
 * @left: bytes yet to send
 * @start_ns: when it begins
 * @marked: bytes delivered at the last link_mark()
 * @pn: next packet number
 * @oldest: oldest packet without a verdict
 * @flight: bytes in flight
 * @lost: packets found lost
 * @news_lost: bytes of them that @cc has not heard of
 * @news_lost_pn: newest of them
 * @ack_head: next of @acks to arrive
 * @ack_tail: end of @acks
 * @idle: nothing in flight and nothing to send
 */
struct link_sender {
	struct ltp_cc cc;
	struct ltp_loss loss;
	struct ltp_pacing pacing;
	struct link_packet *packets;
	struct link_ack *acks;
	struct link_ack ack;
	u64 ack_newest_ns;
	u64 ack_due_ns;
	u64 delivered;
	u64 delivered_ns;
	u64 first_sent_ns;
	u64 last_sent_ns;
	u64 when_ns;
	u64 left;
	u64 start_ns;
	u64 marked;
	u32 pn;
	u32 oldest;
	u32 flight;
	u32 lost;
	u32 news_lost;
	u32 news_lost_pn;
	u32 ack_head;
	u32 ack_tail;
	bool idle;
};

/**
 * struct link - the path and its senders
 * @rate: of the bottleneck, bytes a second
 * @rtt_ns: without any queue
 * @buffer_ns: longest queue, in time
 * @mark_ns: longer queues are marked by ECN, 0: never
 * @loss_ppm: share of packets lost at random
 * @ack_every: packets after which the receiver answers
 * @ceiling: what arrives at the receivers, if they are a group
 * @group: they are
 * @ack_delay_ns: time after which it does in any case
 * @senders: how many
 * @now: time
 * @free_ns: when the bottleneck is through with what it has
 * @queue_max_ns: longest queue since the last link_mark()
 * @queue_sum_ns: sum of the queues that packets saw since then
 * @queue_seen: number of these packets
 * @dropped: packets for which there was no room since then
 * @marked_ns: time of the last link_mark()
 * @random: state of the generator
 * @sender: the senders
 */
struct link {
	u64 rate;
	u64 rtt_ns;
	u64 buffer_ns;
	u64 mark_ns;
	u32 loss_ppm;
	u32 ack_every;
	u64 ack_delay_ns;
	struct ltp_ceiling ceiling;
	bool group;
	u32 senders;
	u64 now;
	u64 free_ns;
	u64 queue_max_ns;
	u64 queue_sum_ns;
	u64 queue_seen;
	u64 dropped;
	u64 marked_ns;
	u64 random;
	struct link_sender sender[LINK_SENDERS];
};

struct link *link_alloc(u64 rate, u64 rtt_ns, u32 senders);
void link_free(struct link *link);
void link_start(struct link *link, const struct ltp_cc_ops *ops);
void link_run(struct link *link, u64 until_ns);
void link_mark(struct link *link);
u32 link_share(const struct link *link, u32 sender);
u32 link_used(const struct link *link);
u64 link_queue(const struct link *link);

#endif /* _LTP_KUNIT_LINK_H */
