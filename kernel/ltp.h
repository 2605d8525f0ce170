/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The shared structures of the module and who may touch them.
 *
 * Locking
 *
 * The socket lock is the lock of an association: everything in struct ltp_sock
 * not said otherwise below, its flows and their segments. System calls take it
 * with lock_sock(); packets and timers come in softirq and take it with
 * bh_lock_sock(). When a system call owns the socket, a packet goes to the
 * socket's backlog and a timer sets LTP_TIMER_MISSED; release_sock() then runs
 * the packets, and ltp_assoc_release_cb() the timers. A timer is only a
 * wake-up: what is due is decided from the times kept beside it, so running it
 * late, twice or after it was stopped does no harm. An ICMP error that finds
 * the socket owned sets LTP_ICMP_MISSED and waits likewise.
 *
 * Two socket locks are never nested, with one exception: a COOKIE_ECHO is
 * handled under the listener's lock and creates its child, locked from birth
 * and not yet known to anybody (SINGLE_DEPTH_NESTING). accept() and the
 * listener's close() unlink a child under the listener's lock and lock it
 * afterwards.
 *
 * Associations are found in ltp_net.assocs (rhashtable) under RCU; sockets are
 * freed after a grace period (SOCK_RCU_FREE), so a lookup takes a reference
 * with refcount_inc_not_zero(); the key needs no second look, it never changes
 * while the socket can be found. Being in the table holds a reference.
 * ltp_net.ports_lock guards the table of bound ports, ltp_net.replay_lock what
 * is remembered of associations that have ended: leaf locks. So is the lock of a
 * group; packets look at their socket's group before they lock the socket, so
 * groups are freed after a grace period too.
 *
 * Members of a group tell it their LT thresholds, and read the largest, each
 * under its own socket lock: ltp_group.lock is a leaf, and nobody looks at
 * another member. A deadline that the group has moved is seen by the flows that
 * run when their next packet comes or their timer fires. What an association
 * has read of the namespace's settings and rules holds until policy_gen moves.
 *
 * A flow has its own reference count only because a timer may be running, and
 * spinning on the socket lock, when the flow ends: an armed timer holds a
 * reference, so does the list the flow is on.
 */
#ifndef _LTP_LTP_H
#define _LTP_LTP_H

#include <linux/hrtimer.h>
#include <linux/in6.h>
#include <linux/ipv6.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <net/inet_sock.h>
#include <net/ip.h>
#include <net/sock.h>

#include "compat/compat.h"
#include "../uapi/linux/ltp.h"
#include "ackmap.h"
#include "ceiling.h"
#include "cc.h"
#include "early_close.h"
#include "loss.h"
#include "mib.h"
#include "pacing.h"
#include "pmtu.h"
#include "replay.h"
#include "threshold.h"
#include "wire.h"

#define LTP_PORT_BUCKETS	256
#define LTP_MAX_FLOWS		1024	/* open towards one receiver */
#define LTP_GRAIN		16	/* bytes; no element of a tensor is cut */
#define LTP_SEG_MIN		256	/* smallest seg_size of a longer flow */
#define LTP_SEG_MAX		65408	/* largest, with headers under 65535 */
#define LTP_MTU_MIN		576
#define LTP_RCVBUF_DEFAULT	(8 << 20)
#define LTP_SNDBUF_DEFAULT	(8 << 20)
#define LTP_DEAD_MS_DEFAULT	60000
#define LTP_DEAD_MIN_NS		(100 * NSEC_PER_MSEC) /* see ltp_assoc_next() */
#define LTP_ORPHAN_DEAD		10	/* times dead_ms without progress */
#define LTP_COOKIE_LIFE_MS	10000
#define LTP_ACK_EVERY		4	/* packets */
#define LTP_ACK_DELAY_NS	NSEC_PER_MSEC
#define LTP_FEW_LOST		16	/* of so many segments, one */
#define LTP_TRAIN		16	/* segments handed to output at once */
#define LTP_STARVED_NS		(20 * NSEC_PER_MSEC) /* until memory is asked for again */

