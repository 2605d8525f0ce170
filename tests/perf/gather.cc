// SPDX-License-Identifier: GPL-2.0
// Repeated gathers, each host a network namespace: one JSON object on stdout.
//
// usage: gather KEY=VALUE...
//
//   transport=NAME        ltp, ltp-CC, tcp-CC, sctp or sctp-pr
//   hosts=NS@ADDRESS,...  the first is the server, the others are its workers
//   bytes=N               of one message
//   buckets=N             messages of a worker in a gather, one after the other (default 1)
//   gathers=N
//   warmup=N              gathers before these, which count for nothing (default 0)
//   pause_us=N            between two gathers: what computing takes (default 2000)
//   fraction=F            messages are tolerant, thresholds adapt; 0 to 1
//   profile=dcn|wan       with fraction
//   epoch=N               flows in an epoch
//   solo=1                each worker is a group of its own: nobody coordinates them
//   sharded=1             every host is a server for all others
//   broadcast=1           the server answers each gather with as many bytes, reliably
//   background=NS@B       TCP cubic beside it, from that host to the first, B bytes a second
//   watch=NS@DEV@US       looks each US microseconds how long that interface's queue is
//
// A server sends one byte to each worker, each answers with its messages. A gather's time is from
// before the first of these bytes to the last message's arrival in the server's memory; an
// iteration is that, the broadcast and the pause. Ports are the same each time: two runs in virtual
// time are alike.
#include <linux/ltp.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <sstream>
#include <thread>

#include "net.hpp"
#include "queue.hpp"

namespace {

using perf::check;
using perf::Fd;

std::vector<std::string> split(const std::string &list, char by) {
    std::vector<std::string> parts;
    std::istringstream in(list);
    for (std::string part; std::getline(in, part, by);) parts.push_back(part);
    return parts;
}

struct Host {
    std::string ns;
    std::string addr;
};

struct Plan {
    explicit Plan(std::map<std::string, std::string> words)
        : transport(words.at("transport")),
          bytes(std::stoul(words.at("bytes"))),
          gathers(std::stoi(words.at("gathers"))) {
        for (const auto &word : split(words.at("hosts"), ',')) {
            const auto parts = split(word, '@');
            hosts.push_back({parts.at(0), parts.at(1)});
        }
        if (words.count("buckets")) buckets = std::stoi(words["buckets"]);
        if (words.count("warmup")) warmup = std::stoi(words["warmup"]);
        if (words.count("pause_us")) pause_us = std::stol(words["pause_us"]);
        if (words.count("fraction")) fraction = std::stod(words["fraction"]);
        if (words.count("epoch")) epoch = std::stoi(words["epoch"]);
        if (words.count("profile"))
            profile = words["profile"] == "wan" ? LTP_PROFILE_WAN : LTP_PROFILE_DCN;
        solo = words.count("solo");
        sharded = words.count("sharded");
        broadcast = words.count("broadcast");
        if (words.count("background")) background = split(words["background"], '@');
        if (words.count("watch")) watch = split(words["watch"], '@');
    }

    perf::Transport transport;
    std::vector<Host> hosts;
    std::size_t bytes;
    int gathers;
    int buckets = 1;
    int warmup = 0;
    long pause_us = 2000;
    double fraction = 0;
    int epoch = 0;
    int profile = LTP_PROFILE_UNSET;
    bool solo, sharded, broadcast;
    std::vector<std::string> background, watch;

    bool tolerant() const { return fraction > 0; }
};

/** Threads whose first exception is thrown by join(). */
class Crew {
  public:
    void add(std::function<void()> work) {
        errors_.push_back(std::make_unique<std::exception_ptr>());
        threads_.emplace_back([work = std::move(work), error = errors_.back().get()] {
            try {
                work();
            } catch (...) {
                *error = std::current_exception();
            }
        });
    }
    void join() {
        for (auto &thread : threads_) thread.join();
        threads_.clear();
        for (auto &error : errors_)
            if (*error) std::rethrow_exception(*error);
        errors_.clear();
    }

  private:
    std::vector<std::thread> threads_;
    std::vector<std::unique_ptr<std::exception_ptr>> errors_;
};

/** A worker's end: answers each trigger with its messages, until the server closes. */
void work(const Plan &plan, int fd) {
    std::vector<char> data(plan.bytes, 'g');
    char trigger;
    for (std::uint64_t i = 0; recv(fd, &trigger, 1, 0) == 1; i++) {
        for (int bucket = 0; bucket < plan.buckets; bucket++)
            perf::send_message(fd, plan.transport, data.data(), data.size(), plan.tolerant(), i);
        for (int bucket = 0; plan.broadcast && bucket < plan.buckets; bucket++)
            perf::receive_message(fd, plan.transport, data.data(), data.size());
        if (plan.broadcast) check(send(fd, "y", 1, MSG_NOSIGNAL), "send");
    }
}

class Server {
  public:
    Server(const Plan &plan, const Host &host) : plan_(plan), host_(host) {}

