/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is on the wire, and only that: Documentation/protocol.rst gives each
 * field its meaning. All fields are big-endian, all packets begin with
 * struct ltp_hdr.
 */
#ifndef _LTP_WIRE_H
#define _LTP_WIRE_H

#include <linux/types.h>

enum ltp_packet_type {
	LTP_INIT	= 1,
	LTP_INIT_ACK	= 2,
	LTP_COOKIE_ECHO	= 3,
	LTP_COOKIE_ACK	= 4,
	LTP_DATA	= 5,
	LTP_ACK		= 6,
	LTP_CLOSE	= 7,
	LTP_CLOSE_ACK	= 8,
	LTP_GIVEUP	= 9,
	LTP_FIN		= 10,
	LTP_FIN_ACK	= 11,
	LTP_RESET	= 12,
	LTP_PING	= 13,
	LTP_PONG	= 14,
	__LTP_TYPE_END
};

/* struct ltp_hdr.flags, by packet type; all others must be zero. */
#define LTP_F_CRITICAL	0x01	/* DATA: this segment must arrive */
#define LTP_F_TOLERANT	0x02	/* DATA: the flow may be closed early */
#define LTP_F_LAST	0x04	/* DATA: all segments were sent once */
#define LTP_F_ACK_NOW	0x08	/* DATA: a probe, answer it at once */
#define LTP_F_WHOLE	0x01	/* ACK: the flow ended complete */
#define LTP_F_DUP	0x02	/* ACK: the answered packet was a duplicate */
#define LTP_F_CE	0x04	/* ACK: ECN marked a packet since the last one */
#define LTP_F_REFLECT	0x01	/* RESET: the tag is the one received */

/**
 * struct ltp_hdr - common header
 * @source: source port
 * @dest: destination port
 * @tag: verification tag of the endpoint this packet is for; 0 in INIT
 * @type: enum ltp_packet_type
 * @flags: LTP_F_*
 * @check: Internet checksum over pseudo-header and packet
 * @pn: packet number; counts transmissions, is never used twice
 */
struct ltp_hdr {
	__be16 source;
	__be16 dest;
	__be32 tag;
	__u8 type;
	__u8 flags;
	__sum16 check;
	__be32 pn;
};

/**
 * struct ltp_params - what an endpoint says of itself in the handshake
 * @tag: its verification tag, never 0
 * @rwnd: bytes it can take at once
 * @flow: id of the first flow it will send
 * @pn: its first packet number after the handshake
 * @mtu: largest packet it can receive, IP header included
 * @max_flows: flows that may be open towards it
 * @grain: seg_size is a multiple of this
 * @group: associations its group has; a newcomer's first window depends on it
 */
struct ltp_params {
	__be32 tag;
	__be32 rwnd;
	__be32 flow;
	__be32 pn;
	__be16 mtu;
	__be16 max_flows;
	__be16 grain;
	__be16 group;
};

/**
 * struct ltp_cookie - the state a listener does not keep
 * @mac: siphash over the rest, both addresses and both ports
 * @time_ns: when the listener made it, its own clock
 * @peer: parameters of the initiator, as in its INIT
 * @local: parameters of the listener
 */
struct ltp_cookie {
	__be64 mac;
	__be64 time_ns;
	struct ltp_params peer;
	struct ltp_params local;
} __packed __aligned(4);

/* INIT is padded to the size of its answer: no amplification. */
struct ltp_init {
	struct ltp_params params;
	__u8 padding[sizeof(struct ltp_cookie)];
};

struct ltp_init_ack {
	struct ltp_params params;
	struct ltp_cookie cookie;
};

struct ltp_cookie_echo {
	struct ltp_cookie cookie;
};

/**
 * struct ltp_data - before the payload of a DATA packet
 * @flow: flow id
 * @len: length of the flow's message in bytes, at least 1
 * @seg: index of this segment; its place in the message is @seg * @seg_size
 * @ncrit: number of leading segments that are critical
 * @tag: the program's tag
 * @seg_size: bytes in each segment but the last
 * @group: associations in the sender's group, as in struct ltp_params: the
 *	answer to this message may come from all of them at once
 */
struct ltp_data {
	__be32 flow;
	__be32 len;
	__be32 seg;
	__be32 ncrit;
	__be64 tag;
	__be16 seg_size;
	__be16 group;
} __packed __aligned(4);

/**
 * struct ltp_ack - which segments of one flow arrived
 * @flow: flow id
 * @acked_pn: number of the packet this answers
 * @delay_us: microseconds since that packet arrived
 * @base: every segment below this index has arrived
 * @first: index of the first segment in @bitmap, a multiple of 32
 * @rwnd: bytes that may be in flight of the flow that is read next
 * @rwnd_later: bytes that may be in flight of the flows behind that one
 * @ceiling: rate ceiling, in units of LTP_CEILING_UNIT; 0: none
 * @flow_limit: flows with an id before this one may be opened; the flow that
 *	is read next has the id that is max_flows lower
 * @words: number of 32-bit words in @bitmap, at most LTP_ACK_WORDS
 * @reserved: 0
 * @bitmap: bit i % 32 (from the least significant) of word i / 32 is set if
 *	segment @first + i arrived
 */
struct ltp_ack {
	__be32 flow;
	__be32 acked_pn;
	__be32 delay_us;
	__be32 base;
	__be32 first;
	__be32 rwnd;
	__be32 rwnd_later;
	__be32 ceiling;
	__be32 flow_limit;
	__be16 words;
	__be16 reserved;
	__be32 bitmap[];
};

#define LTP_ACK_WORDS	32
#define LTP_CEILING_UNIT	1024	/* bytes a second */

struct ltp_range {
	__be32 first;
	__be32 count;
};

/**
 * struct ltp_close - a flow has ended at its receiver
 * @flow: flow id
 * @missing: number of segments that are missing, over all parts
 * @part: index of this part
 * @parts: number of parts, at least 1
 * @received: bytes that arrived
 * @reason: enum ltp_close_reason
 * @ranges: number of entries in @range, at most LTP_CLOSE_RANGES; a part that
 *	is not the last is full
 * @range: missing segments, ascending, disjoint
 */
struct ltp_close {
	__be32 flow;
	__be32 missing;
	__be32 part;
	__be32 parts;
	__be32 received;
	__be16 reason;
	__be16 ranges;
	struct ltp_range range[];
};

/* 480 bytes of ranges: a part fits the smallest MTU that IPv4 allows us. */
#define LTP_CLOSE_RANGES	60

struct ltp_close_ack {
	__be32 flow;
	__be32 part;
};

/*
 * GIVEUP carries a struct ltp_data with seg 0 and no payload: it may be the
 * first that the receiver sees of the flow.
 */

/* @flow: the id the sender's next flow would have had. */
struct ltp_fin {
	__be32 flow;
};

/*
 * @tag: the sender's own tag, so that both must be known; 0 in the answer to
 * an INIT. With LTP_F_REFLECT there is no body.
 */
struct ltp_reset {
	__be32 tag;
};

/**
 * struct ltp_ping - PING and PONG; PING may be padded to probe the path
 * @token: PONG repeats it; 0 in a PONG nobody asked for (window update)
 * @rwnd: as in ACK
 * @rwnd_later: as in ACK
 * @flow_limit: flows with an id before this one may be opened
 */
struct ltp_ping {
	__be32 token;
	__be32 rwnd;
	__be32 rwnd_later;
	__be32 flow_limit;
};

#endif /* _LTP_WIRE_H */
