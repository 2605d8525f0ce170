// SPDX-License-Identifier: GPL-2.0
// The generic netlink family `ltp`, spoken by hand over libmnl.
#ifndef LTPCTL_GENL_H_
#define LTPCTL_GENL_H_

#include <libmnl/libmnl.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ltpctl {

// Attributes of a message from the kernel, in its order.
class Message {
  public:
    struct Attribute {
        uint16_t type;
        std::string payload;
    };

    explicit Message(const nlmsghdr *nlh);

    const std::vector<Attribute> &attributes() const { return attributes_; }
    const Attribute *Find(uint16_t type) const;

  private:
    std::vector<Attribute> attributes_;
};

// The payload as a number or a struct; nothing if it has another size.
template <typename T>
std::optional<T> As(const Message::Attribute *attribute) {
    T value;
    if (!attribute || attribute->payload.size() != sizeof(value)) return std::nullopt;
    memcpy(&value, attribute->payload.data(), sizeof(value));
    return value;
}

// A request in the making. Attributes keep the names that the user knows them by, so that an error
// can say which of them the kernel means.
class Request {
  public:
    Request(uint16_t family, uint8_t command, uint8_t version, uint16_t flags);

    void PutU32(uint16_t type, const char *name, uint32_t value);
    void PutU64(uint16_t type, const char *name, uint64_t value);
    void PutRaw(uint16_t type, const char *name, const void *value, size_t size);
    void PutString(uint16_t type, const char *name, const std::string &value);

    nlmsghdr *header() { return nlh_; }
    // Name of the attribute that lies at `offset` in the message, or nullptr.
    const char *NameAt(uint32_t offset) const;

  private:
    void Note(const char *name);

    std::unique_ptr<char[]> buffer_;
    nlmsghdr *nlh_;
    std::vector<std::pair<uint32_t, const char *>> names_;
};

// A socket to the kernel of the current network namespace. Whatever goes wrong is a Failure; what
// the kernel says of a refusal is in its text.
class Genl {
  public:
    // kExitNoModule if the kernel has no family of this name.
    Genl(const char *family, uint8_t version);
    Genl(const Genl &) = delete;
    Genl &operator=(const Genl &) = delete;
    ~Genl();

    Request Make(uint8_t command) const;
    // Without an answer but yes or no.
    void Do(Request request);
    Message Get(Request request);
    std::vector<Message> Dump(uint8_t command);

  private:
    std::vector<Message> Exchange(Request &request);

    mnl_socket *socket_;
    uint16_t family_ = 0;
    uint8_t version_;
    uint32_t sequence_ = 0;
};

}  // namespace ltpctl

#endif  // LTPCTL_GENL_H_
