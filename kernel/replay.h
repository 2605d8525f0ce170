/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which associations a cookie must not make again: those that have ended, for
 * as long as their cookies are good. Pure logic; the caller has a lock.
 */
#ifndef _LTP_REPLAY_H
#define _LTP_REPLAY_H

#include <linux/types.h>

#define LTP_REPLAY_SETS	128
#define LTP_REPLAY_WAYS	8

/**
 * struct ltp_replay_set - a few associations that have ended
 * @floor_ns: of those that ended until then some may be forgotten
 * @id: which, 0: none
 * @ended_ns: when
 */
struct ltp_replay_set {
	u64 floor_ns;
	u64 id[LTP_REPLAY_WAYS];
	u64 ended_ns[LTP_REPLAY_WAYS];
};

/**
 * struct ltp_replay - the associations that ended last, about a thousand
 * @set: by id
 *
 * All zeros is a good one to begin with.
 */
struct ltp_replay {
	struct ltp_replay_set set[LTP_REPLAY_SETS];
};

enum ltp_replay_verdict {
	LTP_REPLAY_NEW,		/* never seen, that is certain */
	LTP_REPLAY_USED,	/* its association has ended */
	LTP_REPLAY_UNSURE,	/* so old that this may be forgotten */
};

void ltp_replay_add(struct ltp_replay *r, u64 id, u64 now_ns);
enum ltp_replay_verdict ltp_replay_check(const struct ltp_replay *r, u64 id,
					 u64 made_ns);

#endif /* _LTP_REPLAY_H */
