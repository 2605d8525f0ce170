// SPDX-License-Identifier: MIT
// libltp on real sockets over loopback; needs the module.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ltp/gather.hpp>
#include <ltp/socket.hpp>
#include <numeric>
#include <thread>

#include "harness.hpp"
#include "ltp_lib.h"

using ltp::Address;
using ltp::Map;
using ltp::RcvInfo;
using ltp::SendInfo;
using ltp::Socket;
using ltp::Wait;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

struct Pair {
    Socket listener, client, server;
    Pair()
        : listener(Socket::listening(Address::resolve("127.0.0.1", 0))),
          client(Socket::connected(listener.local(), Wait::at_most(seconds(5)))),
          server(listener.accept(Wait::at_most(seconds(5)))) {}
};

std::vector<char> pattern(std::size_t n, unsigned seed) {
    std::vector<char> v(n);
    std::uint32_t x = seed * 2654435761U + 1;
    for (char &c : v) {
        x = x * 1664525 + 1013904223;
        c = static_cast<char>(x >> 24);
    }
    return v;
}

const Wait kSoon = Wait::at_most(seconds(20));

}  // namespace

TEST(sockets_messages_of_all_sizes) {
    Pair p;
    for (const std::size_t n : {1, 2, 15, 16, 17, 1000, 65407, 65408, 65409, 1000000, 30000000}) {
        const auto sent = pattern(n, 1);
        std::vector<char> got(n);
        SendInfo si;
        si.tag = n * 1000003;
        std::thread sender([&] { p.client.send(sent.data(), n, si, kSoon); });
        Map map;
        const auto info = p.server.receive(got.data(), n, &map, true, kSoon);
        sender.join();
        CHECK(info.has_value());
        CHECK(got == sent);
        CHECK_EQ(info->tag, si.tag);
        CHECK_EQ(info->length, n);
        CHECK_EQ(info->received, n);
        CHECK_EQ(info->reason, LTP_COMPLETE);
        CHECK(!info->tolerant);
        CHECK(map.whole());
        CHECK_EQ(map.length(), n);
    }
}

TEST(sockets_addresses) {
    Pair p;
    CHECK_EQ(p.server.peer().str(), p.client.local().str());
    CHECK_EQ(p.client.peer().str(), p.listener.local().str());
    CHECK_EQ(p.server.peer_name(), p.client.local().str());
}

TEST(sockets_orderly_close_is_no_error) {
    Pair p;
    char c = 0;
    p.client.send("x", 1);
    p.client.close();
    CHECK(p.server.receive(&c, 1, nullptr, true, kSoon).has_value());
    CHECK(!p.server.receive(&c, 1, nullptr, true, kSoon).has_value());
    CHECK(!p.server.receive(&c, 1, nullptr, true, kSoon).has_value());
}

TEST(sockets_size_mismatch_leaves_the_socket_usable) {
    Pair p;
    const auto sent = pattern(5000, 2);
    std::vector<char> got(10000);
    for (const std::size_t capacity : {4999U, 5001U, 1U, 10000U}) {
        p.client.send(sent.data(), sent.size());
        try {
            p.server.receive(got.data(), capacity, nullptr, true, kSoon);
            CHECK(!"thrown");
        } catch (const ltp::SizeMismatch &e) {
            CHECK_EQ(e.message(), 5000U);
            CHECK_EQ(e.buffer(), capacity);
        }
    }
    // Not exact: a larger buffer is fine.
    p.client.send(sent.data(), sent.size());
    const auto info = p.server.receive(got.data(), got.size(), nullptr, false, kSoon);
    CHECK_EQ(info->length, 5000U);
    CHECK(!std::memcmp(got.data(), sent.data(), sent.size()));
}

TEST(sockets_timeouts_end_in_time) {
    Pair p;
    char c = 0;
    const auto start = std::chrono::steady_clock::now();
    CHECK_THROWS(p.server.receive(&c, 1, nullptr, true, Wait::at_most(milliseconds(200))),
                 ltp::Timeout, "0.2 s");
    const auto took = std::chrono::steady_clock::now() - start;
    CHECK(took >= milliseconds(200) && took < seconds(3));
    CHECK(!p.server.receive_pending());
    CHECK_THROWS(p.listener.accept(Wait::at_most(milliseconds(50))), ltp::Timeout, "connection");
    // It goes on as if nothing had been.
    p.client.send("x", 1);
    CHECK(p.server.receive(&c, 1, nullptr, true, kSoon).has_value());
    CHECK_EQ(c, 'x');
}

