// SPDX-License-Identifier: MIT
#include <ltp/export.hpp>

#pragma GCC visibility push(default)
#include "ltp_lib.h"
#pragma GCC visibility pop

#include <cerrno>
#include <cstring>
#include <ltp/gather.hpp>
#include <ltp/socket.hpp>
#include <new>
#include <utility>

struct ltpl_socket {
    ltp::Socket socket;
};

struct ltpl_map {
    ltp::Map map;
};

struct ltpl_gather {
    ltp::Gather gather;
};

namespace {

// A fixed array: keeping the sentence must not fail for want of memory.
thread_local char last_error[512];

int failed(int error, const char *sentence) noexcept {
    std::strncpy(last_error, sentence, sizeof(last_error) - 1);
    return error > 0 ? -error : -EIO;
}

/// Runs @p f; nothing is thrown past it.
template <class F>
auto guarded(F &&f) noexcept -> decltype(f()) {
    try {
        return f();
    } catch (const ltp::Error &e) {
        return failed(e.error(), e.what());
    } catch (const std::bad_alloc &) {
        return failed(ENOMEM, "the program is out of memory: free some");
    } catch (const std::exception &e) {
        return failed(EIO, e.what());
    } catch (...) {
        return failed(EIO, "an unknown failure in libltp");
    }
}

ltp::Wait wait_of(int timeout_ms) {
    ltp::Wait w;

    if (timeout_ms >= 0) w.timeout = std::chrono::milliseconds(timeout_ms);
    // A C caller wants control back on a signal, as from any system call.
    w.interrupted = [](void *) { return true; };
    return w;
}

ltp::Duration us(std::uint64_t n) { return ltp::Duration(static_cast<ltp::Duration::rep>(n)); }

ltp::Duration threshold(std::uint64_t n) { return n == LTP_TIME_ADAPTIVE ? ltp::kAdaptive : us(n); }

int null_argument() {
    return failed(EINVAL, "a pointer that must not be NULL is NULL: check the arguments");
}

}  // namespace

const char *ltpl_error(void) { return last_error; }

int ltpl_listen(ltpl_socket **out, const char *host, uint16_t port, int backlog) {
    return guarded([&] {
        if (!out) return null_argument();
        const auto address = ltp::Address::resolve(host ? host : "", port);
        *out = new ltpl_socket{ltp::Socket::listening(address, backlog)};
        return 0;
    });
}

int ltpl_accept(ltpl_socket *listener, ltpl_socket **out, int timeout_ms) {
    return guarded([&] {
        if (!listener || !out) return null_argument();
        *out = new ltpl_socket{listener->socket.accept(wait_of(timeout_ms))};
        return 0;
    });
}

int ltpl_connect(ltpl_socket **out, const char *host, uint16_t port, int timeout_ms) {
    return guarded([&] {
        if (!out || !host) return null_argument();
        const auto address = ltp::Address::resolve(host, port);
        *out = new ltpl_socket{ltp::Socket::connected(address, wait_of(timeout_ms))};
        return 0;
    });
}

void ltpl_close(ltpl_socket *s) { delete s; }

int ltpl_fd(const ltpl_socket *s) { return s ? s->socket.fd() : -1; }

int ltpl_port(const ltpl_socket *s) {
    return guarded(
        [&] { return s ? static_cast<int>(s->socket.local().port()) : null_argument(); });
}

int ltpl_set_thresholds(ltpl_socket *s, const struct ltp_thresholds *t) {
    return guarded([&] {
        if (!s || !t) return null_argument();
        ltp::Thresholds out;
        if (t->set & LTP_SET_FRACTION)
            out.fraction = static_cast<double>(t->fraction_ppm) / LTP_FRACTION_MAX;
        if (t->set & LTP_SET_LT) out.lt = threshold(t->lt_us);
        if (t->set & LTP_SET_DEADLINE) out.deadline = threshold(t->deadline_us);
        s->socket.set_thresholds(out);
        return 0;
    });
}

int ltpl_set_reports(ltpl_socket *s, int on) {
    return guarded([&] { return s ? (s->socket.set_reports(on), 0) : null_argument(); });
}

int ltpl_set_holes(ltpl_socket *s, int holes) {
    return guarded([&] { return s ? (s->socket.set_holes(holes), 0) : null_argument(); });
}

