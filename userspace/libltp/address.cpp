// SPDX-License-Identifier: MIT
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ltp/address.hpp>
#include <ltp/error.hpp>

namespace ltp {

Address::Address() noexcept { std::memset(&storage_, 0, sizeof(storage_)); }

Address::Address(const sockaddr *address, socklen_t length) noexcept : Address() {
    length_ = std::min<socklen_t>(length, sizeof(storage_));
    std::memcpy(&storage_, address, length_);
}

Address Address::resolve(const std::string &host, std::uint16_t port, int family) {
    const std::string service = std::to_string(port);
    addrinfo hints{}, *list = nullptr;

    hints.ai_family = family;
    // The resolver knows nothing of IPPROTO_LTP; a datagram query yields each address once.
    hints.ai_socktype = SOCK_DGRAM;
    hints.ai_flags = AI_NUMERICSERV | (host.empty() ? AI_PASSIVE : 0);
    const int rc =
        getaddrinfo(host.empty() ? nullptr : host.c_str(), service.c_str(), &hints, &list);
    if (rc)
        throw Error(rc == EAI_SYSTEM ? errno : EINVAL,
                    "'" + host + "' is no address that can be found (" + gai_strerror(rc) +
                        "): check its spelling");
    const addrinfo *best = list;
    for (const addrinfo *a = list; a; a = a->ai_next)
        if (a->ai_family == AF_INET) {
            best = a;
            break;
        }
    const Address out(best->ai_addr, best->ai_addrlen);
    freeaddrinfo(list);
    return out;
}

std::uint16_t Address::port() const noexcept {
    switch (family()) {
        case AF_INET:
            return ntohs(reinterpret_cast<const sockaddr_in &>(storage_).sin_port);
        case AF_INET6:
            return ntohs(reinterpret_cast<const sockaddr_in6 &>(storage_).sin6_port);
        default:
            return 0;
    }
}

std::string Address::host() const {
    char text[NI_MAXHOST];

    if (!length_ || getnameinfo(data(), length_, text, sizeof(text), nullptr, 0, NI_NUMERICHOST))
        return {};
    return text;
}

std::string Address::str() const {
    const std::string h = host();

    if (h.empty()) return {};
    return (family() == AF_INET6 ? "[" + h + "]" : h) + ":" + std::to_string(port());
}

}  // namespace ltp
