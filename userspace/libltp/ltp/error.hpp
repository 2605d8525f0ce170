// SPDX-License-Identifier: MIT
// What can go wrong, said in one sentence that tells the reader what to do.
#ifndef LTP_ERROR_HPP
#define LTP_ERROR_HPP

#include <ltp/export.hpp>
#include <stdexcept>
#include <string>
#include <system_error>

namespace ltp {

/// Any failure of this library. what() is one sentence, error() the errno value it came from.
class LTP_EXPORT Error : public std::runtime_error {
  public:
    Error(int error, const std::string &sentence)
        : std::runtime_error(sentence), code_(error, std::generic_category()) {}
    const std::error_code &code() const noexcept { return code_; }
    int error() const noexcept { return code_.value(); }

  private:
    std::error_code code_;
};

/// A wait given by the caller ran out. error() is ETIMEDOUT.
class LTP_EXPORT Timeout : public Error {
  public:
    using Error::Error;
};

/// Wait::interrupted said that the caller wants control back. error() is EINTR.
class LTP_EXPORT Interrupted : public Error {
  public:
    using Error::Error;
};

/// The kernel cannot make LTP sockets at all: the module is not loaded. error() is the kernel's
/// answer.
class LTP_EXPORT ModuleMissing : public Error {
  public:
    using Error::Error;
};

/// A message came that does not fit the buffer that waited for it. error() is EMSGSIZE; the message
/// is consumed and the socket can be used further.
class LTP_EXPORT SizeMismatch : public Error {
  public:
    SizeMismatch(std::size_t message, std::size_t buffer, const std::string &sentence);
    std::size_t message() const noexcept { return message_; }
    std::size_t buffer() const noexcept { return buffer_; }

  private:
    std::size_t message_, buffer_;
};

/// What was being tried when an error came; the same errno means different things to different
/// calls.
enum class Operation {
    socket,
    resolve,
    bind,
    listen,
    accept,
    connect,
    send,
    receive,
    option,
    report
};

/// The sentence for @p error in @p op; @p who names the address concerned, and may be empty.
LTP_EXPORT std::string explain(Operation op, int error, const std::string &who);

/// Throws the Error (or the class derived from it that fits) for @p error in @p op.
[[noreturn]] LTP_EXPORT void fail(Operation op, int error, const std::string &who);

}  // namespace ltp

#endif
