// SPDX-License-Identifier: MIT
#include "connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace ltp_torch {

namespace {

constexpr std::uint64_t kEmpty = std::uint64_t{1} << 55;

std::uint64_t pack_tag(std::uint64_t tag, const at::Tensor &t) {
    if (tag > kTagMax)
        throw ltp::Error(EINVAL, "the tag " + std::to_string(tag) +
                                     " is too large: use one below 2 to the 48th");
    return tag | static_cast<std::uint64_t>(t.scalar_type()) << 48 | (t.numel() ? 0 : kEmpty) |
           kTagMagic << 56;
}

bool is_ours(std::uint64_t tag) { return tag >> 56 == kTagMagic; }

std::string count_bytes(std::size_t n) { return std::to_string(n) + (n == 1 ? " byte" : " bytes"); }

void check_tensor(const at::Tensor &t, bool writable) {
    if (!t.defined()) throw ltp::Error(EINVAL, "there is no tensor: pass one");
    if (t.layout() != at::kStrided || t.is_quantized() || t.is_meta())
        throw ltp::Error(
            EINVAL,
            "this tensor is sparse, quantized or without memory: send its dense values instead");
    if (writable && (t.is_conj() || t.is_neg()))
        throw ltp::Error(
            EINVAL, "this tensor is a conjugated or negated view: receive into its base instead");
}

/// The bytes of @p t in order, on the CPU: itself, or a copy.
at::Tensor to_send(const at::Tensor &t) {
    check_tensor(t, false);
    at::Tensor x = t.detach();
    if (!x.is_cpu()) {
        // Through pinned memory, which is the fast way off a GPU. (Untested: no GPU in the lab.)
        at::Tensor host = at::empty(x.sizes(), x.options().device(at::kCPU).pinned_memory(true));
        host.copy_(x);
        return host;
    }
    return x.resolve_conj().resolve_neg().contiguous();
}

/// Where the bytes for @p t go first: into itself, or into a tensor that is copied to it later.
at::Tensor to_receive(const at::Tensor &t, bool keep) {
    check_tensor(t, true);
    if (t.is_cpu() && t.is_contiguous()) return t.detach();
    at::Tensor x = at::empty(t.sizes(), t.options().device(at::kCPU).pinned_memory(!t.is_cpu()));
    if (keep) x.copy_(t.detach());
    return x;
}

struct Place {
    void *data;
    std::size_t length;
};

/// The memory of a contiguous tensor; one byte of @p empty if it has none.
Place place(const at::Tensor &t, char &empty) {
    if (t.numel()) return {t.data_ptr(), t.nbytes()};
    return {&empty, 1};
}

}  // namespace

std::string dtype_name(at::ScalarType type) {
    switch (type) {
        case at::kFloat:
            return "float32";
        case at::kDouble:
            return "float64";
        case at::kHalf:
            return "float16";
        case at::kBFloat16:
            return "bfloat16";
        case at::kByte:
            return "uint8";
        case at::kChar:
            return "int8";
        case at::kShort:
            return "int16";
        case at::kInt:
            return "int32";
        case at::kLong:
            return "int64";
        case at::kBool:
            return "bool";
        case at::kComplexHalf:
            return "complex32";
        case at::kComplexFloat:
            return "complex64";
        case at::kComplexDouble:
            return "complex128";
        default:
            return c10::toString(type);
    }
}

void written(const at::Tensor &tensor) {
    if (!tensor.is_inference()) tensor.unsafeGetTensorImpl()->bump_version();
}

// -- life
// -------------------------------------------------------------------------------------------------------

Connection::Use::Use(Connection &c, std::mutex *direction) : c_(&c) {
    if (direction) lock_ = std::unique_lock<std::mutex>(*direction);
    const std::lock_guard<std::mutex> guard(c.uses_lock_);
    if (c.closed_) throw ltp::Error(EBADF, "the connection is closed: make a new one");
    c.uses_++;
}

Connection::Use::Use(Use &&other) noexcept
    : c_(std::exchange(other.c_, nullptr)), lock_(std::move(other.lock_)) {}

Connection::Use::~Use() {
    if (!c_) return;
    const std::lock_guard<std::mutex> guard(c_->uses_lock_);
    if (!--c_->uses_ && c_->closed_) c_->socket_.close();
}

void Connection::close() {
    const std::lock_guard<std::mutex> guard(uses_lock_);

    if (closed_.exchange(true)) return;
    if (!uses_)
        socket_.close();
    else
        // Somebody waits on it. This wakes them, and the last of them closes it.
        ::shutdown(socket_.fd(), SHUT_RDWR);
}

