// SPDX-License-Identifier: GPL-2.0
/*
 * Loss-tolerant Transmission Protocol: the order in which things come and go.
 * Sockets come last and go first, memory goes when nothing can reach it.
 */
#include <linux/module.h>
#include <linux/rhashtable.h>
#include <net/netns/generic.h>

#include "assoc.h"
#include "encap.h"
#include "flow_rx.h"
#include "flow_tx.h"
#include "handshake.h"
#include "ipv4.h"
#include "ipv6.h"
#include "netlink.h"
#include "rules.h"
#include "socket.h"

static unsigned int ltp_net_id;

/**
 * ltp_pernet() - the state of a network namespace
 * @net: namespace
 *
 * Context: any.
 * Return: its state, never NULL while the module is loaded
 */
struct ltp_net *ltp_pernet(const struct net *net)
{
	return net_generic(net, ltp_net_id);
}

static int __net_init ltp_net_init(struct net *net)
{
	struct ltp_net *ln = ltp_pernet(net);
	int err, i;

	ln->conf.fraction_ppm = LTP_FRACTION_MAX / 10 * 9;
	ln->conf.lt_ns = LTP_NS_ADAPTIVE;
	ln->conf.deadline_ns = LTP_NS_ADAPTIVE;
	ln->conf.slack_ns = LTP_NS_ADAPTIVE;
	ln->conf.epoch = LTP_EPOCH_DEFAULT;
	ln->conf.profile = LTP_PROFILE_DCN;
	ln->policy_gen = 1;
	ln->conf.rcvbuf = LTP_RCVBUF_DEFAULT;
	ln->conf.sndbuf = LTP_SNDBUF_DEFAULT;
	ln->conf.dead_ms = LTP_DEAD_MS_DEFAULT;
	ln->conf.cc = &ltp_cc_bdp;
	spin_lock_init(&ln->ports_lock);
	for (i = 0; i < LTP_PORT_BUCKETS; i++)
		INIT_HLIST_HEAD(&ln->ports[i]);
	err = ltp_mib_init(net);
	if (err)
		return err;
	err = ltp_assoc_net_init(net);
	if (err)
		goto mib;
	err = ltp_handshake_net_init(ln);
	if (err)
		goto assocs;
	err = ltp_ipv4_net_init(net);
	if (err)
		goto handshake;
	err = ltp_ipv6_net_init(net);
	if (err)
		goto ipv4;
	return 0;

ipv4:
	ltp_ipv4_net_exit(net);
handshake:
	ltp_handshake_net_exit(ln);
assocs:
	ltp_assoc_net_exit(net);
mib:
	ltp_mib_exit(net);
	return err;
}

static void __net_exit ltp_net_exit(struct net *net)
{
	ltp_encap_net_exit(net);
	ltp_ipv6_net_exit(net);
	ltp_ipv4_net_exit(net);
	ltp_handshake_net_exit(ltp_pernet(net));
	ltp_assoc_net_exit(net);
	/* No socket is left to read them. */
	kvfree(rcu_dereference_protected(ltp_pernet(net)->rules, true));
	ltp_mib_exit(net);
}

static struct pernet_operations ltp_net_ops = {
	.init	= ltp_net_init,
	.exit	= ltp_net_exit,
	.id	= &ltp_net_id,
	.size	= sizeof(struct ltp_net),
};

static int __init ltp_init(void)
{
	int err;

	err = ltp_tx_init();
	if (err)
		return err;
	err = ltp_rx_init();
	if (err)
		goto tx;
	err = register_pernet_subsys(&ltp_net_ops);
	if (err)
		goto rx;
	err = ltp_netlink_init();
	if (err)
		goto pernet;
	err = ltp_socket_init();
	if (err)
		goto netlink;
	err = ltp_ipv4_register();
	if (err)
		goto socket;
	err = ltp_ipv6_register();
	if (err)
		goto ipv4;
	return 0;

ipv4:
	ltp_ipv4_unregister();
	rcu_barrier();
socket:
	ltp_socket_exit();
netlink:
	ltp_netlink_exit();
pernet:
	unregister_pernet_subsys(&ltp_net_ops);
rx:
	ltp_rx_exit();
tx:
	ltp_tx_exit();
	return err;
}

static void __exit ltp_exit(void)
{
	ltp_ipv6_unregister();
	ltp_ipv4_unregister();
	ltp_netlink_exit();
	/* Closed sockets are freed after a grace period, and count pernet. */
	rcu_barrier();
	ltp_socket_exit();
	unregister_pernet_subsys(&ltp_net_ops);
	rcu_barrier();
	ltp_rx_exit();
	ltp_tx_exit();
}

module_init(ltp_init);
module_exit(ltp_exit);
MODULE_DESCRIPTION("Loss-tolerant Transmission Protocol");
MODULE_VERSION("0.1.0");
MODULE_LICENSE("GPL");
