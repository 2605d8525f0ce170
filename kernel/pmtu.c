// SPDX-License-Identifier: GPL-2.0
/*
 * Path MTU discovery.
 *
 *	           all of @size arrives whole
 *	CONFIRM --------------------------------> COMPLETE <---+
 *	   |    <--------------------------------    |         | nothing is left
 *	   |     a full-size packet was lost, and    | more?   | to find out
 *	   |     none that was sent later arrived    v         |
 *	   | MAX_PROBES lost                       SEARCH -----+
 *	   v              base or minimum arrives    ^
 *	  BASE --------------------------------------+
 *	   | the minimum does not
 *	   v
 *	 ERROR
 *
 * A probe without an answer says something of its size only if something else
 * that was sent after it got through: else the path is down, or the peer is.
 */
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "pmtu.h"
#include "compat/compat.h"

#define PMTU_MAX	65535
#define PMTU_NONE	U32_MAX
#define PMTU_BACKOFF_MAX 16
#define PMTU_WHOLE_MAX	6
/* One in so many losses in a row is an accident where nothing is known to be wrong. */
#define PMTU_DOUBT_ODDS	1000
/* How much of the past says how much is lost; less than the first says nothing. */
#define PMTU_SEEN_MIN	16
#define PMTU_SEEN_MAX	256
#define PMTU_SHIFT	24
#define PMTU_ONE	BIT_ULL(PMTU_SHIFT)

/* RFC 1191, 7.1, and what tunnels and jumbo frames have made common since. */
static const u16 pmtu_table[] = {
	576, 1006, 1280, 1400, 1420, 1450, 1480, 1492, 1500, 2002, 4352, 8166,
	9000, 9216, 17914, 32000, 65535,
};

/* Units of payload in a packet of that size. */
static u32 pmtu_units(const struct ltp_pmtu *p, u32 size)
{
	return size > p->overhead ? (size - p->overhead) / LTP_PMTU_GRAIN : 0;
}

/* Would a packet of @b carry more than one of @a? */
static bool pmtu_more(const struct ltp_pmtu *p, u32 a, u32 b)
{
	return pmtu_units(p, b) > pmtu_units(p, a);
}

/* The largest size that is not known to fail. */
static u32 pmtu_top(const struct ltp_pmtu *p)
{
	return min(p->failed - 1, p->ceiling);
}

static u32 pmtu_base(const struct ltp_pmtu *p)
{
	u32 base = clamp_t(u32, LTP_PMTU_BASE_SIZE, p->min, p->ceiling);

	return base <= pmtu_top(p) ? base : p->min;
}

/* Nothing is under way any more, and nothing has been lost. */
static void pmtu_stop(struct ltp_pmtu *p)
{
	p->trial_ns = 0;
	p->probe_ns = 0;
	p->hint = 0;
	p->tries = 0;
	p->backoff = 0;
	p->owed = false;
	p->cut = 0;
	p->cut_tries = 0;
	p->pieces_lost = 0;
	p->whole_tries = 0;
	p->row = 0;
	p->whole = false;
	p->lost_size = PMTU_NONE;
}

/* @size is the path MTU until further notice, confirmed or not. */
static void pmtu_settle(struct ltp_pmtu *p, u64 raise_ns)
{
	pmtu_stop(p);
	p->raise_ns = raise_ns;
	p->state = pmtu_more(p, p->confirmed, p->size) ? LTP_PMTU_CONFIRM :
							 LTP_PMTU_COMPLETE;
}

/* A packet of a size that is in no doubt was lost, or was not. */
static void pmtu_saw(struct ltp_pmtu *p, bool lost)
{
	if (p->seen >= PMTU_SEEN_MAX) {
		p->seen /= 2;
		p->seen_lost /= 2;
	}
	p->seen++;
	p->seen_lost += lost;
}

/*
 * How many losses in a row are no accident: one in 100,000, as there are many
 * occasions. @ways: 1, or 2 if the answer can be lost as well.
 */