    /** Each worker a connection; between the same two ports in each run. */
    void connect_all(std::vector<Fd> &clients) {
        std::uint16_t port = 5000;
        Fd listener = listen(port);
        std::uint16_t from = 20000 + 1000 * (&host_ - plan_.hosts.data());
        for (const auto &worker : plan_.hosts) {
            from++;
            if (worker.ns == host_.ns) continue;
            if (plan_.solo && !sockets_.empty()) listener = listen(++port);
            clients.push_back(perf::make_socket(worker.ns, plan_.transport));
            const int fd = clients.back().get();
            // SCTP's listener hands the connection over only when it is accepted: so one by one.
            sockaddr_in here = perf::address(worker.addr, from);
            check(bind(fd, reinterpret_cast<sockaddr *>(&here), sizeof(here)), "bind");
            sockaddr_in there = perf::address(host_.addr, port);
            check(connect(fd, reinterpret_cast<sockaddr *>(&there), sizeof(there)), "connect");
            Fd sock(accept(listener.get(), nullptr, nullptr));
            check(sock.get(), "accept");
            if (plan_.transport.ltp()) set(sock, LTP_RECVRCVINFO, 1);
            sockets_.push_back(std::move(sock));
            buffers_.emplace_back(plan_.bytes);
        }
        if (!plan_.solo) group_ = std::move(listener);
    }

    /** One gather; what arrived is added to delivered(). */
    void gather() {
        Crew readers;
        std::vector<std::vector<std::size_t>> got(sockets_.size());
        for (std::size_t i = 0; i < sockets_.size(); i++)
            readers.add([this, i, &got] {
                for (int bucket = 0; bucket < plan_.buckets; bucket++)
                    got[i].push_back(perf::receive_message(sockets_[i].get(), plan_.transport,
                                                           buffers_[i].data(), buffers_[i].size()));
            });
        for (auto &sock : sockets_) check(send(sock.get(), "x", 1, MSG_NOSIGNAL), "send");
        readers.join();
        for (const auto &messages : got)
            for (std::size_t bytes : messages)
                delivered_.push_back(static_cast<double>(bytes) / plan_.bytes);
    }

    /** As many bytes back to each, which says when it has them. */
    void broadcast() {
        Crew writers;
        for (std::size_t i = 0; i < sockets_.size(); i++)
            writers.add([this, i] {
                char done;
                for (int bucket = 0; bucket < plan_.buckets; bucket++)
                    perf::send_message(sockets_[i].get(), plan_.transport, buffers_[i].data(),
                                       buffers_[i].size(), false, 0);
                check(recv(sockets_[i].get(), &done, 1, 0), "recv");
            });
        writers.join();
    }

    void forget() { delivered_.clear(); }
    const std::vector<double> &delivered() const { return delivered_; }

  private:
    Fd listen(std::uint16_t port) {
        Fd sock = perf::make_listener(host_.ns, plan_.transport, perf::address(host_.addr, port),
                                      plan_.hosts.size());
        if (plan_.transport.ltp() && plan_.tolerant()) {
            if (plan_.profile != LTP_PROFILE_UNSET) set(sock, LTP_PROFILE, plan_.profile);
            if (plan_.epoch) set(sock, LTP_EPOCH_FLOWS, plan_.epoch);
            ltp_thresholds limits{};
            limits.fraction_ppm =
                static_cast<std::uint32_t>(plan_.fraction * LTP_FRACTION_MAX + 0.5);
            limits.set = LTP_SET_FRACTION;
            check(setsockopt(sock.get(), SOL_LTP, LTP_THRESHOLDS, &limits, sizeof(limits)),
                  "LTP_THRESHOLDS");
        }
        return sock;
    }
    static void set(const Fd &sock, int option, int value) {
        check(setsockopt(sock.get(), SOL_LTP, option, &value, sizeof(value)), "setsockopt");
    }

