// SPDX-License-Identifier: GPL-2.0
/* What LTP_INFO and netlink tell of an association. */
#include <linux/math64.h>
#include <net/tcp_states.h>

#include "assoc.h"
#include "flow_tx.h"
#include "info.h"

static u32 ltp_info_us(u64 ns)
{
	return min_t(u64, div_u64(ns, NSEC_PER_USEC), U32_MAX);
}

/**
 * ltp_info_fill() - describe an association
 * @sk: socket
 * @info: filled in, nothing in it is left as it was
 *
 * Context: socket locked.
 */
void ltp_info_fill(struct sock *sk, struct ltp_info *info)
{
	const struct ltp_sock *lp = ltp_sk(sk);
	const struct ltp_tx *tx = &lp->tx;
	const struct ltp_rx *rx = &lp->rx;
	const struct ltp_flow_tx *out;
	const struct ltp_flow_rx *in;

	memset(info, 0, sizeof(*info));
	info->state = sk->sk_state == TCP_LISTEN ? LTP_LISTEN : lp->phase;
	info->segments_out = tx->sent;
	info->segments_in = rx->segments;
	info->retransmitted = tx->retransmitted;
	info->lost = tx->lost;
	info->spurious = tx->loss.spurious;
	info->srtt_us = ltp_info_us(tx->loss.srtt_ns);
	info->rttvar_us = ltp_info_us(tx->loss.rttvar_ns);
	info->rtprop_us = ltp_info_us(tx->loss.min_rtt_ns);
	info->cwnd = tx->cc.cwnd;
	info->pacing_rate = tx->cc.pacing_rate;
	info->in_flight = tx->flight;
	info->peer_window = tx->window;
	info->probes = tx->probes;
	info->bytes_acked = tx->delivered;
	info->bytes_received = rx->bytes;
	list_for_each_entry(out, &tx->flows, node)
		info->flows_out++;
	list_for_each_entry(in, &rx->flows, node)
		if (!in->read)
			info->flows_in++;
	/* The rest has a meaning only once the handshake is done. */
	if (!ltp_assoc_is_open(lp))
		return;
	info->seg_size = ltp_tx_segsize(sk);
	if (tx->cc.ops->info)
		tx->cc.ops->info(&tx->cc, info);
}
