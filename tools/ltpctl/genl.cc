// SPDX-License-Identifier: GPL-2.0
#include "genl.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <cerrno>

#include "failure.h"

namespace ltpctl {
namespace {

constexpr size_t kRequestSize = 4096;
// The kernel fills messages of a dump up to the size of the buffer, but not beyond 32 KB.
constexpr size_t kAnswerSize = 65536;

Failure SystemFailure(const char *what) {
    return Failure(kExitRefused, std::string(what) + ": " + strerror(errno));
}

// What the kernel adds to an error: a sentence, and the place of the attribute it means.
struct ExtendedAck {
    std::string message;
    uint32_t offset = 0;
};

std::vector<Message::Attribute> ParseAttributes(const nlmsghdr *nlh, size_t skip) {
    std::vector<Message::Attribute> attributes;

    if (mnl_nlmsg_get_payload_len(nlh) < skip) return attributes;
    mnl_attr_parse(
        nlh, static_cast<unsigned>(skip),
        [](const nlattr *attr, void *data) {
            const auto *payload = static_cast<const char *>(mnl_attr_get_payload(attr));
            static_cast<std::vector<Message::Attribute> *>(data)->push_back(
                {mnl_attr_get_type(attr), std::string(payload, mnl_attr_get_payload_len(attr))});
            return MNL_CB_OK;
        },
        &attributes);
    return attributes;
}

ExtendedAck ParseExtendedAck(const nlmsghdr *nlh, size_t skip) {
    ExtendedAck ack;

    if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS)) return ack;
    for (const Message::Attribute &attribute : ParseAttributes(nlh, skip)) {
        if (attribute.type == NLMSGERR_ATTR_MSG)
            ack.message = attribute.payload.c_str();
        else if (attribute.type == NLMSGERR_ATTR_OFFS)
            ack.offset = As<uint32_t>(&attribute).value_or(0);
    }
    return ack;
}

// An error of the kernel's that some callers tell from others.
class Refusal : public Failure {
  public:
    Refusal(int error, const std::string &what) : Failure(kExitRefused, what), error_(error) {}

    int error() const { return error_; }

  private:
    int error_;
};

void ThrowRefusal(int error, const ExtendedAck &ack, const Request &request) {
    std::string text = ack.message.empty() ? strerror(error) : ack.message;
    const char *name = ack.offset ? request.NameAt(ack.offset) : nullptr;

    if (error == EPERM) text = "this needs CAP_NET_ADMIN in the network namespace: try sudo";
    if (name && text.find(name) == std::string::npos) text = std::string(name) + ": " + text;
    throw Refusal(error, text);
}

// The error an NLMSG_ERROR or NLMSG_DONE carries; 0: none.
void CheckEnd(const nlmsghdr *nlh, const Request &request) {
    if (nlh->nlmsg_type == NLMSG_ERROR) {
        if (mnl_nlmsg_get_payload_len(nlh) < sizeof(nlmsgerr))
            throw Failure(kExitRefused, "the kernel's answer is cut off");
        const auto *err = static_cast<const nlmsgerr *>(mnl_nlmsg_get_payload(nlh));
        size_t skip = sizeof(*err);
        if (!(nlh->nlmsg_flags & NLM_F_CAPPED)) skip += mnl_nlmsg_get_payload_len(&err->msg);
        if (err->error) ThrowRefusal(-err->error, ParseExtendedAck(nlh, MNL_ALIGN(skip)), request);
    } else if (mnl_nlmsg_get_payload_len(nlh) >= sizeof(int)) {
        int error = *static_cast<const int *>(mnl_nlmsg_get_payload(nlh));
        if (error < 0) ThrowRefusal(-error, ParseExtendedAck(nlh, sizeof(int)), request);
    }
}

}  // namespace

Message::Message(const nlmsghdr *nlh) : attributes_(ParseAttributes(nlh, sizeof(genlmsghdr))) {}

const Message::Attribute *Message::Find(uint16_t type) const {
    for (const Attribute &attribute : attributes_)
        if (attribute.type == type) return &attribute;
    return nullptr;
}

Request::Request(uint16_t family, uint8_t command, uint8_t version, uint16_t flags)
    : buffer_(new char[kRequestSize]), nlh_(mnl_nlmsg_put_header(buffer_.get())) {
    auto *genl = static_cast<genlmsghdr *>(mnl_nlmsg_put_extra_header(nlh_, sizeof(genlmsghdr)));

    nlh_->nlmsg_type = family;
    nlh_->nlmsg_flags = NLM_F_REQUEST | flags;
    genl->cmd = command;
    genl->version = version;
}

