// SPDX-License-Identifier: GPL-2.0
/*
 * A cookie is all that a listener knows of a handshake, so it could make an
 * association each time it comes, for as long as it is good. While its
 * association lives, that one answers. Afterwards it is remembered here, in
 * bounded memory: the association that ended first makes room, and no cookie
 * that was made before that is believed any more. A peer whose cookie is
 * refused for that reason asks for another one.
 *
 * Nothing expires here: what is older than a cookie's life is refused for its
 * age, whether it is remembered or not.
 */
#include <kunit/visibility.h>
#include <linux/export.h>
#include <linux/hash.h>
#include <linux/minmax.h>

#include "replay.h"

static u32 ltp_replay_index(u64 id)
{
	return hash_64(id, 32) % LTP_REPLAY_SETS;
}

/**
 * ltp_replay_add() - an association has ended
 * @r: where that is remembered
 * @id: its verification tags, not 0
 * @now_ns: when; not before any cookie of it was made
 */
void ltp_replay_add(struct ltp_replay *r, u64 id, u64 now_ns)
{
	struct ltp_replay_set *set = &r->set[ltp_replay_index(id)];
	int i, oldest = 0;

	for (i = 1; i < LTP_REPLAY_WAYS; i++)
		if (set->ended_ns[i] < set->ended_ns[oldest])
			oldest = i;
	set->floor_ns = max(set->floor_ns, set->ended_ns[oldest]);
	set->id[oldest] = id;
	set->ended_ns[oldest] = now_ns;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_replay_add);

/**
 * ltp_replay_check() - may a cookie make an association?
 * @r: what is remembered
 * @id: both verification tags in the cookie
 * @made_ns: when it was made
 *
 * Return: whether it may, and if not, how sure that is
 */
enum ltp_replay_verdict ltp_replay_check(const struct ltp_replay *r, u64 id,
					 u64 made_ns)
{
	const struct ltp_replay_set *set = &r->set[ltp_replay_index(id)];
	int i;

	for (i = 0; i < LTP_REPLAY_WAYS; i++)
		if (set->id[i] == id)
			return LTP_REPLAY_USED;
	return made_ns > set->floor_ns ? LTP_REPLAY_NEW : LTP_REPLAY_UNSURE;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_replay_check);