void Connection::shutdown() {
    const Use use(*this, nullptr);

    socket_.shutdown(SHUT_WR);
}

/// From a handler: what happens to a call after close() is no news of the peer.
void Connection::rethrow() {
    if (closed_)
        throw ltp::Error(EBADF,
                         "the connection was closed here while a call waited: make a new one");
    throw;
}

std::shared_ptr<Connection> Connection::accept(const ltp::Wait &wait) {
    const Use use(*this, &rx_);

    try {
        return std::make_shared<Connection>(socket_.accept(wait));
    } catch (const ltp::Error &) {
        rethrow();
    }
}

// -- options
// ----------------------------------------------------------------------------------------------------

void Connection::set_reports(bool on) {
    const Use use(*this, nullptr);

    socket_.set_reports(on);
}

void Connection::set_keep_holes(bool keep) {
    const Use use(*this, nullptr);

    if (keep_holes_ != keep) socket_.set_holes(keep ? LTP_HOLES_KEEP : LTP_HOLES_ZERO);
    keep_holes_ = keep;
}

// -- sending
// ----------------------------------------------------------------------------------------------------

void Connection::send(const at::Tensor &tensor, const ltp::SendInfo &info, const ltp::Wait &wait) {
    const at::Tensor x = to_send(tensor);
    const Use use(*this, &tx_);
    char empty = 0;
    const Place p = place(x, empty);
    ltp::SendInfo si = info;

    if (info.critical > x.nbytes())
        throw std::invalid_argument("critical is " + std::to_string(info.critical) +
                                    " bytes of a tensor that has " + std::to_string(x.nbytes()));
    si.tag = pack_tag(info.tag, x);
    // The byte that stands for nothing must arrive.
    si.tolerant = info.tolerant && x.numel();
    try {
        socket_.send(p.data, p.length, si, wait);
    } catch (const ltp::Error &) {
        rethrow();
    }
}

void send_all(const std::vector<Connection *> &connections, const at::Tensor &tensor,
              const ltp::SendInfo &info, const ltp::Wait &wait) {
    const at::Tensor x = to_send(tensor);
    std::vector<Connection *> order(connections);
    std::vector<Connection::Use> uses;
    std::vector<ltp::Outgoing> out;
    char empty = 0;
    const Place p = place(x, empty);
    ltp::SendInfo si = info;

    si.tag = pack_tag(info.tag, x);
    // In one order everywhere: two calls on the same connections must not wait for each other.
    std::sort(order.begin(), order.end());
    if (std::adjacent_find(order.begin(), order.end()) != order.end())
        throw ltp::Error(EINVAL, "a connection is in the list twice: name each once");
    uses.reserve(order.size());
    for (Connection *c : order) uses.emplace_back(*c, &c->tx_);
    for (Connection *c : connections) out.push_back({&c->socket_, p.data, p.length, si, 0});
    ltp::send_all(out, wait);
}

// -- receiving
// --------------------------------------------------------------------------------------------------

/// Checks what came against the tensor it was to go to, and makes @p info speak of the tensor.
void Connection::finish(const at::Tensor &tensor, RecvInfo &info) const {
    const std::uint64_t tag = info.tag;
    const bool ours = is_ours(tag);
    const bool empty = ours && (tag & kEmpty);
    const std::size_t message = empty ? 0 : info.length;

    if (ours) {
        info.tag = tag & kTagMax;
        const auto sent = static_cast<at::ScalarType>(tag >> 48 & 0x7f);
        if (sent != tensor.scalar_type())
            throw DTypeMismatch(EINVAL, socket_.peer_name() + " sent a tensor of " +
                                            dtype_name(sent) + " where one of " +
                                            dtype_name(tensor.scalar_type()) +
                                            " was expected: make both sides use the same dtype");
    }
    if (message != tensor.nbytes())
        throw ltp::SizeMismatch(message, tensor.nbytes(),
                                socket_.peer_name() + " sent " + count_bytes(message) +
                                    " where a tensor of " + count_bytes(tensor.nbytes()) +
                                    " was expected: make both sides use the same shape and dtype");
    if (empty) {
        info.length = info.received = 0;
        info.map = ltp::Map();
    }
}

