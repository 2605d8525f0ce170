// SPDX-License-Identifier: GPL-2.0
/* The map of segments against a model with one byte a segment. */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "../../kernel/ackmap.h"
#include "random.h"

#define LARGE	1048576U
#define SLACK	0xa5a5a5a5U

static const u32 sizes[] = {
	1, 2, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129,
	1022, 1023, 1024, 1025, 1055, 1056, 1057, 2113,
};

struct model {
	u8 *seg;
	u32 segs;
};

static void model_init(struct kunit *test, struct model *m, u32 segs)
{
	m->segs = segs;
	m->seg = kunit_kzalloc(test, segs, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m->seg);
}

static void map_init(struct kunit *test, struct ltp_ackmap *map, u32 segs)
{
	KUNIT_ASSERT_EQ(test, ltp_ackmap_init(map, segs, GFP_KERNEL), 0);
}

/* The first segment from @from on whose state is @state. */
static u32 model_find(const struct model *m, u32 from, u8 state)
{
	while (from < m->segs && m->seg[from] != state)
		from++;
	return min(from, m->segs);
}

static u32 model_count(const struct model *m)
{
	u32 i, n = 0;

	for (i = 0; i < m->segs; i++)
		n += m->seg[i];
	return n;
}

static u32 model_top(const struct model *m)
{
	u32 top = m->segs;

	while (top && !m->seg[top - 1])
		top--;
	return top;
}

static u32 model_holes(const struct model *m)
{
	u32 i, n = 0;

	for (i = 0; i < m->segs; i++)
		n += !m->seg[i] && (!i || m->seg[i - 1]);
	return n;
}

static void check_ranges(struct kunit *test, const struct ltp_ackmap *map,
			 const struct model *m, u32 max)
{
	struct ltp_range range[8];
	u32 from = 0, at = 0, all = 0;
	u32 i, n;

	do {
		n = ltp_ackmap_ranges(map, &from, range, max);
		KUNIT_ASSERT_LE(test, n, max);
		for (i = 0; i < n; i++) {
			u32 first = be32_to_cpu(range[i].first);
			u32 end = first + be32_to_cpu(range[i].count);

			KUNIT_ASSERT_EQ(test, first, model_find(m, at, 0));
			KUNIT_ASSERT_EQ(test, end, model_find(m, first, 1));
			at = end;
		}
		all += n;
	} while (n == max);
	KUNIT_EXPECT_EQ(test, model_find(m, at, 0), m->segs);
	KUNIT_EXPECT_EQ(test, from, m->segs);
	KUNIT_EXPECT_EQ(test, all, model_holes(m));
}

static void check_all(struct kunit *test, const struct ltp_ackmap *map,
		      const struct model *m)
{
	u32 wrong = 0;
	u32 i;

	KUNIT_ASSERT_EQ(test, map->count, model_count(m));
	KUNIT_ASSERT_EQ(test, map->base, model_find(m, 0, 0));
	KUNIT_ASSERT_EQ(test, map->top, model_top(m));
	KUNIT_ASSERT_EQ(test, ltp_ackmap_whole(map),
			model_find(m, 0, 0) == m->segs);
	KUNIT_ASSERT_EQ(test, ltp_ackmap_holes(map), model_holes(m));
	for (i = 0; i < m->segs; i++) {
		u64 word = ltp_ackmap_word64(map, i / 64);

		wrong += ltp_ackmap_test(map, i) != m->seg[i];
		wrong += (word >> (i % 64) & 1) != m->seg[i];
		wrong += ltp_ackmap_next_hole(map, i) != model_find(m, i, 0);
		if (!m->seg[i])
			wrong += ltp_ackmap_hole_end(map, i) !=
				 model_find(m, i, 1);
	}
	KUNIT_ASSERT_EQ(test, wrong, 0);
	/* What a program gets to see past the end is clear. */
	if (m->segs % 64)
		KUNIT_ASSERT_EQ(test, ltp_ackmap_word64(map, m->segs / 64) >>
				(m->segs % 64), 0);
	KUNIT_ASSERT_EQ(test, ltp_ackmap_next_hole(map, m->segs), m->segs);
	KUNIT_ASSERT_EQ(test, ltp_ackmap_next_hole(map, U32_MAX), m->segs);
	KUNIT_ASSERT_FALSE(test, ltp_ackmap_test(map, m->segs));
	KUNIT_ASSERT_FALSE(test, ltp_ackmap_test(map, U32_MAX));
}

