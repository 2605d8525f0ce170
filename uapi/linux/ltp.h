/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Loss-tolerant Transmission Protocol: the socket interface.
 *
 * socket(AF_INET, SOCK_SEQPACKET, IPPROTO_LTP); see ltp(7) for the contract.
 */
#ifndef _UAPI_LINUX_LTP_H
#define _UAPI_LINUX_LTP_H

#include <linux/types.h>

#ifndef IPPROTO_LTP
#define IPPROTO_LTP 253		/* RFC 3692: use for experimentation */
#endif

/* Level for getsockopt(), setsockopt() and control messages. */
#ifndef SOL_LTP
#define SOL_LTP IPPROTO_LTP
#endif

/*
 * Control messages at level SOL_LTP. The socket options of the same number,
 * where there are any, are listed below.
 */
#define LTP_SNDINFO	1	/* sendmsg: struct ltp_sndinfo */
#define LTP_RCVINFO	2	/* recvmsg: struct ltp_rcvinfo */
#define LTP_RCVMAP	3	/* recvmsg: struct ltp_rcvmap */
#define LTP_REPORT	4	/* recvmsg(MSG_ERRQUEUE): struct ltp_report */

/* Socket options at level SOL_LTP. */
#define LTP_RECVRCVINFO	16	/* int: recvmsg adds LTP_RCVINFO */
#define LTP_RECVRCVMAP	17	/* int: recvmsg adds LTP_RCVMAP */
#define LTP_REPORTS	18	/* int: a report of each sent flow is queued */
#define LTP_HOLES	19	/* int: LTP_HOLES_ZERO or LTP_HOLES_KEEP */
#define LTP_THRESHOLDS	20	/* struct ltp_thresholds */
#define LTP_RCVTAG	21	/* __u64: next recvmsg takes this tag's flow */
#define LTP_CONGESTION	22	/* char[LTP_CC_NAME_MAX]: congestion control */
#define LTP_INFO	23	/* struct ltp_info, read only */
#define LTP_SEGSIZE	24	/* int: largest seg_size to send, 0: from MTU */
#define LTP_PROFILE	25	/* int: enum ltp_profile */
#define LTP_EPOCH	26	/* int: 1 ends the epoch; read: how many ended */
#define LTP_EPOCH_FLOWS	27	/* int: flows in an epoch, 0: only LTP_EPOCH */

/* int: milliseconds after which a peer that does not answer is dead; 0: as set for the namespace */
#define LTP_USER_TIMEOUT	28

/* int: UDP port of the peer to be reached in UDP, 0: without */
#define LTP_ENCAP	29

/* int: 1: what is sent of tolerant flows first moves from flow to flow; 0: it is their beginning */
#define LTP_MOVING_START	30

#define LTP_CC_NAME_MAX	16

/*
 * Bytes in the longest message. A flow could have 2^32 - 1; a system call takes
 * no more than this, whatever the size of a page.
 */
#define LTP_MESSAGE_MAX	0x7ffeffff

/* LTP_HOLES */
#define LTP_HOLES_ZERO	0	/* bubble filling: holes read as zeros */
#define LTP_HOLES_KEEP	1	/* the reader's buffer keeps what it held */

/* struct ltp_sndinfo.flags */
#define LTP_TOLERANT	0x0001	/* segments of this flow may be lost */

/**
 * struct ltp_sndinfo - how the flow that starts with this sendmsg() is sent
 * @tag: any number; the receiver reads it in struct ltp_rcvinfo
 * @critical: leading bytes that must arrive; rounded up to whole segments
 * @giveup_us: microseconds after which the sender gives the flow up; 0: never;
 *	only with LTP_TOLERANT
 * @flags: LTP_TOLERANT
 * @reserved: must be 0
 */
struct ltp_sndinfo {
	__aligned_u64 tag;
	__u32 critical;
	__u32 giveup_us;
	__u16 flags;
	__u16 reserved[3];
};

/* Why a flow ended. */
enum ltp_close_reason {
	LTP_OPEN = 0,		/* it has not */
	LTP_COMPLETE,		/* every segment arrived */
	LTP_FRACTION,		/* Early Close: fraction reached after LT */
	LTP_DEADLINE,		/* Early Close: the deadline passed */
	LTP_GAVE_UP,		/* the sender gave up */
	LTP_LOST,		/* the association ended first */
	__LTP_CLOSE_REASONS
};

