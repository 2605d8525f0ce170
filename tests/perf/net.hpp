// SPDX-License-Identifier: GPL-2.0
// What the programs of this directory share: sockets of either transport, made in any namespace.
#ifndef TESTS_PERF_NET_HPP
#define TESTS_PERF_NET_HPP

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/ltp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace perf {

[[noreturn]] inline void fail(const char *what) {
    throw std::system_error(errno, std::generic_category(), what);
}

inline void check(long result, const char *what) {
    if (result < 0) fail(what);
}

inline std::int64_t now_ns() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/** A descriptor that closes itself. */
class Fd {
  public:
    Fd() = default;
    explicit Fd(int fd) : fd_(fd) {}
    Fd(Fd &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Fd &operator=(Fd &&other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Fd() {
        if (fd_ >= 0) close(fd_);
    }
    int get() const { return fd_; }

  private:
    int fd_ = -1;
};

/** Which protocol carries the messages: "ltp", or "tcp-" and a congestion control. */
struct Transport {
    bool ltp;
    std::string cc;

    explicit Transport(std::string_view name) : ltp(name.substr(0, 3) == "ltp"), cc() {
        if (name.size() > 4) cc = name.substr(4);
        if (!ltp && name.substr(0, 4) != "tcp-")
            throw std::invalid_argument("transport: ltp or tcp-CC");
    }
};

/** A socket in the network namespace @p ns; the calling thread stays there. */
inline Fd make_socket(const std::string &ns, const Transport &transport) {
    Fd where(open(("/run/netns/" + ns).c_str(), O_RDONLY | O_CLOEXEC));
    check(where.get(), ns.c_str());
    check(setns(where.get(), CLONE_NEWNET), "setns");
    Fd sock(transport.ltp ? socket(AF_INET, SOCK_SEQPACKET, IPPROTO_LTP)
                          : socket(AF_INET, SOCK_STREAM, 0));
    check(sock.get(), "socket");
    if (!transport.cc.empty()) {
        int level = transport.ltp ? SOL_LTP : IPPROTO_TCP;
        int option = transport.ltp ? LTP_CONGESTION : TCP_CONGESTION;
        check(setsockopt(sock.get(), level, option, transport.cc.c_str(), transport.cc.size()),
              "congestion control");
    }
    if (!transport.ltp) {
        int on = 1;
        check(setsockopt(sock.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), "TCP_NODELAY");
    }
    return sock;
}

inline sockaddr_in address(const std::string &ip, std::uint16_t port) {
    sockaddr_in addr{};
    addr.sin_family = AF_INET;
    addr.sin_port = htons(port);
    if (inet_pton(AF_INET, ip.c_str(), &addr.sin_addr) != 1)
        throw std::invalid_argument("address: " + ip);
    return addr;
}

inline Fd make_listener(const std::string &ns, const Transport &transport, const sockaddr_in &addr,
                        int backlog) {
    Fd sock = make_socket(ns, transport);
    int on = 1;
    check(setsockopt(sock.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), "SO_REUSEADDR");
    check(bind(sock.get(), reinterpret_cast<const sockaddr *>(&addr), sizeof(addr)), "bind");
    check(listen(sock.get(), backlog), "listen");
    return sock;
}

/** Sends one message, all of it. */
inline void send_message(int fd, const Transport &transport, const char *data, std::size_t size,
                         bool tolerant, std::uint64_t tag) {
    std::size_t sent = 0;
    if (transport.ltp && tolerant) {
        ltp_sndinfo info{};
        info.tag = tag;
        info.flags = LTP_TOLERANT;
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(info))] = {};
        iovec iov{const_cast<char *>(data), size};
        msghdr msg{};
        msg.msg_iov = &iov;
        msg.msg_iovlen = 1;
        msg.msg_control = control;
        msg.msg_controllen = sizeof(control);
        cmsghdr *head = CMSG_FIRSTHDR(&msg);
        head->cmsg_level = SOL_LTP;
        head->cmsg_type = LTP_SNDINFO;
        head->cmsg_len = CMSG_LEN(sizeof(info));
        *reinterpret_cast<ltp_sndinfo *>(CMSG_DATA(head)) = info;
        ssize_t n = sendmsg(fd, &msg, MSG_NOSIGNAL);
        check(n, "sendmsg");
        sent = n;
    }
    while (sent < size) {
        ssize_t n = send(fd, data + sent, size - sent, MSG_NOSIGNAL);
        check(n, "send");
        sent += n;
    }
}

/** Receives one message of @p size bytes. Returns how many of them arrived: over LTP there may be
 * holes. */
inline std::size_t receive_message(int fd, const Transport &transport, char *data,
                                   std::size_t size) {
    if (!transport.ltp) {
        for (std::size_t got = 0; got < size;) {
            ssize_t n = recv(fd, data + got, size - got, 0);
            check(n, "recv");
            if (!n) throw std::runtime_error("the sender has gone");
            got += n;
        }
        return size;
    }
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ltp_rcvinfo))];
    iovec iov{data, size};
    msghdr msg{};
    msg.msg_iov = &iov;
    msg.msg_iovlen = 1;
    msg.msg_control = control;
    msg.msg_controllen = sizeof(control);
    ssize_t n = recvmsg(fd, &msg, 0);
    check(n, "recvmsg");
    if (static_cast<std::size_t>(n) != size) throw std::runtime_error("a message of another size");
    for (cmsghdr *head = CMSG_FIRSTHDR(&msg); head; head = CMSG_NXTHDR(&msg, head))
        if (head->cmsg_level == SOL_LTP && head->cmsg_type == LTP_RCVINFO)
            return reinterpret_cast<ltp_rcvinfo *>(CMSG_DATA(head))->received;
    return size;
}

}  // namespace perf

#endif