static void ackmap_memory(struct kunit *test)
{
	struct ltp_ackmap map;
	u32 i, k;

	KUNIT_EXPECT_EQ(test, ltp_ackmap_bytes(1), 8);
	KUNIT_EXPECT_EQ(test, ltp_ackmap_bytes(64), 8);
	KUNIT_EXPECT_EQ(test, ltp_ackmap_bytes(65), 16);
	KUNIT_EXPECT_EQ(test, ltp_ackmap_bytes(LARGE), LARGE / 8);
	KUNIT_EXPECT_EQ(test, ltp_ackmap_bytes(U32_MAX), 1U << 29);

	KUNIT_EXPECT_EQ(test, ltp_ackmap_init(&map, 0, GFP_KERNEL), -EINVAL);
	ltp_ackmap_free(&map);
	memset(&map, 0, sizeof(map));
	ltp_ackmap_free(&map);

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		map_init(test, &map, sizes[i]);
		KUNIT_EXPECT_EQ(test, map.segs, sizes[i]);
		KUNIT_EXPECT_EQ(test, map.count, 0);
		KUNIT_EXPECT_EQ(test, map.base, 0);
		KUNIT_EXPECT_EQ(test, map.top, 0);
		KUNIT_EXPECT_EQ(test, ltp_ackmap_words64(&map),
				DIV_ROUND_UP(sizes[i], 64));
		KUNIT_EXPECT_EQ(test, ltp_ackmap_words64(&map) * sizeof(u64),
				ltp_ackmap_bytes(sizes[i]));
		KUNIT_EXPECT_EQ(test, ltp_ackmap_word64(&map, U32_MAX), 0);
		k = ltp_ackmap_words64(&map);
		KUNIT_EXPECT_EQ(test, ltp_ackmap_word64(&map, k), 0);
		KUNIT_EXPECT_EQ(test, ltp_ackmap_holes(&map), 1);
		KUNIT_EXPECT_EQ(test, ltp_ackmap_hole_end(&map, 0), sizes[i]);
		ltp_ackmap_free(&map);
		ltp_ackmap_free(&map);
		KUNIT_EXPECT_NULL(test, map.bits);
	}
}

/* In order, in reverse order, and from the middle to both ends. */
static void ackmap_fill(struct kunit *test)
{
	struct ltp_ackmap map;
	u32 i, k, order;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		u32 segs = sizes[i];

		for (order = 0; order < 3; order++) {
			u32 wrong = 0;

			map_init(test, &map, segs);
			for (k = 0; k < segs; k++) {
				u32 seg = order == 0 ? k : segs - 1 - k;

				if (order == 2)
					seg = (segs / 2 + k) % segs;
				KUNIT_ASSERT_FALSE(test,
						   ltp_ackmap_whole(&map));
				wrong += !ltp_ackmap_set(&map, seg);
				wrong += ltp_ackmap_set(&map, seg);
				wrong += map.count != k + 1;
				if (order == 0)
					wrong += map.base != k + 1 ||
						 map.top != k + 1;
				if (order == 1 && k < segs - 1)
					wrong += map.base != 0 ||
						 map.top != segs;
			}
			KUNIT_EXPECT_EQ_MSG(test, wrong, 0, "%u segments, order %u",
					    segs, order);
			KUNIT_EXPECT_TRUE(test, ltp_ackmap_whole(&map));
			KUNIT_EXPECT_EQ(test, map.base, segs);
			KUNIT_EXPECT_EQ(test, map.top, segs);
			KUNIT_EXPECT_EQ(test, ltp_ackmap_holes(&map), 0);
			KUNIT_EXPECT_EQ(test, ltp_ackmap_next_hole(&map, 0),
					segs);
			KUNIT_EXPECT_FALSE(test, ltp_ackmap_set(&map, segs));
			KUNIT_EXPECT_FALSE(test, ltp_ackmap_set(&map, U32_MAX));
			KUNIT_EXPECT_EQ(test, map.count, segs);
			ltp_ackmap_free(&map);
		}
	}
}

