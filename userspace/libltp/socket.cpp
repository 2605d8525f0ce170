// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <poll.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ltp/socket.hpp>
#include <utility>

#include "deadline.hpp"

namespace ltp {

namespace {

/// A segment has at least this many bytes (the default grain), so a message has at most length /
/// grain of them.
constexpr std::size_t kGrain = 16;

std::size_t map_bytes(std::size_t length) {
    const std::size_t segments = (length + kGrain - 1) / kGrain;
    return (segments + 63) / 64 * sizeof(std::uint64_t);
}

/// Waits for @p events on one socket. Returns false when the time is over.
bool wait_for(int fd, short events, const Deadline &deadline, const std::string &doing) {
    for (;;) {
        pollfd p{fd, events, 0};
        const int rc = poll(&p, 1, deadline.poll_ms());
        if (rc > 0) return true;
        if (rc == 0 && deadline.over()) return false;
        if (rc < 0) {
            if (errno != EINTR) fail(Operation::option, errno, doing);
            deadline.check_interrupted(doing);
        }
    }
}

class NonBlocking {
  public:
    explicit NonBlocking(int fd) : fd_(fd), flags_(fcntl(fd, F_GETFL)) {
        fcntl(fd_, F_SETFL, flags_ | O_NONBLOCK);
    }
    ~NonBlocking() { fcntl(fd_, F_SETFL, flags_); }
    NonBlocking(const NonBlocking &) = delete;
    NonBlocking &operator=(const NonBlocking &) = delete;

  private:
    int fd_, flags_;
};

}  // namespace

std::string reason_name(ltp_close_reason reason) {
    switch (reason) {
        case LTP_OPEN:
            return "open";
        case LTP_COMPLETE:
            return "complete";
        case LTP_FRACTION:
            return "fraction";
        case LTP_DEADLINE:
            return "deadline";
        case LTP_GAVE_UP:
            return "gave_up";
        case LTP_LOST:
            return "lost";
        default:
            return "reason " + std::to_string(static_cast<int>(reason));
    }
}

// -- life
// -------------------------------------------------------------------------------------------------------

Socket::Socket(int fd) noexcept : fd_(fd) {
    sockaddr_storage a{};
    socklen_t size = sizeof(a);

    if (!getsockname(fd_, reinterpret_cast<sockaddr *>(&a), &size)) family_ = a.ss_family;
}

Socket::~Socket() { close(); }

Socket::Socket(Socket &&other) noexcept { *this = std::move(other); }

Socket &Socket::operator=(Socket &&other) noexcept {
    if (this == &other) return *this;
    close();
    fd_ = std::exchange(other.fd_, -1);
    family_ = other.family_;
    who_ = std::move(other.who_);
    rx_ready_ = std::exchange(other.rx_ready_, false);
    tx_started_ = std::exchange(other.tx_started_, false);
    rx_buffer_ = std::exchange(other.rx_buffer_, nullptr);
    snd_timeout_ = std::exchange(other.snd_timeout_, std::nullopt);
    rcv_timeout_ = std::exchange(other.rcv_timeout_, std::nullopt);
    control_ = std::move(other.control_);
    control_size_ = std::exchange(other.control_size_, 0);
    largest_sent_ = std::exchange(other.largest_sent_, 0);
    reports_ = std::move(other.reports_);
    return *this;
}

Socket Socket::create(int family) {
    const int fd = ::socket(family, SOCK_SEQPACKET | SOCK_CLOEXEC, IPPROTO_LTP);

    if (fd < 0) fail(Operation::socket, errno, family == AF_INET6 ? "IPv6" : "");
    Socket s(fd);
    s.family_ = family;
    return s;
}

Socket Socket::listening(const Address &address, int backlog) {
    Socket s = create(address.family());
    const int on = 1;

    s.set_option(SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    s.bind(address);
    s.listen(backlog);
    return s;
}

Socket Socket::connected(const Address &address, const Wait &wait) {
    Socket s = create(address.family());

    s.connect(address, wait);
    return s;
}

void Socket::bind(const Address &address) {
    if (::bind(fd_, address.data(), address.size())) fail(Operation::bind, errno, address.str());
    who_ = address.str();
}

void Socket::listen(int backlog) {
    if (::listen(fd_, backlog)) fail(Operation::listen, errno, who_);
    // accept() waits with poll(): a connection that is gone again by then must not block it.
    if (fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK)) fail(Operation::listen, errno, who_);
}

Socket Socket::accept(const Wait &wait) {
    const Deadline deadline(wait);

    for (;;) {
        sockaddr_storage a{};
        socklen_t size = sizeof(a);
        const int fd = accept4(fd_, reinterpret_cast<sockaddr *>(&a), &size, SOCK_CLOEXEC);
        if (fd >= 0) {
            Socket s(fd);
            s.family_ = family_;
            s.who_ = Address(reinterpret_cast<sockaddr *>(&a), size).str();
            return s;
        }
        if (errno == EINTR)
            deadline.check_interrupted("accepting a connection");
        else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!wait_for(fd_, POLLIN, deadline, "accepting a connection"))
                deadline.expire("waiting for a connection on " + who_,
                                "check that the peer runs and connects to this address");
        } else if (errno != ECONNABORTED)
            fail(Operation::accept, errno, who_);
    }
}

