// SPDX-License-Identifier: GPL-2.0
/* Reading packets: a good one of each type, and each with one thing wrong. */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "../../kernel/packet.h"
#include "random.h"

#define TAG	0x12345678
#define SEG	1024

/* A packet in the making. */
struct sample {
	struct ltp_hdr hdr;
	union {
		struct ltp_data data;
		struct ltp_ack ack;
		struct ltp_close close;
		struct ltp_close_ack close_ack;
		struct ltp_init init;
		struct ltp_init_ack init_ack;
		struct ltp_cookie_echo echo;
		struct ltp_fin fin;
		struct ltp_reset reset;
		struct ltp_ping ping;
		u8 space[2048];
	};
	u32 len;
};

static void good_params(struct ltp_params *params)
{
	params->tag = cpu_to_be32(TAG + 1);
	params->rwnd = cpu_to_be32(1);
	params->flow = cpu_to_be32(U32_MAX);
	params->mtu = cpu_to_be16(LTP_MTU_MIN);
	params->max_flows = cpu_to_be16(1);
	params->grain = cpu_to_be16(2 * LTP_GRAIN);
}

/* Segment 3 of 8, the last of which is one byte; 2 are critical. */
static u32 good_data(struct ltp_data *data)
{
	data->flow = cpu_to_be32(77);
	data->len = cpu_to_be32(7 * SEG + 1);
	data->seg = cpu_to_be32(3);
	data->ncrit = cpu_to_be32(2);
	put_unaligned_be64(0x1122334455667788ULL, &data->tag);
	data->seg_size = cpu_to_be16(SEG);
	return sizeof(*data) + SEG;
}

static u32 good_close(struct ltp_close *close)
{
	close->flow = cpu_to_be32(77);
	close->missing = cpu_to_be32(5);
	close->parts = cpu_to_be32(1);
	close->received = cpu_to_be32(1000);
	close->reason = cpu_to_be16(LTP_FRACTION);
	close->ranges = cpu_to_be16(2);
	close->range[0].first = 0;
	close->range[0].count = cpu_to_be32(2);
	close->range[1].first = cpu_to_be32(4);
	close->range[1].count = cpu_to_be32(3);
	return struct_size(close, range, 2);
}

static u32 good_body(struct sample *s, u8 type)
{
	switch (type) {
	case LTP_INIT:
		good_params(&s->init.params);
		return sizeof(s->init);
	case LTP_INIT_ACK:
		good_params(&s->init_ack.params);
		return sizeof(s->init_ack);
	case LTP_COOKIE_ECHO:
		good_params(&s->echo.cookie.peer);
		good_params(&s->echo.cookie.local);
		return sizeof(s->echo);
	case LTP_DATA:
		return good_data(&s->data);
	case LTP_GIVEUP:
		s->hdr.flags = LTP_F_TOLERANT;
		good_data(&s->data);
		s->data.seg = 0;
		return sizeof(s->data);
	case LTP_ACK:
		s->ack.base = cpu_to_be32(5);
		s->ack.first = cpu_to_be32(32);
		s->ack.words = cpu_to_be16(2);
		return struct_size(&s->ack, bitmap, 2);
	case LTP_CLOSE:
		return good_close(&s->close);
	case LTP_CLOSE_ACK:
		return sizeof(s->close_ack);
	case LTP_FIN:
		return sizeof(s->fin);
	case LTP_RESET:
		return sizeof(s->reset);
	case LTP_PING:
	case LTP_PONG:
		return sizeof(s->ping);
	default:
		return 0;
	}
}

static void good(struct sample *s, u8 type)
{
	memset(s, 0, sizeof(*s));
	s->hdr.source = cpu_to_be16(1);
	s->hdr.dest = cpu_to_be16(2);
	s->hdr.tag = type == LTP_INIT ? 0 : cpu_to_be32(TAG);
	s->hdr.type = type;
	s->hdr.pn = cpu_to_be32(U32_MAX);
	s->len = sizeof(s->hdr) + good_body(s, type);
}