static void ackmap_random(struct kunit *test)
{
	struct ltp_ackmap map;
	u64 state = RANDOM_SEED;
	struct model m;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		u32 segs = sizes[i];
		u32 step = max(segs / 24, 1U);

		map_init(test, &map, segs);
		model_init(test, &m, segs);
		check_all(test, &map, &m);
		for (k = 0; map.count < segs; k++) {
			u32 seg = random_next(&state) % segs;

			/* Long runs as well as single segments. */
			if (k % 3 == 0 && map.top && map.top < segs)
				seg = map.top;
			KUNIT_ASSERT_EQ(test, ltp_ackmap_set(&map, seg),
					!m.seg[seg]);
			m.seg[seg] = 1;
			if (k % step && map.count < segs)
				continue;
			check_all(test, &map, &m);
			check_ranges(test, &map, &m, 1);
			check_ranges(test, &map, &m, 8);
		}
		ltp_ackmap_free(&map);
	}
}

static bool bitmap_has(u32 first, const __be32 *words, u32 n, u32 seg)
{
	u32 i = (seg - first) / 32;

	return seg >= first && i < n &&
	       be32_to_cpu(words[i]) >> (seg % 32) & 1;
}

/* What the receiver says of a map, for each @hi there is. */
static void ackmap_window(struct kunit *test)
{
	__be32 words[LTP_ACK_WORDS + 1];
	u64 state = RANDOM_SEED;
	struct ltp_ackmap map;
	struct model m;
	u32 i, k, hi;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		u32 segs = sizes[i];
		u32 dense = i % 3;

		map_init(test, &map, segs);
		model_init(test, &m, segs);
		for (k = 0; k < segs; k++) {
			u32 r = random_next(&state) % 64;

			/* Mostly there, mostly not, and a base. */
			m.seg[k] = dense == 0 ? r > 2 : r < 2;
			if (dense == 2 && k < segs / 3)
				m.seg[k] = 1;
			if (m.seg[k])
				ltp_ackmap_set(&map, k);
		}
		for (hi = 0; hi < segs; hi++) {
			u32 first = SLACK, n, wrong = 0;
			u32 lo = hi / 32 * 32;

			memset(words, 0xa5, sizeof(words));
			n = ltp_ackmap_window(&map, hi, &first, words);
			KUNIT_ASSERT_LE(test, n, LTP_ACK_WORDS);
			KUNIT_ASSERT_EQ(test, first % 32, 0);
			KUNIT_ASSERT_LT(test, first, segs);
			KUNIT_ASSERT_EQ(test, be32_to_cpu(words[LTP_ACK_WORDS]),
					SLACK);
			if (map.base >= hi)
				KUNIT_ASSERT_EQ(test, n, 0);
			if (n) {
				KUNIT_ASSERT_GE(test, first,
						map.base / 32 * 32);
				KUNIT_ASSERT_NE(test, be32_to_cpu(words[0]), 0);
				KUNIT_ASSERT_NE(test,
						be32_to_cpu(words[n - 1]), 0);
				KUNIT_ASSERT_LE(test, first / 32 + n - 1,
						hi / 32);
			}
			/* All from there up to @hi, and nothing invented. */
			lo = lo > (LTP_ACK_WORDS - 1) * 32 ?
			     lo - (LTP_ACK_WORDS - 1) * 32 : 0;
			for (k = 0; k < segs; k++) {
				bool told = k < map.base ||
					    bitmap_has(first, words, n, k);

				if (told && !m.seg[k])
					wrong++;
				if (!told && m.seg[k] && k >= lo && k <= hi)
					wrong++;
			}
			KUNIT_ASSERT_EQ_MSG(test, wrong, 0, "%u of %u segments",
					    hi, segs);
		}
		/* Past the end is the end. */
		{
			u32 first, last, n;

			n = ltp_ackmap_window(&map, U32_MAX, &first, words);
			KUNIT_EXPECT_EQ(test, ltp_ackmap_window(&map, segs - 1,
								&last, words),
					n);
			KUNIT_EXPECT_EQ(test, first, last);
			KUNIT_EXPECT_LE(test, first / 32 + n,
					DIV_ROUND_UP(segs, 32));
		}
		ltp_ackmap_free(&map);
	}
}