/**
 * struct ltp_conf - settings of a network namespace, changed through netlink
 * @fraction_ppm: default fraction of Early Close
 * @lt_ns: default LT threshold, 0: none, or LTP_NS_ADAPTIVE
 * @deadline_ns: default deadline, likewise
 * @slack_ns: slack of an adaptive deadline, or LTP_NS_ADAPTIVE: the profile's
 * @epoch: flows in an epoch, 0: not counted
 * @profile: enum ltp_profile
 * @rcvbuf: SO_RCVBUF of a new socket, bytes
 * @sndbuf: SO_SNDBUF of a new socket, bytes
 * @dead_ms: time without an answer after which an association is dead
 * @encap_port: UDP port of all LTP in UDP here, 0: none; see encap.c
 * @encap_peer: UDP port that new associations go to, 0: none
 * @cc: congestion control of new sockets
 *
 * Read with READ_ONCE(), written under the netlink family's lock.
 */
struct ltp_conf {
	u64 lt_ns;
	u64 deadline_ns;
	u64 slack_ns;
	u32 fraction_ppm;
	u32 epoch;
	u8 profile;
	u32 rcvbuf;
	u32 sndbuf;
	u32 dead_ms;
	u16 encap_port;
	u16 encap_peer;
	const struct ltp_cc_ops *cc;
};

/**
 * struct ltp_encap - the UDP sockets of a namespace
 * @sock4: that of IPv4, NULL: encapsulation is off
 * @sock6: that of IPv6, NULL: as above, or there is no IPv6
 */
struct ltp_encap {
	struct socket *sock4;
	struct socket *sock6;
};

/**
 * struct ltp_net - state of a network namespace
 * @conf: settings
 * @policy_gen: moves when what ltp_policy() reads has changed, never 0
 * @rules: rules by peer, NULL: none
 * @mib: counters
 * @assocs: associations by struct ltp_key
 * @ports: bound sockets, hashed by port
 * @ports_lock: guards @ports
 * @cookie_key: secret behind the cookies
 * @replay: accepted associations that have ended
 * @replay_lock: guards @replay
 * @ctl_sk: sends the answers that belong to no socket
 * @ctl_sk6: and those over IPv6; NULL: this kernel has none
 * @encap: for LTP in UDP, changed under the netlink family's lock
 */
struct ltp_net {
	struct ltp_conf conf;
	u32 policy_gen;
	struct ltp_rules __rcu *rules;
	struct ltp_mib_cpu __percpu *mib;
	struct rhashtable assocs;
	struct hlist_head ports[LTP_PORT_BUCKETS];
	spinlock_t ports_lock; /* @ports, and the bound_node of sockets */
	siphash_key_t cookie_key;
	struct ltp_replay *replay;
	spinlock_t replay_lock; /* @replay */
	struct sock *ctl_sk;
	struct sock *ctl_sk6;
	struct ltp_encap encap;
};

/**
 * struct ltp_key - what an association is found by
 * @laddr: local address, IPv4 mapped into IPv6
 * @raddr: peer's address, likewise
 * @lport: local port
 * @rport: peer's port
 * @scope: interface index of a link-local address, else 0
 */
struct ltp_key {
	struct in6_addr laddr;
	struct in6_addr raddr;
	__be16 lport;
	__be16 rport;
	int scope;
};

/**
 * struct ltp_af - what differs between address families
 * @family: AF_INET or AF_INET6
 * @header_len: of the network header, options not counted
 * @mtu_min: smallest path MTU that is believed
 * @mtu: largest packet that the route of a connected socket takes
 * @pmtudisc: IP_PMTUDISC_* in force; _DONT too where the route forbids more
 * @too_big: the path takes no packets larger than this: tell the route
 * @dst: route of a connected socket, NULL: none, or it is no longer valid
 * @xmit: send a packet of a connected socket; with ignore_df it may be
 *	fragmented
 * @reply: send @skb to where @to came from, from where @to was sent to
 * @unicast: whether a received packet was for this host alone
 * @checksum: whether a received packet's checksum is wrong
 * @iif: index of the interface that a received packet belongs to
 * @key: fill in a key from a received packet
 * @addrs: give a child the addresses of its key
 *
 * A socket of AF_INET6 that talks to an IPv4 address has the one of IPv4: what
 * counts is what the packets are.
 */
