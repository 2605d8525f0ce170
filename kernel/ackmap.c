// SPDX-License-Identifier: GPL-2.0
/*
 * The segments of one flow that arrived.
 *
 * Storage is a multiple of 64 bits, so that words of 32 and of 64 bits that
 * contain a valid segment are always inside of it. Bits past the last segment
 * are never set.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "ackmap.h"
#include "compat/compat.h"

/* 32 segments, the first of them @word * 32, which must be below @segs. */
static u32 ackmap_word32(const struct ltp_ackmap *map, u32 word)
{
	u32 bit = word * 32;

	return map->bits[BIT_WORD(bit)] >> (bit % BITS_PER_LONG);
}

/**
 * ltp_ackmap_words64() - number of 64-bit words that hold the map
 * @map: the map
 *
 * Return: words for which ltp_ackmap_word64() gives a value.
 */
u32 ltp_ackmap_words64(const struct ltp_ackmap *map)
{
	return map->segs / 64 + !!(map->segs % 64);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ackmap_words64);

/**
 * ltp_ackmap_word64() - 64 segments of the map in one word
 * @map: the map
 * @word: index of the word: segments @word * 64 and following
 *
 * Return: bit i is set if segment @word * 64 + i arrived, whatever the
 * endianness and the word size of the machine; 0 past the end.
 */
u64 ltp_ackmap_word64(const struct ltp_ackmap *map, u32 word)
{
	if (word >= ltp_ackmap_words64(map))
		return 0;
#if BITS_PER_LONG == 64
	return map->bits[word];
#else
	return map->bits[2 * word] | (u64)map->bits[2 * word + 1] << 32;
#endif
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ackmap_word64);

/**
 * ltp_ackmap_bytes() - memory that a map takes
 * @segs: number of segments
 *
 * Return: bytes that ltp_ackmap_init() allocates, for accounting.
 */
size_t ltp_ackmap_bytes(u32 segs)
{
	return (size_t)(segs / 64 + !!(segs % 64)) * sizeof(u64);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ackmap_bytes);

/**
 * ltp_ackmap_init() - make an empty map
 * @map: the map
 * @segs: number of segments, at least 1
 * @gfp: GFP_KERNEL where sleeping is allowed; with GFP_ATOMIC a large map may
 *	not be had
 *
 * Return: 0, -EINVAL if @segs is 0, -ENOMEM. ltp_ackmap_free() may be called
 * in any case.
 */
int ltp_ackmap_init(struct ltp_ackmap *map, u32 segs, gfp_t gfp)
{
	memset(map, 0, sizeof(*map));
	if (!segs)
		return -EINVAL;
	map->bits = kvzalloc(ltp_ackmap_bytes(segs), gfp);
	if (!map->bits)
		return -ENOMEM;
	map->segs = segs;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ackmap_init);

/**
 * ltp_ackmap_free() - give the memory of a map back
 * @map: the map; all zero is allowed, and so is a second call
 *
 * Context: process or softirq, not hard interrupt.
 */
void ltp_ackmap_free(struct ltp_ackmap *map)
{
	kvfree(map->bits);
	memset(map, 0, sizeof(*map));
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ackmap_free);

/**
 * ltp_ackmap_test() - has a segment arrived?
 * @map: the map
 * @seg: index of the segment
 *
 * Return: true if it has; false if not, and past the last segment.
 */
bool ltp_ackmap_test(const struct ltp_ackmap *map, u32 seg)
{
	return seg < map->top && test_bit(seg, map->bits);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ackmap_test);

/**
 * ltp_ackmap_set() - a segment has arrived
 * @map: the map
 * @seg: index of the segment
 *
 * Return: true if that is news; false for a duplicate, and past the last
 * segment.
 */
bool ltp_ackmap_set(struct ltp_ackmap *map, u32 seg)
{
	if (seg >= map->segs || __test_and_set_bit(seg, map->bits))
		return false;
	map->count++;
	if (seg >= map->top)
		map->top = seg + 1;
	if (seg == map->base)
		map->base = find_next_zero_bit(map->bits, map->top, seg);
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ackmap_set);