/* fits() says that a window ending with the one covers the other. */
static void ackmap_fits(struct kunit *test)
{
	const u32 span = LTP_ACK_WORDS * 32;
	u64 state = RANDOM_SEED;
	u32 i;

	KUNIT_EXPECT_TRUE(test, ltp_ackmap_fits(0, 0, 0));
	KUNIT_EXPECT_TRUE(test, ltp_ackmap_fits(0, 0, span - 1));
	KUNIT_EXPECT_FALSE(test, ltp_ackmap_fits(0, 0, span));
	KUNIT_EXPECT_TRUE(test, ltp_ackmap_fits(31, 31, span - 1));
	KUNIT_EXPECT_FALSE(test, ltp_ackmap_fits(31, 31, span));
	KUNIT_EXPECT_TRUE(test, ltp_ackmap_fits(32, 40, span + 31));
	KUNIT_EXPECT_FALSE(test, ltp_ackmap_fits(32, 40, span + 32));
	KUNIT_EXPECT_TRUE(test, ltp_ackmap_fits(span, span, 32));
	KUNIT_EXPECT_FALSE(test, ltp_ackmap_fits(span, span, 31));
	KUNIT_EXPECT_FALSE(test, ltp_ackmap_fits(0, 0, U32_MAX));
	KUNIT_EXPECT_TRUE(test, ltp_ackmap_fits(U32_MAX, U32_MAX, U32_MAX));

	for (i = 0; i < 20000; i++) {
		u32 a = random_next(&state) % 3000;
		u32 b = a + random_next(&state) % 300;
		u32 seg = random_next(&state) % 3000;
		u32 lo = min(a, seg), hi = max(b, seg);
		s32 first = (s32)(hi / 32 + 1 - LTP_ACK_WORDS) * 32;

		KUNIT_ASSERT_EQ(test, ltp_ackmap_fits(a, b, seg),
				(s32)lo >= first);
	}
}

/* A receiver's ACK, taken in by a sender who knows less, or other things. */
static void ackmap_exchange(struct kunit *test)
{
	__be32 words[LTP_ACK_WORDS];
	u64 state = RANDOM_SEED;
	u32 i, k, round;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		u32 segs = sizes[i];
		struct ltp_ackmap rx, tx;
		struct model m;

		map_init(test, &rx, segs);
		map_init(test, &tx, segs);
		model_init(test, &m, segs);
		for (round = 0; !ltp_ackmap_whole(&rx); round++) {
			u32 hi = 0, from = 0, first, n, seg, news = 0;

			for (k = 0; k < 1 + segs / 16; k++) {
				seg = random_next(&state) % segs;
				if (round % 2)
					seg = ltp_ackmap_next_hole(&rx, 0);
				if (seg < segs && ltp_ackmap_set(&rx, seg))
					hi = max(hi, seg);
			}
			n = ltp_ackmap_window(&rx, hi, &first, words);
			/* An ACK that is lost is made up for by later ones. */
			if (random_next(&state) % 4 == 0)
				continue;
			for (k = 0; k < segs; k++) {
				if (k >= rx.base &&
				    !bitmap_has(first, words, n, k))
					continue;
				news += !m.seg[k];
				m.seg[k] = 1;
			}
			for (;; news--) {
				seg = ltp_ackmap_next_new(&tx, from, rx.base,
							  first, words, n);
				if (seg == segs)
					break;
				KUNIT_ASSERT_GE(test, seg, from);
				KUNIT_ASSERT_TRUE(test, m.seg[seg]);
				KUNIT_ASSERT_TRUE(test,
						  ltp_ackmap_set(&tx, seg));
				from = seg + 1;
			}
			KUNIT_ASSERT_EQ(test, news, 0);
			check_all(test, &tx, &m);
		}
		ltp_ackmap_free(&rx);
		ltp_ackmap_free(&tx);
	}
}