    const Plan &plan_;
    const Host &host_;
    Fd group_;  // as long as it is open, newcomers belong to it
    std::vector<Fd> sockets_;
    std::vector<std::vector<char>> buffers_;
    std::vector<double> delivered_;
};

/** TCP cubic at a given rate, from when it is made until it goes. */
class Background {
  public:
    Background(const Host &from, const Host &to, std::uint64_t rate) {
        const perf::Transport tcp("tcp-cubic");
        const sockaddr_in there = perf::address(to.addr, 6000);
        Fd listener = perf::make_listener(to.ns, tcp, there, 1);
        out_ = perf::make_socket(from.ns, tcp);
        check(setsockopt(out_.get(), SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate)),
              "SO_MAX_PACING_RATE");
        check(connect(out_.get(), reinterpret_cast<const sockaddr *>(&there), sizeof(there)),
              "connect");
        in_ = Fd(accept(listener.get(), nullptr, nullptr));
        check(in_.get(), "accept");
        crew_.add([this] {
            std::vector<char> data(65536);
            while (send(out_.get(), data.data(), data.size(), MSG_NOSIGNAL) > 0) continue;
        });
        crew_.add([this] {
            std::vector<char> data(1 << 20);
            while (recv(in_.get(), data.data(), data.size(), 0) > 0) continue;
        });
    }
    ~Background() {
        shutdown(in_.get(), SHUT_RDWR);
        shutdown(out_.get(), SHUT_RDWR);
        crew_.join();
    }

  private:
    Fd in_, out_;
    Crew crew_;
};

template <class Numbers>
void print(const char *name, const Numbers &numbers, const char *format) {
    std::printf("\"%s\": [", name);
    const char *comma = "";
    for (const auto number : numbers) {
        std::printf("%s", comma);
        std::printf(format, number);
        comma = ", ";
    }
    std::printf("]");
}

/** Everything, and what there is to say of it. */
void run(const Plan &plan) {
    std::vector<Fd> clients;
    std::vector<Server> servers;
    servers.reserve(plan.hosts.size());
    for (const auto &host : plan.hosts) {
        servers.emplace_back(plan, host);
        servers.back().connect_all(clients);
        if (!plan.sharded) break;
    }
    std::unique_ptr<Background> background;
    std::unique_ptr<perf::QueueWatch> watch;
    if (!plan.background.empty()) {
        background = std::make_unique<Background>(Host{plan.background.at(0), ""}, plan.hosts[0],
                                                  std::stoul(plan.background.at(1)));
        usleep(200000);
    }
    if (!plan.watch.empty())
        watch = std::make_unique<perf::QueueWatch>(plan.watch.at(0), plan.watch.at(1),
                                                   std::stol(plan.watch.at(2)));
    std::vector<long long> times, iterations;
    Crew workers;
    for (auto &client : clients) workers.add([&plan, fd = client.get()] { work(plan, fd); });
    for (int i = -plan.warmup; i < plan.gathers; i++) {
        if (!i)
            for (auto &server : servers) server.forget();
        Crew gathering, broadcasting;
        const auto begin = perf::now_ns();
        for (auto &server : servers) gathering.add([&server] { server.gather(); });
        gathering.join();
        if (i >= 0) times.push_back(perf::now_ns() - begin);
        for (auto &server : servers)
            if (plan.broadcast) broadcasting.add([&server] { server.broadcast(); });
        broadcasting.join();
        usleep(plan.pause_us);
        if (i >= 0) iterations.push_back(perf::now_ns() - begin);
    }
    const std::uint32_t queue = watch ? watch->stop() : 0;
    background.reset();
    std::uint64_t again = 0;
    for (auto &client : clients) again += perf::retransmitted(client.get(), plan.transport);
    for (auto &client : clients) shutdown(client.get(), SHUT_RDWR);
    workers.join();
    std::vector<double> delivered;
    for (const auto &server : servers)
        delivered.insert(delivered.end(), server.delivered().begin(), server.delivered().end());
    std::printf("{");
    print("ns", times, "%lld");
    std::printf(", ");
    print("iteration_ns", iterations, "%lld");
    std::printf(", ");
    print("delivered", delivered, "%.6f");
    std::printf(", \"retransmitted\": %llu, \"queue\": %u}\n",
                static_cast<unsigned long long>(again), queue);
}

}  // namespace

int main(int argc, char **argv) try {
    std::map<std::string, std::string> words;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        const auto at = word.find('=');
        if (at == std::string::npos) throw std::invalid_argument("KEY=VALUE, not " + word);
        words[word.substr(0, at)] = word.substr(at + 1);
    }
    run(Plan(std::move(words)));
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "gather: %s\n", error.what());
    return 1;
}