/**
 * struct ltp_rcvinfo - what became of the flow that recvmsg() returned
 * @tag: the sender's tag
 * @length: bytes in the message, holes included
 * @received: bytes that arrived
 * @elapsed_us: from the first packet to the end of the flow, microseconds
 * @flow: flow id
 * @reason: enum ltp_close_reason
 * @flags: LTP_TOLERANT if the sender said so
 */
struct ltp_rcvinfo {
	__aligned_u64 tag;
	__u32 length;
	__u32 received;
	__aligned_u64 elapsed_us;
	__u32 flow;
	__u16 reason;
	__u16 flags;
};

/**
 * struct ltp_rcvmap - which segments of the message arrived
 * @seg_size: bytes in a segment; the last one may be shorter
 * @segments: number of segments, and of bits that count in @bitmap
 * @bitmap: bit i % 64 of word i / 64, host byte order, is set if segment i
 *	arrived
 *
 * A control buffer too small for the whole map gets as many words as fit and
 * MSG_CTRUNC.
 */
struct ltp_rcvmap {
	__u32 seg_size;
	__u32 segments;
	__aligned_u64 bitmap[];
};

/**
 * struct ltp_report - what became of a flow this socket sent
 * @tag: tag given in struct ltp_sndinfo
 * @length: bytes in the message
 * @received: bytes the receiver had when the flow ended
 * @flow: flow id
 * @seg_size: bytes in a segment
 * @segments: number of segments
 * @reason: enum ltp_close_reason
 * @flags: LTP_TOLERANT
 *
 * The data of the same MSG_ERRQUEUE read is the bitmap of struct ltp_rcvmap.
 */
struct ltp_report {
	__aligned_u64 tag;
	__u32 length;
	__u32 received;
	__u32 flow;
	__u32 seg_size;
	__u32 segments;
	__u16 reason;
	__u16 flags;
};

/**
 * struct ltp_thresholds - when a tolerant flow may be closed early
 * @fraction_ppm: share of the segments that is enough, in millionths;
 *	1 to 1000000
 * @set: which members the socket fixes itself (LTP_SET_*); the others come
 *	from a rule for its peer, else from the namespace
 * @lt_us: time from the flow's first packet, in microseconds, from which the
 *	fraction is enough; 0: never; LTP_TIME_ADAPTIVE: from the path
 * @deadline_us: time from which only the critical segments count; 0: none;
 *	LTP_TIME_ADAPTIVE: the largest LT threshold of the group and the slack
 * @slack_us: that slack; instead of the profile's
 *
 * It grows at its end only; the first 24 bytes alone are taken as well.
 */
struct ltp_thresholds {
	__u32 fraction_ppm;
	__u32 set;
	__aligned_u64 lt_us;
	__aligned_u64 deadline_us;
	__aligned_u64 slack_us;
};

#define LTP_SET_FRACTION	0x1
#define LTP_SET_LT		0x2
#define LTP_SET_DEADLINE	0x4
#define LTP_SET_SLACK		0x8

#define LTP_FRACTION_MAX	1000000		/* the whole, in millionths */
#define LTP_TIME_MAX_US		3600000000ULL	/* one hour */
#define LTP_TIME_ADAPTIVE	0xffffffffffffffffULL

/* LTP_PROFILE: how patient a deadline is that adapts. */
enum ltp_profile {
	LTP_PROFILE_UNSET = 0,	/* from a rule, else from the namespace */
	LTP_PROFILE_DCN,	/* a data centre: slack 30 ms */
	LTP_PROFILE_WAN,	/* a wide area: slack 100 ms */
	__LTP_PROFILES
};

/* struct ltp_info.state */
enum ltp_state {
	LTP_CLOSED = 0,
	LTP_LISTEN,
	LTP_INIT_SENT,
	LTP_COOKIE_SENT,
	LTP_ESTABLISHED,
	LTP_CLOSING,		/* a FIN was sent or received */
};

