/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Serial number arithmetic (RFC 1982) on packet numbers and flow ids: they
 * begin anywhere and wrap round. Of two that are 2^31 apart neither comes
 * first in any sense; ltp_before() then says yes both ways.
 */
#ifndef _LTP_SERIAL_H
#define _LTP_SERIAL_H

#include <linux/types.h>

static inline bool ltp_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

static inline bool ltp_after(u32 a, u32 b)
{
	return ltp_before(b, a);
}

#endif /* _LTP_SERIAL_H */