RecvInfo Connection::recv(const at::Tensor &tensor, const ltp::Wait &wait) {
    const Use use(*this, &rx_);
    const at::Tensor wanted = to_receive(tensor, keep_holes_);
    RecvInfo info;

    // A message that was interrupted goes on where it began, and is copied from there.
    const at::Tensor target = pending_.defined() ? pending_ : wanted;
    const Place p = place(target, scratch_);
    try {
        const auto got = socket_.receive(p.data, p.length, &info.map, false, wait);
        pending_ = at::Tensor();
        if (!got)
            throw PeerClosed(
                ECONNRESET,
                socket_.peer_name() + " has closed the connection: no more messages come from it");
        static_cast<ltp::RcvInfo &>(info) = *got;
    } catch (const ltp::SizeMismatch &e) {
        pending_ = at::Tensor();
        throw ltp::SizeMismatch(e.message(), wanted.nbytes(),
                                socket_.peer_name() + " sent " + count_bytes(e.message()) +
                                    " where a tensor of " + count_bytes(wanted.nbytes()) +
                                    " was expected: make both sides use the same shape and dtype");
    } catch (const PeerClosed &) {
        rethrow();
    } catch (const ltp::Error &) {
        pending_ = socket_.receive_pending() ? target : at::Tensor();
        rethrow();
    } catch (...) {
        // A signal handler threw.
        pending_ = socket_.receive_pending() ? target : at::Tensor();
        throw;
    }
    finish(wanted, info);
    if (target.data_ptr() != wanted.data_ptr()) {
        auto *to = static_cast<char *>(wanted.data_ptr());
        const auto *from = static_cast<const char *>(target.data_ptr());
        if (!keep_holes_)
            std::memcpy(to, from, wanted.nbytes());
        else
            info.map.for_each(true, [&](ltp::Map::Range r) {
                std::memcpy(to + r.offset, from + r.offset, r.length);
            });
    }
    if (wanted.data_ptr() != tensor.data_ptr()) tensor.detach().copy_(wanted);
    written(tensor);
    return info;
}

std::pair<std::vector<RecvInfo>, ltp::Duration> receive_all(
    const std::vector<Connection *> &connections, const std::vector<at::Tensor> &tensors,
    const ltp::Wait &wait) {
    std::vector<Connection *> order(connections);
    std::vector<Connection::Use> uses;
    std::vector<ltp::Incoming> incoming;
    std::vector<RecvInfo> infos(connections.size());
    ltp::Duration elapsed{0};

    if (connections.size() != tensors.size())
        throw ltp::Error(EINVAL, "there are " + std::to_string(connections.size()) +
                                     " connections but " + std::to_string(tensors.size()) +
                                     " tensors: pass one for each");
    for (const at::Tensor &t : tensors)
        if (!t.defined() || !t.is_cpu() || !t.is_contiguous() || !t.numel())
            throw ltp::Error(
                EINVAL,
                "receiving from several at once needs contiguous tensors on the CPU with at "
                "least one element each");
    std::sort(order.begin(), order.end());
    if (std::adjacent_find(order.begin(), order.end()) != order.end())
        throw ltp::Error(EINVAL, "a connection is in the list twice: name each once");
    uses.reserve(order.size());
    for (Connection *c : order) uses.emplace_back(*c, &c->rx_);
    for (std::size_t i = 0; i < connections.size(); i++) {
        Connection &c = *connections[i];
        if (c.pending_.defined() && c.pending_.data_ptr() != tensors[i].data_ptr())
            throw ltp::Error(
                EINVAL, "part of a message from " + c.socket_.peer_name() +
                            " is in another tensor already: call recv first, or use that tensor");
        ltp::Incoming in;
        in.socket = &c.socket_;
        in.buffer = tensors[i].data_ptr();
        in.length = tensors[i].nbytes();
        incoming.push_back(in);
    }
    const auto settle = [&] {
        for (std::size_t i = 0; i < incoming.size(); i++)
            connections[i]->pending_ =
                incoming[i].socket->receive_pending() ? tensors[i] : at::Tensor();
    };
    try {
        elapsed = ltp::receive_all(incoming, wait);
    } catch (...) {
        settle();
        throw;
    }
    settle();
    for (std::size_t i = 0; i < incoming.size(); i++) {
        static_cast<ltp::RcvInfo &>(infos[i]) = incoming[i].info;
        infos[i].map = std::move(incoming[i].map);
        connections[i]->finish(tensors[i], infos[i]);
        written(tensors[i]);
    }
    return {std::move(infos), elapsed};
}

// -- reports
// ----------------------------------------------------------------------------------------------------

std::unique_ptr<Report> Connection::report() {
    const Use use(*this, nullptr);
    auto r = socket_.report();

    if (!r) return nullptr;
    if (is_ours(r->tag)) {
        const bool empty = r->tag & kEmpty;
        r->tag &= kTagMax;
        if (empty) {
            r->length = r->received = 0;
            r->map = ltp::Map();
        }
    }
    return std::make_unique<Report>(std::move(*r));
}

}  // namespace ltp_torch
