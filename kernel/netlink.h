/* SPDX-License-Identifier: GPL-2.0 */
/* The generic netlink family. */
#ifndef _LTP_NETLINK_H
#define _LTP_NETLINK_H

int ltp_netlink_init(void);
void ltp_netlink_exit(void);

#endif /* _LTP_NETLINK_H */