struct ltp_af {
	u16 family;
	u16 header_len;
	u16 mtu_min;
	u32 (*mtu)(struct sock *sk);
	u8 (*pmtudisc)(struct sock *sk);
	void (*too_big)(struct sock *sk, u32 mtu);
	struct dst_entry *(*dst)(struct sock *sk);
	int (*xmit)(struct sock *sk, struct sk_buff *skb);
	int (*reply)(struct net *net, struct sk_buff *skb,
		     const struct sk_buff *to);
	bool (*unicast)(const struct sk_buff *skb);
	bool (*checksum)(struct sk_buff *skb);
	int (*iif)(const struct sk_buff *skb);
	void (*key)(struct ltp_key *key, const struct sk_buff *skb);
	void (*addrs)(struct sock *child, const struct ltp_key *key);
};

/**
 * struct ltp_input_cb - what is known of a received packet, in skb->cb
 * @ip: what IP has put there, which stays
 * @af: address family it came over
 * @encap: UDP port it came from, 0: it was not in UDP
 */
struct ltp_input_cb {
	union {
		struct inet_skb_parm v4;
#if IS_ENABLED(CONFIG_IPV6)
		struct inet6_skb_parm v6;
#endif
	} ip;
	const struct ltp_af *af;
	__be16 encap;
};

#define LTP_INPUT_CB(skb)	((struct ltp_input_cb *)(skb)->cb)

/**
 * struct ltp_timer - a wake-up that takes the socket lock
 * @hr: the timer itself, fires in softirq
 * @sk: the socket to lock
 * @ref: of the flow it belongs to, NULL: it is the socket's own; an armed timer
 *	holds one of this and one of the socket
 * @put: drops @ref
 * @lock: guards @armed against the handler, a leaf lock
 * @armed: queued, or its handler has not finished; holds the references
 * @due: called with the socket locked and not owned by a system call
 */
struct ltp_timer {
	struct hrtimer hr;
	struct sock *sk;
	refcount_t *ref;
	void (*put)(struct ltp_timer *t);
	void (*due)(struct ltp_timer *t);
	spinlock_t lock; /* @armed */
	bool armed;
};

/**
 * struct ltp_group - flows whose deadlines are computed together
 * @rcu: packets look at it without the lock of its socket
 * @ref: one a socket: the listener and each association
 * @members: associations, the listener not counted
 * @active: members with open incoming flows
 * @epoch: moves when the program marks the end of an epoch on the listener
 * @lt_max_ns: the largest LT threshold of the members, 0: none has one
 * @lts: the members that have one, the largest first
 * @lock: guards @lts and @ceiling, a leaf lock
 * @ceiling: what arrives for all members
 */
struct ltp_group {
	struct rcu_head rcu;
	refcount_t ref;
	atomic_t members;
	atomic_t active;
	atomic_t epoch;
	atomic64_t lt_max_ns;
	struct rb_root_cached lts;
	spinlock_t lock; /* @lts, writers of @lt_max_ns; @ceiling */
	struct ltp_ceiling ceiling;
};

/**
 * struct ltp_member - what an association is to its group
 * @node: in ltp_group.lts, unless @lt_ns is 0
 * @lt_ns: LT threshold of its flows, 0: none; read under the socket lock
 */
struct ltp_member {
	struct rb_node node;
	u64 lt_ns;
};

enum ltp_seg_state {
	LTP_SEG_QUEUED,		/* waits for its first transmission */
	LTP_SEG_IN_FLIGHT,
	LTP_SEG_LOST,		/* waits for a retransmission */
};

/**
 * struct ltp_seg - a segment that its sender may have to send (again)
 * @node: in ltp_flow_tx.segs, by @index
 * @link: in one of ltp_tx.queue, or in ltp_tx.in_flight
 * @flow: its flow
 * @skb: its payload
 * @sent_ns: when it was last sent
 * @delivered: ltp_tx.delivered at that time
 * @delivered_ns: ltp_tx.delivered_ns at that time
 * @first_sent_ns: ltp_tx.first_sent_ns at that time
 * @lost_ns: when the packet was sent that was found lost
 * @index: of the segment in the flow
 * @pn: number of the packet it was last in
 * @lost_pn: number of the packet that was found lost
 * @len: bytes of payload
 * @sends: how often it was sent, saturating
 * @state: enum ltp_seg_state
 * @critical: must arrive
 * @app_limited: sent while there was nothing else to send
 * @cwnd_limited: the congestion window had held it back
 * @ack_now: a probe: ask for an ACK at once
 * @was_lost: @lost_pn is why it was last sent, or waits to be sent, again
 * @df: it was last sent with don't-fragment
 */