/* As input does it: no more is linear than is asked for. */
static int parse(const struct sample *s, struct ltp_packet *p)
{
	return ltp_packet_parse(s, ltp_packet_need(&s->hdr, s->len), s->len, p);
}

static int verdict(const struct sample *s)
{
	struct ltp_packet p;

	return parse(s, &p);
}

static struct sample *new_sample(struct kunit *test)
{
	struct sample *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	return s;
}

static void packet_good(struct kunit *test)
{
	struct sample *s = new_sample(test);
	u8 type;

	for (type = LTP_INIT; type < __LTP_TYPE_END; type++) {
		struct ltp_packet p;

		good(s, type);
		KUNIT_ASSERT_EQ_MSG(test, parse(s, &p), 0, "type %u", type);
		KUNIT_EXPECT_EQ(test, p.type, type);
		KUNIT_EXPECT_EQ(test, p.tag, type == LTP_INIT ? 0 : TAG);
		KUNIT_EXPECT_EQ(test, p.pn, U32_MAX);
		KUNIT_EXPECT_EQ(test, be16_to_cpu(p.source), 1);
		KUNIT_EXPECT_EQ(test, be16_to_cpu(p.dest), 2);
	}
}

static void packet_truncated(struct kunit *test)
{
	struct sample *s = new_sample(test);
	struct ltp_packet p;
	u32 len, whole;
	u8 type;

	for (type = LTP_INIT; type < __LTP_TYPE_END; type++) {
		good(s, type);
		whole = s->len;
		for (len = 0; len < whole; len++) {
			u32 need = min(len, sizeof(s->hdr));
			int drop;

			if (len >= sizeof(s->hdr))
				need = ltp_packet_need(&s->hdr, len);
			/* What lies behind the end must not be read. */
			drop = ltp_packet_parse(s, need, len, &p);
			KUNIT_EXPECT_TRUE_MSG(test, drop == LTP_MIB_DROP_SHORT ||
					      drop == LTP_MIB_DROP_LENGTH,
					      "type %u cut to %u: %d", type,
					      len, drop);
			if (len < sizeof(s->hdr))
				KUNIT_EXPECT_EQ(test, drop, LTP_MIB_DROP_SHORT);
		}
	}
}

static void packet_too_long(struct kunit *test)
{
	static const u32 more[] = { 1, 4, 100, LTP_CONTROL_MAX };
	struct sample *s = new_sample(test);
	int i, want;
	u8 type;

	for (type = LTP_INIT; type < __LTP_TYPE_END; type++) {
		want = type == LTP_PING || type == LTP_PONG ?
			       0 : LTP_MIB_DROP_LENGTH;
		for (i = 0; i < ARRAY_SIZE(more); i++) {
			good(s, type);
			s->len += more[i];
			KUNIT_EXPECT_EQ_MSG(test, verdict(s), want,
					    "type %u and %u bytes", type,
					    more[i]);
		}
	}
}

static void packet_header(struct kunit *test)
{
	static const u8 flags[__LTP_TYPE_END] = {
		[LTP_DATA] = 0xf, [LTP_ACK] = 7, [LTP_GIVEUP] = 2,
		[LTP_RESET] = 1,
	};
	struct sample *s = new_sample(test);
	u8 type, bit;

	for (type = LTP_INIT; type < __LTP_TYPE_END; type++) {
		good(s, type);
		s->hdr.source = 0;
		KUNIT_EXPECT_EQ(test, verdict(s), LTP_MIB_DROP_FIELD);
		good(s, type);
		s->hdr.dest = 0;
		KUNIT_EXPECT_EQ(test, verdict(s), LTP_MIB_DROP_FIELD);
		/* A tag in an INIT, none in any other. */
		good(s, type);
		s->hdr.tag = cpu_to_be32(type == LTP_INIT);
		KUNIT_EXPECT_EQ(test, verdict(s), LTP_MIB_DROP_FIELD);
		for (bit = 0; bit < 8; bit++) {
			if (flags[type] & BIT(bit))
				continue;
			good(s, type);
			s->hdr.flags |= BIT(bit);
			KUNIT_EXPECT_EQ_MSG(test, verdict(s),
					    LTP_MIB_DROP_FLAGS,
					    "type %u flag %u", type, bit);
		}
	}
	good(s, LTP_PING);
	s->hdr.type = 0;
	KUNIT_EXPECT_EQ(test, verdict(s), LTP_MIB_DROP_TYPE);
	for (type = __LTP_TYPE_END; type; type++) {
		s->hdr.type = type;
		KUNIT_EXPECT_EQ(test, verdict(s), LTP_MIB_DROP_TYPE);
	}
}

