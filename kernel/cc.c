// SPDX-License-Identifier: GPL-2.0
/* Congestion control: the algorithms there are. */
#include <linux/kernel.h>
#include <linux/string.h>
#include "cc.h"
#include "compat/compat.h"

/* The first is the default of a new namespace. */
static const struct ltp_cc_ops *const cc_table[] = {
	&ltp_cc_bdp,
	&ltp_cc_reno,
};

/**
 * ltp_cc_find() - look an algorithm up
 * @name: its name, NUL-terminated; "": the default
 *
 * Return: the algorithm, NULL if there is none of that name.
 */
const struct ltp_cc_ops *ltp_cc_find(const char *name)
{
	unsigned int i;

	if (!name[0])
		return cc_table[0];
	for (i = 0; i < ARRAY_SIZE(cc_table); i++)
		if (!strcmp(cc_table[i]->name, name))
			return cc_table[i];
	return NULL;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_cc_find);

/**
 * ltp_cc_names() - what algorithms there are
 * @names: where their names go, separated by blanks
 * @room: bytes there; LTP_CC_NAMES_MAX is enough
 */
void ltp_cc_names(char *names, size_t room)
{
	size_t len = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cc_table); i++)
		len += scnprintf(names + len, room - len, "%s%s", i ? " " : "",
				 cc_table[i]->name);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_cc_names);

/**
 * ltp_cc_initial_window() - what may leave before the first answer
 * @cc: congestion control of an association, @mss and @group set
 *
 * Senders that answer one trigger begin at the same time: together they must
 * not overflow a shallow buffer.
 *
 * Return: bytes
 */
u32 ltp_cc_initial_window(const struct ltp_cc *cc)
{
	u32 segs = LTP_CC_INITIAL_GROUP / max(cc->group, 1U);

	return clamp(segs, 1, LTP_CC_INITIAL_SEGS) * cc->mss;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_cc_initial_window);

/**
 * ltp_cc_init() - begin with an algorithm
 * @cc: congestion control of an association
 * @ops: the algorithm
 * @mss: bytes of payload in a full segment, at least 1
 * @now_ns: time in ns
 * @rtt_ns: the smallest RTT known so far, 0: none is
 *
 * Context: the socket lock.
 */
void ltp_cc_init(struct ltp_cc *cc, const struct ltp_cc_ops *ops, u32 mss,
		 u64 now_ns, u64 rtt_ns)
{
	u32 seed = cc->seed, group = cc->group;

	memset(cc, 0, sizeof(*cc));
	cc->seed = seed;
	cc->group = group;
	cc->ops = ops;
	cc->mss = mss;
	ops->init(cc, now_ns, rtt_ns);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_cc_init);

/**
 * ltp_cc_switch() - go on with another algorithm
 * @cc: congestion control of an association that has sent something
 * @ops: the algorithm
 * @now_ns: time in ns
 * @rtt_ns: the smallest RTT known so far, 0: none is
 *
 * What the old one has learnt means nothing to the new one, but it begins with
 * the same window and rate.
 *
 * Context: the socket lock.
 */
void ltp_cc_switch(struct ltp_cc *cc, const struct ltp_cc_ops *ops, u64 now_ns,
		   u64 rtt_ns)
{
	u64 rate = cc->pacing_rate;
	u32 cwnd = cc->cwnd;

	if (cc->ops == ops)
		return;
	ltp_cc_init(cc, ops, cc->mss, now_ns, rtt_ns);
	if (ops->resume)
		ops->resume(cc, cwnd);
	else
		cc->cwnd = cwnd;
	cc->pacing_rate = rate;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_cc_switch);
