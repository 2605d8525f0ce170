// SPDX-License-Identifier: GPL-2.0
/* Counters of a network namespace, kept per CPU. */
#include <linux/percpu.h>

#include "ltp.h"

const struct ltp_mib_entry ltp_mib_entries[__LTP_MIB_MAX] = {
#define LTP_MIB(symbol, name, doc) [LTP_MIB_##symbol] = { name, doc },
	LTP_MIBS
#undef LTP_MIB
};

/**
 * ltp_mib_add() - count something
 * @net: where it happened
 * @which: what happened
 * @n: how often
 *
 * Context: any but NMI.
 */
void ltp_mib_add(struct net *net, enum ltp_mib which, u64 n)
{
	struct ltp_mib_cpu *mib;
	unsigned long flags;

	mib = get_cpu_ptr(ltp_pernet(net)->mib);
	flags = u64_stats_update_begin_irqsave(&mib->sync);
	mib->counts[which] += n;
	u64_stats_update_end_irqrestore(&mib->sync, flags);
	put_cpu_ptr(ltp_pernet(net)->mib);
}

/**
 * ltp_mib_sum() - read a counter
 * @net: whose
 * @which: which
 *
 * Context: any.
 * Return: its value since the namespace was made
 */
u64 ltp_mib_sum(struct net *net, enum ltp_mib which)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		struct ltp_mib_cpu *mib = per_cpu_ptr(ltp_pernet(net)->mib,
						      cpu);
		unsigned int start;
		u64 count;

		do {
			start = u64_stats_fetch_begin(&mib->sync);
			count = mib->counts[which];
		} while (u64_stats_fetch_retry(&mib->sync, start));
		sum += count;
	}
	return sum;
}

/**
 * ltp_mib_init() - make the counters of a new namespace
 * @net: the namespace
 *
 * Context: process.
 * Return: 0 or -ENOMEM
 */
int ltp_mib_init(struct net *net)
{
	struct ltp_net *ln = ltp_pernet(net);
	int cpu;

	ln->mib = alloc_percpu(struct ltp_mib_cpu);
	if (!ln->mib)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		u64_stats_init(&per_cpu_ptr(ln->mib, cpu)->sync);
	return 0;
}

/**
 * ltp_mib_exit() - free the counters of a namespace that goes
 * @net: the namespace, with no packet or socket left in it
 */
void ltp_mib_exit(struct net *net)
{
	free_percpu(ltp_pernet(net)->mib);
}
