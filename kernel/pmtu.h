/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Path MTU discovery: what size is tried next, and what is believed. After RFC
 * 8899 (DPLPMTUD) and, for ICMP, RFC 1191 and RFC 8201. Pure logic, one
 * instance an association; times are arguments, in nanoseconds. Sizes are
 * those of whole packets, all headers included.
 */
#ifndef _LTP_PMTU_H
#define _LTP_PMTU_H

#include <linux/time64.h>
#include <linux/types.h>

/*
 * In RFC 8899 the search begins at a base and goes up. Here the beginning is
 * the MTU of the route, and data itself is the probe: as long as it is in doubt
 * (CONFIRM), one packet at a time carries the don't-fragment bit, so nothing is
 * delayed and where all goes well nothing is sent that is not data.
 */
enum ltp_pmtu_state {
	LTP_PMTU_CONFIRM,	/* packets of @size have yet to arrive whole */
	LTP_PMTU_BASE,		/* they do not: does the base, or the minimum? */
	LTP_PMTU_SEARCH,	/* probes of more than @confirmed */
	LTP_PMTU_COMPLETE,
	LTP_PMTU_ERROR,		/* not even the minimum arrives whole */
};

/**
 * struct ltp_pmtu - what one association knows of its path's MTU
 * @raise_ns: when more may be looked for
 * @trial_ns: when the data packet that is a probe was sent, 0: none is out
 * @passed_ns: when the newest whole full-size data packet that arrived was sent
 * @cut_ns: when the doubt began, or a loss last spoke for a step of @cut
 * @probe_ns: when the probe under way was sent, 0: none is
 * @due_ns: when its answer is overdue
 * @size: the path MTU: what segments are cut for
 * @confirmed: the largest packet that may carry don't-fragment
 * @failed: the smallest size known not to arrive, U32_MAX: none
 * @ceiling: the route's MTU, or what the peer takes if that is less
 * @probe: size of the probe under way
 * @trial: size of that data packet, or of the one last taken for lost; 0: none
 * @hint: size to probe next, 0: by the table
 * @lost_size: smallest data packet lost since @tries began
 * @min: what is not questioned: 576 (IPv4) or 1280 (IPv6)
 * @overhead: bytes of @size that are headers of DATA
 * @seen: packets whose size was in no doubt, of late
 * @seen_lost: of these, lost
 * @state: enum ltp_pmtu_state
 * @tries: losses in a row at this size
 * @backoff: probes in a row of which nothing is known, as nothing came back
 * @alive: something arrived that was sent after the probe
 * @owed: a trial is lost, and counts once something has arrived
 * @whole: what is in doubt arrives if a router may cut it
 * @host_cuts: no router ever does it
 * @never_cuts: nobody may
 * @cut: what is in doubt is cut before it leaves, as no router does it: 1 to
 *	the base, 2 to the minimum
 * @cut_tries: losses that speak for the next step
 * @row: packets in a row that were lost and not yet doubted for their size
 * @pieces_lost: of what is larger than @size, and was cut, since one left whole
 * @whole_tries: how often that was in vain
 */
struct ltp_pmtu {
	u64 raise_ns;
	u64 trial_ns;
	u64 passed_ns;
	u64 cut_ns;
	u64 probe_ns;
	u64 due_ns;
	u32 size;
	u32 confirmed;
	u32 failed;
	u32 ceiling;
	u32 probe;
	u32 trial;
	u32 hint;
	u32 lost_size;
	u16 min;
	u16 overhead;
	u16 seen;
	u16 seen_lost;
	u8 state;
	u8 tries;
	u8 backoff;
	bool alive;
	bool owed;
	bool whole;
	bool host_cuts;
	bool never_cuts;
	u8 cut;
	u8 cut_tries;
	u8 row;
	u8 pieces_lost;
	u8 whole_tries;
};

/* What a call has found out, a set of bits. */
#define LTP_PMTU_EV_CONFIRMED	0x01	/* a probe arrived */
#define LTP_PMTU_EV_LOST	0x02	/* a probe did not */
#define LTP_PMTU_EV_BLACK_HOLE	0x04	/* full-size packets vanish */
#define LTP_PMTU_EV_BELIEVED	0x08	/* what ICMP says */
#define LTP_PMTU_EV_ASK		0x10	/* send a small packet that is answered */
#define LTP_PMTU_EV_DOUBT	0x20	/* this loss may be due to its size */

/* How ltp_pmtu_init() begins. */
#define LTP_PMTU_CAUTIOUS	0x01	/* at the base: nothing may be fragmented */
#define LTP_PMTU_HOST_CUTS	0x02	/* IPv6: routers do not fragment */

/* Packets this much larger make no difference: the grain of a segment. */
#define LTP_PMTU_GRAIN		16
/* RFC 8899, 5.1.2. */
#define LTP_PMTU_BASE_SIZE	1200
#define LTP_PMTU_MAX_PROBES	3
/* But where packets of any size are lost it takes more to see a difference. */
#define LTP_PMTU_MOST_PROBES	16
#define LTP_PMTU_RAISE_NS	(600 * NSEC_PER_SEC)
/* Longest wait for an answer, and its beginning, in times of the caller's. */
#define LTP_PMTU_WAIT_MAX_NS	(10 * NSEC_PER_SEC)
#define LTP_PMTU_TRIAL_TIMEOUTS	8

void ltp_pmtu_init(struct ltp_pmtu *p, u32 min, u32 overhead, u32 ceiling,
		   u32 how);
void ltp_pmtu_limit(struct ltp_pmtu *p, u32 ceiling, u64 now);
void ltp_pmtu_begin(struct ltp_pmtu *p, u64 now);
bool ltp_pmtu_df(struct ltp_pmtu *p, u32 size, bool fresh, u64 now,
		 u64 timeout_ns);
u32 ltp_pmtu_cut(const struct ltp_pmtu *p, u32 size);
int ltp_pmtu_acked(struct ltp_pmtu *p, u32 size, u64 sent_ns, bool df,
		   u64 now);
int ltp_pmtu_lost(struct ltp_pmtu *p, u32 size, u64 sent_ns, bool df,
		  u64 now);
int ltp_pmtu_overdue(struct ltp_pmtu *p, u32 size, u64 sent_ns, bool df,
		     u64 now);
int ltp_pmtu_arrived(struct ltp_pmtu *p, u64 now);
int ltp_pmtu_alive(struct ltp_pmtu *p);
int ltp_pmtu_answered(struct ltp_pmtu *p, u64 now);
int ltp_pmtu_icmp(struct ltp_pmtu *p, u32 mtu, u64 now);
u64 ltp_pmtu_due(const struct ltp_pmtu *p);
u32 ltp_pmtu_probe(struct ltp_pmtu *p, u64 now, u64 timeout_ns, int *events);

#endif /* _LTP_PMTU_H */
