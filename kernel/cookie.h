/* SPDX-License-Identifier: GPL-2.0 */
/* The cookie that a listener gives out instead of remembering. */
#ifndef _LTP_COOKIE_H
#define _LTP_COOKIE_H

#include "ltp.h"

void ltp_cookie_make(struct ltp_cookie *cookie, const siphash_key_t *secret,
		     const struct ltp_key *key, u64 now_ns);
int ltp_cookie_check(const struct ltp_cookie *cookie,
		     const siphash_key_t *secret, const struct ltp_key *key,
		     u64 now_ns);

#endif /* _LTP_COOKIE_H */