TEST(sockets_a_message_outlives_a_timeout) {
    Pair p;
    const auto sent = pattern(50000000, 3);
    std::vector<char> got(sent.size());
    // It takes a quarter of a second, whatever the machine: many times what a receive() waits.
    const std::uint64_t pace = 200000000;
    CHECK(::setsockopt(p.client.fd(), SOL_SOCKET, SO_MAX_PACING_RATE, &pace, sizeof(pace)) == 0);
    std::thread sender([&] { p.client.send(sent.data(), sent.size(), {}, kSoon); });
    std::optional<RcvInfo> info;
    int timeouts = 0;
    while (!info) {
        try {
            info = p.server.receive(got.data(), got.size(), nullptr, true,
                                    Wait::at_most(milliseconds(5)));
        } catch (const ltp::Timeout &) {
            timeouts++;
            if (p.server.receive_pending()) {
                char other;
                CHECK_THROWS(p.server.receive(&other, 1), ltp::Error, "another buffer");
            }
        }
    }
    sender.join();
    CHECK(timeouts > 0);
    CHECK(got == sent);
}

TEST(sockets_send_times_out_and_the_cut_is_remembered) {
    Pair p;
    const auto sent = pattern(50000000, 4);  // more than fits into both buffers
    CHECK_THROWS(p.client.send(sent.data(), sent.size(), {}, Wait::at_most(milliseconds(300))),
                 ltp::Timeout, "close this connection");
    CHECK(p.client.send_cut());
    CHECK_THROWS(p.client.send("x", 1), ltp::Error, "cut in the middle");
}

TEST(sockets_connect_refused) {
    int port;
    {
        const Socket l = Socket::listening(Address::resolve("127.0.0.1", 0));
        port = l.local().port();
    }
    try {
        Socket::connected(Address::resolve("127.0.0.1", static_cast<std::uint16_t>(port)), kSoon);
        CHECK(!"thrown");
    } catch (const ltp::Error &e) {
        CHECK_EQ(e.error(), ECONNREFUSED);
        CHECK(std::string(e.what()).find("nobody listens") != std::string::npos);
    }
}

TEST(sockets_port_in_use) {
    const Socket l = Socket::listening(Address::resolve("127.0.0.1", 0));
    CHECK_THROWS(Socket::listening(l.local()), ltp::Error, "in use");
}

TEST(sockets_thresholds) {
    Pair p;
    ltp::Thresholds t;
    t.fraction = 0.75;
    t.lt = milliseconds(20);
    p.server.set_thresholds(t);
    const auto got = p.server.thresholds();
    CHECK_EQ(*got.fraction, 0.75);
    CHECK_EQ(got.lt->count(), 20000);
    CHECK(*got.deadline == ltp::kAdaptive);
    t.lt = ltp::kAdaptive;
    t.deadline = milliseconds(0);
    p.server.set_thresholds(t);
    CHECK(*p.server.thresholds().lt == ltp::kAdaptive);
    CHECK_EQ(p.server.thresholds().deadline->count(), 0);
    CHECK_EQ(p.server.congestion(), std::string("bdp"));
    CHECK_EQ(p.server.info().state, LTP_ESTABLISHED);
}

TEST(sockets_reports) {
    Pair p;
    const auto sent = pattern(300000, 5);
    std::vector<char> got(sent.size());
    SendInfo si;
    p.client.set_reports(true);
    for (std::uint64_t tag = 1; tag <= 3; tag++) {
        si.tag = tag;
        si.tolerant = tag == 2;
        Map map;
        p.client.send(sent.data(), sent.size(), si, kSoon);
        CHECK(p.server.receive(got.data(), got.size(), &map, true, kSoon).has_value());
        std::optional<ltp::Report> r;
        for (int i = 0; i < 500 && !(r = p.client.report()); i++)
            std::this_thread::sleep_for(milliseconds(10));
        CHECK(r.has_value());
        CHECK_EQ(r->tag, tag);
        CHECK_EQ(r->length, sent.size());
        CHECK_EQ(r->tolerant, si.tolerant);
        CHECK(r->map == map);
    }
    CHECK(!p.client.report());
}