void Socket::connect(const Address &address, const Wait &wait) {
    const Deadline deadline(wait);
    const NonBlocking guard(fd_);

    who_ = address.str();
    if (::connect(fd_, address.data(), address.size())) {
        if (errno != EINPROGRESS && errno != EINTR && errno != EALREADY)
            fail(Operation::connect, errno, who_);
        if (!wait_for(fd_, POLLOUT, deadline, "connecting to " + who_))
            deadline.expire(
                "connecting to " + who_,
                "check the address, and that IP protocol 253 passes every firewall on the way");
        int error = 0;
        socklen_t size = sizeof(error);
        if (getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size)) error = errno;
        if (error) fail(Operation::connect, error, who_);
    }
}

void Socket::shutdown(int how) {
    if (::shutdown(fd_, how) && errno != ENOTCONN) fail(Operation::option, errno, who_);
}

void Socket::close() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    rx_buffer_ = nullptr;
}

int Socket::release() noexcept { return std::exchange(fd_, -1); }

Address Socket::local() const {
    sockaddr_storage a{};
    socklen_t size = sizeof(a);

    if (getsockname(fd_, reinterpret_cast<sockaddr *>(&a), &size))
        fail(Operation::option, errno, who_);
    return Address(reinterpret_cast<sockaddr *>(&a), size);
}

Address Socket::peer() const {
    sockaddr_storage a{};
    socklen_t size = sizeof(a);

    if (getpeername(fd_, reinterpret_cast<sockaddr *>(&a), &size))
        fail(Operation::option, errno, who_);
    return Address(reinterpret_cast<sockaddr *>(&a), size);
}

// -- options
// ----------------------------------------------------------------------------------------------------

void Socket::set_option(int level, int name, const void *value, socklen_t size) {
    if (setsockopt(fd_, level, name, value, size)) fail(Operation::option, errno, who_);
}

void Socket::set_timeout(int name, std::optional<Duration> &cached, std::optional<Duration> value) {
    timeval tv{};

    if (cached == value) return;
    if (value) {
        // Zero would mean "for ever".
        const auto us = std::max<Duration::rep>(value->count(), 1);
        tv.tv_sec = us / 1000000;
        tv.tv_usec = us % 1000000;
    }
    set_option(SOL_SOCKET, name, &tv, sizeof(tv));
    cached = value;
}

void Socket::set_thresholds(const Thresholds &thresholds) {
    ltp_thresholds t{};

    if (thresholds.fraction) {
        if (!(*thresholds.fraction > 0 && *thresholds.fraction <= 1))
            throw Error(EINVAL, "the fraction threshold must be above 0 and at most 1");
        t.set |= LTP_SET_FRACTION;
        t.fraction_ppm =
            std::max(1U, static_cast<unsigned>(*thresholds.fraction * LTP_FRACTION_MAX + 0.5));
    }
    const auto time = [&t](const char *name, std::optional<Duration> d,
                           std::uint32_t bit) -> std::uint64_t {
        if (!d) return 0;
        if (*d == kAdaptive) {
            t.set |= bit;
            return LTP_TIME_ADAPTIVE;
        }
        if (d->count() < 0 || static_cast<std::uint64_t>(d->count()) > LTP_TIME_MAX_US)
            throw Error(EINVAL, std::string(name) + " must be between 0 and one hour");
        t.set |= bit;
        return static_cast<std::uint64_t>(d->count());
    };
    t.lt_us = time("the LT threshold", thresholds.lt, LTP_SET_LT);
    t.deadline_us = time("the deadline", thresholds.deadline, LTP_SET_DEADLINE);
    set_option(SOL_LTP, LTP_THRESHOLDS, &t, sizeof(t));
}