/**
 * struct ltp_info - state of an association; grows at its end only
 * @state: enum ltp_state
 * @segments_out: DATA packets sent, retransmissions included
 * @segments_in: DATA packets accepted
 * @retransmitted: DATA packets sent again
 * @lost: loss verdicts
 * @spurious: loss verdicts that were wrong
 * @srtt_us: smoothed round-trip time
 * @rttvar_us: its mean deviation
 * @rtprop_us: windowed minimum of the round-trip time
 * @btlbw: estimated bottleneck bandwidth, bytes a second
 * @pacing_rate: bytes a second, 0: not paced
 * @cwnd: congestion window, bytes
 * @in_flight: bytes
 * @peer_window: bytes the peer allows in flight
 * @seg_size: bytes in a segment of the next flow
 * @flows_out: flows sent and not ended
 * @flows_in: flows received and not read
 * @bytes_acked: payload bytes acknowledged
 * @bytes_received: payload bytes accepted
 * @probes: tail probes sent
 * @bytes_sent: payload bytes sent, retransmissions included
 * @bytes_retransmitted: those that were sent again
 * @ceiling: rate the receiver allows, bytes a second, 0: any
 * @age_us: since the handshake was done
 * @busy_us: time in which something was in flight or waited to be sent
 * @window_limited_us: part of it in which the peer's window held it back
 * @sndbuf_limited_us: part of it in which all was in flight, and the send
 *	buffer had no room for more
 * @min_rtt_us: smallest round-trip time ever
 * @unsent: bytes in the send buffer that were never sent
 * @lost_unsent: bytes found lost that wait to be sent again
 * @peer_window_later: as @peer_window, of flows behind the one that is read
 *	next
 * @window: bytes that the peer would now be allowed to have in flight
 * @window_later: of flows behind the one that is read next
 * @pmtu: largest packet that leaves, IP header included
 * @backoff: tail probes in vain, since something was acknowledged
 * @duplicates: DATA packets received that had arrived before
 * @last_data_sent_us: since DATA was last sent
 * @last_ack_received_us: since an ACK last came
 * @last_data_received_us: since DATA was last accepted
 * @last_heard_us: since any packet came
 * @calibrating: 1: no flow has come yet from which thresholds can be computed
 * @lt_us: the LT threshold that counts in its group: the largest of its
 *	tolerant flows that come in, else that of the last one; 0: none is known
 * @deadline_us: the deadline that goes with it, 0: none
 * @epochs: epochs that have ended
 * @encap: UDP port of the peer, 0: the association is not in UDP
 *
 * Times are in microseconds; those of 32 bits stop at U32_MAX, 71 minutes,
 * which is also "never". A socket that is no association says so of all four
 * last_*, and 0 of all else that only an association has.
 */
struct ltp_info {
	__u32 state;
	__u32 segments_out;
	__u32 segments_in;
	__u32 retransmitted;
	__u32 lost;
	__u32 spurious;
	__u32 srtt_us;
	__u32 rttvar_us;
	__u32 rtprop_us;
	__u32 cwnd;
	__aligned_u64 btlbw;
	__aligned_u64 pacing_rate;
	__u32 in_flight;
	__u32 peer_window;
	__u32 seg_size;
	__u32 flows_out;
	__u32 flows_in;
	__u32 probes;
	__aligned_u64 bytes_acked;
	__aligned_u64 bytes_received;
	__aligned_u64 bytes_sent;
	__aligned_u64 bytes_retransmitted;
	__aligned_u64 ceiling;
	__aligned_u64 age_us;
	__aligned_u64 busy_us;
	__aligned_u64 window_limited_us;
	__aligned_u64 sndbuf_limited_us;
	__u32 min_rtt_us;
	__u32 unsent;
	__u32 lost_unsent;
	__u32 peer_window_later;
	__u32 window;
	__u32 window_later;
	__u32 pmtu;
	__u32 backoff;
	__u32 duplicates;
	__u32 last_data_sent_us;
	__u32 last_ack_received_us;
	__u32 last_data_received_us;
	__u32 last_heard_us;
	__u32 calibrating;
	__aligned_u64 lt_us;
	__aligned_u64 deadline_us;
	__u32 epochs;
	__u32 encap;
};

#endif /* _UAPI_LINUX_LTP_H */