static u32 pmtu_tries(const struct ltp_pmtu *p, int ways)
{
	u64 arrive = PMTU_ONE, chance = PMTU_ONE;
	u32 n;

	if (p->seen < PMTU_SEEN_MIN || !p->seen_lost)
		return LTP_PMTU_MAX_PROBES;
	while (ways--)
		arrive = div_u64(arrive * (p->seen - p->seen_lost),
				 p->seen + 1);
	for (n = 0; n < LTP_PMTU_MOST_PROBES; n++) {
		if (n >= LTP_PMTU_MAX_PROBES && chance <= PMTU_ONE / 100000)
			break;
		chance = chance * (PMTU_ONE - arrive) >> PMTU_SHIFT;
	}
	return n;
}

/*
 * How many losses in a row make a doubt: one, unless packets are lost all the
 * time. A doubt costs fragments, in IPv6 of all that leaves, and what left in
 * two fragments that were both damaged may have a good checksum.
 */
static u32 pmtu_row(const struct ltp_pmtu *p)
{
	u64 chance = PMTU_ONE;
	u32 n;

	if (p->seen < PMTU_SEEN_MIN || !p->seen_lost)
		return 1;
	for (n = 0; n < LTP_PMTU_MOST_PROBES && chance > PMTU_ONE / PMTU_DOUBT_ODDS; n++)
		chance = div_u64(chance * (p->seen_lost + 1), p->seen + 1);
	return n;
}

/**
 * ltp_pmtu_init() - begin with a path of which nothing is known
 * @p: state of the association
 * @min: smallest MTU of its address family
 * @overhead: bytes of headers in a DATA packet
 * @ceiling: largest packet that may be sent at all
 * @how: LTP_PMTU_CAUTIOUS, LTP_PMTU_HOST_CUTS
 */
void ltp_pmtu_init(struct ltp_pmtu *p, u32 min, u32 overhead, u32 ceiling,
		   u32 how)
{
	bool cautious = how & LTP_PMTU_CAUTIOUS;

	memset(p, 0, sizeof(*p));
	p->min = min;
	p->overhead = overhead;
	p->ceiling = clamp_t(u32, ceiling, min, PMTU_MAX);
	p->failed = PMTU_NONE;
	p->confirmed = min;
	p->host_cuts = how & LTP_PMTU_HOST_CUTS;
	p->never_cuts = cautious;
	p->size = cautious ? pmtu_base(p) : p->ceiling;
	pmtu_settle(p, 0);
	if (cautious) {
		/* The first flow is when there is more to be looked for. */
		p->hint = p->ceiling;
		p->state = LTP_PMTU_COMPLETE;
	}
}
EXPORT_SYMBOL_IF_KUNIT(ltp_pmtu_init);

/**
 * ltp_pmtu_limit() - the MTU of the route may have changed
 * @p: state of the association
 * @ceiling: largest packet that may be sent at all
 * @now: time in ns
 *
 * What is less holds at once; more is probed for when the next flow begins.
 */
void ltp_pmtu_limit(struct ltp_pmtu *p, u32 ceiling, u64 now)
{
	u32 old = p->ceiling;

	ceiling = clamp_t(u32, ceiling, p->min, PMTU_MAX);
	if (ceiling == old)
		return;
	p->ceiling = ceiling;
	if (ceiling > old) {
		/* Another device, another route: old failures say nothing. */
		p->failed = PMTU_NONE;
		p->raise_ns = now;
		p->hint = ceiling;
		return;
	}
	p->confirmed = min(p->confirmed, ceiling);
	if (ceiling < p->size) {
		p->size = ceiling;
		pmtu_settle(p, now + LTP_PMTU_RAISE_NS);
	} else if (p->probe_ns && p->probe > ceiling) {
		p->probe_ns = 0;
		p->tries = 0;
	}
}
EXPORT_SYMBOL_IF_KUNIT(ltp_pmtu_limit);

/**
 * ltp_pmtu_begin() - a flow begins: is it time to look for more?
 * @p: state of the association
 * @now: time in ns
 */
