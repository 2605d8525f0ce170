// SPDX-License-Identifier: MIT
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ltp/address.hpp>
#include <ltp/error.hpp>
#include <ltp/socket.hpp>
#include <utility>

#include "harness.hpp"
#include "ltp_lib.h"

using ltp::explain;
using ltp::Operation;

namespace {

bool contains(const std::string &s, const char *part) { return s.find(part) != std::string::npos; }

}  // namespace

TEST(errors_say_what_to_do) {
    CHECK(contains(explain(Operation::socket, EPROTONOSUPPORT, ""), "modprobe ltp"));
    CHECK(contains(explain(Operation::socket, ESOCKTNOSUPPORT, ""), "insmod ltp.ko"));
    CHECK(contains(explain(Operation::connect, ECONNREFUSED, "10.0.0.1:5000"),
                   "nobody listens on 10.0.0.1:5000"));
    CHECK(contains(explain(Operation::connect, ETIMEDOUT, "10.0.0.1:5000"), "protocol 253"));
    CHECK(contains(explain(Operation::receive, ECONNRESET, "10.0.0.1:5000"),
                   "died in the middle of a message"));
    CHECK(contains(explain(Operation::send, EPIPE, "h"), "closed"));
    // An unknown one still names what was tried and what the system says.
    CHECK(contains(explain(Operation::send, EILSEQ, "h"), std::strerror(EILSEQ)));
}

TEST(errors_are_one_sentence) {
    for (int e = 1; e < 134; e++)
        for (int op = 0; op <= static_cast<int>(Operation::report); op++) {
            const std::string s = explain(static_cast<Operation>(op), e, "10.0.0.1:5000");
            CHECK(!s.empty() && !contains(s, "\n") && !contains(s, ". ") && s.back() != '.');
        }
}

TEST(errors_have_their_class) {
    CHECK_THROWS(ltp::fail(Operation::socket, EPROTONOSUPPORT, ""), ltp::ModuleMissing,
                 "not loaded");
    try {
        ltp::fail(Operation::send, ECONNRESET, "");
    } catch (const ltp::Error &e) {
        CHECK_EQ(e.error(), ECONNRESET);
        CHECK(e.code() == std::errc::connection_reset);
    }
}

TEST(addresses) {
    const auto a = ltp::Address::resolve("10.0.0.1", 5000);
    CHECK_EQ(a.str(), std::string("10.0.0.1:5000"));
    CHECK_EQ(a.port(), 5000);
    CHECK_EQ(ltp::Address::resolve("::1", 7).str(), std::string("[::1]:7"));
    CHECK_EQ(ltp::Address::resolve("", 7, AF_INET).host(), std::string("0.0.0.0"));
    CHECK_EQ(ltp::Address().str(), std::string());
    CHECK_THROWS(ltp::Address::resolve("no such host", 1), ltp::Error, "no such host");
}

TEST(socket_moves_and_closes) {
    int pair[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    ltp::Socket a(pair[0]);
    ltp::Socket b(std::move(a));
    CHECK(!a && b);
    CHECK_EQ(b.fd(), pair[0]);
    a = std::move(b);
    CHECK(a && !b);
    ltp::Socket &same = a;
    a = std::move(same);
    CHECK_EQ(a.fd(), pair[0]);
    CHECK_EQ(a.release(), pair[0]);
    CHECK(!a);
    a.close();
    a.close();
    CHECK_EQ(write(pair[0], "x", 1), 1);  // released, not closed
    close(pair[0]);
    close(pair[1]);
}

TEST(socket_checks_arguments) {
    ltp::Socket s;
    CHECK_THROWS(s.send("", 0), ltp::Error, "at least one byte");
    CHECK_THROWS(s.send("", std::size_t{1} << 32), ltp::Error, "too long");
    CHECK_THROWS(s.send("x", 1), ltp::Error, "closed");
    ltp::Thresholds t;
    t.fraction = 1.5;
    CHECK_THROWS(s.set_thresholds(t), ltp::Error, "fraction");
    t.fraction = 0.0;
    CHECK_THROWS(s.set_thresholds(t), ltp::Error, "fraction");
    t.fraction = 0.5;
    t.deadline = std::chrono::hours(2);
    CHECK_THROWS(s.set_thresholds(t), ltp::Error, "deadline");
}

TEST(socket_without_the_module) {
    try {
        ltp::Socket::create();
    } catch (const ltp::ModuleMissing &e) {
        CHECK(contains(e.what(), "modprobe ltp"));
        ltpl_socket *s = nullptr;
        CHECK_EQ(ltpl_connect(&s, "127.0.0.1", 1, 100), -e.error());
        CHECK(!s);
        CHECK(contains(ltpl_error(), "modprobe ltp"));
        return;
    }
    test::skip("the module is loaded");
}

TEST(c_interface_never_throws) {
    ltpl_socket *s = nullptr;
    CHECK_EQ(ltpl_connect(nullptr, "h", 1, 0), -EINVAL);
    CHECK_EQ(ltpl_connect(&s, "no such host", 1, 0), -EINVAL);
    CHECK(contains(ltpl_error(), "no such host"));
    CHECK_EQ(ltpl_send(nullptr, "x", 1, nullptr, 0), -EINVAL);
    CHECK_EQ(ltpl_recv(nullptr, nullptr, 1, nullptr, nullptr, 0), -EINVAL);
    ltpl_close(nullptr);
}

TEST(c_interface_gathers) {
    ltpl_gather *g = nullptr;
    float x[4] = {1, 2, 3, 4}, y[4] = {3, 2, 1, 0}, mean[4];
    CHECK_EQ(ltpl_gather_new(&g, 4, LTPL_FLOAT32, static_cast<ltpl_fill>(3)), -EINVAL);
    CHECK_EQ(ltpl_gather_new(&g, 4, LTPL_FLOAT32, LTPL_MEAN_OF_RECEIVED), 0);
    CHECK_EQ(ltpl_gather_finish(g, mean), -EINVAL);
    CHECK(contains(ltpl_error(), "nothing to average"));
    CHECK_EQ(ltpl_gather_add(g, x, nullptr), 0);
    CHECK_EQ(ltpl_gather_add(g, y, nullptr), 0);
    CHECK_EQ(ltpl_gather_finish(g, mean), 0);
    for (const float m : mean) CHECK_EQ(m, 2.0F);
    ltpl_gather_free(g);
}
