// SPDX-License-Identifier: GPL-2.0
/* Socket options at level SOL_LTP. */
#include <linux/slab.h>

#include "adapt.h"
#include "assoc.h"
#include "encap.h"
#include "flow_rx.h"
#include "flow_tx.h"
#include "info.h"
#include "ipv6.h"
#include "path.h"
#include "reader.h"
#include "socket.h"

static int ltp_get_int(sockptr_t val, unsigned int len, int *value)
{
	if (len != sizeof(int))
		return -EINVAL;
	return copy_from_sockptr(value, val, sizeof(int)) ? -EFAULT : 0;
}

static int ltp_set_bool(struct sock *sk, int name, int value)
{
	struct ltp_sock *lp = ltp_sk(sk);

	if (value != 0 && value != 1)
		return -EINVAL;
	switch (name) {
	case LTP_RECVRCVINFO:
		lp->recvrcvinfo = value;
		break;
	case LTP_RECVRCVMAP:
		lp->recvrcvmap = value;
		break;
	case LTP_REPORTS:
		lp->reports = value;
		break;
	case LTP_HOLES:
		lp->holes_keep = value == LTP_HOLES_KEEP;
		break;
	case LTP_MOVING_START:
		lp->moving_start = value;
		break;
	}
	return 0;
}

static int ltp_set_segsize(struct sock *sk, int value)
{
	if (value && (value < LTP_SEG_MIN || value > LTP_SEG_MAX ||
		      value % LTP_GRAIN))
		return -EINVAL;
	ltp_sk(sk)->segsize = value;
	return 0;
}

static int ltp_set_user_timeout(struct sock *sk, int value)
{
	if (value < 0)
		return -EINVAL;
	ltp_sk(sk)->user_timeout_ms = value;
	/* It counts from when an answer was first waited for, also if it is. */
	ltp_assoc_rearm(sk, ltp_now());
	return 0;
}

static int ltp_set_encap(struct sock *sk, int value)
{
	if (value < 0 || value > U16_MAX)
		return -EINVAL;
	/* An association answers the way its peer speaks. */
	if (ltp_sk(sk)->phase != LTP_CLOSED)
		return -EISCONN;
	ltp_sk(sk)->encap_want = value;
	return 0;
}

/* What the socket itself sets is another now. */
static void ltp_set_own(struct sock *sk, u8 which, u8 set)
{
	struct ltp_policy *own = &ltp_sk(sk)->own;

	own->set = (own->set & ~which) | set;
	ltp_policy_own_changed(sk);
	ltp_rx_thresholds_changed(sk);
}

#define LTP_SET_ALL	(LTP_SET_FRACTION | LTP_SET_LT | LTP_SET_DEADLINE | \
			 LTP_SET_SLACK)

static bool ltp_time_fits(u64 us)
{
	return us <= LTP_TIME_MAX_US || us == LTP_TIME_ADAPTIVE;
}

static u64 ltp_time_ns(u64 us)
{
	return us == LTP_TIME_ADAPTIVE ? LTP_NS_ADAPTIVE : us * NSEC_PER_USEC;
}

static u64 ltp_time_us(u64 ns)
{
	return ns == LTP_NS_ADAPTIVE ? LTP_TIME_ADAPTIVE :
				       div_u64(ns, NSEC_PER_USEC);
}

static int ltp_check_thresholds(const struct ltp_thresholds *th)
{
	if (th->set & ~LTP_SET_ALL)
		return -EINVAL;
	if ((th->set & LTP_SET_FRACTION) &&
	    (!th->fraction_ppm || th->fraction_ppm > LTP_FRACTION_MAX))
		return -ERANGE;
	if (((th->set & LTP_SET_LT) && !ltp_time_fits(th->lt_us)) ||
	    ((th->set & LTP_SET_DEADLINE) && !ltp_time_fits(th->deadline_us)) ||
	    ((th->set & LTP_SET_SLACK) && th->slack_us > LTP_TIME_MAX_US))
		return -ERANGE;
	/* Only times can be compared, and only if both are given. */
	if ((th->set & LTP_SET_LT) && (th->set & LTP_SET_DEADLINE) &&
	    th->lt_us != LTP_TIME_ADAPTIVE && th->deadline_us &&
	    th->deadline_us < th->lt_us)
		return -EINVAL;
	return 0;
}

