// SPDX-License-Identifier: GPL-2.0
// Streams from several hosts to one, all for the same time: what each had of the link, as a JSON
// object on stdout.
//
// usage: share NETNS ADDRESS SECONDS TRANSPORT[:PORT]@NETNS...
//
// Streams to one port are accepted from one listening socket, which makes them a group. LTP sends
// messages of 256 KiB, one behind the other. Bytes are counted as they come to the receiving
// program, in intervals of 100 ms of the clock in use.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <map>
#include <stdexcept>
#include <thread>

#include "net.hpp"

namespace {

using perf::check;
using perf::Fd;

constexpr std::size_t MESSAGE = 256 << 10;
constexpr std::int64_t INTERVAL_NS = 100'000'000;

/** One sender, and what its receiver got in each interval. */
struct Stream {
    perf::Transport transport;
    std::string ns;
    std::uint16_t port;
    Fd out, in;
    std::vector<std::uint64_t> bytes;
    std::exception_ptr error;
};

std::atomic<bool> over{false};

/** Sends until the time is over; that the receiver then goes away is no error. */
void send_all(Stream &stream) try {
    std::vector<char> data(MESSAGE, 's');
    for (std::uint64_t i = 0; !over; i++)
        perf::send_message(stream.out.get(), stream.transport, data.data(), data.size(), false, i);
} catch (...) {
    if (!over) stream.error = std::current_exception();
}

void receive_all(Stream &stream, std::int64_t begin) try {
    std::vector<char> data(MESSAGE);
    for (;;) {
        ssize_t n = recv(stream.in.get(), data.data(), data.size(), 0);
        check(n, "recv");
        if (!n) throw std::runtime_error("the sender has gone");
        std::size_t interval = (perf::now_ns() - begin) / INTERVAL_NS;
        if (interval >= stream.bytes.size()) return;
        stream.bytes[interval] += n;
    }
} catch (...) {
    stream.error = std::current_exception();
}

void run(const std::string &ns, const std::string &ip, int seconds, std::vector<Stream> &streams) {
    std::map<std::uint16_t, Fd> listeners;
    for (Stream &s : streams) {
        sockaddr_in addr = perf::address(ip, s.port);
        s.bytes.resize(seconds * 1'000'000'000LL / INTERVAL_NS);
        if (!listeners.count(s.port))
            listeners[s.port] = perf::make_listener(ns, s.transport, addr, streams.size());
        s.out = perf::make_socket(s.ns, s.transport);
        check(connect(s.out.get(), reinterpret_cast<const sockaddr *>(&addr), sizeof(addr)),
              "connect");
        s.in = Fd(accept(listeners[s.port].get(), nullptr, nullptr));
        check(s.in.get(), "accept");
    }
    std::vector<std::thread> senders, receivers;
    std::int64_t begin = perf::now_ns();
    for (Stream &s : streams) {
        receivers.emplace_back(receive_all, std::ref(s), begin);
        senders.emplace_back(send_all, std::ref(s));
    }
    for (auto &receiver : receivers) receiver.join();
    over = true;
    for (Stream &s : streams) {
        // Aborts both ends: what is under way is of no interest.
        linger none{1, 0};
        for (int fd : {s.in.get(), s.out.get()}) {
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
            shutdown(fd, SHUT_RDWR);
        }
    }
    for (auto &sender : senders) sender.join();
    for (Stream &s : streams)
        if (s.error) std::rethrow_exception(s.error);
}

void print(const std::vector<Stream> &streams) {
    std::printf("{\"interval_ns\": %lld, \"bytes\": [", static_cast<long long>(INTERVAL_NS));
    for (std::size_t i = 0; i < streams.size(); i++) {
        std::printf(i ? ", [" : "[");
        for (std::size_t k = 0; k < streams[i].bytes.size(); k++)
            std::printf("%s%llu", k ? ", " : "",
                        static_cast<unsigned long long>(streams[i].bytes[k]));
        std::printf("]");
    }
    std::printf("]}\n");
}

}  // namespace

int main(int argc, char **argv) try {
    if (argc < 5)
        throw std::invalid_argument("share NETNS ADDRESS SECONDS TRANSPORT[:PORT]@NETNS...");
    std::vector<Stream> streams;
    for (int i = 4; i < argc; i++) {
        std::string word = argv[i];
        std::size_t at = word.find('@');
        if (at == std::string::npos) throw std::invalid_argument("no @ in " + word);
        std::size_t colon = word.find(':');
        int port = colon < at ? std::stoi(word.substr(colon + 1)) : 5000 + i;
        perf::Transport transport(word.substr(0, std::min(colon, at)));
        streams.push_back(
            {transport, word.substr(at + 1), static_cast<std::uint16_t>(port), {}, {}, {}, {}});
    }
    run(argv[1], argv[2], std::stoi(argv[3]), streams);
    print(streams);
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "share: %s\n", error.what());
    return 1;
}