Thresholds Socket::thresholds() const {
    ltp_thresholds t{};
    socklen_t size = sizeof(t);
    Thresholds out;

    if (getsockopt(fd_, SOL_LTP, LTP_THRESHOLDS, &t, &size)) fail(Operation::option, errno, who_);
    out.fraction = static_cast<double>(t.fraction_ppm) / LTP_FRACTION_MAX;
    out.lt = t.lt_us == LTP_TIME_ADAPTIVE ? kAdaptive : Duration(t.lt_us);
    out.deadline = t.deadline_us == LTP_TIME_ADAPTIVE ? kAdaptive : Duration(t.deadline_us);
    return out;
}

void Socket::set_reports(bool on) {
    const int value = on;

    set_option(SOL_LTP, LTP_REPORTS, &value, sizeof(value));
}

void Socket::set_holes(int holes) { set_option(SOL_LTP, LTP_HOLES, &holes, sizeof(holes)); }

void Socket::set_seg_size(int bytes) { set_option(SOL_LTP, LTP_SEGSIZE, &bytes, sizeof(bytes)); }

void Socket::set_send_buffer(int bytes) {
    set_option(SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

void Socket::set_receive_buffer(int bytes) {
    set_option(SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

void Socket::set_receive_tag(std::uint64_t tag) {
    set_option(SOL_LTP, LTP_RCVTAG, &tag, sizeof(tag));
}

void Socket::set_congestion(const std::string &name) {
    set_option(SOL_LTP, LTP_CONGESTION, name.c_str(), static_cast<socklen_t>(name.size()));
}

std::string Socket::congestion() const {
    char name[LTP_CC_NAME_MAX + 1] = "";
    socklen_t size = LTP_CC_NAME_MAX;

    if (getsockopt(fd_, SOL_LTP, LTP_CONGESTION, name, &size)) fail(Operation::option, errno, who_);
    return name;
}

ltp_info Socket::info() const {
    ltp_info i{};
    socklen_t size = sizeof(i);

    if (getsockopt(fd_, SOL_LTP, LTP_INFO, &i, &size)) fail(Operation::option, errno, who_);
    return i;
}

// -- sending
// ----------------------------------------------------------------------------------------------------

ssize_t Socket::send_once(const void *data, std::size_t length, std::size_t sent,
                          const SendInfo &info, int flags) {
    iovec iov{const_cast<char *>(static_cast<const char *>(data)) + sent, length - sent};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ltp_sndinfo))] = {};
    msghdr msg{};

    msg.msg_iov = &iov;
    msg.msg_iovlen = 1;
    if (!sent) {
        // The rest of a record needs no control message: the flow has begun.
        ltp_sndinfo si{};
        si.tag = info.tag;
        si.critical = info.critical;
        si.flags = info.tolerant ? LTP_TOLERANT : 0;
        if (info.giveup)
            si.giveup_us = static_cast<std::uint32_t>(
                std::clamp<Duration::rep>(info.giveup->count(), 1, UINT_MAX));
        msg.msg_control = control;
        msg.msg_controllen = sizeof(control);
        cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_LTP;
        c->cmsg_type = LTP_SNDINFO;
        c->cmsg_len = CMSG_LEN(sizeof(si));
        std::memcpy(CMSG_DATA(c), &si, sizeof(si));
    }
    return sendmsg(fd_, &msg, flags | MSG_NOSIGNAL);
}

static void check_length(std::size_t length) {
    if (!length)
        throw Error(EINVAL,
                    "a message has at least one byte: send none for an empty tensor, or send a tag "
                    "with one byte");
    if (length > LTP_MESSAGE_MAX)
        throw Error(EMSGSIZE, "a message of " + std::to_string(length) +
                                  " bytes is too long: split it, " +
                                  std::to_string(LTP_MESSAGE_MAX) + " bytes is the most");
}

static const char *const kCut =
    ": an earlier message was cut in the middle, close this connection and connect anew";

bool Socket::send_some(const void *data, std::size_t length, std::size_t &sent,
                       const SendInfo &info) {
    check_length(length);
    if (!sent && tx_started_) throw Error(EPIPE, "cannot send to " + who_ + kCut);
    while (sent < length) {
        const ssize_t n = send_once(data, length, sent, info, MSG_DONTWAIT);
        if (n < 0) {
            if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
            if (errno == EINTR) continue;
            fail(Operation::send, errno, who_);
        }
        sent += static_cast<std::size_t>(n);
        tx_started_ = sent < length;
    }
    largest_sent_ = std::max(largest_sent_, length);
    return true;
}

void Socket::send(const void *data, std::size_t length, const SendInfo &info, const Wait &wait) {
    Deadline deadline(wait);
    std::size_t sent = 0;

    check_length(length);
    if (tx_started_) throw Error(EPIPE, "cannot send to " + who_ + kCut);
    while (sent < length) {
        set_timeout(SO_SNDTIMEO, snd_timeout_, deadline.left());
        const ssize_t n = send_once(data, length, sent, info, 0);
        if (n >= 0) {
            sent += static_cast<std::size_t>(n);
            tx_started_ = sent < length;
            if (!tx_started_) break;
            // Short: a signal, or the time is over.
            deadline.check_interrupted("sending to " + who_);
        } else if (errno == EINTR) {
            deadline.check_interrupted("sending to " + who_);
        } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
            fail(Operation::send, errno, who_);
        }
        if (deadline.over())
            deadline.expire("sending to " + who_, sent
                                                      ? "the message was cut, close this connection"
                                                      : "check that the peer still receives");
    }
    largest_sent_ = std::max(largest_sent_, length);
}