static int ltp_set_thresholds(struct sock *sk, sockptr_t val, unsigned int len)
{
	struct ltp_policy *own = &ltp_sk(sk)->own;
	struct ltp_thresholds th = {};
	int err;

	if (len != sizeof(th) && len != offsetof(struct ltp_thresholds, slack_us))
		return -EINVAL;
	if (copy_from_sockptr(&th, val, len))
		return -EFAULT;
	if (len != sizeof(th) && (th.set & LTP_SET_SLACK))
		return -EINVAL;
	err = ltp_check_thresholds(&th);
	if (err)
		return err;
	own->fraction_ppm = th.fraction_ppm;
	own->lt_ns = ltp_time_ns(th.lt_us);
	own->deadline_ns = ltp_time_ns(th.deadline_us);
	own->slack_ns = th.slack_us * NSEC_PER_USEC;
	ltp_set_own(sk, LTP_SET_ALL, th.set);
	return 0;
}

static int ltp_set_profile(struct sock *sk, int value)
{
	if (value < 0 || value >= __LTP_PROFILES)
		return -EINVAL;
	ltp_sk(sk)->own.profile = value;
	ltp_set_own(sk, LTP_P_PROFILE, value ? LTP_P_PROFILE : 0);
	return 0;
}

static int ltp_set_epoch_flows(struct sock *sk, int value)
{
	if (value < -1)
		return -EINVAL;
	ltp_sk(sk)->own.epoch = max(value, 0);
	ltp_set_own(sk, LTP_P_EPOCH, value < 0 ? 0 : LTP_P_EPOCH);
	return 0;
}

static int ltp_set_epoch(struct sock *sk, int value)
{
	if (value != 1)
		return -EINVAL;
	if (sk->sk_state != TCP_LISTEN && !ltp_assoc_is_open(ltp_sk(sk)))
		return -ENOTCONN;
	ltp_adapt_epoch(sk);
	ltp_rx_rejudge(sk);
	return 0;
}

static int ltp_set_rcvtag(struct sock *sk, sockptr_t val, unsigned int len)
{
	u64 tag;

	if (len != sizeof(tag))
		return -EINVAL;
	if (copy_from_sockptr(&tag, val, sizeof(tag)))
		return -EFAULT;
	ltp_sk(sk)->rcvtag = tag;
	ltp_sk(sk)->has_rcvtag = 1;
	/* Its flow may have ended already. */
	if (ltp_rx_readable(sk))
		sk->sk_data_ready(sk);
	return 0;
}

static int ltp_set_cc(struct sock *sk, sockptr_t val, unsigned int len)
{
	const struct ltp_cc_ops *ops;
	char name[LTP_CC_NAME_MAX] = {};

	if (!len)
		return -EINVAL;
	if (copy_from_sockptr(name, val,
			      min_t(unsigned int, len, sizeof(name) - 1)))
		return -EFAULT;
	ops = ltp_cc_find(name);
	if (!ops)
		return -ENOENT;
	ltp_sk(sk)->own.cc = ops;
	ltp_set_own(sk, LTP_P_CC, LTP_P_CC);
	ltp_tx_set_cc(sk, ops);
	return 0;
}

static int ltp_set_number(struct sock *sk, int name, int value)
{
	switch (name) {
	case LTP_SEGSIZE:
		return ltp_set_segsize(sk, value);
	case LTP_PROFILE:
		return ltp_set_profile(sk, value);
	case LTP_EPOCH:
		return ltp_set_epoch(sk, value);
	case LTP_EPOCH_FLOWS:
		return ltp_set_epoch_flows(sk, value);
	case LTP_USER_TIMEOUT:
		return ltp_set_user_timeout(sk, value);
	case LTP_ENCAP:
		return ltp_set_encap(sk, value);
	default:
		return ltp_set_bool(sk, name, value);
	}
}

static int ltp_set_one(struct sock *sk, int name, sockptr_t val,
		       unsigned int len)
{
	int value, err;

	switch (name) {
	case LTP_THRESHOLDS:
		return ltp_set_thresholds(sk, val, len);
	case LTP_RCVTAG:
		return ltp_set_rcvtag(sk, val, len);
	case LTP_CONGESTION:
		return ltp_set_cc(sk, val, len);
	case LTP_RECVRCVINFO:
	case LTP_RECVRCVMAP:
	case LTP_REPORTS:
	case LTP_HOLES:
	case LTP_MOVING_START:
	case LTP_SEGSIZE:
	case LTP_USER_TIMEOUT:
	case LTP_PROFILE:
	case LTP_EPOCH:
	case LTP_EPOCH_FLOWS:
	case LTP_ENCAP:
		err = ltp_get_int(val, len, &value);
		return err ?: ltp_set_number(sk, name, value);
	default:
		return -ENOPROTOOPT;
	}
}

/**
 * ltp_setsockopt() - proto.setsockopt
 * @sk: socket
 * @level: SOL_LTP, or those of IP
 * @name: LTP_*
 * @val: the value
 * @len: its length
 *
 * Context: process.
 * Return: 0 or an error of ltp(7)
 */