/**
 * ltp_ackmap_whole() - have all segments arrived?
 * @map: the map
 *
 * Return: true if they have.
 */
bool ltp_ackmap_whole(const struct ltp_ackmap *map)
{
	return map->count == map->segs;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ackmap_whole);

/**
 * ltp_ackmap_next_hole() - where the next hole begins
 * @map: the map
 * @from: the first segment to look at
 *
 * Return: the smallest segment from @from on that is missing, or the number
 * of segments if none is.
 */
u32 ltp_ackmap_next_hole(const struct ltp_ackmap *map, u32 from)
{
	from = max(from, map->base);
	if (from >= map->segs)
		return map->segs;
	if (from >= map->top)
		return from;
	return find_next_zero_bit(map->bits, map->top, from);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ackmap_next_hole);

/**
 * ltp_ackmap_hole_end() - where a hole ends
 * @map: the map
 * @hole: a missing segment
 *
 * Return: the smallest segment above @hole that arrived, or the number of
 * segments if none did.
 */
u32 ltp_ackmap_hole_end(const struct ltp_ackmap *map, u32 hole)
{
	if (hole >= map->top)
		return map->segs;
	return find_next_bit(map->bits, map->top, hole);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ackmap_hole_end);

/**
 * ltp_ackmap_holes() - number of holes
 * @map: the map
 *
 * Return: how many entries ltp_ackmap_ranges() gives in all.
 */
u32 ltp_ackmap_holes(const struct ltp_ackmap *map)
{
	u32 holes = map->top < map->segs;
	unsigned long carry = 1;
	u32 i;

	/* A hole begins at a clear bit whose lower neighbour is set. */
	for (i = BIT_WORD(map->base); i < BITS_TO_LONGS(map->top); i++) {
		unsigned long word = map->bits[i];
		unsigned long start = ~word & (word << 1 | carry);

		if (i == BIT_WORD(map->top))
			start &= BITMAP_LAST_WORD_MASK(map->top);
		holes += hweight_long(start);
		carry = word >> (BITS_PER_LONG - 1);
	}
	return holes;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ackmap_holes);

/**
 * ltp_ackmap_ranges() - list holes in the form of a CLOSE packet
 * @map: the map
 * @from: where to begin, 0 at first; moved past the last hole listed
 * @range: where to put them
 * @max: room in @range
 *
 * Repeated calls walk all holes, each once, as long as the map is not changed.
 *
 * Return: entries written; fewer than @max only at the end of the map.
 */
u32 ltp_ackmap_ranges(const struct ltp_ackmap *map, u32 *from,
		      struct ltp_range *range, u32 max)
{
	u32 n;

	for (n = 0; n < max; n++) {
		u32 hole = ltp_ackmap_next_hole(map, *from);
		u32 end;

		if (hole == map->segs) {
			*from = map->segs;
			break;
		}
		end = ltp_ackmap_hole_end(map, hole);
		range[n].first = cpu_to_be32(hole);
		range[n].count = cpu_to_be32(end - hole);
		*from = end;
	}
	return n;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ackmap_ranges);

/**
 * ltp_ackmap_fits() - can one ACK tell of a segment too?
 * @lo: lowest segment that a pending ACK must tell of
 * @hi: highest one
 * @seg: the segment
 *
 * Return: true if the bitmap of one ACK is long enough for all of them.
 */
bool ltp_ackmap_fits(u32 lo, u32 hi, u32 seg)
{
	return max(hi, seg) / 32 - min(lo, seg) / 32 < LTP_ACK_WORDS;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ackmap_fits);

/**
 * ltp_ackmap_window() - fill the bitmap of an ACK
 * @map: the map
 * @hi: the highest segment that the ACK must tell of
 * @first: set to the index of the first segment in @words, a multiple of 32
 * @words: room for LTP_ACK_WORDS words
 *
 * The bitmap ends with the word of @hi and reaches down as far as there is
 * room, but not below the base, which the ACK carries besides. Words at either
 * end in which nothing is set are left out.
 *
 * Return: number of words, 0 if the base tells it all.
 */