void ltp_pmtu_begin(struct ltp_pmtu *p, u64 now)
{
	u32 hint = p->hint;

	if ((p->state != LTP_PMTU_COMPLETE && p->state != LTP_PMTU_ERROR) ||
	    now < p->raise_ns || !pmtu_more(p, p->confirmed, p->ceiling))
		return;
	p->failed = PMTU_NONE;
	pmtu_stop(p);
	if (p->state == LTP_PMTU_ERROR) {
		p->size = pmtu_base(p);
		p->confirmed = p->min;
		p->state = LTP_PMTU_BASE;
		return;
	}
	/*
	 * Most likely the path is what it was: then a step up is all it takes
	 * to see that.
	 */
	p->hint = hint ?: p->overhead + LTP_PMTU_GRAIN *
				(pmtu_units(p, p->confirmed) + 1);
	p->state = LTP_PMTU_SEARCH;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_pmtu_begin);

/* Full-size packets do not arrive, while others do. */
static int pmtu_black_hole(struct ltp_pmtu *p)
{
	p->failed = min(p->failed, p->lost_size);
	pmtu_stop(p);
	p->confirmed = p->min;
	p->size = pmtu_base(p);
	p->state = LTP_PMTU_BASE;
	return LTP_PMTU_EV_BLACK_HOLE;
}

static int pmtu_count(struct ltp_pmtu *p)
{
	p->owed = false;
	p->tries++;
	return p->tries < pmtu_tries(p, 1) ? 0 : pmtu_black_hole(p);
}

static bool pmtu_is_trial(const struct ltp_pmtu *p, u32 size, u64 sent_ns)
{
	return p->trial_ns == sent_ns && p->trial == size;
}

/*
 * Cut to fragments what is in doubt arrives, but if a third of all packets is
 * lost hardly any is ever complete, and such a path may well have been taken
 * for a black hole in error: after one that was lost the next leaves whole,
 * less often each time.
 */
static bool pmtu_again_whole(struct ltp_pmtu *p)
{
	if (p->never_cuts || p->pieces_lost < BIT(p->whole_tries))
		return false;
	p->pieces_lost = 0;
	if (p->whole_tries < PMTU_WHOLE_MAX)
		p->whole_tries++;
	return true;
}

/**
 * ltp_pmtu_df() - may a data packet carry don't-fragment?
 * @p: state of the association
 * @size: its size
 * @fresh: its segment was not sent before
 * @now: time in ns
 * @timeout_ns: time after which an ACK is overdue
 *
 * As long as @size is in doubt only one packet at a time does, and not one that
 * is sent again, mostly: what was lost for its size arrives the second time.
 *
 * Return: whether it may
 */
bool ltp_pmtu_df(struct ltp_pmtu *p, u32 size, bool fresh, u64 now,
		 u64 timeout_ns)
{
	if (size <= p->confirmed)
		return true;
	/* Its flow may have been closed: then nobody says what became of it. */
	if (size > p->ceiling || p->owed ||
	    (p->trial_ns && now - p->trial_ns <
			    LTP_PMTU_TRIAL_TIMEOUTS * timeout_ns))
		return false;
	if (!(fresh && p->state == LTP_PMTU_CONFIRM && size <= p->size) &&
	    !pmtu_again_whole(p))
		return false;
	p->trial_ns = now;
	p->trial = size;
	p->alive = false;
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_pmtu_df);

/**
 * ltp_pmtu_alive() - something small was answered
 * @p: state of the association
 *
 * Return: LTP_PMTU_EV_*
 */
int ltp_pmtu_alive(struct ltp_pmtu *p)
{
	p->alive = true;
	return p->owed ? pmtu_count(p) : 0;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_pmtu_alive);

/**
 * ltp_pmtu_cut() - what to cut a data packet to before it leaves
 * @p: state of the association
 * @size: its size; it carries no don't-fragment
 *
 * A router that forwards to a narrower link can do it as well, but not all that
 * is narrow is a link of a router: the frames of a switch are.
 *
 * Return: the largest fragment, 0: as it is
 */
u32 ltp_pmtu_cut(const struct ltp_pmtu *p, u32 size)
{
	if (size > p->size)
		return p->size;
	if (p->state != LTP_PMTU_CONFIRM || !(p->tries || p->owed) ||
	    !(p->cut || p->host_cuts) || size <= p->confirmed)
		return 0;
	return p->cut < 2 ? pmtu_base(p) : p->min;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_pmtu_cut);

