/* SPDX-License-Identifier: GPL-2.0 */
/* A packet after its fields were checked against each other. */
#ifndef _LTP_PACKET_H
#define _LTP_PACKET_H

#include "ltp.h"

/* What ltp_packet_parse() needs to have at hand, payload not counted. */
#define LTP_CONTROL_MAX		1024

struct ltp_data_fields {
	u64 tag;
	u32 flow;
	u32 len;
	u32 seg;
	u32 segs;
	u32 ncrit;
	u32 seg_size;
	u16 group;
};

/* What the peer can take: in ACK, PING and PONG. */
struct ltp_window_fields {
	u32 rwnd;
	u32 rwnd_later;
	u32 flow_limit;
};

struct ltp_ack_fields {
	const __be32 *bitmap;
	u32 flow;
	u32 acked_pn;
	u32 delay_us;
	u32 base;
	u32 first;
	u32 ceiling;
	struct ltp_window_fields window;
	u16 words;
};

struct ltp_close_fields {
	const struct ltp_range *range;
	u32 flow;
	u32 missing;
	u32 part;
	u32 parts;
	u32 received;
	u16 reason;
	u16 ranges;
};

/**
 * struct ltp_packet - a checked packet, in host order
 * @source: source port, as on the wire
 * @dest: destination port, as on the wire
 * @tag: verification tag
 * @pn: packet number
 * @type: enum ltp_packet_type
 * @flags: LTP_F_*
 * @payload: DATA: bytes of payload
 * @offset: DATA: where the payload begins
 * @data: DATA, GIVEUP
 * @ack: ACK
 * @close: CLOSE
 * @close_ack: CLOSE_ACK
 * @params: INIT, INIT_ACK: points into the packet
 * @cookie: INIT_ACK, COOKIE_ECHO: points into the packet
 * @ping: PING, PONG
 * @flow: FIN
 * @peer_tag: RESET: the tag the sender of it owns
 */
struct ltp_packet {
	__be16 source;
	__be16 dest;
	u32 tag;
	u32 pn;
	u8 type;
	u8 flags;
	u16 offset;
	u32 payload;
	union {
		struct ltp_data_fields data;
		struct ltp_ack_fields ack;
		struct ltp_close_fields close;
		struct {
			u32 flow;
			u32 part;
		} close_ack;
		struct {
			const struct ltp_params *params;
			const struct ltp_cookie *cookie;
		};
		struct {
			u32 token;
			struct ltp_window_fields window;
		} ping;
		u32 flow;
		u32 peer_tag;
	};
};

u32 ltp_packet_need(const struct ltp_hdr *hdr, u32 total);
int ltp_packet_parse(const void *packet, u32 linear, u32 total,
		     struct ltp_packet *p);

#endif /* _LTP_PACKET_H */
