/* SPDX-License-Identifier: GPL-2.0 */
/* What LTP_INFO and netlink tell of an association. */
#ifndef _LTP_INFO_H
#define _LTP_INFO_H

#include "ltp.h"

void ltp_info_fill(struct sock *sk, struct ltp_info *info);

#endif /* _LTP_INFO_H */