TEST(sockets_receive_all_and_send_all) {
    Socket listener = Socket::listening(Address::resolve("127.0.0.1", 0));
    // Never early: the sums are to be exact.
    ltp::Thresholds whole;
    whole.lt = whole.deadline = ltp::Duration(0);
    listener.set_thresholds(whole);
    constexpr std::size_t kWorkers = 5, kElements = 200000;
    std::vector<Socket> workers, server;
    for (std::size_t i = 0; i < kWorkers; i++) {
        workers.push_back(Socket::connected(listener.local(), kSoon));
        server.push_back(listener.accept(kSoon));
    }
    std::vector<std::vector<float>> in(kWorkers, std::vector<float>(kElements));
    std::vector<ltp::Incoming> incoming;
    for (std::size_t i = 0; i < kWorkers; i++) {
        ltp::Incoming x;
        x.socket = &server[i];
        x.buffer = in[i].data();
        x.length = kElements * sizeof(float);
        incoming.push_back(x);
    }
    for (int round = 0; round < 3; round++) {
        std::thread sender([&] {
            std::vector<ltp::Outgoing> out;
            std::vector<std::vector<float>> data;
            for (std::size_t i = 0; i < kWorkers; i++)
                data.emplace_back(kElements, static_cast<float>(i + 1));
            for (std::size_t i = 0; i < kWorkers; i++) {
                SendInfo si;
                si.tolerant = true;
                out.push_back({&workers[i], data[i].data(), kElements * sizeof(float), si, 0});
            }
            ltp::send_all(out, kSoon);
        });
        ltp::receive_all(incoming, kSoon);
        sender.join();
        ltp::Gather g(kElements, ltp::DType::float32);
        g.begin();
        for (const auto &i : incoming) g.add(i.buffer, i.map);
        std::vector<float> mean(kElements);
        g.finish(mean.data());
        CHECK(mean == std::vector<float>(kElements, 3.0F));
    }
    // A worker that is gone is named.
    const std::string name = server[2].peer_name();
    workers[2].close();
    try {
        ltp::receive_all(incoming, kSoon);
        CHECK(!"thrown");
    } catch (const ltp::Error &e) {
        CHECK_EQ(e.error(), ECONNRESET);
        CHECK(std::string(e.what()).find(name) != std::string::npos);
    }
    CHECK_THROWS(
        {
            std::vector<ltp::Incoming> one{incoming[0]};
            ltp::receive_all(one, Wait::at_most(milliseconds(100)));
        },
        ltp::Timeout, server[0].peer_name());
}

TEST(sockets_c_interface) {
    ltpl_socket *l = nullptr, *c = nullptr, *s = nullptr;
    CHECK_EQ(ltpl_listen(&l, "127.0.0.1", 0, 8), 0);
    const int port = ltpl_port(l);
    CHECK(port > 0);
    CHECK_EQ(ltpl_connect(&c, "127.0.0.1", static_cast<std::uint16_t>(port), 5000), 0);
    CHECK_EQ(ltpl_accept(l, &s, 5000), 0);
    const auto sent = pattern(100000, 6);
    std::vector<char> got(sent.size());
    struct ltp_sndinfo si = {};
    si.tag = 77;
    si.flags = LTP_TOLERANT;
    CHECK_EQ(ltpl_send(c, sent.data(), sent.size(), &si, 5000), 0);
    struct ltp_rcvinfo ri;
    ltpl_map *map = ltpl_map_new();
    CHECK_EQ(ltpl_recv(s, got.data(), got.size(), &ri, map, 5000), 100000);
    CHECK(got == sent);
    CHECK_EQ(ri.tag, 77U);
    CHECK_EQ(ltpl_map_fraction(map), 1.0);
    std::size_t offset, length;
    CHECK_EQ(ltpl_map_hole(map, 0, &offset, &length), 0);
    CHECK_EQ(ltpl_recv(s, got.data(), 1, nullptr, nullptr, 50), -ETIMEDOUT);
    CHECK(std::strlen(ltpl_error()) > 0);
    ltpl_close(c);
    CHECK_EQ(ltpl_recv(s, got.data(), 1, nullptr, nullptr, 5000), 0);
    ltpl_map_free(map);
    ltpl_close(s);
    ltpl_close(l);
}