/* How a DATA packet is after some of its fields were changed. */
struct data_row {
	u32 len, seg, ncrit, seg_size, payload;
	u8 flags;
	int want;
};

static void packet_data(struct kunit *test)
{
	static const struct data_row rows[] = {
		/* every segment of a message of one */
		{ 1, 0, 0, 1, 1, 0, 0 },
		{ 1, 0, 0, LTP_SEG_MAX, 1, 0, 0 },
		{ 5, 0, 0, 5, 5, 0, 0 },
		{ 5, 0, 1, 7, 5, LTP_F_CRITICAL, 0 },
		/* flags that go with any */
		{ 1, 0, 0, 16, 1, LTP_F_LAST | LTP_F_ACK_NOW, 0 },
		{ 1, 0, 0, 16, 1, LTP_F_TOLERANT, 0 },
		/* first, middle, last of several */
		{ 2049, 0, 0, SEG, SEG, 0, 0 },
		{ 2049, 1, 0, SEG, SEG, 0, 0 },
		{ 2049, 2, 0, SEG, 1, 0, 0 },
		{ 2048, 1, 0, SEG, SEG, 0, 0 },
		/* lengths that are not theirs */
		{ 2049, 0, 0, SEG, SEG - 1, 0, LTP_MIB_DROP_LENGTH },
		{ 2049, 0, 0, SEG, SEG + 1, 0, LTP_MIB_DROP_LENGTH },
		{ 2049, 2, 0, SEG, SEG, 0, LTP_MIB_DROP_LENGTH },
		{ 2049, 2, 0, SEG, 0, 0, LTP_MIB_DROP_LENGTH },
		{ 1, 0, 0, 16, 16, 0, LTP_MIB_DROP_LENGTH },
		/* fields out of range */
		{ 0, 0, 0, SEG, 0, 0, LTP_MIB_DROP_FIELD },
		{ 1, 0, 0, 0, 1, 0, LTP_MIB_DROP_FIELD },
		{ 1, 0, 0, LTP_SEG_MAX + 1, 1, 0, LTP_MIB_DROP_FIELD },
		{ 2049, 3, 0, SEG, SEG, 0, LTP_MIB_DROP_FIELD },
		{ 2049, U32_MAX, 0, SEG, SEG, 0, LTP_MIB_DROP_FIELD },
		{ 2049, 0, 4, SEG, SEG, LTP_F_CRITICAL, LTP_MIB_DROP_FIELD },
		/* seg_size of more than one segment */
		{ 2049, 0, 0, 256, 256, 0, 0 },
		{ 2049, 0, 0, 240, 240, 0, LTP_MIB_DROP_FIELD },
		{ 2049, 0, 0, 1032, 1032, 0, LTP_MIB_DROP_FIELD },
		/* critical ones say so, others do not */
		{ 2049, 1, 2, SEG, SEG, LTP_F_CRITICAL, 0 },
		{ 2049, 1, 2, SEG, SEG, 0, LTP_MIB_DROP_FLAGS },
		{ 2049, 2, 2, SEG, 1, LTP_F_CRITICAL, LTP_MIB_DROP_FLAGS },
		{ 2049, 2, 3, SEG, 1, LTP_F_CRITICAL, 0 },
		/* the largest flow */
		{ U32_MAX, 16777215, 0, 256, 255, 0, 0 },
		{ U32_MAX, 16777216, 0, 256, 255, 0, LTP_MIB_DROP_FIELD },
		{ U32_MAX, 16777214, 0, 256, 256, 0, 0 },
	};
	struct sample *s = new_sample(test);
	struct ltp_packet p;
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		good(s, LTP_DATA);
		s->hdr.flags = rows[i].flags;
		s->data.len = cpu_to_be32(rows[i].len);
		s->data.seg = cpu_to_be32(rows[i].seg);
		s->data.ncrit = cpu_to_be32(rows[i].ncrit);
		s->data.seg_size = cpu_to_be16(rows[i].seg_size);
		s->len = sizeof(s->hdr) + sizeof(s->data) + rows[i].payload;
		KUNIT_EXPECT_EQ_MSG(test, parse(s, &p), rows[i].want, "row %d",
				    i);
		if (rows[i].want)
			continue;
		KUNIT_EXPECT_EQ(test, p.payload, rows[i].payload);
		KUNIT_EXPECT_EQ(test, p.offset, sizeof(s->hdr) +
						sizeof(s->data));
		KUNIT_EXPECT_EQ(test, p.data.len, rows[i].len);
		KUNIT_EXPECT_EQ(test, p.data.seg, rows[i].seg);
		KUNIT_EXPECT_EQ(test, p.data.ncrit, rows[i].ncrit);
		KUNIT_EXPECT_EQ(test, p.data.seg_size, rows[i].seg_size);
		KUNIT_EXPECT_EQ(test, p.data.segs,
				DIV_ROUND_UP_ULL(rows[i].len,
						 rows[i].seg_size));
		KUNIT_EXPECT_EQ(test, p.data.tag, 0x1122334455667788ULL);
	}
	good(s, LTP_DATA);
	s->data.group = cpu_to_be16(1);
	KUNIT_EXPECT_EQ(test, parse(s, &p), 0);
	KUNIT_EXPECT_EQ(test, p.data.group, 1);
}

