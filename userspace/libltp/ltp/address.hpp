// SPDX-License-Identifier: MIT
#ifndef LTP_ADDRESS_HPP
#define LTP_ADDRESS_HPP

#include <sys/socket.h>

#include <cstdint>
#include <ltp/export.hpp>
#include <string>

namespace ltp {

/// An IPv4 or IPv6 address with its port.
class LTP_EXPORT Address {
  public:
    Address() noexcept;
    /// Takes over what the kernel filled in.
    Address(const sockaddr *address, socklen_t length) noexcept;

    /// Looks @p host up (a name, or an address in figures; empty: any address of this host, to
    /// listen on).
    /// @p family AF_UNSPEC prefers IPv4. Throws Error.
    static Address resolve(const std::string &host, std::uint16_t port, int family = AF_UNSPEC);

    int family() const noexcept { return storage_.ss_family; }
    std::uint16_t port() const noexcept;
    std::string host() const;
    /// "10.0.0.1:5000" or "[fe80::1%eth0]:5000"; empty if there is no address.
    std::string str() const;

    const sockaddr *data() const noexcept { return reinterpret_cast<const sockaddr *>(&storage_); }
    socklen_t size() const noexcept { return length_; }

  private:
    sockaddr_storage storage_;
    socklen_t length_ = 0;
};

}  // namespace ltp

#endif
