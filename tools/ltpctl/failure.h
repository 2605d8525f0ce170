// SPDX-License-Identifier: GPL-2.0
// The ways in which ltpctl ends, documented in ltpctl(8).
#ifndef LTPCTL_FAILURE_H_
#define LTPCTL_FAILURE_H_

#include <stdexcept>
#include <string>

namespace ltpctl {

enum ExitCode {
    kExitOk = 0,
    kExitUsage = 1,     // the command line is wrong
    kExitRefused = 2,   // the kernel refused, or the system failed
    kExitNoModule = 3,  // there is no LTP in this kernel
};

// One sentence for people, and the status to exit with.
class Failure : public std::runtime_error {
  public:
    Failure(ExitCode code, const std::string &what) : std::runtime_error(what), code_(code) {}

    ExitCode code() const { return code_; }

  private:
    ExitCode code_;
};

inline Failure UsageError(const std::string &what) { return Failure(kExitUsage, what); }

}  // namespace ltpctl

#endif  // LTPCTL_FAILURE_H_