/* What a CLOSE lists as missing makes the sender's map the receiver's. */
static void ackmap_close(struct kunit *test)
{
	u64 state = RANDOM_SEED;
	u32 i, k, round;

	for (i = 0; i < ARRAY_SIZE(sizes) * 8; i++) {
		u32 segs = sizes[i / 8];
		struct ltp_range range[8];
		struct ltp_ackmap rx, tx;
		u32 from = 0, n;
		struct model m;

		map_init(test, &rx, segs);
		map_init(test, &tx, segs);
		model_init(test, &m, segs);
		/* From nothing to nearly all; the last round misses none. */
		for (k = 0; k < segs; k++) {
			round = random_next(&state) % 7;
			if (round >= i % 8 && i % 8 != 7)
				continue;
			ltp_ackmap_set(&rx, k);
			m.seg[k] = 1;
			/* The sender knew some of it. */
			if (round % 2)
				ltp_ackmap_set(&tx, k);
		}
		ltp_ackmap_assume(&tx);
		KUNIT_ASSERT_TRUE(test, ltp_ackmap_whole(&tx));
		do {
			n = ltp_ackmap_ranges(&rx, &from, range, 8);
			for (k = 0; k < n; k++) {
				u32 first = be32_to_cpu(range[k].first);
				u32 count = be32_to_cpu(range[k].count);

				KUNIT_ASSERT_TRUE(test, ltp_ackmap_has_all(&tx, first, count));
				ltp_ackmap_miss(&tx, first, count);
				KUNIT_ASSERT_FALSE(test, ltp_ackmap_has_all(&tx, first, 1));
				KUNIT_ASSERT_FALSE(test,
						   ltp_ackmap_has_all(&tx, first + count - 1, 1));
			}
		} while (n == 8);
		check_all(test, &tx, &m);
		check_all(test, &rx, &m);
		ltp_ackmap_free(&rx);
		ltp_ackmap_free(&tx);
	}
}

/* next_new() against a search one by one, with ACKs that make no sense too. */
static void ackmap_next_new(struct kunit *test)
{
	__be32 words[LTP_ACK_WORDS];
	u64 state = RANDOM_SEED;
	u32 i, k;

	for (i = 0; i < 20000; i++) {
		u32 segs = sizes[random_next(&state) % ARRAY_SIZE(sizes)];
		u32 n = random_next(&state) % (LTP_ACK_WORDS + 1);
		u32 first = random_next(&state) % (segs + 64) / 32 * 32;
		u32 base = random_next(&state) % (segs + 64);
		u32 from = random_next(&state) % (segs + 64);
		struct ltp_ackmap map;
		u32 want = segs;

		if (i % 16 == 0)
			first = random_scaled(&state) / 32 * 32;
		if (i % 16 == 1)
			base = random_scaled(&state);
		if (i % 16 == 2)
			from = random_scaled(&state);
		if (i % 4 == 3)
			base = 0;
		map_init(test, &map, segs);
		for (k = 0; k < segs / 2; k++)
			ltp_ackmap_set(&map, i % 2 ? k :
				       random_next(&state) % segs);
		for (k = 0; k < n; k++)
			words[k] = cpu_to_be32(i % 8 == 5 ? ~0U :
					       random_next(&state) &
					       random_next(&state) &
					       random_next(&state));
		for (k = from; k < segs; k++) {
			if (ltp_ackmap_test(&map, k))
				continue;
			if (k < base || bitmap_has(first, words, n, k)) {
				want = k;
				break;
			}
		}
		KUNIT_ASSERT_EQ_MSG(test,
				    ltp_ackmap_next_new(&map, from, base, first,
							words, n), want,
				    "%u: %u segments, from %u, base %u, first %u, %u words",
				    i, segs, from, base, first, n);
		ltp_ackmap_free(&map);
	}
}

static void ackmap_distrust(struct kunit *test)
{
	__be32 words[LTP_ACK_WORDS];
	struct ltp_ackmap map;

	memset(words, 0xff, sizeof(words));
	map_init(test, &map, 33);
	/* A base past the end is the end. */
	KUNIT_EXPECT_EQ(test, ltp_ackmap_next_new(&map, 0, U32_MAX, 0, NULL, 0),
			0);
	KUNIT_EXPECT_EQ(test, ltp_ackmap_next_new(&map, 33, U32_MAX, 0, NULL, 0),
			33);
	KUNIT_EXPECT_EQ(test, ltp_ackmap_next_new(&map, U32_MAX, U32_MAX,
						  U32_MAX, words, 32), 33);
	/* Bits past the end are nothing. */
	KUNIT_EXPECT_EQ(test, ltp_ackmap_next_new(&map, 32, 0, 32, words, 32),
			32);
	KUNIT_EXPECT_TRUE(test, ltp_ackmap_set(&map, 32));
	KUNIT_EXPECT_EQ(test, ltp_ackmap_next_new(&map, 32, 0, 32, words, 32),
			33);
	KUNIT_EXPECT_EQ(test, ltp_ackmap_next_new(&map, 0, 0, 64, words, 32),
			33);
	KUNIT_EXPECT_EQ(test, ltp_ackmap_next_new(&map, 0, 0, ~31U, words, 32),
			33);
	/* A bitmap out of step is nothing. */
	KUNIT_EXPECT_EQ(test, ltp_ackmap_next_new(&map, 0, 0, 1, words, 32), 33);
	KUNIT_EXPECT_EQ(test, ltp_ackmap_next_new(&map, 0, 0, 16, words, 32),
			33);
	KUNIT_EXPECT_EQ(test, ltp_ackmap_next_new(&map, 0, 0, 0, words, 0), 33);
	KUNIT_EXPECT_EQ(test, ltp_ackmap_next_new(&map, 0, 0, 0, words, U32_MAX),
			0);
	KUNIT_EXPECT_EQ(test, map.count, 1);
	ltp_ackmap_free(&map);
}