static void packet_giveup(struct kunit *test)
{
	struct sample *s = new_sample(test);

	good(s, LTP_GIVEUP);
	s->data.seg = cpu_to_be32(1);
	KUNIT_EXPECT_EQ(test, verdict(s), LTP_MIB_DROP_FIELD);
	good(s, LTP_GIVEUP);
	s->hdr.flags = 0;
	KUNIT_EXPECT_EQ(test, verdict(s), LTP_MIB_DROP_FLAGS);
	good(s, LTP_GIVEUP);
	s->data.len = 0;
	KUNIT_EXPECT_EQ(test, verdict(s), LTP_MIB_DROP_FIELD);
}

static void packet_ack(struct kunit *test)
{
	static const struct {
		u32 first;
		u16 words, reserved;
		int want;
	} rows[] = {
		{ 0, 0, 0, 0 },
		{ 0, 1, 0, 0 },
		{ 0, LTP_ACK_WORDS, 0, 0 },
		{ 0, LTP_ACK_WORDS + 1, 0, LTP_MIB_DROP_FIELD },
		{ 0, U16_MAX, 0, LTP_MIB_DROP_FIELD },
		{ 1, 1, 0, LTP_MIB_DROP_FIELD },
		{ 31, 1, 0, LTP_MIB_DROP_FIELD },
		{ 64, 1, 0, 0 },
		{ 0xffffffc0, 1, 0, 0 },
		{ 0xffffffe0, 0, 0, 0 },
		{ 0xffffffe0, 1, 0, LTP_MIB_DROP_FIELD },
		{ 0xffffff00, 9, 0, LTP_MIB_DROP_FIELD },
		{ 0, 1, 1, LTP_MIB_DROP_FIELD },
	};
	struct sample *s = new_sample(test);
	struct ltp_packet p;
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		good(s, LTP_ACK);
		s->ack.first = cpu_to_be32(rows[i].first);
		s->ack.words = cpu_to_be16(rows[i].words);
		s->ack.reserved = cpu_to_be16(rows[i].reserved);
		s->ack.rwnd = cpu_to_be32(1);
		s->ack.rwnd_later = cpu_to_be32(2);
		s->ack.flow_limit = cpu_to_be32(3);
		s->ack.ceiling = cpu_to_be32(4);
		s->len = sizeof(s->hdr) +
			 struct_size(&s->ack, bitmap,
				     min_t(u32, rows[i].words, 100));
		KUNIT_EXPECT_EQ_MSG(test, parse(s, &p), rows[i].want, "row %d",
				    i);
		if (rows[i].want)
			continue;
		KUNIT_EXPECT_EQ(test, p.ack.first, rows[i].first);
		KUNIT_EXPECT_EQ(test, p.ack.words, rows[i].words);
		KUNIT_EXPECT_EQ(test, p.ack.base, 5);
		KUNIT_EXPECT_EQ(test, p.ack.window.rwnd, 1);
		KUNIT_EXPECT_EQ(test, p.ack.window.rwnd_later, 2);
		KUNIT_EXPECT_EQ(test, p.ack.window.flow_limit, 3);
		KUNIT_EXPECT_EQ(test, p.ack.ceiling, 4);
		KUNIT_EXPECT_PTR_EQ(test, p.ack.bitmap,
				    (const __be32 *)s->ack.bitmap);
	}
	/* Words that are not there, or that nobody counts. */
	good(s, LTP_ACK);
	s->ack.words = cpu_to_be16(1);
	KUNIT_EXPECT_EQ(test, verdict(s), LTP_MIB_DROP_LENGTH);
	s->ack.words = cpu_to_be16(3);
	KUNIT_EXPECT_EQ(test, verdict(s), LTP_MIB_DROP_LENGTH);
}