int ltpl_send(ltpl_socket *s, const void *data, size_t length, const struct ltp_sndinfo *info,
              int timeout_ms) {
    return guarded([&] {
        if (!s || !data) return null_argument();
        ltp::SendInfo si;
        if (info) {
            si.tag = info->tag;
            si.tolerant = info->flags & LTP_TOLERANT;
            si.critical = info->critical;
            if (info->giveup_us) si.giveup = us(info->giveup_us);
        }
        s->socket.send(data, length, si, wait_of(timeout_ms));
        return 0;
    });
}

int64_t ltpl_recv(ltpl_socket *s, void *buffer, size_t length, struct ltp_rcvinfo *info,
                  ltpl_map *map, int timeout_ms) {
    return guarded([&]() -> std::int64_t {
        if (!s || !buffer) return null_argument();
        const auto got = s->socket.receive(buffer, length, map ? &map->map : nullptr, false,
                                           wait_of(timeout_ms));
        if (!got) return 0;
        if (info) {
            *info = {};
            info->tag = got->tag;
            info->length = static_cast<std::uint32_t>(got->length);
            info->received = static_cast<std::uint32_t>(got->received);
            info->elapsed_us = static_cast<std::uint64_t>(got->elapsed.count());
            info->flow = got->flow;
            info->reason = static_cast<std::uint16_t>(got->reason);
            info->flags = got->tolerant ? LTP_TOLERANT : 0;
        }
        return static_cast<std::int64_t>(got->length);
    });
}

int ltpl_report(ltpl_socket *s, struct ltp_report *report, ltpl_map *map) {
    return guarded([&] {
        if (!s || !report) return null_argument();
        auto r = s->socket.report();
        if (!r) return 0;
        *report = {};
        report->tag = r->tag;
        report->length = static_cast<std::uint32_t>(r->length);
        report->received = static_cast<std::uint32_t>(r->received);
        report->flow = r->flow;
        report->seg_size = r->map.seg_size();
        report->segments = static_cast<std::uint32_t>(r->map.segments());
        report->reason = static_cast<std::uint16_t>(r->reason);
        report->flags = r->tolerant ? LTP_TOLERANT : 0;
        if (map) map->map = std::move(r->map);
        return 1;
    });
}

ltpl_map *ltpl_map_new(void) { return new (std::nothrow) ltpl_map; }

void ltpl_map_free(ltpl_map *map) { delete map; }

uint32_t ltpl_map_seg_size(const ltpl_map *map) { return map->map.seg_size(); }

size_t ltpl_map_segments(const ltpl_map *map) { return map->map.segments(); }

const uint64_t *ltpl_map_words(const ltpl_map *map) { return map->map.words().data(); }

double ltpl_map_fraction(const ltpl_map *map) { return map->map.fraction(); }

int ltpl_map_hole(const ltpl_map *map, size_t from, size_t *offset, size_t *length) {
    const ltp::Map &m = map->map;

    if (!m.seg_size() || from >= m.length()) return 0;
    const std::size_t first = m.next(from / m.seg_size(), false);
    if (first == m.segments()) return 0;
    const std::size_t end = m.next(first, true);
    const std::size_t start = std::max<std::size_t>(from, m.bytes(first).offset);
    *offset = start;
    *length = (end == m.segments() ? m.length() : m.bytes(end).offset) - start;
    return 1;
}

int ltpl_gather_new(ltpl_gather **out, size_t elements, enum ltpl_dtype dtype,
                    enum ltpl_fill fill) {
    return guarded([&] {
        if (!out) return null_argument();
        if (dtype < LTPL_FLOAT32 || dtype > LTPL_BFLOAT16 || fill < LTPL_MEAN_OF_RECEIVED ||
            fill > LTPL_PREVIOUS)
            return failed(EINVAL,
                          "there is no such dtype or fill policy: use the values in ltp_lib.h");
        *out = new ltpl_gather{
            ltp::Gather(elements, static_cast<ltp::DType>(dtype), static_cast<ltp::Fill>(fill))};
        (*out)->gather.begin();
        return 0;
    });
}

void ltpl_gather_free(ltpl_gather *g) { delete g; }

void ltpl_gather_begin(ltpl_gather *g) { g->gather.begin(); }

int ltpl_gather_add(ltpl_gather *g, const void *data, const ltpl_map *map) {
    return guarded([&] {
        if (!g || !data) return null_argument();
        if (map)
            g->gather.add(data, map->map);
        else
            g->gather.add(data);
        return 0;
    });
}

int ltpl_gather_finish(ltpl_gather *g, void *mean) {
    return guarded([&] {
        if (!g || !mean) return null_argument();
        g->gather.finish(mean);
        return 0;
    });
}