// -- receiving
// --------------------------------------------------------------------------------------------------

void Socket::prepare_receive() {
    const int on = 1;

    if (rx_ready_) return;
    set_option(SOL_LTP, LTP_RECVRCVINFO, &on, sizeof(on));
    set_option(SOL_LTP, LTP_RECVRCVMAP, &on, sizeof(on));
    rx_ready_ = true;
}

ssize_t Socket::receive_once(void *buffer, std::size_t length, int flags, RcvInfo &info, Map *map,
                             bool &truncated) {
    iovec iov{buffer, length};
    msghdr msg{};
    const std::size_t need =
        CMSG_SPACE(sizeof(ltp_rcvinfo)) + CMSG_SPACE(sizeof(ltp_rcvmap) + map_bytes(length));

    // As many words as the finest map could have; pages the kernel does not write are never
    // touched.
    if (control_size_ < need) {
        control_.reset(new char[need]);
        control_size_ = need;
    }
    msg.msg_iov = &iov;
    msg.msg_iovlen = 1;
    msg.msg_control = control_.get();
    msg.msg_controllen = control_size_;
    const ssize_t n = recvmsg(fd_, &msg, flags);
    if (n <= 0) return n;

    truncated = msg.msg_flags & MSG_TRUNC;
    bool have_info = false, have_map = false;
    const char *words = nullptr;
    std::size_t words_size = 0;
    ltp_rcvmap head{};
    for (cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
        if (c->cmsg_level != SOL_LTP) continue;
        const std::size_t size = c->cmsg_len - CMSG_LEN(0);
        if (c->cmsg_type == LTP_RCVINFO && size >= sizeof(ltp_rcvinfo)) {
            ltp_rcvinfo ri;
            std::memcpy(&ri, CMSG_DATA(c), sizeof(ri));
            info.tag = ri.tag;
            info.length = ri.length;
            info.received = ri.received;
            info.elapsed = Duration(ri.elapsed_us);
            info.flow = ri.flow;
            info.reason = static_cast<ltp_close_reason>(ri.reason);
            info.tolerant = ri.flags & LTP_TOLERANT;
            have_info = true;
        } else if (c->cmsg_type == LTP_RCVMAP && size >= sizeof(ltp_rcvmap)) {
            std::memcpy(&head, CMSG_DATA(c), sizeof(head));
            words = reinterpret_cast<const char *>(CMSG_DATA(c)) + sizeof(ltp_rcvmap);
            words_size = size - sizeof(ltp_rcvmap);
            have_map = true;
        }
    }
    if (!have_info || (map && !have_map && !truncated))
        throw Error(EPROTO, "the kernel said nothing of the message from " + who_ +
                                ": load the module that belongs to this library");
    // Map::assign() checks the map against the length, and takes what words there are.
    if (map && have_map) map->assign(info.length, head.seg_size, head.segments, words, words_size);
    return n;
}

