// SPDX-License-Identifier: MIT
// LTP sockets and the messages on them.
#ifndef LTP_SOCKET_HPP
#define LTP_SOCKET_HPP

#include <linux/ltp.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <ltp/address.hpp>
#include <ltp/error.hpp>
#include <ltp/export.hpp>
#include <ltp/map.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ltp {

using Duration = std::chrono::microseconds;

/// How long a call may take, and who may call it back.
struct Wait {
    /// No value: for ever.
    std::optional<Duration> timeout{};
    /// Asked whenever a signal arrived; true ends the wait with Interrupted. It may throw instead.
    bool (*interrupted)(void *) = nullptr;
    void *arg = nullptr;

    static Wait at_most(Duration d) {
        Wait w;
        w.timeout = d;
        return w;
    }
};

/// How a message is sent; see struct ltp_sndinfo.
struct SendInfo {
    std::uint64_t tag = 0;
    bool tolerant = false;             ///< segments of it may be lost
    std::uint32_t critical = 0;        ///< leading bytes that must arrive
    std::optional<Duration> giveup{};  ///< the sender gives up after this; no value: never
};

/// What became of a message that was received; see struct ltp_rcvinfo.
struct RcvInfo {
    std::uint64_t tag = 0;
    std::size_t length = 0;    ///< bytes in the message, holes included
    std::size_t received = 0;  ///< bytes that arrived
    Duration elapsed{0};       ///< from the first packet to the end of the flow
    std::uint32_t flow = 0;
    ltp_close_reason reason = LTP_OPEN;
    bool tolerant = false;
};

/// What became of a message that this socket sent.
struct Report {
    std::uint64_t tag = 0;
    std::size_t length = 0;
    std::size_t received = 0;  ///< bytes that the receiver had when the flow ended
    std::uint32_t flow = 0;
    ltp_close_reason reason = LTP_OPEN;
    bool tolerant = false;
    Map map;  ///< the receiver's map
};

/// Of a threshold: it adapts to the path.
constexpr Duration kAdaptive = Duration::max();

/// When a tolerant flow may be closed early. What has no value comes from a rule or the namespace,
/// and at first adapts to the path.
struct Thresholds {
    std::optional<double>
        fraction{};  ///< share of the segments that is enough from lt on, above 0 to 1
    std::optional<Duration> lt{};  ///< LT threshold; 0: the flow is waited for until it is whole
    std::optional<Duration> deadline{};  ///< from when only critical segments count; 0: never
};

/// "complete", "fraction", "deadline", "gave_up", "lost", "open"; "reason N" for one this library
/// does not know.
LTP_EXPORT std::string reason_name(ltp_close_reason reason);

/// One association, or one listening socket. Movable, not copyable. One thread may send while
/// another receives. Every failure is an Error; a Socket stays usable after Timeout, Interrupted
/// and SizeMismatch unless stated.
class LTP_EXPORT Socket {
  public:
    Socket() noexcept = default;
    /// Takes over a file descriptor.
    explicit Socket(int fd) noexcept;
    ~Socket();
    Socket(Socket &&other) noexcept;
    Socket &operator=(Socket &&other) noexcept;
    Socket(const Socket &) = delete;
    Socket &operator=(const Socket &) = delete;

    /// An unconnected socket. Throws ModuleMissing when the kernel has no LTP.
    static Socket create(int family = AF_INET);
    /// A socket that listens on @p address (port 0: any free one, see local()).
    static Socket listening(const Address &address, int backlog = 128);
    /// A socket connected to @p address.
    static Socket connected(const Address &address, const Wait &wait = {});

    void bind(const Address &address);
    void listen(int backlog = 128);
    Socket accept(const Wait &wait = {});
    void connect(const Address &address, const Wait &wait = {});
    /// @p how as for shutdown(2). A call that waits on this socket in another thread returns.
    void shutdown(int how = SHUT_RDWR);
    /// What was sent is still delivered (see SO_LINGER). Calling it twice is allowed.
    void close() noexcept;
    /// Gives the file descriptor away.
    int release() noexcept;

    int fd() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    Address local() const;
    Address peer() const;
    /// The peer's address for messages to humans.
    const std::string &peer_name() const noexcept { return who_; }

