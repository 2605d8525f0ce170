// SPDX-License-Identifier: GPL-2.0
// What the programs of this directory share: sockets of either transport, made in any namespace.
#ifndef TESTS_PERF_NET_HPP
#define TESTS_PERF_NET_HPP

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/ltp.h>
#include <linux/sctp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>
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

/** Which protocol carries the messages: "ltp" or "ltp-CC", "tcp-CC", "sctp" or "sctp-pr". */
struct Transport {
    enum Kind { LTP, TCP, SCTP } kind = LTP;
    std::string cc;        // congestion control, empty: the default
    bool partial = false;  // SCTP: what was lost is not sent again (RFC 3758, RFC 7496)

    explicit Transport(std::string_view name) {
        const auto dash = std::min(name.find('-'), name.size());
        const std::string_view first = name.substr(0, dash);
        if (dash < name.size()) cc = name.substr(dash + 1);
        if (first == "ltp") {
            kind = LTP;
        } else if (first == "tcp" && !cc.empty()) {
            kind = TCP;
        } else if (first == "sctp" && (cc.empty() || cc == "pr")) {
            kind = SCTP;
            partial = !cc.empty();
            cc.clear();
        } else {
            throw std::invalid_argument("transport: ltp, ltp-CC, tcp-CC, sctp or sctp-pr");
        }
    }
    bool ltp() const { return kind == LTP; }
};