static void packet_close_head(struct kunit *test)
{
	static const struct {
		u32 missing, part, parts;
		u16 reason;
		int want;
	} rows[] = {
		{ 5, 0, 1, LTP_FRACTION, 0 },
		{ 5, 0, 1, LTP_DEADLINE, 0 },
		{ 5, 0, 1, LTP_GAVE_UP, 0 },
		{ 5, 0, 1, LTP_OPEN, LTP_MIB_DROP_FIELD },
		{ 5, 0, 1, LTP_COMPLETE, LTP_MIB_DROP_FIELD },
		{ 5, 0, 1, LTP_LOST, LTP_MIB_DROP_FIELD },
		{ 5, 0, 1, U16_MAX, LTP_MIB_DROP_FIELD },
		{ 5, 0, 0, LTP_FRACTION, LTP_MIB_DROP_FIELD },
		{ 5, 1, 1, LTP_FRACTION, LTP_MIB_DROP_FIELD },
		{ 5, U32_MAX, U32_MAX, LTP_FRACTION, LTP_MIB_DROP_FIELD },
		/* A part that is not the last is full, the last need not be. */
		{ 500, 0, 2, LTP_FRACTION, LTP_MIB_DROP_FIELD },
		{ 500, 1, 2, LTP_FRACTION, 0 },
		{ 500, U32_MAX - 1, U32_MAX, LTP_FRACTION, 0 },
		/* The parts together have what is missing. */
		{ 4, 0, 1, LTP_FRACTION, LTP_MIB_DROP_FIELD },
		{ 6, 0, 1, LTP_FRACTION, LTP_MIB_DROP_FIELD },
		{ 4, 1, 2, LTP_FRACTION, LTP_MIB_DROP_FIELD },
		{ 5, 1, 2, LTP_FRACTION, 0 },
		{ U32_MAX, 1, 2, LTP_FRACTION, 0 },
	};
	struct sample *s = new_sample(test);
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		good(s, LTP_CLOSE);
		s->close.missing = cpu_to_be32(rows[i].missing);
		s->close.part = cpu_to_be32(rows[i].part);
		s->close.parts = cpu_to_be32(rows[i].parts);
		s->close.reason = cpu_to_be16(rows[i].reason);
		KUNIT_EXPECT_EQ_MSG(test, verdict(s), rows[i].want, "row %d",
				    i);
	}
}

