// SPDX-License-Identifier: GPL-2.0
// How long the queue of an interface gets: looked at again and again, as a kernel keeps no maximum.
#ifndef TESTS_PERF_QUEUE_HPP
#define TESTS_PERF_QUEUE_HPP

#include <libmnl/libmnl.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <atomic>
#include <memory>
#include <thread>

#include "net.hpp"

namespace perf {

class QueueWatch {
  public:
    /** Looks at the root queueing discipline of @p dev in @p ns each @p every_us, in a thread. */
    QueueWatch(const std::string &ns, const std::string &dev, long every_us)
        : thread_([=] {
              Fd where(open(("/run/netns/" + ns).c_str(), O_RDONLY | O_CLOEXEC));
              check(where.get(), ns.c_str());
              check(setns(where.get(), CLONE_NEWNET), "setns");
              const int index = if_nametoindex(dev.c_str());
              const std::unique_ptr<mnl_socket, int (*)(mnl_socket *)> sock(
                  mnl_socket_open(NETLINK_ROUTE), mnl_socket_close);
              check(mnl_socket_bind(sock.get(), 0, MNL_SOCKET_AUTOPID), "netlink");
              // While it is empty less and less often: a TCP that waits does so for seconds.
              for (long us = every_us; !done_; usleep(us))
                  us = look(sock.get(), index) ? every_us : std::min(us * 2, every_us * 256);
          }) {}
    ~QueueWatch() { stop(); }

    /** Returns the longest that was seen, in packets. */
    std::uint32_t stop() {
        done_ = true;
        if (thread_.joinable()) thread_.join();
        return longest_;
    }

  private:
    bool look(mnl_socket *sock, int index) {
        char buffer[8192];
        nlmsghdr *head = mnl_nlmsg_put_header(buffer);
        head->nlmsg_type = RTM_GETQDISC;
        head->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
        static_cast<tcmsg *>(mnl_nlmsg_put_extra_header(head, sizeof(tcmsg)))->tcm_family =
            AF_UNSPEC;
        check(mnl_socket_sendto(sock, head, head->nlmsg_len), "netlink");
        index_ = index;
        for (int more = MNL_CB_OK; more > MNL_CB_STOP;) {
            const ssize_t n = mnl_socket_recvfrom(sock, buffer, sizeof(buffer));
            check(n, "netlink");
            more = mnl_cb_run(buffer, n, 0, mnl_socket_get_portid(sock), take, this);
        }
        return length_;
    }

    static int take(const nlmsghdr *head, void *self) {
        const auto *watch = static_cast<QueueWatch *>(self);
        const auto *tc = static_cast<const tcmsg *>(mnl_nlmsg_get_payload(head));
        if (tc->tcm_ifindex != watch->index_ || tc->tcm_parent != TC_H_ROOT) return MNL_CB_OK;
        return mnl_attr_parse(head, sizeof(*tc), attribute, self);
    }

    static int attribute(const nlattr *attr, void *self) {
        auto *watch = static_cast<QueueWatch *>(self);
        if (mnl_attr_get_type(attr) != TCA_STATS) return MNL_CB_OK;
        const auto *stats = static_cast<const tc_stats *>(mnl_attr_get_payload(attr));
        watch->length_ = stats->qlen;
        watch->longest_ = std::max(watch->longest_, stats->qlen);
        return MNL_CB_OK;
    }

    std::atomic<bool> done_{false};
    int index_ = 0;
    std::uint32_t length_ = 0, longest_ = 0;
    std::thread thread_;
};

}  // namespace perf

#endif
