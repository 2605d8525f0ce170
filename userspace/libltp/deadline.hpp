// SPDX-License-Identifier: MIT
#ifndef LTP_DEADLINE_HPP
#define LTP_DEADLINE_HPP

#include <algorithm>
#include <climits>
#include <ltp/socket.hpp>
#include <utility>

namespace ltp {

/// Turns "at most so long" into what is left of it.
class Deadline {
  public:
    explicit Deadline(const Wait &wait) : wait_(wait) {
        if (wait.timeout) end_ = Clock::now() + *wait.timeout;
    }
    std::optional<Duration> left() {
        if (!wait_.timeout) return std::nullopt;
        // At first exactly what was asked for, so that a socket option need not be set anew.
        if (std::exchange(fresh_, false)) return std::max(Duration(1), *wait_.timeout);
        return until_end();
    }
    std::optional<Duration> until_end() const {
        if (!wait_.timeout) return std::nullopt;
        return std::max(Duration(0), std::chrono::duration_cast<Duration>(end_ - Clock::now()));
    }
    bool over() const { return wait_.timeout && Clock::now() >= end_; }
    /// For poll(): rounded up, so that a wait is never shorter than asked for.
    int poll_ms() const {
        const auto l = until_end();
        if (!l) return -1;
        return static_cast<int>(std::min<Duration::rep>((l->count() + 999) / 1000, INT_MAX));
    }
    /// A signal arrived: throws Interrupted if the caller wants control back.
    void check_interrupted(const std::string &doing) const {
        if (wait_.interrupted && wait_.interrupted(wait_.arg))
            throw Interrupted(EINTR, doing + " was interrupted by a signal: call again to go on");
    }
    [[noreturn]] void expire(const std::string &doing, const std::string &hint) const {
        const double s = static_cast<double>(wait_.timeout->count()) / 1e6;
        std::string number = std::to_string(s);
        number.erase(number.find_last_not_of('0') + 1);
        if (number.back() == '.') number.pop_back();
        throw Timeout(ETIMEDOUT, doing + " took longer than the " + number + " s allowed: " + hint);
    }

  private:
    using Clock = std::chrono::steady_clock;
    const Wait &wait_;
    Clock::time_point end_{};
    bool fresh_ = true;
};

}  // namespace ltp

#endif