u32 ltp_ackmap_window(const struct ltp_ackmap *map, u32 hi, u32 *first,
		      __be32 *words)
{
	u32 lo = map->base / 32;
	u32 n = 0;

	hi = min(hi, map->segs - 1);
	*first = round_down(hi, 32);
	if (map->base >= hi)
		return 0;

	hi /= 32;
	if (hi - lo >= LTP_ACK_WORDS)
		lo = hi - LTP_ACK_WORDS + 1;
	while (lo < hi && !ackmap_word32(map, lo))
		lo++;
	*first = lo * 32;
	for (; lo <= hi; lo++)
		words[n++] = cpu_to_be32(ackmap_word32(map, lo));
	while (n && !words[n - 1])
		n--;
	return n;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ackmap_window);

/**
 * ltp_ackmap_next_new() - what an ACK tells that its reader did not know
 * @map: what the reader, the sender of the flow, knows
 * @from: the first segment to look at
 * @base: of the ACK: every segment below has arrived
 * @first: of the ACK: index of the first segment in @words
 * @words: of the ACK: the bitmap
 * @nwords: number of words in @words
 *
 * Nothing in the ACK is trusted: what lies past the end of the flow is
 * ignored, and so is a bitmap that does not begin at a multiple of 32.
 *
 * Return: the smallest segment from @from on that arrived and is not in the
 * map, or the number of segments if there is none.
 */
u32 ltp_ackmap_next_new(const struct ltp_ackmap *map, u32 from, u32 base,
			u32 first, const __be32 *words, u32 nwords)
{
	u32 seg = ltp_ackmap_next_hole(map, from);
	u32 i = 0;

	if (seg == map->segs || seg < base)
		return seg;
	if (first >= map->segs || first % 32)
		return map->segs;

	/* Here @seg is the next that is missing: begin at its word. */
	if (seg > first)
		i = (seg - first) / 32;
	nwords = min(nwords, (map->segs - 1 - first) / 32 + 1);
	for (; i < nwords; i++) {
		u32 at = first + i * 32;
		u32 new = be32_to_cpu(words[i]) & ~ackmap_word32(map, at / 32);

		if (at < seg)
			new &= ~0U << (seg - at);
		if (new)
			return min_t(u32, at + __ffs(new), map->segs);
	}
	return map->segs;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ackmap_next_new);

/**
 * ltp_ackmap_assume() - take all segments for arrived
 * @map: the map
 *
 * What its receiver said is missing is then taken out with ltp_ackmap_miss().
 */
void ltp_ackmap_assume(struct ltp_ackmap *map)
{
	bitmap_set(map->bits, 0, map->segs);
	map->count = map->segs;
	map->base = map->segs;
	map->top = map->segs;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ackmap_assume);

/**
 * ltp_ackmap_has_all() - did all of these segments arrive?
 * @map: the map
 * @first: the first of them
 * @count: how many; @first + @count is at most the number of segments
 *
 * Return: whether they did
 */
bool ltp_ackmap_has_all(const struct ltp_ackmap *map, u32 first, u32 count)
{
	return find_next_zero_bit(map->bits, first + count, first) >=
	       first + count;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ackmap_has_all);

/**
 * ltp_ackmap_miss() - segments did not arrive after all
 * @map: the map
 * @first: the first of them
 * @count: how many; @first + @count is at most the number of segments
 */
void ltp_ackmap_miss(struct ltp_ackmap *map, u32 first, u32 count)
{
	u32 seg;

	for (seg = first; seg < first + count; seg++)
		map->count -= __test_and_clear_bit(seg, map->bits);
	map->base = min(map->base, first);
	while (map->top && !test_bit(map->top - 1, map->bits))
		map->top--;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_ackmap_miss);
