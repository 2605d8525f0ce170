/* SPDX-License-Identifier: GPL-2.0 */
/* Flows whose deadlines are computed together, and who share a downlink. */
#ifndef _LTP_GROUP_H
#define _LTP_GROUP_H

#include "ltp.h"

struct ltp_group *ltp_group_new(gfp_t gfp);
struct ltp_group *ltp_group_get(struct ltp_group *group);
void ltp_group_put(struct ltp_group *group);
void ltp_group_arrived(struct ltp_group *group, u32 bytes, u64 now);
u32 ltp_group_ceiling(struct ltp_group *group);
void ltp_group_tell(struct ltp_group *group, struct ltp_member *m, u64 lt_ns);

static inline u64 ltp_group_lt(const struct ltp_group *group)
{
	return group ? atomic64_read(&group->lt_max_ns) : 0;
}

static inline void ltp_group_flow_begins(struct ltp_sock *lp)
{
	if (!lp->rx.open++ && lp->group)
		atomic_inc(&lp->group->active);
}

static inline void ltp_group_flow_ends(struct ltp_sock *lp)
{
	if (!--lp->rx.open && lp->group)
		atomic_dec(&lp->group->active);
}

static inline u16 ltp_group_members(const struct ltp_group *group)
{
	return group ? min(atomic_read(&group->members), U16_MAX) : 0;
}

#endif /* _LTP_GROUP_H */
