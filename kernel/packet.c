// SPDX-License-Identifier: GPL-2.0
/*
 * Reading a packet: each field is checked, and against each other, before
 * anything is believed. Pure logic.
 */
#include "packet.h"

/* The flags each packet type may carry. */
static const u8 ltp_packet_flags[__LTP_TYPE_END] = {
	[LTP_DATA]	= LTP_F_CRITICAL | LTP_F_TOLERANT | LTP_F_LAST |
			  LTP_F_ACK_NOW,
	[LTP_ACK]	= LTP_F_WHOLE | LTP_F_DUP | LTP_F_CE,
	[LTP_GIVEUP]	= LTP_F_TOLERANT,
	[LTP_RESET]	= LTP_F_REFLECT,
};

static int ltp_parse_data(const struct ltp_data *d, u32 len,
			  struct ltp_packet *p)
{
	struct ltp_data_fields *f = &p->data;
	u32 expected;

	if (len < sizeof(*d))
		return LTP_MIB_DROP_SHORT;
	f->tag = get_unaligned_be64(&d->tag);
	f->flow = be32_to_cpu(d->flow);
	f->len = be32_to_cpu(d->len);
	f->seg = be32_to_cpu(d->seg);
	f->ncrit = be32_to_cpu(d->ncrit);
	f->seg_size = be16_to_cpu(d->seg_size);
	f->group = be16_to_cpu(d->group);
	if (!f->len || !f->seg_size || f->seg_size > LTP_SEG_MAX)
		return LTP_MIB_DROP_FIELD;
	f->segs = (f->len - 1) / f->seg_size + 1;
	/* Small segments of a long flow would buy a large bitmap cheaply. */
	if (f->segs > 1 &&
	    (f->seg_size < LTP_SEG_MIN || f->seg_size % LTP_GRAIN))
		return LTP_MIB_DROP_FIELD;
	if (f->seg >= f->segs || f->ncrit > f->segs)
		return LTP_MIB_DROP_FIELD;
	p->payload = len - sizeof(*d);
	p->offset = sizeof(struct ltp_hdr) + sizeof(*d);
	if (p->type == LTP_GIVEUP) {
		if (!(p->flags & LTP_F_TOLERANT))
			return LTP_MIB_DROP_FLAGS;
		if (f->seg)
			return LTP_MIB_DROP_FIELD;
		return p->payload ? LTP_MIB_DROP_LENGTH : 0;
	}
	if (!!(p->flags & LTP_F_CRITICAL) != (f->seg < f->ncrit))
		return LTP_MIB_DROP_FLAGS;
	expected = f->seg_size;
	if (f->seg == f->segs - 1)
		expected = f->len - f->seg * f->seg_size;
	return p->payload == expected ? 0 : LTP_MIB_DROP_LENGTH;
}

static int ltp_parse_ack(const struct ltp_ack *a, u32 len,
			 struct ltp_packet *p)
{
	struct ltp_ack_fields *f = &p->ack;

	if (len < sizeof(*a))
		return LTP_MIB_DROP_SHORT;
	f->flow = be32_to_cpu(a->flow);
	f->acked_pn = be32_to_cpu(a->acked_pn);
	f->delay_us = be32_to_cpu(a->delay_us);
	f->base = be32_to_cpu(a->base);
	f->first = be32_to_cpu(a->first);
	f->window.rwnd = be32_to_cpu(a->rwnd);
	f->window.rwnd_later = be32_to_cpu(a->rwnd_later);
	f->window.flow_limit = be32_to_cpu(a->flow_limit);
	f->ceiling = be32_to_cpu(a->ceiling);
	f->words = be16_to_cpu(a->words);
	f->bitmap = a->bitmap;
	if (a->reserved || f->words > LTP_ACK_WORDS || f->first % 32 ||
	    f->first + f->words * 32 < f->first)
		return LTP_MIB_DROP_FIELD;
	if (len != struct_size(a, bitmap, f->words))
		return LTP_MIB_DROP_LENGTH;
	return 0;
}

