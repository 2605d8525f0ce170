// SPDX-License-Identifier: GPL-2.0
// Repeated gathers of N workers to one parameter server, each host a network namespace: one JSON
// object on stdout.
//
// usage: gather TRANSPORT PS_NETNS PS_ADDRESS WORKER_NETNS,... BYTES GATHERS [PAUSE_US [dcn|wan]]
//
// With a profile the messages are tolerant and thresholds adapt; an epoch is eight gathers.
//
// The server sends one byte to each worker, each answers with a message of BYTES. A gather's time
// is from before the first of these bytes to the last message's arrival in the server's memory.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "net.hpp"

namespace {

using perf::check;
using perf::Fd;

struct Plan {
    perf::Transport transport;
    std::string ps_ns;
    sockaddr_in ps;
    std::vector<std::string> workers;
    std::size_t bytes;
    int gathers;
    long pause_us = 2000;
    bool tolerant = false;
    int profile = LTP_PROFILE_UNSET;
};

std::vector<std::string> split(const std::string &list) {
    std::vector<std::string> parts;
    std::istringstream in(list);
    for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
    return parts;
}

/** Answers each trigger with a message, until the server closes. */
void work(const Plan &plan, int fd) {
    std::vector<char> data(plan.bytes, 'g');
    char trigger;
    for (std::uint64_t i = 0; recv(fd, &trigger, 1, 0) == 1; i++)
        perf::send_message(fd, plan.transport, data.data(), data.size(), plan.tolerant, i);
}

class Server {
  public:
    explicit Server(const Plan &plan)
        : plan_(plan),
          listener_(perf::make_listener(plan.ps_ns, plan.transport, plan.ps, plan.workers.size())) {
        if (!plan.tolerant) return;
        set(LTP_PROFILE, plan.profile);
        set(LTP_EPOCH_FLOWS, 8);
    }

    void accept_all() {
        for (std::size_t i = 0; i < plan_.workers.size(); i++) {
            Fd sock(accept(listener_.get(), nullptr, nullptr));
            check(sock.get(), "accept");
            if (plan_.transport.ltp) {
                int on = 1;
                check(setsockopt(sock.get(), SOL_LTP, LTP_RECVRCVINFO, &on, sizeof(on)),
                      "LTP_RECVRCVINFO");
            }
            sockets_.push_back(std::move(sock));
            buffers_.emplace_back(plan_.bytes);
        }
        received_.resize(sockets_.size());
    }

    /** Nanoseconds that one gather took. */
    std::int64_t gather() {
        std::vector<std::thread> readers;
        std::vector<std::exception_ptr> errors(sockets_.size());
        std::int64_t begin = perf::now_ns();
        for (std::size_t i = 0; i < sockets_.size(); i++)
            readers.emplace_back([this, i, &errors] {
                try {
                    received_[i] = perf::receive_message(sockets_[i].get(), plan_.transport,
                                                         buffers_[i].data(), buffers_[i].size());
                } catch (...) {
                    errors[i] = std::current_exception();
                }
            });
        for (auto &sock : sockets_) check(send(sock.get(), "x", 1, MSG_NOSIGNAL), "send");
        for (auto &reader : readers) reader.join();
        std::int64_t end = perf::now_ns();
        for (auto &error : errors)
            if (error) std::rethrow_exception(error);
        for (std::size_t got : received_) {
            delivered_ += static_cast<double>(got) / plan_.bytes;
            least_ = std::min(least_, static_cast<double>(got) / plan_.bytes);
        }
        return end - begin;
    }

    double delivered() const { return delivered_ / (plan_.gathers * sockets_.size()); }
    double least() const { return least_; }

  private:
    const Plan &plan_;
    Fd listener_;
    void set(int option, int value) {
        check(setsockopt(listener_.get(), SOL_LTP, option, &value, sizeof(value)), "setsockopt");
    }

    std::vector<Fd> sockets_;
    std::vector<std::vector<char>> buffers_;
    std::vector<std::size_t> received_;
    double delivered_ = 0;
    double least_ = 1;
};

void run(const Plan &plan) {
    Server server(plan);
    std::vector<Fd> clients;
    for (const auto &ns : plan.workers) {
        clients.push_back(perf::make_socket(ns, plan.transport));
        check(connect(clients.back().get(), reinterpret_cast<const sockaddr *>(&plan.ps),
                      sizeof(plan.ps)),
              "connect");
    }
    server.accept_all();
    std::vector<std::int64_t> times;
    {
        std::vector<std::thread> workers;
        std::vector<std::exception_ptr> errors(clients.size());
        for (std::size_t i = 0; i < clients.size(); i++)
            workers.emplace_back([&, i] {
                try {
                    work(plan, clients[i].get());
                } catch (...) {
                    errors[i] = std::current_exception();
                }
            });
        for (int i = 0; i < plan.gathers; i++) {
            times.push_back(server.gather());
            usleep(plan.pause_us);
        }
        for (auto &sock : clients) shutdown(sock.get(), SHUT_RDWR);
        for (auto &worker : workers) worker.join();
        for (auto &error : errors)
            if (error) std::rethrow_exception(error);
    }
    std::printf("{\"ns\": [");
    for (std::size_t i = 0; i < times.size(); i++)
        std::printf("%s%lld", i ? ", " : "", static_cast<long long>(times[i]));
    std::printf("], \"delivered_mean\": %.6f, \"delivered_min\": %.6f}\n", server.delivered(),
                server.least());
}

}  // namespace

int main(int argc, char **argv) try {
    if (argc < 7)
        throw std::invalid_argument(
            "gather TRANSPORT PS_NETNS PS_ADDRESS NETNS,... BYTES GATHERS [...]");
    Plan plan{perf::Transport(argv[1]),     argv[2],
              perf::address(argv[3], 5000), split(argv[4]),
              std::stoul(argv[5]),          std::stoi(argv[6])};
    if (argc > 7) plan.pause_us = std::stol(argv[7]);
    if (argc > 8) {
        plan.tolerant = true;
        plan.profile = argv[8] == std::string_view("wan") ? LTP_PROFILE_WAN : LTP_PROFILE_DCN;
    }
    run(plan);
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "gather: %s\n", error.what());
    return 1;
}
