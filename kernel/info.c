// SPDX-License-Identifier: GPL-2.0
/* What LTP_INFO and netlink tell of an association. */
#include <linux/math64.h>
#include <net/tcp_states.h>

#include "adapt.h"
#include "assoc.h"
#include "flow_rx.h"
#include "flow_tx.h"
#include "info.h"
#include "path.h"

static u32 ltp_info_us(u64 ns)
{
	return min_t(u64, div_u64(ns, NSEC_PER_USEC), U32_MAX);
}

/* Time since something happened, U32_MAX: it never did. */
static u32 ltp_info_since(u64 then, u64 now)
{
	return then && then <= now ? ltp_info_us(now - then) : U32_MAX;
}

static u64 ltp_info_busy_us(const struct ltp_tx *tx, enum ltp_busy kind,
			    u64 now)
{
	u64 ns = tx->busy_ns[kind];

	if (tx->busy == kind)
		ns += now - tx->busy_since_ns;
	return div_u64(ns, NSEC_PER_USEC);
}

/* What the handshake begins, and what is kept when the association ended. */
static void ltp_info_fill_times(const struct ltp_sock *lp, u64 now,
				struct ltp_info *info)
{
	const struct ltp_tx *tx = &lp->tx;

	info->last_data_sent_us = ltp_info_since(tx->data_ns, now);
	info->last_ack_received_us = ltp_info_since(tx->acked_ns, now);
	info->last_data_received_us = ltp_info_since(lp->rx.data_ns, now);
	info->last_heard_us = ltp_info_since(lp->heard_ns, now);
	if (!lp->open_ns)
		return;
	info->age_us = div_u64(now - lp->open_ns, NSEC_PER_USEC);
	info->window_limited_us = ltp_info_busy_us(tx, LTP_BUSY_WINDOW, now);
	info->sndbuf_limited_us = ltp_info_busy_us(tx, LTP_BUSY_SNDBUF, now);
	info->busy_us = ltp_info_busy_us(tx, LTP_BUSY, now) +
			info->window_limited_us + info->sndbuf_limited_us;
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
	info->encap = ntohs(lp->encap_port);
	info->segments_out = tx->sent;
	info->segments_in = rx->segments;
	info->retransmitted = tx->retransmitted;
	info->lost = tx->lost;
	info->spurious = tx->loss.spurious;
	info->srtt_us = ltp_info_us(tx->loss.srtt_ns);
	info->rttvar_us = ltp_info_us(tx->loss.rttvar_ns);
	info->rtprop_us = ltp_info_us(tx->loss.min_rtt_ns);
	info->cwnd = tx->cc.cwnd;
	info->pacing_rate = min_t(u64, tx->cc.pacing_rate,
				  READ_ONCE(sk->sk_max_pacing_rate));
	info->in_flight = tx->flight;
	info->peer_window = tx->window;
	info->probes = tx->probes;
	info->bytes_acked = tx->delivered;
	info->bytes_received = rx->bytes;
	info->bytes_sent = tx->bytes;
	info->bytes_retransmitted = tx->bytes_again;
	info->ceiling = tx->cc.ceiling;
	info->min_rtt_us = ltp_info_us(tx->loss.min_rtt_ns);
	info->unsent = tx->fresh;
	info->lost_unsent = tx->again;
	info->peer_window_later = tx->window_later;
	info->backoff = tx->loss.backoff;
	info->duplicates = rx->duplicates;
	ltp_info_fill_times(lp, ltp_now(), info);
	list_for_each_entry(out, &tx->flows, node)
		info->flows_out++;
	list_for_each_entry(in, &rx->flows, node)
		if (!in->read)
			info->flows_in++;
	/* The rest has a meaning only once the handshake is done. */
	if (!ltp_assoc_is_open(lp))
		return;
	ltp_adapt_info(sk, info);
	info->seg_size = ltp_tx_segsize(sk);
	info->pmtu = ltp_path_mtu(sk);
	info->window = ltp_rx_window(sk, false);
	info->window_later = ltp_rx_window(sk, true);
	if (tx->cc.ops->info)
		tx->cc.ops->info(&tx->cc, info);
}