struct ltp_seg {
	struct rb_node node;
	struct list_head link;
	struct ltp_flow_tx *flow;
	struct sk_buff *skb;
	u64 sent_ns;
	u64 delivered;
	u64 delivered_ns;
	u64 first_sent_ns;
	u64 lost_ns;
	u32 index;
	u32 pn;
	u32 lost_pn;
	u32 len;
	u8 sends;
	u8 state;
	u8 critical:1;
	u8 app_limited:1;
	u8 cwnd_limited:1;
	u8 ack_now:1;
	u8 was_lost:1;
	u8 df:1;
};

/**
 * struct ltp_flow_tx - a flow at its sender
 * @node: in ltp_tx.flows, in order of id
 * @ref: the list and the armed timer
 * @sk: its socket, not referenced: the socket outlives its flows' timers
 * @segs: segments that are in the kernel and not acknowledged
 * @map: which segments the receiver has
 * @giveup: fires when the sender gives up
 * @giveup_ns: when that is, 0: never
 * @close_parts: bitmap of the parts of CLOSE that came, NULL: none
 * @parts: how many there are
 * @parts_got: how many came
 * @tag: the program's
 * @id: flow id
 * @len: length of the message
 * @copied: bytes taken over from the program
 * @taken: segments taken over
 * @start: segment that follows the critical ones
 * @unsent: segments never sent, those not yet copied included
 * @ncrit: number of leading critical segments
 * @seg_size: bytes in a segment
 * @lost: loss verdicts
 * @missing: segments that all parts of CLOSE together say are missing
 * @received: bytes the receiver has, once it has ended the flow
 * @close_reason: why, as CLOSE says
 * @reason: enum ltp_close_reason, LTP_OPEN while under way
 * @tolerant: may be closed early
 * @mem: bytes of memory of the flow itself, charged to its socket
 * @gave_up: the sender has given up and says so until a CLOSE comes
 * @linked: on the list
 */
struct ltp_flow_tx {
	struct list_head node;
	refcount_t ref;
	struct sock *sk;
	struct rb_root segs;
	struct ltp_ackmap map;
	struct ltp_timer giveup;
	u64 giveup_ns;
	unsigned long *close_parts;
	u32 parts;
	u32 parts_got;
	u64 tag;
	u32 id;
	u32 len;
	u32 copied;
	u32 taken;
	u32 start;
	u32 unsent;
	u32 ncrit;
	u32 seg_size;
	u32 lost;
	u32 missing;
	u32 received;
	u32 mem;
	u8 close_reason;
	u8 reason;
	bool tolerant;
	bool gave_up;
	bool linked;
};

/**
 * struct ltp_flow_rx - a flow at its receiver
 * @node: in ltp_rx.flows, in order of id
 * @ref: the list and the armed timers
 * @sk: its socket, not referenced
 * @queue: segments that arrived and are not yet in the reader's buffer
 * @map: which segments arrived
 * @ec: clock of Early Close
 * @th: its thresholds, of a tolerant flow
 * @close: fires when the Early Close verdict may change, then repeats CLOSE
 * @close_at_ns: when, 0: not armed
 * @close_acked: bitmap of the parts of CLOSE that were answered
 * @parts: parts of CLOSE, 0: none is owed
 * @parts_acked: how many were answered
 * @parts_out: parts sent in this round and not answered
 * @tries: rounds of CLOSE sent in vain
 * @elapsed_ns: first packet to end
 * @tag: the sending program's
 * @placed_at: the reader's buffer that part of it is in, NULL: none is
 * @placed_room: how large that buffer is
 * @id: flow id
 * @len: length of the message
 * @seg_size: bytes in a segment
 * @ncrit: critical segments
 * @crit_got: critical segments that arrived
 * @received: bytes that arrived
 * @queued: bytes of truesize in @queue
 * @mem: bytes of memory of the flow itself, charged to its socket
 * @ack_pn: packet the pending ACK answers
 * @ack_ns: when that packet came
 * @ack_lo: lowest segment the pending ACK must cover
 * @ack_hi: highest one
 * @ack_count: packets since the last ACK, 0: none pending
 * @reason: enum ltp_close_reason
 * @tolerant: may be closed early
 * @ack_dup: the packet to answer was a duplicate
 * @ack_ce: one of those that the pending ACK answers was marked by ECN
 * @last: the sender said that it has sent all segments once
 * @read: the reader has had it
 */
