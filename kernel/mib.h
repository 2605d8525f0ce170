/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of a network namespace: what came, what went, and a reason for
 * each packet that was dropped. The order may change, the names may not.
 */
#ifndef _LTP_MIB_H
#define _LTP_MIB_H

#include <linux/types.h>
#include <linux/u64_stats_sync.h>

/* LTP_MIB(symbol, name, what it counts) */
#define LTP_MIBS \
LTP_MIB(IN_PACKETS, "InPackets", "packets received, dropped ones included") \
LTP_MIB(OUT_PACKETS, "OutPackets", "packets handed to IP") \
LTP_MIB(OUT_ERRORS, "OutErrors", "packets that IP or the device refused") \
LTP_MIB(IN_ENCAP, "InEncap", "packets received in UDP") \
LTP_MIB(OUT_ENCAP, "OutEncap", "packets sent in UDP") \
LTP_MIB(ENCAP_MOVED, "EncapMoved", \
	"times that a peer's UDP port was found to be another") \
LTP_MIB(IN_DATA, "InData", "segments accepted for the first time") \
LTP_MIB(IN_CE, "InCe", "DATA packets that a router marked (ECN)") \
LTP_MIB(IN_DUPLICATE, "InDuplicate", "segments that had arrived before") \
LTP_MIB(OUT_DATA, "OutData", "segments sent, retransmissions included") \
LTP_MIB(RETRANSMITTED, "Retransmitted", "segments sent again") \
LTP_MIB(LOSS_VERDICTS, "LossVerdicts", "segments found lost") \
LTP_MIB(SPURIOUS, "Spurious", "loss verdicts that were wrong") \
LTP_MIB(TAIL_PROBES, "TailProbes", "probes sent because no ACK came") \
LTP_MIB(PMTU_PROBES, "PmtuProbes", "padded PINGs sent to probe a path's MTU") \
LTP_MIB(PMTU_CONFIRMED, "PmtuConfirmed", "of these, answered") \
LTP_MIB(PMTU_LOST, "PmtuLost", "of these, found lost") \
LTP_MIB(PMTU_BLACK_HOLES, "PmtuBlackHoles", \
	"paths on which full-size packets vanished") \
LTP_MIB(PMTU_ICMP, "PmtuIcmp", "ICMP \"too big\" believed") \
LTP_MIB(PMTU_ICMP_IGNORED, "PmtuIcmpIgnored", \
	"ICMP \"too big\" with the right tag, not believed") \
LTP_MIB(OUT_ACKS, "OutAcks", "ACK packets sent") \
LTP_MIB(IN_ACKS, "InAcks", "ACK packets accepted") \
LTP_MIB(FLOWS_SENT, "FlowsSent", "flows begun by senders") \
LTP_MIB(FLOWS_RECEIVED, "FlowsReceived", "flows begun at receivers") \
LTP_MIB(CLOSED_COMPLETE, "ClosedComplete", "received flows that ended whole") \
LTP_MIB(CLOSED_FRACTION, "ClosedFraction", \
	"received flows closed early, the fraction being there") \
LTP_MIB(CLOSED_DEADLINE, "ClosedDeadline", \
	"received flows closed early by their deadline") \
LTP_MIB(CLOSED_GAVE_UP, "ClosedGaveUp", \
	"received flows that their sender gave up") \
LTP_MIB(CLOSED_LOST, "ClosedLost", \
	"received flows cut off by the end of their association") \
LTP_MIB(MISSING_SEGMENTS, "MissingSegments", \
	"segments missing in flows that were closed early") \
LTP_MIB(REPORTS_LOST, "ReportsLost", \
	"reports of sent flows for which there was no room") \
LTP_MIB(ASSOC_ACTIVE, "AssocActive", "associations opened by connect") \
LTP_MIB(ASSOC_PASSIVE, "AssocPassive", "associations accepted") \
LTP_MIB(ASSOC_ESTABLISHED, "AssocEstablished", "handshakes completed") \
LTP_MIB(ASSOC_RESET, "AssocReset", "associations ended by a RESET") \
LTP_MIB(ASSOC_TIMEOUT, "AssocTimeout", \
	"associations or handshakes ended for want of an answer") \
LTP_MIB(OUT_RESETS, "OutResets", "RESET packets sent") \
LTP_MIB(DROP_SHORT, "DropShort", "packet shorter than its headers") \
LTP_MIB(DROP_CHECKSUM, "DropChecksum", "checksum wrong") \
LTP_MIB(DROP_ENCAP, "DropEncap", "UDP without checksum or source port") \
LTP_MIB(DROP_TYPE, "DropType", "packet type unknown") \
LTP_MIB(DROP_FLAGS, "DropFlags", "a flag that this packet type lacks") \
LTP_MIB(DROP_LENGTH, "DropLength", "length disagrees with the fields") \
LTP_MIB(DROP_FIELD, "DropField", "a field out of its range") \
LTP_MIB(DROP_NO_ASSOC, "DropNoAssoc", "no association, no listener") \
LTP_MIB(DROP_TAG, "DropTag", "verification tag wrong") \
LTP_MIB(DROP_STATE, "DropState", "packet type unfit for the state") \
LTP_MIB(DROP_COOKIE, "DropCookie", "cookie forged or altered") \
LTP_MIB(DROP_COOKIE_OLD, "DropCookieOld", "cookie expired") \
LTP_MIB(DROP_COOKIE_USED, "DropCookieUsed", \
	"cookie of an association that ended, or may have") \
LTP_MIB(DROP_BACKLOG, "DropBacklog", "accept queue full") \
LTP_MIB(DROP_SOCKET_BACKLOG, "DropSocketBacklog", \
	"socket busy and its backlog full") \
LTP_MIB(DROP_RCVBUF, "DropRcvbuf", "receive buffer full") \
LTP_MIB(DROP_MEMORY, "DropMemory", "no memory") \
LTP_MIB(DROP_FLOW_LIMIT, "DropFlowLimit", "flow id beyond the window") \
LTP_MIB(DROP_FLOW_CHANGED, "DropFlowChanged", \
	"fields disagree with the flow's first packet") \
LTP_MIB(DROP_FLOW_CLOSED, "DropFlowClosed", "segment of a flow that ended") \
LTP_MIB(DROP_FLOW_UNKNOWN, "DropFlowUnknown", \
	"ACK or CLOSE of a flow that is not open") \
LTP_MIB(DROP_ACK_INVALID, "DropAckInvalid", \
	"ACK of something that was not sent") \
LTP_MIB(DROP_FILTER, "DropFilter", "refused by a socket filter or policy")

enum ltp_mib {
#define LTP_MIB(symbol, name, doc) LTP_MIB_##symbol,
	LTP_MIBS
#undef LTP_MIB
	__LTP_MIB_MAX
};

struct ltp_mib_cpu {
	u64 counts[__LTP_MIB_MAX];
	struct u64_stats_sync sync;
};

/**
 * struct ltp_mib_entry - one counter, for those who print it
 * @name: stable, for programs
 * @doc: one line, for humans
 */
struct ltp_mib_entry {
	const char *name;
	const char *doc;
};

extern const struct ltp_mib_entry ltp_mib_entries[__LTP_MIB_MAX];

struct net;

void ltp_mib_add(struct net *net, enum ltp_mib which, u64 n);
u64 ltp_mib_sum(struct net *net, enum ltp_mib which);
int ltp_mib_init(struct net *net);
void ltp_mib_exit(struct net *net);

static inline void ltp_mib_inc(struct net *net, enum ltp_mib which)
{
	ltp_mib_add(net, which, 1);
}

#endif /* _LTP_MIB_H */
