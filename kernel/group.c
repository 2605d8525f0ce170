// SPDX-License-Identifier: GPL-2.0
/* A group: a listener and the sockets accepted from it. */
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "group.h"

/**
 * ltp_group_new() - make a group
 * @gfp: how to allocate
 *
 * Return: the group, with one reference, or NULL
 */
struct ltp_group *ltp_group_new(gfp_t gfp)
{
	struct ltp_group *group = kzalloc(sizeof(*group), gfp);

	if (!group)
		return NULL;
	refcount_set(&group->ref, 1);
	group->lts = RB_ROOT_CACHED;
	spin_lock_init(&group->lock);
	return group;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_group_new);

/**
 * ltp_group_get() - become a member
 * @group: the group or NULL
 *
 * Return: @group
 */
struct ltp_group *ltp_group_get(struct ltp_group *group)
{
	if (group)
		refcount_inc(&group->ref);
	return group;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_group_get);

/**
 * ltp_group_put() - leave a group
 * @group: the group or NULL
 *
 * Context: any.
 */
void ltp_group_put(struct ltp_group *group)
{
	if (group && refcount_dec_and_test(&group->ref))
		kfree_rcu(group, rcu);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_group_put);

/**
 * ltp_group_arrived() - DATA came for a member
 * @group: the group
 * @bytes: its payload
 * @now: when
 *
 * Context: softirq, rcu_read_lock().
 */
void ltp_group_arrived(struct ltp_group *group, u32 bytes, u64 now)
{
	spin_lock(&group->lock);
	ltp_ceiling_arrived(&group->ceiling, bytes, now);
	spin_unlock(&group->lock);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_group_arrived);

/**
 * ltp_group_ceiling() - the rate ceiling that an ACK to a member tells
 * @group: the group or NULL
 *
 * Context: any.
 * Return: as in struct ltp_ack, 0: none
 */
u32 ltp_group_ceiling(struct ltp_group *group)
{
	u64 share;

	if (!group)
		return 0;
	/* A value torn by a packet that comes just now is as good. */
	share = data_race(ltp_ceiling_share(&group->ceiling,
					    atomic_read(&group->active)));
	return min_t(u64, DIV_ROUND_UP(share, LTP_CEILING_UNIT), U32_MAX);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_group_ceiling);

static bool ltp_member_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct ltp_member, node)->lt_ns >
	       rb_entry(b, struct ltp_member, node)->lt_ns;
}

/**
 * ltp_group_tell() - the LT threshold of a member has changed
 * @group: its group or NULL
 * @m: the member
 * @lt_ns: LT threshold, 0: it has none, or leaves
 *
 * Context: any; whoever may call it for this member holds its socket lock.
 */
void ltp_group_tell(struct ltp_group *group, struct ltp_member *m, u64 lt_ns)
{
	struct rb_node *first;

	if (m->lt_ns == lt_ns)
		return;
	if (!group) {
		m->lt_ns = lt_ns;
		return;
	}
	spin_lock_bh(&group->lock);
	if (m->lt_ns)
		rb_erase_cached(&m->node, &group->lts);
	m->lt_ns = lt_ns;
	if (lt_ns)
		rb_add_cached(&m->node, &group->lts, ltp_member_before);
	first = rb_first_cached(&group->lts);
	atomic64_set(&group->lt_max_ns,
		     first ? rb_entry(first, struct ltp_member, node)->lt_ns :
			     0);
	spin_unlock_bh(&group->lock);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_group_tell);