struct ltp_flow_rx {
	struct list_head node;
	refcount_t ref;
	struct sock *sk;
	struct sk_buff_head queue;
	struct ltp_ackmap map;
	struct ltp_early_close ec;
	struct ltp_threshold th;
	struct ltp_timer close;
	u64 close_at_ns;
	unsigned long *close_acked;
	u32 parts;
	u32 parts_acked;
	u32 parts_out;
	u32 tries;
	u64 elapsed_ns;
	u64 tag;
	const void *placed_at;
	size_t placed_room;
	u32 id;
	u32 len;
	u32 seg_size;
	u32 ncrit;
	u32 crit_got;
	u32 received;
	u32 queued;
	u32 mem;
	u64 ack_ns;
	u32 ack_pn;
	u32 ack_lo;
	u32 ack_hi;
	u8 ack_count;
	u8 reason;
	bool tolerant;
	bool ack_dup;
	bool ack_ce;
	bool last;
	bool read;
};

/* The three queues, in the order in which they are served. */
enum ltp_queue {
	LTP_Q_CRITICAL,		/* retransmissions of what must arrive */
	LTP_Q_FRESH,		/* first transmissions */
	LTP_Q_AGAIN,		/* retransmissions that may be lost */
	LTP_QUEUES
};

/* What a sender is doing, for ltp_info. */
enum ltp_busy {
	LTP_IDLE,		/* nothing in flight, nothing to send */
	LTP_BUSY,
	LTP_BUSY_WINDOW,	/* held back by the peer's window */
	LTP_BUSY_SNDBUF,	/* all in flight, no room for more */
	LTP_BUSY_KINDS
};

/**
 * struct ltp_tx - sending half of an association
 * @flows: flows not ended, in order of id
 * @partial: the flow whose message is not completely copied, or NULL
 * @writing: a sendmsg() is in the middle of a message
 * @waiting: how many wait for it to finish
 * @queue: segments to send
 * @in_flight: segments sent and not answered, in order of packet number
 * @loss: round-trip time and loss verdicts
 * @cc: congestion control
 * @pacing: sending clock
 * @delivered: payload bytes acknowledged
 * @delivered_ns: when that last grew
 * @first_sent_ns: when the newest acknowledged packet was sent
 * @last_sent_ns: when something was last put in flight
 * @data_ns: when DATA was last sent
 * @acked_ns: when an ACK last came
 * @busy_since_ns: since when @busy holds
 * @busy_ns: how long each kind held before that
 * @bytes: payload bytes sent
 * @bytes_again: payload bytes sent again
 * @loss_at: when the next loss verdict is due, U64_MAX: none is
 * @app_limited: until @delivered passes this, samples are application limited
 * @pn: next packet number
 * @next_flow: id of the next flow
 * @flow_limit: the peer takes flows before this id
 * @window: bytes the peer takes in flight of the flow it reads next
 * @window_later: and of the flows behind that one
 * @next_read: the flow it reads next
 * @max_flows: flows it takes at a time
 * @window_pn: number of the packet that said so
 * @flight: bytes in flight
 * @fresh: bytes never sent
 * @again: bytes found lost, waiting
 * @retransmitted: segments sent again
 * @lost: loss verdicts
 * @sent: DATA packets sent
 * @probes: tail probes
 * @busy: enum ltp_busy
 * @cwnd_limited: the congestion window, not pacing, holds segments back
 * @paused: since a segment was last sent none could be, pacing apart
 * @dry: since then there was none to send
 * @starved: a sendmsg() that may not wait found no memory: POLLOUT waits for
 *	LTP_STARVED_NS
 * @fin_sent: a FIN was sent
 * @fin_acked: and answered
 */