void *Socket::receive_pending() noexcept {
    ltp_info i{};
    socklen_t size = sizeof(i);

    // Only a flow that has begun can have put something into the buffer.
    if (rx_buffer_ && !getsockopt(fd_, SOL_LTP, LTP_INFO, &i, &size) && !i.flows_in)
        rx_buffer_ = nullptr;
    return rx_buffer_;
}

static std::string mismatch(const std::string &who, std::size_t message, std::size_t buffer) {
    return "the message from " + who + " has " + std::to_string(message) + " bytes where " +
           std::to_string(buffer) + " were expected: make both sides use the same shape and dtype";
}

static void check_same_buffer(const void *pending, const void *buffer, const std::string &who) {
    if (pending && pending != buffer)
        throw Error(EINVAL,
                    "part of a message from " + who +
                        " is in another buffer already: call receive again with that buffer");
}

std::optional<RcvInfo> Socket::receive(void *buffer, std::size_t length, Map *map, bool exact,
                                       const Wait &wait) {
    Deadline deadline(wait);
    RcvInfo info;
    bool truncated = false;

    check_same_buffer(rx_buffer_, buffer, who_);
    prepare_receive();
    for (;;) {
        set_timeout(SO_RCVTIMEO, rcv_timeout_, deadline.left());
        const ssize_t n = receive_once(buffer, length, 0, info, map, truncated);
        if (n >= 0) {
            rx_buffer_ = nullptr;
            if (!n) return std::nullopt;
            break;
        }
        const int error = errno;
        if (error == EINTR || error == EAGAIN || error == EWOULDBLOCK) {
            rx_buffer_ = buffer;
            receive_pending();
        }
        if (error == EINTR) {
            deadline.check_interrupted("receiving from " + who_);
        } else if (error != EAGAIN && error != EWOULDBLOCK) {
            rx_buffer_ = nullptr;
            fail(Operation::receive, error, who_);
        }
        if (deadline.over())
            deadline.expire("receiving from " + who_,
                            "check that the peer sends, or allow more time");
    }
    if (truncated || info.length > length || (exact && info.length != length))
        throw SizeMismatch(info.length, length, mismatch(who_, info.length, length));
    return info;
}

Socket::Step Socket::receive_some(void *buffer, std::size_t length, RcvInfo &info, Map *map) {
    bool truncated = false;

    check_same_buffer(rx_buffer_, buffer, who_);
    prepare_receive();
    for (;;) {
        const ssize_t n = receive_once(buffer, length, MSG_DONTWAIT, info, map, truncated);
        if (n >= 0) {
            rx_buffer_ = nullptr;
            if (!n) return Step::closed;
            break;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            rx_buffer_ = buffer;
            return Step::again;
        }
        if (errno != EINTR) {
            rx_buffer_ = nullptr;
            fail(Operation::receive, errno, who_);
        }
    }
    if (truncated || info.length > length)
        throw SizeMismatch(info.length, length, mismatch(who_, info.length, length));
    return Step::done;
}

// -- reports
// ----------------------------------------------------------------------------------------------------

void Socket::collect_reports() {
    std::vector<std::uint64_t> words;

    for (;;) {
        alignas(cmsghdr) char control[256] = {};
        msghdr msg{};
        if (words.empty())
            words.resize(map_bytes(std::max<std::size_t>(largest_sent_, 1)) /
                         sizeof(std::uint64_t));
        iovec iov{words.data(), words.size() * sizeof(words[0])};
        msg.msg_iov = &iov;
        msg.msg_iovlen = 1;
        msg.msg_control = control;
        msg.msg_controllen = sizeof(control);
        const ssize_t n = recvmsg(fd_, &msg, MSG_ERRQUEUE | MSG_DONTWAIT);
        if (n < 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN || errno == EWOULDBLOCK) return;
            fail(Operation::report, errno, who_);
        }
        for (cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
            ltp_report r;
            if (c->cmsg_level != SOL_LTP || c->cmsg_type != LTP_REPORT ||
                c->cmsg_len < CMSG_LEN(sizeof(ltp_report)))
                continue;
            std::memcpy(&r, CMSG_DATA(c), sizeof(r));
            Report out;
            out.tag = r.tag;
            out.length = r.length;
            out.received = r.received;
            out.flow = r.flow;
            out.reason = static_cast<ltp_close_reason>(r.reason);
            out.tolerant = r.flags & LTP_TOLERANT;
            out.map.assign(r.length, r.seg_size, r.segments, words.data(),
                           static_cast<std::size_t>(n));
            reports_.push_back(std::move(out));
        }
    }
}