static void packet_close_ranges(struct kunit *test)
{
	static const struct {
		u32 first, count, first2, count2;
		int want;
	} rows[] = {
		{ 0, 1, 2, 4, 0 },
		{ 0, 2, 3, 3, 0 },
		{ 0, 4, 0xfffffffe, 1, 0 },
		{ 0, 4, U32_MAX, 1, LTP_MIB_DROP_FIELD },
		{ 0, 0, 2, 5, LTP_MIB_DROP_FIELD },
		{ 0, 5, 9, 0, LTP_MIB_DROP_FIELD },
		/* in order, apart */
		{ 0, 2, 2, 3, LTP_MIB_DROP_FIELD },
		{ 0, 2, 1, 3, LTP_MIB_DROP_FIELD },
		{ 0, 2, 0, 3, LTP_MIB_DROP_FIELD },
		{ 7, 2, 0, 3, LTP_MIB_DROP_FIELD },
		/* sums that are right only modulo 2^32 */
		{ 0, 0x80000000, 1, 0x80000005, LTP_MIB_DROP_FIELD },
	};
	struct sample *s = new_sample(test);
	struct ltp_packet p;
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		good(s, LTP_CLOSE);
		s->close.range[0].first = cpu_to_be32(rows[i].first);
		s->close.range[0].count = cpu_to_be32(rows[i].count);
		s->close.range[1].first = cpu_to_be32(rows[i].first2);
		s->close.range[1].count = cpu_to_be32(rows[i].count2);
		KUNIT_EXPECT_EQ_MSG(test, verdict(s), rows[i].want, "row %d",
				    i);
	}
	/* As many as there can be, none, one more. */
	good(s, LTP_CLOSE);
	for (i = 0; i <= LTP_CLOSE_RANGES; i++) {
		s->close.range[i].first = cpu_to_be32(2 * i);
		s->close.range[i].count = cpu_to_be32(1);
	}
	s->close.missing = cpu_to_be32(LTP_CLOSE_RANGES);
	s->close.ranges = cpu_to_be16(LTP_CLOSE_RANGES);
	s->len = sizeof(s->hdr) +
		 struct_size(&s->close, range, LTP_CLOSE_RANGES);
	KUNIT_ASSERT_EQ(test, parse(s, &p), 0);
	KUNIT_EXPECT_EQ(test, p.close.ranges, LTP_CLOSE_RANGES);
	KUNIT_EXPECT_EQ(test, p.close.missing, LTP_CLOSE_RANGES);
	/* The first of several parts is full. */
	s->close.missing = cpu_to_be32(1000);
	s->close.parts = cpu_to_be32(2);
	KUNIT_EXPECT_EQ(test, verdict(s), 0);
	s->close.ranges = cpu_to_be16(LTP_CLOSE_RANGES + 1);
	s->len += sizeof(struct ltp_range);
	KUNIT_EXPECT_EQ(test, verdict(s), LTP_MIB_DROP_FIELD);
	good(s, LTP_CLOSE);
	s->close.ranges = 0;
	s->len = sizeof(s->hdr) + sizeof(s->close);
	KUNIT_EXPECT_EQ(test, verdict(s), LTP_MIB_DROP_FIELD);
	good(s, LTP_CLOSE);
	s->close.ranges = cpu_to_be16(1);
	KUNIT_EXPECT_EQ(test, verdict(s), LTP_MIB_DROP_LENGTH);
}