struct ltp_tx {
	struct list_head flows;
	struct ltp_flow_tx *partial;
	bool writing;
	u16 waiting;
	struct list_head queue[LTP_QUEUES];
	struct list_head in_flight;
	struct ltp_loss loss;
	struct ltp_cc cc;
	struct ltp_pacing pacing;
	u64 delivered;
	u64 delivered_ns;
	u64 first_sent_ns;
	u64 last_sent_ns;
	u64 data_ns;
	u64 acked_ns;
	u64 busy_since_ns;
	u64 busy_ns[LTP_BUSY_KINDS];
	u64 bytes;
	u64 bytes_again;
	u64 loss_at;
	u64 app_limited;
	u32 pn;
	u32 next_flow;
	u32 flow_limit;
	u32 window;
	u32 window_later;
	u32 next_read;
	u32 max_flows;
	u32 window_pn;
	u32 flight;
	u32 fresh;
	u32 again;
	u32 retransmitted;
	u32 lost;
	u32 sent;
	u32 probes;
	u8 busy;
	bool cwnd_limited;
	bool paused;
	bool dry;
	bool starved;
	bool fin_sent;
	bool fin_acked;
};

/**
 * struct ltp_rx - receiving half of an association
 * @flows: flows not forgotten, in order of id
 * @ack_flow: flow of which an ACK may be pending, or NULL
 * @next_flow: first flow that was not read
 * @flow_end: after a FIN: id behind the last flow
 * @mem: bytes of memory of the flows, queues not counted
 * @advertised: window last told to the peer
 * @refused_ns: when the peer was last told that there is no room
 * @later_told: and that of the flows behind the next one
 * @limit_told: flow limit last told to the peer
 * @seg_size: of the newest flow
 * @open: flows that have not ended
 * @shut: that window was 0
 * @starved: a segment was refused as all sockets together have too much memory
 * @ratio: payload in the memory of a segment, smoothed, in 1/256
 * @segments: DATA packets accepted
 * @bytes: payload bytes accepted
 * @duplicates: DATA packets that had arrived before
 * @data_ns: when DATA was last accepted
 * @reading: a recvmsg() is in the middle of a message
 * @waiting: how many wait for it to finish
 * @fin: a FIN came, @flow_end is valid
 * @est: what its flows have taught
 * @rtprop_ns: smallest time in which a PING was answered, 0: none was
 * @asked_ns: when the newest PING was sent, 0: it was answered
 * @asked_token: its token
 * @tolerant: tolerant flows that are open
 * @group_epoch: ltp_group.epoch when last looked at
 * @stale: thresholds of open flows are to be made anew
 * @rejudge: and the flows to be judged
 */
struct ltp_rx {
	struct list_head flows;
	struct ltp_flow_rx *ack_flow;
	struct ltp_estimate est;
	u64 rtprop_ns;
	u64 asked_ns;
	u32 asked_token;
	u32 tolerant;
	int group_epoch;
	bool stale;
	bool rejudge;
	u64 bytes;
	u64 data_ns;
	u64 refused_ns;
	u32 next_flow;
	u32 flow_end;
	u32 mem;
	u32 advertised;
	u32 later_told;
	u32 limit_told;
	u32 ratio;
	u32 seg_size;
	u32 open;
	u32 segments;
	u32 duplicates;
	bool shut;
	bool starved;
	bool fin;
	bool reading;
	u16 waiting;
};

/* Bits of ltp_sock.events. */
#define LTP_TIMER_MISSED	0	/* a timer fired under a system call */
#define LTP_ICMP_MISSED		1	/* an ICMP error came under one */

