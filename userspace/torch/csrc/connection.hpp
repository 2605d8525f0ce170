// SPDX-License-Identifier: MIT
// One tensor is one message: what ltp_torch adds to libltp's sockets. No Python in here.
#ifndef LTP_TORCH_CONNECTION_HPP
#define LTP_TORCH_CONNECTION_HPP

#include <ATen/ATen.h>

#include <atomic>
#include <ltp/gather.hpp>
#include <ltp/socket.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace ltp_torch {

/// The message's tag carries the program's tag in its lower 48 bits. Above it is what the receiver
/// checks:
///
///     63..56  kTagMagic: the upper bits are ours; anything else is the tag of a program that knows
///     nothing of us 55      the tensor has no elements, and the message one byte that means
///     nothing (LTP has no empty messages) 54..48  the dtype, as a c10::ScalarType
constexpr std::uint64_t kTagMax = (std::uint64_t{1} << 48) - 1;
constexpr std::uint64_t kTagMagic = 0xa7;

class DTypeMismatch : public ltp::Error {
  public:
    using ltp::Error::Error;
};

/// The peer closed its connection in an orderly way.
class PeerClosed : public ltp::Error {
  public:
    using ltp::Error::Error;
};

struct RecvInfo : ltp::RcvInfo {
    ltp::Map map;
};

using Report = ltp::Report;

/// "float32"
std::string dtype_name(at::ScalarType type);

/// Tells autograd that the memory of @p tensor was written behind its back.
void written(const at::Tensor &tensor);

/// A connection or a listening socket. One thread may send while another receives; close() is
/// allowed at any time in any thread, and makes calls that wait return.
class Connection {
  public:
    explicit Connection(ltp::Socket socket) : socket_(std::move(socket)) {}

    std::shared_ptr<Connection> accept(const ltp::Wait &wait);
    /// Any strided tensor on the CPU or a GPU.
    void send(const at::Tensor &tensor, const ltp::SendInfo &info, const ltp::Wait &wait);
    RecvInfo recv(const at::Tensor &tensor, const ltp::Wait &wait);
    std::unique_ptr<Report> report();
    void shutdown();
    void close();
    void set_reports(bool on);
    void set_keep_holes(bool keep);
    int fd() const noexcept { return closed_ ? -1 : socket_.fd(); }

    template <class F>
    auto with_socket(F &&f) -> decltype(f(std::declval<ltp::Socket &>())) {
        const Use use(*this, nullptr);
        return f(socket_);
    }

    friend std::pair<std::vector<RecvInfo>, ltp::Duration> receive_all(
        const std::vector<Connection *> &connections, const std::vector<at::Tensor> &tensors,
        const ltp::Wait &wait);
    friend void send_all(const std::vector<Connection *> &connections, const at::Tensor &tensor,
                         const ltp::SendInfo &info, const ltp::Wait &wait);

  private:
    /// While one of these exists the file descriptor stays open; the last one closes it if close()
    /// was called.
    class Use {
      public:
        Use(Connection &c, std::mutex *direction);
        ~Use();
        Use(Use &&other) noexcept;
        Use(const Use &) = delete;
        Use &operator=(const Use &) = delete;
        Use &operator=(Use &&) = delete;

      private:
        Connection *c_;
        std::unique_lock<std::mutex> lock_;
    };

    [[noreturn]] void rethrow();
    void finish(const at::Tensor &tensor, RecvInfo &info) const;

    ltp::Socket socket_;
    std::mutex rx_, tx_;  // who receives, who sends
    std::mutex uses_lock_;
    int uses_ = 0;
    std::atomic<bool> closed_{false};
    bool keep_holes_ = false;
    at::Tensor pending_;  // where a message that was interrupted goes on
    char scratch_ = 0;    // what arrives for a tensor without elements
};

/// One tensor from each connection, all at once.
std::pair<std::vector<RecvInfo>, ltp::Duration> receive_all(
    const std::vector<Connection *> &connections, const std::vector<at::Tensor> &tensors,
    const ltp::Wait &wait);

/// The same tensor to each connection, all at once.
void send_all(const std::vector<Connection *> &connections, const at::Tensor &tensor,
              const ltp::SendInfo &info, const ltp::Wait &wait);

}  // namespace ltp_torch

#endif