/* Each of the parameters, wherever they are. */
static void params_wrong(struct kunit *test, struct sample *s, u8 type,
			 struct ltp_params *params)
{
	static const u16 grains[] = { 0, 1, 15, 17, U16_MAX };
	int i;

	good(s, type);
	params->tag = 0;
	KUNIT_EXPECT_EQ(test, verdict(s), LTP_MIB_DROP_FIELD);
	good(s, type);
	params->rwnd = 0;
	KUNIT_EXPECT_EQ(test, verdict(s), LTP_MIB_DROP_FIELD);
	good(s, type);
	params->max_flows = 0;
	KUNIT_EXPECT_EQ(test, verdict(s), LTP_MIB_DROP_FIELD);
	good(s, type);
	params->mtu = cpu_to_be16(LTP_MTU_MIN - 1);
	KUNIT_EXPECT_EQ(test, verdict(s), LTP_MIB_DROP_FIELD);
	for (i = 0; i < ARRAY_SIZE(grains); i++) {
		good(s, type);
		params->grain = cpu_to_be16(grains[i]);
		KUNIT_EXPECT_EQ(test, verdict(s), LTP_MIB_DROP_FIELD);
	}
	good(s, type);
	params->group = cpu_to_be16(U16_MAX);
	params->pn = 0;
	params->flow = 0;
	KUNIT_EXPECT_EQ(test, verdict(s), 0);
}

static void packet_handshake(struct kunit *test)
{
	struct sample *s = new_sample(test);
	struct ltp_packet p;

	params_wrong(test, s, LTP_INIT, &s->init.params);
	params_wrong(test, s, LTP_INIT_ACK, &s->init_ack.params);
	params_wrong(test, s, LTP_COOKIE_ECHO, &s->echo.cookie.peer);
	params_wrong(test, s, LTP_COOKIE_ECHO, &s->echo.cookie.local);
	good(s, LTP_INIT);
	KUNIT_EXPECT_EQ(test, parse(s, &p), 0);
	KUNIT_EXPECT_PTR_EQ(test, p.params,
			    (const struct ltp_params *)&s->init.params);
	KUNIT_EXPECT_NULL(test, p.cookie);
	good(s, LTP_INIT_ACK);
	KUNIT_EXPECT_EQ(test, parse(s, &p), 0);
	KUNIT_EXPECT_PTR_EQ(test, p.cookie,
			    (const struct ltp_cookie *)&s->init_ack.cookie);
	/* No answer is larger than its question. */
	KUNIT_EXPECT_EQ(test, sizeof(struct ltp_init),
			sizeof(struct ltp_init_ack));
}

static void packet_others(struct kunit *test)
{
	struct sample *s = new_sample(test);
	struct ltp_packet p;

	good(s, LTP_CLOSE_ACK);
	s->close_ack.flow = cpu_to_be32(5);
	s->close_ack.part = cpu_to_be32(6);
	KUNIT_EXPECT_EQ(test, parse(s, &p), 0);
	KUNIT_EXPECT_EQ(test, p.close_ack.flow, 5);
	KUNIT_EXPECT_EQ(test, p.close_ack.part, 6);
	good(s, LTP_FIN);
	s->fin.flow = cpu_to_be32(7);
	KUNIT_EXPECT_EQ(test, parse(s, &p), 0);
	KUNIT_EXPECT_EQ(test, p.flow, 7);
	good(s, LTP_RESET);
	s->reset.tag = cpu_to_be32(8);
	KUNIT_EXPECT_EQ(test, parse(s, &p), 0);
	KUNIT_EXPECT_EQ(test, p.peer_tag, 8);
	/* Reflected it has no body. */
	s->hdr.flags = LTP_F_REFLECT;
	KUNIT_EXPECT_EQ(test, verdict(s), LTP_MIB_DROP_LENGTH);
	s->len = sizeof(s->hdr);
	KUNIT_EXPECT_EQ(test, verdict(s), 0);
	good(s, LTP_PONG);
	s->ping.token = cpu_to_be32(1);
	s->ping.rwnd = cpu_to_be32(2);
	s->ping.rwnd_later = cpu_to_be32(3);
	s->ping.flow_limit = cpu_to_be32(4);
	KUNIT_EXPECT_EQ(test, parse(s, &p), 0);
	KUNIT_EXPECT_EQ(test, p.ping.token, 1);
	KUNIT_EXPECT_EQ(test, p.ping.window.rwnd, 2);
	KUNIT_EXPECT_EQ(test, p.ping.window.rwnd_later, 3);
	KUNIT_EXPECT_EQ(test, p.ping.window.flow_limit, 4);
}