/* A data packet has arrived whole. */
static void pmtu_passed(struct ltp_pmtu *p, u32 size, u64 sent_ns, u64 now)
{
	if (pmtu_is_trial(p, size, sent_ns)) {
		p->trial_ns = 0;
		p->trial = 0;
	}
	if (p->lost_size == PMTU_NONE ? size >= p->confirmed :
					size >= p->lost_size) {
		p->passed_ns = max(p->passed_ns, sent_ns);
		p->row = 0;
		p->lost_size = PMTU_NONE;
		p->owed = false;
		p->cut = 0;
		p->cut_tries = 0;
		if (p->state == LTP_PMTU_CONFIRM)
			p->tries = 0;
	}
	p->confirmed = max(p->confirmed, size);
	if (p->confirmed >= p->failed)
		p->failed = PMTU_NONE;
	if (p->state == LTP_PMTU_CONFIRM &&
	    !pmtu_more(p, p->confirmed, p->size))
		pmtu_settle(p, p->raise_ns ?: now + LTP_PMTU_RAISE_NS);
}

/**
 * ltp_pmtu_acked() - a data packet has arrived
 * @p: state of the association
 * @size: its size
 * @sent_ns: when it was sent
 * @df: it carried don't-fragment
 * @now: time in ns
 *
 * Return: LTP_PMTU_EV_*
 */
int ltp_pmtu_acked(struct ltp_pmtu *p, u32 size, u64 sent_ns, bool df, u64 now)
{
	if (!df || size <= p->confirmed)
		pmtu_saw(p, false);
	if (df && size <= p->size)
		pmtu_passed(p, size, sent_ns, now);
	else if (!p->cut && !p->host_cuts && size >= p->lost_size)
		p->whole = true;
	return ltp_pmtu_alive(p);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_pmtu_acked);

/**
 * ltp_pmtu_arrived() - the last packet of a doubt has arrived
 * @p: state of the association
 * @now: time in ns
 *
 * Whatever was thought of it meanwhile: its ACK was late.
 *
 * Return: LTP_PMTU_EV_*
 */
