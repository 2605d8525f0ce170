// SPDX-License-Identifier: GPL-2.0
/* A group: a listener and the sockets accepted from it. */
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

	if (group)
		refcount_set(&group->ref, 1);
	return group;
}

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

/**
 * ltp_group_put() - leave a group
 * @group: the group or NULL
 *
 * Context: any.
 */
void ltp_group_put(struct ltp_group *group)
{
	if (group && refcount_dec_and_test(&group->ref))
		kfree(group);
}