    // -- options
    // ------------------------------------------------------------------------------------------------
    void set_thresholds(const Thresholds &thresholds);
    /// The thresholds in force.
    Thresholds thresholds() const;
    /// Ask for a Report of each message sent from now on.
    void set_reports(bool on);
    /// LTP_HOLES_ZERO (the default) or LTP_HOLES_KEEP.
    void set_holes(int holes);
    /// Largest seg_size to send; 0: from the path MTU.
    void set_seg_size(int bytes);
    void set_send_buffer(int bytes);
    void set_receive_buffer(int bytes);
    /// The next receive takes the first flow with this tag.
    void set_receive_tag(std::uint64_t tag);
    void set_congestion(const std::string &name);
    std::string congestion() const;
    ltp_info info() const;

    // -- messages
    // -----------------------------------------------------------------------------------------------
    /// Sends one message of @p length bytes, at least 1. Returns when the kernel has all of it.
    /// A Timeout before the first byte was taken leaves the socket as it was. If the message was
    /// cut in the middle (Timeout or Interrupted), the next send() throws: the association can only
    /// be closed.
    void send(const void *data, std::size_t length, const SendInfo &info = {},
              const Wait &wait = {});

    /// Receives the next message into @p buffer. Holes are zero-filled, or left untouched with
    /// LTP_HOLES_KEEP.
    /// @p map, if given, gets the map. Returns nothing if the peer has closed in an orderly way.
    /// Throws SizeMismatch when the message has not exactly @p length bytes and @p exact is set, or
    /// is longer. After Timeout or Interrupted a part of the message may be in @p buffer already:
    /// receive_pending() then gives that buffer, and the next call must use it again, or it throws.
    std::optional<RcvInfo> receive(void *buffer, std::size_t length, Map *map = nullptr,
                                   bool exact = false, const Wait &wait = {});
    void *receive_pending() noexcept;
    /// A message was cut in the middle: this socket can only receive, and be closed.
    bool send_cut() const noexcept { return tx_started_; }

    /// The oldest report that has not been taken, if there is one. Does not wait.
    std::optional<Report> report();

    // -- one step at a time, for callers that wait for several sockets
    // --------------------------------------------
    /// Hands on what the kernel takes without waiting. @p sent counts what was handed over so far
    /// and is advanced; returns true when all is. The same arguments must come again until then.
    bool send_some(const void *data, std::size_t length, std::size_t &sent, const SendInfo &info);
    enum class Step { again, done, closed };
    /// Takes what the kernel has without waiting. Until it is done the same @p buffer must come
    /// again.
    Step receive_some(void *buffer, std::size_t length, RcvInfo &info, Map *map);
    /// Takes reports off the kernel's queue so that poll() stops announcing them.
    void collect_reports();

  private:
    int option(int name) const;
    void set_option(int level, int name, const void *value, socklen_t size);
    void set_timeout(int name, std::optional<Duration> &cached, std::optional<Duration> value);
    void prepare_receive();
    ssize_t send_once(const void *data, std::size_t length, std::size_t sent, const SendInfo &info,
                      int flags);
    ssize_t receive_once(void *buffer, std::size_t length, int flags, RcvInfo &info, Map *map,
                         bool &truncated);

    int fd_ = -1;
    int family_ = AF_UNSPEC;
    std::string who_;
    bool rx_ready_ = false;      // LTP_RECVRCVINFO and LTP_RECVRCVMAP are on
    bool tx_started_ = false;    // a message was handed over in part
    void *rx_buffer_ = nullptr;  // may hold part of a message
    std::optional<Duration> snd_timeout_, rcv_timeout_;
    std::unique_ptr<char[]> control_;
    std::size_t control_size_ = 0;
    std::size_t largest_sent_ = 0;
    std::deque<Report> reports_;
};

/// One of the messages that receive_all() waits for.
struct Incoming {
    Socket *socket = nullptr;
    void *buffer = nullptr;
    std::size_t length = 0;
    // set by receive_all():
    RcvInfo info{};
    Map map{};
    bool done = false;
};

/// Receives one message from each socket, all at once. Each must have exactly its length. Throws at
/// the first failure, naming the peer (also one that closed in an orderly way: error() is then
/// ECONNRESET). Returns the time from the first data to the end of the last message. After an
/// exception some messages may have been taken and others not: those with done set were.
LTP_EXPORT Duration receive_all(std::vector<Incoming> &incoming, const Wait &wait = {});

/// One of the messages that send_all() sends.
struct Outgoing {
    Socket *socket = nullptr;
    const void *data = nullptr;
    std::size_t length = 0;
    SendInfo info{};
    std::size_t sent = 0;  // set by send_all()
};

/// Sends one message on each socket, all at once, so that a slow peer delays no other.
LTP_EXPORT void send_all(std::vector<Outgoing> &outgoing, const Wait &wait = {});

}  // namespace ltp

#endif
