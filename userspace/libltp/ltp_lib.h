/* SPDX-License-Identifier: MIT */
/*
 * libltp for C: sockets, messages, maps and the gather. The C++ headers in ltp/ say the same and
 * more.
 *
 * Calls return 0 (or what they are said to return) or a negative errno value; ltpl_error() then
 * gives the sentence that belongs to it. No call throws. Timeouts are in milliseconds, negative:
 * for ever.
 */
#ifndef LTP_LIB_H
#define LTP_LIB_H

#include <linux/ltp.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ltpl_socket ltpl_socket;
typedef struct ltpl_map ltpl_map;
typedef struct ltpl_gather ltpl_gather;

/* The sentence for the last failure in this thread; "" if there was none. Valid until the next
 * call. */
const char *ltpl_error(void);

/* A socket that listens on host:port; host NULL or "": every address; port 0: any, see ltpl_port().
 */
int ltpl_listen(ltpl_socket **out, const char *host, uint16_t port, int backlog);
int ltpl_accept(ltpl_socket *listener, ltpl_socket **out, int timeout_ms);
int ltpl_connect(ltpl_socket **out, const char *host, uint16_t port, int timeout_ms);
/* Closes it; NULL is allowed. Closing one that never existed or twice is not. */
void ltpl_close(ltpl_socket *s);
/* The file descriptor, for poll(), setsockopt() and getsockopt(). It still belongs to the socket.
 */
int ltpl_fd(const ltpl_socket *s);
/* The local port, or a negative errno value. */
int ltpl_port(const ltpl_socket *s);
/* What is set in t->set is fixed for this socket. */
int ltpl_set_thresholds(ltpl_socket *s, const struct ltp_thresholds *t);
int ltpl_set_reports(ltpl_socket *s, int on);
/* LTP_HOLES_ZERO or LTP_HOLES_KEEP. */
int ltpl_set_holes(ltpl_socket *s, int holes);

/* Sends one message; info may be NULL: reliable, tag 0. */
int ltpl_send(ltpl_socket *s, const void *data, size_t length, const struct ltp_sndinfo *info,
              int timeout_ms);

/*
 * Receives one message. Returns its length; 0 if the peer closed in an orderly way. info and map
 * may be NULL. A message longer than the buffer is consumed and gives -EMSGSIZE. After -ETIMEDOUT
 * and -EINTR call again with the same buffer.
 */
int64_t ltpl_recv(ltpl_socket *s, void *buffer, size_t length, struct ltp_rcvinfo *info,
                  ltpl_map *map, int timeout_ms);

/* Takes the oldest report: 1 if there was one, 0 if not. map may be NULL. */
int ltpl_report(ltpl_socket *s, struct ltp_report *report, ltpl_map *map);

ltpl_map *ltpl_map_new(void); /* NULL: out of memory */
void ltpl_map_free(ltpl_map *map);
uint32_t ltpl_map_seg_size(const ltpl_map *map);
size_t ltpl_map_segments(const ltpl_map *map);
/* Bit i % 64 of word i / 64 is set if segment i arrived. */
const uint64_t *ltpl_map_words(const ltpl_map *map);
/* Share of the segments that arrived, 0 to 1. */
double ltpl_map_fraction(const ltpl_map *map);
/* The first hole at or after byte from: 1 and its place, or 0 if there is none. */
int ltpl_map_hole(const ltpl_map *map, size_t from, size_t *offset, size_t *length);

enum ltpl_dtype { LTPL_FLOAT32, LTPL_FLOAT64, LTPL_FLOAT16, LTPL_BFLOAT16 };
enum ltpl_fill { LTPL_MEAN_OF_RECEIVED, LTPL_ZERO, LTPL_PREVIOUS };

/* See ltp/gather.hpp. */
int ltpl_gather_new(ltpl_gather **out, size_t elements, enum ltpl_dtype dtype, enum ltpl_fill fill);
void ltpl_gather_free(ltpl_gather *g);
void ltpl_gather_begin(ltpl_gather *g);
/* map NULL: all of it was delivered. */
int ltpl_gather_add(ltpl_gather *g, const void *data, const ltpl_map *map);
int ltpl_gather_finish(ltpl_gather *g, void *mean);

#ifdef __cplusplus
}
#endif

#endif /* LTP_LIB_H */