/** A socket in the network namespace @p ns; the calling thread stays there. */
inline Fd make_socket(const std::string &ns, const Transport &transport) {
    Fd where(open(("/run/netns/" + ns).c_str(), O_RDONLY | O_CLOEXEC));
    check(where.get(), ns.c_str());
    check(setns(where.get(), CLONE_NEWNET), "setns");
    Fd sock(transport.ltp() ? socket(AF_INET, SOCK_SEQPACKET, IPPROTO_LTP)
                            : socket(AF_INET, SOCK_STREAM,
                                     transport.kind == Transport::SCTP ? IPPROTO_SCTP : 0));
    check(sock.get(), "socket");
    if (!transport.cc.empty()) {
        int level = transport.ltp() ? SOL_LTP : IPPROTO_TCP;
        int option = transport.ltp() ? LTP_CONGESTION : TCP_CONGESTION;
        check(setsockopt(sock.get(), level, option, transport.cc.c_str(), transport.cc.size()),
              "congestion control");
    }
    const int on = 1;
    if (transport.kind == Transport::TCP)
        check(setsockopt(sock.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), "TCP_NODELAY");
    if (transport.kind == Transport::SCTP) {
        // As much as TCP's sysctls give it.
        const int space = 32000000;
        check(setsockopt(sock.get(), IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof(on)), "SCTP_NODELAY");
        check(setsockopt(sock.get(), SOL_SOCKET, SO_SNDBUFFORCE, &space, sizeof(space)),
              "SO_SNDBUF");
        check(setsockopt(sock.get(), SOL_SOCKET, SO_RCVBUFFORCE, &space, sizeof(space)),
              "SO_RCVBUF");
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

constexpr std::size_t SCTP_PIECE = 65536;        // reliable: any size does
constexpr std::size_t SCTP_SEGMENT = 1440;       // partial: what is lost at once, as with LTP
enum class Mark : std::uint32_t { MORE, LAST };  // of a piece: its payload protocol identifier

/** One piece of a message, in the kernel's words for partial reliability. */
inline void send_piece(int fd, bool partial, const char *data, std::size_t size, Mark mark) {
    struct Control {
        alignas(
            cmsghdr) char bytes[CMSG_SPACE(sizeof(sctp_sndinfo)) + CMSG_SPACE(sizeof(sctp_prinfo))];
    } control{};
    iovec iov{const_cast<char *>(data), size};
    msghdr msg{};
    msg.msg_iov = &iov;
    msg.msg_iovlen = 1;
    msg.msg_control = control.bytes;
    msg.msg_controllen = partial ? sizeof(control.bytes) : CMSG_SPACE(sizeof(sctp_sndinfo));
    cmsghdr *head = CMSG_FIRSTHDR(&msg);
    head->cmsg_level = IPPROTO_SCTP;
    head->cmsg_type = SCTP_SNDINFO;
    head->cmsg_len = CMSG_LEN(sizeof(sctp_sndinfo));
    sctp_sndinfo info{};
    info.snd_ppid = htonl(static_cast<std::uint32_t>(mark));
    std::memcpy(CMSG_DATA(head), &info, sizeof(info));
    if (partial) {
        head = CMSG_NXTHDR(&msg, head);
        head->cmsg_level = IPPROTO_SCTP;
        head->cmsg_type = SCTP_PRINFO;
        head->cmsg_len = CMSG_LEN(sizeof(sctp_prinfo));
        sctp_prinfo policy{};
        policy.pr_policy = SCTP_PR_SCTP_RTX;  // and pr_value 0: it is sent once
        std::memcpy(CMSG_DATA(head), &policy, sizeof(policy));
    }
    check(sendmsg(fd, &msg, MSG_NOSIGNAL), "sendmsg");
}

/** Sends one message, all of it. */
inline void send_message(int fd, const Transport &transport, const char *data, std::size_t size,
                         bool tolerant, std::uint64_t tag) {
    std::size_t sent = 0;
    if (transport.kind == Transport::SCTP) {
        // The last piece is reliable: it says that there is no more to come.
        const std::size_t piece = transport.partial ? SCTP_SEGMENT : SCTP_PIECE;
        for (; sent + piece < size; sent += piece)
            send_piece(fd, transport.partial && tolerant, data + sent, piece, Mark::MORE);
        send_piece(fd, false, data + sent, size - sent, Mark::LAST);
        return;
    }
    if (transport.ltp() && tolerant) {
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
        std::memcpy(CMSG_DATA(head), &info, sizeof(info));
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

/** The pieces of one message, whichever of them arrive, to the one that is marked as the last. */
inline std::size_t receive_pieces(int fd, char *data, std::size_t size) {
    const int on = 1;
    check(setsockopt(fd, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof(on)), "SCTP_RECVRCVINFO");
    for (std::size_t got = 0;;) {
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(sctp_rcvinfo))];
        iovec iov{data + got, size - got};
        msghdr msg{};
        msg.msg_iov = &iov;
        msg.msg_iovlen = 1;
        msg.msg_control = control;
        msg.msg_controllen = sizeof(control);
        const ssize_t n = recvmsg(fd, &msg, 0);
        check(n, "recvmsg");
        if (!n) throw std::runtime_error("the sender has gone");
        got += n;
        if (!(msg.msg_flags & MSG_EOR)) continue;
        for (cmsghdr *head = CMSG_FIRSTHDR(&msg); head; head = CMSG_NXTHDR(&msg, head)) {
            sctp_rcvinfo info;
            if (head->cmsg_level != IPPROTO_SCTP || head->cmsg_type != SCTP_RCVINFO) continue;
            std::memcpy(&info, CMSG_DATA(head), sizeof(info));
            if (ntohl(info.rcv_ppid) == static_cast<std::uint32_t>(Mark::LAST)) return got;
        }
    }
}

/** Receives one message of @p size bytes. Returns how many of them arrived: over LTP there may be
 * holes. */
inline std::size_t receive_message(int fd, const Transport &transport, char *data,
                                   std::size_t size) {
    if (transport.kind == Transport::SCTP) return receive_pieces(fd, data, size);
    if (transport.kind == Transport::TCP) {
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
    for (cmsghdr *head = CMSG_FIRSTHDR(&msg); head; head = CMSG_NXTHDR(&msg, head)) {
        ltp_rcvinfo info;
        if (head->cmsg_level != SOL_LTP || head->cmsg_type != LTP_RCVINFO) continue;
        std::memcpy(&info, CMSG_DATA(head), sizeof(info));
        return info.received;
    }
    return size;
}

/** Packets that were sent again, as the socket's own protocol counts them; LTP has counters. */
inline std::uint64_t retransmitted(int fd, const Transport &transport) {
    if (transport.kind == Transport::TCP) {
        tcp_info info{};
        socklen_t size = sizeof(info);
        check(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size), "TCP_INFO");
        return info.tcpi_total_retrans;
    }
    if (transport.kind == Transport::SCTP) {
        sctp_assoc_stats stats{};
        socklen_t size = sizeof(stats);
        check(getsockopt(fd, IPPROTO_SCTP, SCTP_GET_ASSOC_STATS, &stats, &size), "assoc stats");
        return stats.sas_rtxchunks;
    }
    return 0;
}

}  // namespace perf

#endif