int ltp_setsockopt(struct sock *sk, int level, int name, sockptr_t val,
		   unsigned int len)
{
	int err;

	if (level == SOL_IP)
		return ip_setsockopt(sk, level, name, val, len);
	if (ltp_v6_level(sk, level))
		return ipv6_setsockopt(sk, level, name, val, len);
	if (level != SOL_LTP)
		return -ENOPROTOOPT;
	lock_sock(sk);
	err = ltp_set_one(sk, name, val, len);
	release_sock(sk);
	return err;
}

/* What is in force; @set says what of it is the socket's own. */
static void ltp_get_thresholds(struct sock *sk, struct ltp_thresholds *own)
{
	const struct ltp_policy *p = ltp_policy(sk);

	own->set = ltp_sk(sk)->own.set & LTP_SET_ALL;
	own->fraction_ppm = p->fraction_ppm;
	own->lt_us = ltp_time_us(p->lt_ns);
	own->deadline_us = ltp_time_us(p->deadline_ns);
	own->slack_us = ltp_time_us(p->set & LTP_P_SLACK ?
				    p->slack_ns :
				    ltp_profile_slack(p->profile));
}

/* The value of an option, at most @space bytes; returns its length. */
static int ltp_get_one(struct sock *sk, int name, void *value)
{
	const struct ltp_sock *lp = ltp_sk(sk);
	int *number = value;

	switch (name) {
	case LTP_RECVRCVINFO:
		*number = lp->recvrcvinfo;
		return sizeof(int);
	case LTP_RECVRCVMAP:
		*number = lp->recvrcvmap;
		return sizeof(int);
	case LTP_REPORTS:
		*number = lp->reports;
		return sizeof(int);
	case LTP_HOLES:
		*number = lp->holes_keep;
		return sizeof(int);
	case LTP_MOVING_START:
		*number = lp->moving_start;
		return sizeof(int);
	case LTP_SEGSIZE:
		*number = lp->segsize;
		return sizeof(int);
	case LTP_USER_TIMEOUT:
		*number = lp->user_timeout_ms;
		return sizeof(int);
	case LTP_PROFILE:
		*number = ltp_policy(sk)->profile;
		return sizeof(int);
	case LTP_EPOCH:
		*number = ltp_adapt_epochs(sk);
		return sizeof(int);
	case LTP_EPOCH_FLOWS:
		*number = ltp_policy(sk)->epoch;
		return sizeof(int);
	case LTP_ENCAP:
		*number = lp->phase == LTP_CLOSED ? ltp_encap_wanted(sk) :
						    ntohs(lp->encap_port);
		return sizeof(int);
	case LTP_THRESHOLDS:
		ltp_get_thresholds(sk, value);
		return sizeof(struct ltp_thresholds);
	case LTP_CONGESTION:
		memcpy(value, lp->tx.cc.ops->name, LTP_CC_NAME_MAX);
		return LTP_CC_NAME_MAX;
	case LTP_INFO:
		ltp_info_fill(sk, value);
		return sizeof(struct ltp_info);
	default:
		return -ENOPROTOOPT;
	}
}

/* IP_MTU, IPV6_MTU: the path's, not the route's. */
static int ltp_get_mtu(struct sock *sk, int *mtu)
{
	if (!ltp_assoc_is_open(ltp_sk(sk)))
		return -ENOTCONN;
	*mtu = ltp_path_mtu(sk);
	return sizeof(*mtu);
}

/**
 * ltp_getsockopt() - proto.getsockopt
 * @sk: socket
 * @level: SOL_LTP, or those of IP
 * @name: LTP_*
 * @val: where the value goes
 * @len: room there; then the length of the value
 *
 * A value longer than the room is cut, as TCP_INFO is.
 *
 * Context: process.
 * Return: 0 or an error of ltp(7)
 */
int ltp_getsockopt(struct sock *sk, int level, int name, char __user *val,
		   int __user *len)
{
	union {
		int number;
		struct ltp_thresholds thresholds;
		struct ltp_info info;
		char name[LTP_CC_NAME_MAX];
	} value = {};
	int room, ret;

	if (level == SOL_IP && name != IP_MTU)
		return ip_getsockopt(sk, level, name, val, len);
	if (ltp_v6_level(sk, level) && name != IPV6_MTU)
		return ipv6_getsockopt(sk, level, name, val, len);
	if (level != SOL_LTP && level != SOL_IP && !ltp_v6_level(sk, level))
		return -ENOPROTOOPT;
	if (get_user(room, len))
		return -EFAULT;
	if (room < 0)
		return -EINVAL;
	lock_sock(sk);
	ret = level != SOL_LTP ? ltp_get_mtu(sk, &value.number) :
				ltp_get_one(sk, name, &value);
	release_sock(sk);
	if (ret < 0)
		return ret;
	room = min(room, ret);
	if (put_user(room, len) || copy_to_user(val, &value, room))
		return -EFAULT;
	return 0;
}