int ltp_pmtu_arrived(struct ltp_pmtu *p, u64 now)
{
	u32 size = p->trial;

	if (p->state == LTP_PMTU_CONFIRM || size <= p->size)
		return ltp_pmtu_acked(p, size, p->trial_ns, true, now);
	p->trial = 0;
	if (size <= p->ceiling) {
		/* There is no black hole. */
		p->failed = PMTU_NONE;
		p->size = size;
		p->confirmed = size;
		pmtu_settle(p, now);
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_pmtu_arrived);

/**
 * ltp_pmtu_lost() - a data packet is found lost
 * @p: state of the association
 * @size: its size
 * @sent_ns: when it was sent
 * @df: it carried don't-fragment
 * @now: time in ns
 *
 * Return: LTP_PMTU_EV_*
 */
int ltp_pmtu_lost(struct ltp_pmtu *p, u32 size, u64 sent_ns, bool df, u64 now)
{
	bool trial = pmtu_is_trial(p, size, sent_ns);

	if (!df) {
		if (ltp_pmtu_cut(p, size) && p->pieces_lost < U8_MAX)
			p->pieces_lost++;
		/* What was sent after the trial is overdue: so is the trial. */
		if (p->trial_ns && sent_ns >= p->trial_ns &&
		    p->trial > p->size) {
			p->trial_ns = 0; /* as was thought */
		} else if (p->trial_ns && sent_ns >= p->trial_ns) {
			p->trial_ns = 0;
			p->lost_size = min(p->lost_size, p->trial);
			p->owed = true;
			p->cut_ns = now;
		} else if (sent_ns > p->cut_ns && p->alive && !p->never_cuts &&
			   (p->whole || p->cut || p->host_cuts)) {
			pmtu_saw(p, true);
		}
		/* Somebody is there, and gets nothing of this size. */
		if (size > p->confirmed && sent_ns > p->passed_ns &&
		    sent_ns > p->cut_ns && p->alive && !p->whole) {
			p->cut_ns = now;
			/* The second step takes more: losses happen. */
			if (p->cut_tries++ == 2 * p->cut && p->cut < 2) {
				p->cut++;
				p->cut_tries = 0;
			}
		}
		/* Twice in a row: is there anybody? */
		return p->owed ? LTP_PMTU_EV_ASK : 0;
	}
	if (trial)
		p->trial_ns = 0;
	if (size > p->size)
		return 0; /* left before that was known */
	if (size <= p->min || sent_ns <= p->passed_ns) {
		pmtu_saw(p, true);
		return 0;
	}
	switch (p->state) {
	case LTP_PMTU_CONFIRM:
		/* Of those that left before the doubt came one has counted. */
		if (!trial && size > p->confirmed)
			return 0;
		break;
	case LTP_PMTU_SEARCH:
	case LTP_PMTU_COMPLETE:
		if (++p->row < pmtu_row(p)) {
			pmtu_saw(p, true);
			return 0;
		}
		if (p->state == LTP_PMTU_SEARCH)
			p->raise_ns = now; /* to be resumed */
		pmtu_stop(p);
		p->state = LTP_PMTU_CONFIRM;
		p->alive = false;
		p->cut_ns = now;
		break;
	default:
		return 0;
	}
	p->confirmed = p->min;
	p->lost_size = min(p->lost_size, size);
	p->trial = size;
	p->owed = true;
	return LTP_PMTU_EV_DOUBT | (p->alive ? pmtu_count(p) : 0);
}
EXPORT_SYMBOL_IF_KUNIT(ltp_pmtu_lost);

/**
 * ltp_pmtu_overdue() - the ACK of a data packet is
 * @p: state of the association
 * @size: its size
 * @sent_ns: when it was sent
 * @df: it carried don't-fragment
 * @now: time in ns
 *
 * It may be due to its size, but says nothing of how much the path loses: on
 * one that has become longer all ACKs are late for a while.
 *
 * Return: LTP_PMTU_EV_*
 */
int ltp_pmtu_overdue(struct ltp_pmtu *p, u32 size, u64 sent_ns, bool df,
		     u64 now)
{
	u16 seen = p->seen, lost = p->seen_lost;
	int events = ltp_pmtu_lost(p, size, sent_ns, df, now);

	p->seen = seen;
	p->seen_lost = lost;
	return events;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_pmtu_overdue);

/**
 * ltp_pmtu_answered() - the answer to the probe under way came
 * @p: state of the association
 * @now: time in ns
 *
 * Return: LTP_PMTU_EV_*
 */
int ltp_pmtu_answered(struct ltp_pmtu *p, u64 now)
{
	p->alive = true;
	if (!p->probe_ns)
		return 0;
	p->probe_ns = 0;
	p->tries = 0;
	p->backoff = 0;
	p->confirmed = max(p->confirmed, p->probe);
	p->size = p->confirmed;
	p->state = LTP_PMTU_SEARCH;
	if (!pmtu_more(p, p->confirmed, pmtu_top(p)))
		pmtu_settle(p, now + LTP_PMTU_RAISE_NS);
	return LTP_PMTU_EV_CONFIRMED;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_pmtu_answered);

/**
 * ltp_pmtu_icmp() - a router said that a packet was too big
 * @p: state of the association
 * @mtu: what it would have taken
 * @now: time in ns
 *
 * That the message quotes a packet of ours is checked by the caller. It can
 * make the path MTU smaller, down to the minimum, and say what to probe next.
 *
 * Return: LTP_PMTU_EV_*
 */
int ltp_pmtu_icmp(struct ltp_pmtu *p, u32 mtu, u64 now)
{
	if (mtu < p->min)
		return 0;
	if (mtu < p->size) {
		/* RFC 1191: this is the path MTU, as far as that router. */
		p->size = mtu;
		p->confirmed = min(p->confirmed, mtu);
		p->failed = mtu + 1;
		pmtu_settle(p, now + LTP_PMTU_RAISE_NS);
		return LTP_PMTU_EV_BELIEVED;
	}
	if (!p->probe_ns || mtu >= p->probe)
		return 0;
	/* RFC 8899, 4.6.2: the search goes on from there. */
	p->failed = min(p->failed, mtu + 1);
	p->probe_ns = 0;
	p->tries = 0;
	p->hint = mtu;
	return LTP_PMTU_EV_BELIEVED;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_pmtu_icmp);

/**
 * ltp_pmtu_due() - when ltp_pmtu_probe() has something to do
 * @p: state of the association
 *
 * Return: time in ns, U64_MAX: not before something else happens
 */
u64 ltp_pmtu_due(const struct ltp_pmtu *p)
{
	if (p->state != LTP_PMTU_BASE && p->state != LTP_PMTU_SEARCH)
		return U64_MAX;
	return p->probe_ns ? p->due_ns : 0;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_pmtu_due);

/* Half of the common sizes between what arrives and what does not, or half. */
static u32 pmtu_between(const struct ltp_pmtu *p, u32 top)
{
	u32 first = 0, n = 0, units, i;

	for (i = 0; i < ARRAY_SIZE(pmtu_table); i++) {
		if (!pmtu_more(p, p->confirmed, pmtu_table[i]) ||
		    pmtu_table[i] > top)
			continue;
		if (!n++)
			first = i;
	}
	if (n)
		return pmtu_table[first + n / 2];
	units = pmtu_units(p, p->confirmed);
	units += (pmtu_units(p, top) - units + 1) / 2;
	return p->overhead + units * LTP_PMTU_GRAIN;
}

/* What to probe next; 0: the search is over. */
static u32 pmtu_next(struct ltp_pmtu *p, u64 now)
{
	u32 top = pmtu_top(p), hint = p->hint;

	if (p->state == LTP_PMTU_BASE)
		return pmtu_base(p);
	p->hint = 0;
	if (!pmtu_more(p, p->confirmed, top)) {
		pmtu_settle(p, now + LTP_PMTU_RAISE_NS);
		return 0;
	}
	if (hint <= top && pmtu_more(p, p->confirmed, hint))
		return hint;
	/* Often it is the whole of it. */
	if (p->failed == PMTU_NONE)
		return top;
	return pmtu_between(p, top);
}

/* So many of this size were lost that it is no accident. */
static void pmtu_probe_failed(struct ltp_pmtu *p, u64 now)
{
	p->tries = 0;
	if (p->state == LTP_PMTU_BASE && p->probe <= p->min) {
		pmtu_stop(p);
		p->confirmed = 0;
		p->raise_ns = now + LTP_PMTU_RAISE_NS;
		p->state = LTP_PMTU_ERROR;
		return;
	}
	p->failed = min(p->failed, p->probe);
	if (p->state == LTP_PMTU_SEARCH)
		return;
	/* Data may know better. */
	p->size = p->confirmed;
	if (p->confirmed > p->min)
		p->state = LTP_PMTU_SEARCH;
}

/**
 * ltp_pmtu_probe() - is there a probe to send?
 * @p: state of the association
 * @now: time in ns
 * @timeout_ns: time after which an answer is overdue
 * @events: set to LTP_PMTU_EV_*
 *
 * Return: the size of the probe, 0: none now
 */
u32 ltp_pmtu_probe(struct ltp_pmtu *p, u64 now, u64 timeout_ns, int *events)
{
	u32 size = 0;

	*events = 0;
	if (now < ltp_pmtu_due(p))
		return 0;
	if (p->probe_ns) {
		p->probe_ns = 0;
		if (p->alive) {
			*events |= LTP_PMTU_EV_LOST;
			p->backoff = 0;
			if (++p->tries >= pmtu_tries(p, 2))
				pmtu_probe_failed(p, now);
			else
				size = p->probe;
		} else {
			size = p->probe;
			p->backoff = min(p->backoff + 1, PMTU_BACKOFF_MAX);
		}
		if (p->state == LTP_PMTU_ERROR)
			return 0;
		/* Nobody may have had a reason to say anything. */
		*events |= LTP_PMTU_EV_ASK;
	}
	if (!size || size > p->ceiling)
		size = pmtu_next(p, now);
	if (!size)
		return 0;
	p->probe = size;
	p->probe_ns = now;
	p->due_ns = now + min_t(u64, timeout_ns << p->backoff,
				LTP_PMTU_WAIT_MAX_NS);
	p->alive = false;
	return size;
}
EXPORT_SYMBOL_IF_KUNIT(ltp_pmtu_probe);