static int ltp_parse_close(const struct ltp_close *c, u32 len,
			   struct ltp_packet *p)
{
	struct ltp_close_fields *f = &p->close;
	u32 sum = 0, next = 0;
	int i;

	if (len < sizeof(*c))
		return LTP_MIB_DROP_SHORT;
	f->flow = be32_to_cpu(c->flow);
	f->missing = be32_to_cpu(c->missing);
	f->part = be32_to_cpu(c->part);
	f->parts = be32_to_cpu(c->parts);
	f->received = be32_to_cpu(c->received);
	f->reason = be16_to_cpu(c->reason);
	f->ranges = be16_to_cpu(c->ranges);
	f->range = c->range;
	if (f->reason < LTP_FRACTION || f->reason > LTP_GAVE_UP ||
	    f->part >= f->parts || !f->ranges ||
	    f->ranges > LTP_CLOSE_RANGES ||
	    (f->part < f->parts - 1 && f->ranges != LTP_CLOSE_RANGES))
		return LTP_MIB_DROP_FIELD;
	if (len != struct_size(c, range, f->ranges))
		return LTP_MIB_DROP_LENGTH;
	for (i = 0; i < f->ranges; i++) {
		u32 first = be32_to_cpu(c->range[i].first);
		u32 count = be32_to_cpu(c->range[i].count);

		/* Ranges that touch would be one range. */
		if (!count || first + count < first || (i && first <= next))
			return LTP_MIB_DROP_FIELD;
		next = first + count;
		sum += count;
	}
	if (sum > f->missing || (f->parts == 1 && sum != f->missing))
		return LTP_MIB_DROP_FIELD;
	return 0;
}

static bool ltp_params_good(const struct ltp_params *params)
{
	u16 grain = be16_to_cpu(params->grain);

	return params->tag && params->rwnd && params->max_flows && grain &&
	       !(grain % LTP_GRAIN) &&
	       be16_to_cpu(params->mtu) >= LTP_MTU_MIN;
}

static int ltp_parse_handshake(const void *body, u32 len, struct ltp_packet *p)
{
	const struct ltp_params *params = body;
	u32 want = p->type == LTP_INIT ? sizeof(struct ltp_init) :
					 sizeof(struct ltp_init_ack);

	if (len < want)
		return LTP_MIB_DROP_SHORT;
	if (len != want)
		return LTP_MIB_DROP_LENGTH;
	if (!ltp_params_good(params))
		return LTP_MIB_DROP_FIELD;
	p->params = params;
	p->cookie = NULL;
	if (p->type == LTP_INIT_ACK)
		p->cookie = &((const struct ltp_init_ack *)body)->cookie;
	return 0;
}

static int ltp_parse_fixed(const void *body, u32 len, u32 want)
{
	if (len < want)
		return LTP_MIB_DROP_SHORT;
	return len == want ? 0 : LTP_MIB_DROP_LENGTH;
}

static int ltp_parse_body(const void *body, u32 linear, u32 len,
			  struct ltp_packet *p)
{
	const struct ltp_close_ack *close_ack = body;
	const struct ltp_cookie_echo *echo = body;
	const struct ltp_ping *ping = body;
	const struct ltp_reset *reset = body;
	const struct ltp_fin *fin = body;
	int drop;

	switch (p->type) {
	case LTP_DATA:
	case LTP_GIVEUP:
		if (linear < sizeof(struct ltp_data))
			return LTP_MIB_DROP_SHORT;
		return ltp_parse_data(body, len, p);
	case LTP_PING:
	case LTP_PONG:
		if (linear < sizeof(*ping))
			return LTP_MIB_DROP_SHORT;
		p->ping.token = be32_to_cpu(ping->token);
		p->ping.window.rwnd = be32_to_cpu(ping->rwnd);
		p->ping.window.rwnd_later = be32_to_cpu(ping->rwnd_later);
		p->ping.window.flow_limit = be32_to_cpu(ping->flow_limit);
		return 0;
	}