static void packet_need(struct kunit *test)
{
	struct sample *s = new_sample(test);
	u8 type;

	for (type = 0; type < 20; type++) {
		u32 most, len;

		good(s, type);
		most = ltp_packet_need(&s->hdr, U32_MAX);
		KUNIT_EXPECT_LE(test, most, LTP_CONTROL_MAX);
		KUNIT_EXPECT_GE(test, most, sizeof(s->hdr));
		for (len = 0; len < 2 * LTP_CONTROL_MAX; len += 7)
			KUNIT_EXPECT_EQ(test, ltp_packet_need(&s->hdr, len),
					min(len, most));
	}
}

/* Whatever is in a packet, what is accepted is within its bounds. */
static void packet_random(struct kunit *test)
{
	struct sample *s = new_sample(test);
	u64 state = RANDOM_SEED;
	u32 i, k, accepted = 0;

	for (i = 0; i < 200000; i++) {
		u32 changes = random_next(&state) % 4;
		struct ltp_packet p;

		good(s, 1 + random_next(&state) % (__LTP_TYPE_END - 1));
		for (k = 0; k < changes; k++)
			((u8 *)s)[random_next(&state) % 100] =
				random_scaled(&state);
		if (random_next(&state) % 8 == 0)
			s->len = sizeof(s->hdr) + random_next(&state) % 1500;
		if (parse(s, &p))
			continue;
		accepted++;
		switch (p.type) {
		case LTP_DATA:
			KUNIT_ASSERT_EQ(test, p.offset + p.payload, s->len);
			KUNIT_ASSERT_LT(test, p.data.seg, p.data.segs);
			KUNIT_ASSERT_LE(test, p.data.ncrit, p.data.segs);
			KUNIT_ASSERT_LE(test, (u64)p.data.seg *
					p.data.seg_size + p.payload,
					(u64)p.data.len);
			break;
		case LTP_ACK:
			KUNIT_ASSERT_LE(test, p.ack.words, LTP_ACK_WORDS);
			KUNIT_ASSERT_PTR_EQ(test, (const u8 *)(p.ack.bitmap +
							       p.ack.words),
					    (const u8 *)s + s->len);
			break;
		case LTP_CLOSE:
			KUNIT_ASSERT_LT(test, p.close.part, p.close.parts);
			KUNIT_ASSERT_PTR_EQ(test, (const u8 *)(p.close.range +
							       p.close.ranges),
					    (const u8 *)s + s->len);
			break;
		}
	}
	KUNIT_EXPECT_GT(test, accepted, 10000);
}

static struct kunit_case packet_cases[] = {
	KUNIT_CASE(packet_good),
	KUNIT_CASE(packet_truncated),
	KUNIT_CASE(packet_too_long),
	KUNIT_CASE(packet_header),
	KUNIT_CASE(packet_data),
	KUNIT_CASE(packet_giveup),
	KUNIT_CASE(packet_ack),
	KUNIT_CASE(packet_close_head),
	KUNIT_CASE(packet_close_ranges),
	KUNIT_CASE(packet_handshake),
	KUNIT_CASE(packet_others),
	KUNIT_CASE(packet_need),
	KUNIT_CASE(packet_random),
	{}
};

static struct kunit_suite packet_suite = {
	.name = "ltp_packet",
	.test_cases = packet_cases,
};

kunit_test_suite(packet_suite);