/**
 * struct ltp_sock - an LTP socket; connected, it is one association
 * @inet: generic part, must be first
 * @af: address family
 * @assoc_node: in ltp_net.assocs
 * @key: its key there
 * @bound_node: in ltp_net.ports
 * @group: of a listener and its children, else NULL
 * @member: what it is there
 * @accept_queue: of a listener: children to accept
 * @accept_node: of a child: in it
 * @tx: sending half
 * @rx: receiving half
 * @retry: handshake, tail probe, FIN, liveness: what waits for an answer
 * @retry_ns: when it is due, 0: not armed
 * @pace: the next packet may leave
 * @ack: an ACK is due
 * @ack_ns: when, 0: not armed
 * @report_mem: bytes of sk_rmem_alloc that are unread reports
 * @events: LTP_..._MISSED, atomic
 * @missed_mtu: "too big" that came with LTP_ICMP_MISSED, bytes; 0: none
 * @missed_err: "unreachable" that came with it, errno; 0: none
 * @phase: enum ltp_state
 * @encap_port: UDP port of the peer, 0: no UDP
 * @encap_want: LTP_ENCAP, or LTP_ENCAP_DEFAULT
 * @newest_pn: newest packet number that came, once the handshake is done
 * @local_tag: verification tag the peer must use
 * @peer_tag: tag to send
 * @first_flow: of an accepted socket: id of the first flow it sends
 * @first_pn: of an accepted socket: its first packet number
 * @peer_mtu: largest packet the peer can take
 * @pmtu: path MTU
 * @trial_pn: number of the packet that ltp_pmtu.trial speaks of
 * @probe_token: of the PING that probes it, 0: none unanswered
 * @frag_size: what the packet that leaves now is cut to, if its ignore_df is
 *	set; 0: as large as the route allows
 * @born_ns: when it began: connect(), or the time in the cookie
 * @open_ns: when the handshake was done
 * @heard_ns: when a packet with the right tag last came
 * @orphan_ns: when it was closed, 0: a program has it
 * @asked_ns: when an answer was first waited for, 0: none is
 * @hello: what the listener said, until the handshake is done; NULL: nothing
 * @tries: handshake packets or FINs sent without an answer
 * @own: what the program fixed by socket options
 * @policy: that, and for the rest what rules and the namespace say
 * @policy_gen: ltp_net.policy_gen of @policy, 0: not made yet
 * @rcvtag: LTP_RCVTAG
 * @segsize: LTP_SEGSIZE, 0: from the path
 * @user_timeout_ms: LTP_USER_TIMEOUT, 0: the namespace's dead_ms
 * @has_rcvtag: @rcvtag holds for the next recvmsg()
 * @recvrcvinfo: LTP_RECVRCVINFO
 * @recvrcvmap: LTP_RECVRCVMAP
 * @reports: LTP_REPORTS
 * @holes_keep: LTP_HOLES
 * @moving_start: LTP_MOVING_START
 * @hashed: in ltp_net.assocs
 */
struct ltp_sock {
	struct inet_sock inet;
	const struct ltp_af *af;
	struct rhash_head assoc_node;
	struct ltp_key key;
	struct hlist_node bound_node;
	struct ltp_group *group;
	struct ltp_member member;
	struct list_head accept_queue;
	struct list_head accept_node;
	struct ltp_tx tx;
	struct ltp_rx rx;
	struct ltp_timer retry;
	struct ltp_timer pace;
	struct ltp_timer ack;
	u64 retry_ns;
	u64 ack_ns;
	atomic_t report_mem;
	unsigned long events;
	u32 missed_mtu;
	int missed_err;
	u8 phase;
	__be16 encap_port;
	int encap_want;
	u32 newest_pn;
	u32 local_tag;
	u32 peer_tag;
	u32 first_flow;
	u32 first_pn;
	u32 peer_mtu;
	struct ltp_pmtu pmtu;
	u32 trial_pn;
	u32 probe_token;
	u32 frag_size;
	u64 born_ns;
	u64 open_ns;
	u64 heard_ns;
	u64 asked_ns;
	u64 orphan_ns;
	struct ltp_init_ack *hello;
	u32 tries;
	struct ltp_policy own;
	struct ltp_policy policy;
	u32 policy_gen;
	u64 rcvtag;
	u32 segsize;
	u32 user_timeout_ms;
	u8 has_rcvtag:1;
	u8 recvrcvinfo:1;
	u8 recvrcvmap:1;
	u8 reports:1;
	u8 holes_keep:1;
	u8 moving_start:1;
	u8 hashed:1;
};

#if IS_ENABLED(CONFIG_IPV6)
/**
 * struct ltp6_sock - an LTP socket of AF_INET6
 * @ltp: what all have, must be first
 * @inet6: what IPv6 keeps; last, because older kernels look for it at the end
 */
struct ltp6_sock {
	struct ltp_sock ltp;
	struct ipv6_pinfo inet6;
};
#endif

static inline struct ltp_sock *ltp_sk(const struct sock *sk)
{
	return (struct ltp_sock *)sk;
}

static inline u64 ltp_now(void)
{
	return ktime_get_ns();
}

static inline void ltp_set_state(struct sock *sk, int state)
{
	/* Lookups read it without the lock; what it stands for came before. */
	smp_store_release(&sk->sk_state, state);
}

struct ltp_net *ltp_pernet(const struct net *net);

static inline struct ltp_net *ltp_sock_net(const struct sock *sk)
{
	return ltp_pernet(sock_net(sk));
}

#endif /* _LTP_LTP_H */