	/* The others are small and whole. */
	if (linear != len)
		return LTP_MIB_DROP_LENGTH;
	switch (p->type) {
	case LTP_INIT:
	case LTP_INIT_ACK:
		return ltp_parse_handshake(body, len, p);
	case LTP_COOKIE_ECHO:
		drop = ltp_parse_fixed(body, len, sizeof(*echo));
		if (drop)
			return drop;
		if (!ltp_params_good(&echo->cookie.peer) ||
		    !ltp_params_good(&echo->cookie.local))
			return LTP_MIB_DROP_FIELD;
		p->cookie = &echo->cookie;
		return 0;
	case LTP_ACK:
		return ltp_parse_ack(body, len, p);
	case LTP_CLOSE:
		return ltp_parse_close(body, len, p);
	case LTP_CLOSE_ACK:
		drop = ltp_parse_fixed(body, len, sizeof(*close_ack));
		if (drop)
			return drop;
		p->close_ack.flow = be32_to_cpu(close_ack->flow);
		p->close_ack.part = be32_to_cpu(close_ack->part);
		return 0;
	case LTP_FIN:
		drop = ltp_parse_fixed(body, len, sizeof(*fin));
		if (drop)
			return drop;
		p->flow = be32_to_cpu(fin->flow);
		return 0;
	case LTP_RESET:
		if (p->flags & LTP_F_REFLECT)
			return len ? LTP_MIB_DROP_LENGTH : 0;
		drop = ltp_parse_fixed(body, len, sizeof(*reset));
		if (drop)
			return drop;
		p->peer_tag = be32_to_cpu(reset->tag);
		return 0;
	default: /* COOKIE_ACK, FIN_ACK */
		return len ? LTP_MIB_DROP_LENGTH : 0;
	}
}

/**
 * ltp_packet_need() - how much of a packet must be linear to be parsed
 * @hdr: its common header
 * @total: its length
 *
 * Return: bytes, at most @total
 */
u32 ltp_packet_need(const struct ltp_hdr *hdr, u32 total)
{
	u32 need = LTP_CONTROL_MAX;

	if (hdr->type == LTP_DATA || hdr->type == LTP_GIVEUP)
		need = sizeof(*hdr) + sizeof(struct ltp_data);
	else if (hdr->type == LTP_PING || hdr->type == LTP_PONG)
		need = sizeof(*hdr) + sizeof(struct ltp_ping);
	return min(need, total);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_packet_need);

/**
 * ltp_packet_parse() - check a packet and take it apart
 * @packet: its common header, followed by what ltp_packet_need() asks for
 * @linear: bytes that can be read there
 * @total: length of the whole packet
 * @p: the result; its pointers point into @packet
 *
 * The checksum was checked before, tag and state are checked afterwards.
 *
 * Return: 0, or the enum ltp_mib that says why the packet is no good
 */
int ltp_packet_parse(const void *packet, u32 linear, u32 total,
		     struct ltp_packet *p)
{
	const struct ltp_hdr *hdr = packet;

	if (linear < sizeof(*hdr))
		return LTP_MIB_DROP_SHORT;
	p->source = hdr->source;
	p->dest = hdr->dest;
	p->tag = be32_to_cpu(hdr->tag);
	p->pn = be32_to_cpu(hdr->pn);
	p->type = hdr->type;
	p->flags = hdr->flags;
	p->payload = 0;
	p->offset = 0;
	if (!p->type || p->type >= __LTP_TYPE_END)
		return LTP_MIB_DROP_TYPE;
	if (p->flags & ~ltp_packet_flags[p->type])
		return LTP_MIB_DROP_FLAGS;
	if (!p->source || !p->dest || (p->type == LTP_INIT) != !p->tag)
		return LTP_MIB_DROP_FIELD;
	return ltp_parse_body(hdr + 1, linear - sizeof(*hdr),
			      total - sizeof(*hdr), p);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_packet_parse);