static void ackmap_large(struct kunit *test)
{
	struct ltp_ackmap map, tx;
	struct ltp_range range[4];
	u32 i, seg, n, from;
	u32 wrong = 0;

	map_init(test, &map, LARGE);
	/* Every second one: as many holes as there can be. */
	for (i = 1; i < LARGE; i += 2)
		wrong += !ltp_ackmap_set(&map, i);
	KUNIT_EXPECT_EQ(test, ltp_ackmap_holes(&map), LARGE / 2);
	KUNIT_EXPECT_EQ(test, map.base, 0);
	for (i = 0, from = 0;
	     (n = ltp_ackmap_ranges(&map, &from, range, 4)); i += n)
		wrong += be32_to_cpu(range[0].first) != 2 * i ||
			 be32_to_cpu(range[n - 1].count) != 1;
	KUNIT_EXPECT_EQ(test, i, LARGE / 2);
	KUNIT_EXPECT_EQ(test, ltp_ackmap_word64(&map, 77),
			0xaaaaaaaaaaaaaaaaULL);

	for (i = 2; i < LARGE; i += 2)
		wrong += !ltp_ackmap_set(&map, i);
	KUNIT_EXPECT_EQ(test, map.base, 0);
	KUNIT_EXPECT_EQ(test, ltp_ackmap_holes(&map), 1);
	KUNIT_EXPECT_EQ(test, ltp_ackmap_hole_end(&map, 0), 1);
	KUNIT_EXPECT_TRUE(test, ltp_ackmap_set(&map, 0));
	KUNIT_EXPECT_EQ(test, map.base, LARGE);
	KUNIT_EXPECT_TRUE(test, ltp_ackmap_whole(&map));

	/* One ACK moves the base over all of it. */
	map_init(test, &tx, LARGE);
	for (i = 0; i < LARGE; i += 1000)
		ltp_ackmap_set(&tx, i);
	n = tx.count;
	from = 0;
	for (;;) {
		seg = ltp_ackmap_next_new(&tx, from, LARGE, 0, NULL, 0);
		if (seg == LARGE)
			break;
		wrong += seg % 1000 == 0;
		wrong += !ltp_ackmap_set(&tx, seg);
		from = seg + 1;
		n++;
	}
	KUNIT_EXPECT_EQ(test, n, LARGE);
	KUNIT_EXPECT_TRUE(test, ltp_ackmap_whole(&tx));
	KUNIT_EXPECT_EQ(test, wrong, 0);
	ltp_ackmap_free(&tx);
	ltp_ackmap_free(&map);
}

static struct kunit_case ackmap_cases[] = {
	KUNIT_CASE(ackmap_memory),
	KUNIT_CASE(ackmap_fill),
	KUNIT_CASE(ackmap_random),
	KUNIT_CASE(ackmap_window),
	KUNIT_CASE(ackmap_fits),
	KUNIT_CASE(ackmap_exchange),
	KUNIT_CASE(ackmap_close),
	KUNIT_CASE(ackmap_next_new),
	KUNIT_CASE(ackmap_distrust),
	KUNIT_CASE(ackmap_large),
	{}
};

static struct kunit_suite ackmap_suite = {
	.name = "ltp_ackmap",
	.test_cases = ackmap_cases,
};

kunit_test_suite(ackmap_suite);