std::optional<Report> Socket::report() {
    collect_reports();
    if (reports_.empty()) return std::nullopt;
    Report r = std::move(reports_.front());
    reports_.pop_front();
    return r;
}

// -- several at once
// --------------------------------------------------------------------------------------------

namespace {

/// What poll() said besides the events asked for: a report waits, or an error that the next call
/// will tell.
void after_poll(Socket &socket, const pollfd &p) {
    if ((p.revents & POLLERR) && !(p.revents & p.events)) socket.collect_reports();
}

/// Waits until one of @p polls can go on.
void poll_all(std::vector<pollfd> &polls, const Deadline &deadline, const std::string &doing,
              const std::string &late, const std::string &hint) {
    for (;;) {
        const int rc = poll(polls.data(), polls.size(), deadline.poll_ms());
        if (rc > 0) return;
        if (rc < 0) {
            if (errno != EINTR) fail(Operation::option, errno, doing);
            deadline.check_interrupted(doing);
        } else if (deadline.over())
            deadline.expire(doing + " (" + late + ")", hint);
    }
}

}  // namespace

static Duration do_receive_all(std::vector<Incoming> &incoming, const Wait &wait) {
    using Clock = std::chrono::steady_clock;
    const Deadline deadline(wait);
    std::optional<Clock::time_point> first;
    std::vector<pollfd> polls;
    std::vector<Incoming *> open;

    for (Incoming &i : incoming) i.done = false;
    for (;;) {
        polls.clear();
        open.clear();
        for (Incoming &i : incoming)
            if (!i.done) {
                open.push_back(&i);
                polls.push_back({i.socket->fd(), POLLIN, 0});
            }
        if (open.empty()) break;
        poll_all(polls, deadline,
                 "receiving from " + std::to_string(open.size()) + " of " +
                     std::to_string(incoming.size()) + " peers",
                 "still waiting for " + open[0]->socket->peer_name(),
                 "check that every peer sends, or allow more time");
        if (!first) first = Clock::now();
        for (std::size_t k = 0; k < open.size(); k++) {
            Incoming &i = *open[k];
            if (!polls[k].revents) continue;
            after_poll(*i.socket, polls[k]);
            switch (i.socket->receive_some(i.buffer, i.length, i.info, &i.map)) {
                case Socket::Step::again:
                    break;
                case Socket::Step::closed:
                    throw Error(
                        ECONNRESET,
                        i.socket->peer_name() +
                            " closed its connection where a message was due: start it again and "
                            "connect anew");
                case Socket::Step::done:
                    i.done = true;
                    if (i.info.length != i.length)
                        throw SizeMismatch(
                            i.info.length, i.length,
                            mismatch(i.socket->peer_name(), i.info.length, i.length));
            }
        }
    }
    return first ? std::chrono::duration_cast<Duration>(Clock::now() - *first) : Duration(0);
}

Duration receive_all(std::vector<Incoming> &incoming, const Wait &wait) {
    try {
        return do_receive_all(incoming, wait);
    } catch (...) {
        for (Incoming &i : incoming) i.socket->receive_pending();
        throw;
    }
}

void send_all(std::vector<Outgoing> &outgoing, const Wait &wait) {
    const Deadline deadline(wait);
    std::vector<pollfd> polls;
    std::vector<Outgoing *> open;

    for (Outgoing &o : outgoing) o.sent = 0;
    for (bool once = false;; once = true) {
        polls.clear();
        open.clear();
        for (Outgoing &o : outgoing)
            if (!once || o.sent < o.length) {
                open.push_back(&o);
                polls.push_back({o.socket->fd(), POLLOUT, 0});
            }
        if (open.empty()) return;
        if (once)
            poll_all(polls, deadline,
                     "sending to " + std::to_string(open.size()) + " of " +
                         std::to_string(outgoing.size()) + " peers",
                     "still waiting for " + open[0]->socket->peer_name(),
                     "check that every peer receives");
        for (std::size_t k = 0; k < open.size(); k++) {
            Outgoing &o = *open[k];
            if (once && !polls[k].revents) continue;
            if (once) after_poll(*o.socket, polls[k]);
            o.socket->send_some(o.data, o.length, o.sent, o.info);
        }
    }
}

}  // namespace ltp