void Request::Note(const char *name) { names_.emplace_back(nlh_->nlmsg_len, name); }

void Request::PutU32(uint16_t type, const char *name, uint32_t value) {
    Note(name);
    mnl_attr_put_u32(nlh_, type, value);
}

void Request::PutU64(uint16_t type, const char *name, uint64_t value) {
    Note(name);
    mnl_attr_put_u64(nlh_, type, value);
}

void Request::PutRaw(uint16_t type, const char *name, const void *value, size_t size) {
    Note(name);
    mnl_attr_put(nlh_, type, size, value);
}

void Request::PutString(uint16_t type, const char *name, const std::string &value) {
    Note(name);
    if (!mnl_attr_put_strz_check(nlh_, kRequestSize, type, value.c_str()))
        throw UsageError(std::string(name) + ": the value is too long");
}

const char *Request::NameAt(uint32_t offset) const {
    for (const auto &[start, name] : names_)
        if (start == offset) return name;
    return nullptr;
}

Genl::Genl(const char *family, uint8_t version)
    : socket_(mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC)), version_(version) {
    int on = 1;

    if (!socket_) throw SystemFailure("netlink");
    if (mnl_socket_bind(socket_, 0, MNL_SOCKET_AUTOPID) < 0) {
        int error = errno;
        mnl_socket_close(socket_);
        errno = error;
        throw SystemFailure("netlink");
    }
    // Kernels that lack one of these still serve us, with fewer words.
    mnl_socket_setsockopt(socket_, NETLINK_EXT_ACK, &on, sizeof(on));
    mnl_socket_setsockopt(socket_, NETLINK_CAP_ACK, &on, sizeof(on));
    mnl_socket_setsockopt(socket_, NETLINK_GET_STRICT_CHK, &on, sizeof(on));

    try {
        Request request(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 2, NLM_F_ACK);
        request.PutString(CTRL_ATTR_FAMILY_NAME, "family-name", family);
        Message answer = Get(std::move(request));
        family_ = As<uint16_t>(answer.Find(CTRL_ATTR_FAMILY_ID)).value_or(0);
    } catch (const Refusal &refusal) {
        mnl_socket_close(socket_);
        if (refusal.error() != ENOENT) throw;
        throw Failure(kExitNoModule,
                      "the LTP module is not loaded: modprobe ltp (or insmod ltp.ko)");
    } catch (...) {
        mnl_socket_close(socket_);
        throw;
    }
}

Genl::~Genl() { mnl_socket_close(socket_); }

Request Genl::Make(uint8_t command) const { return Request(family_, command, version_, NLM_F_ACK); }

void Genl::Do(Request request) { Exchange(request); }

Message Genl::Get(Request request) {
    std::vector<Message> answers = Exchange(request);
    if (answers.empty()) throw Failure(kExitRefused, "the kernel gave no answer");
    return answers[0];
}

std::vector<Message> Genl::Dump(uint8_t command) {
    Request request(family_, command, version_, NLM_F_DUMP);
    return Exchange(request);
}

// Sends a request and takes in its answers up to the acknowledgement or the end of the dump.
std::vector<Message> Genl::Exchange(Request &request) {
    std::vector<Message> answers;
    std::unique_ptr<char[]> buffer(new char[kAnswerSize]);

    request.header()->nlmsg_seq = ++sequence_;
    if (mnl_socket_sendto(socket_, request.header(), request.header()->nlmsg_len) < 0)
        throw SystemFailure("netlink");
    for (;;) {
        ssize_t got = mnl_socket_recvfrom(socket_, buffer.get(), kAnswerSize);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw SystemFailure("netlink");
        int left = static_cast<int>(got);
        const auto *nlh = reinterpret_cast<const nlmsghdr *>(buffer.get());
        for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
            if (nlh->nlmsg_seq != sequence_) continue;
            if (nlh->nlmsg_type == NLMSG_ERROR || nlh->nlmsg_type == NLMSG_DONE) {
                CheckEnd(nlh, request);
                return answers;
            }
            if (nlh->nlmsg_type >= NLMSG_MIN_TYPE) answers.emplace_back(nlh);
        }
    }
}

}  // namespace ltpctl
