// SPDX-License-Identifier: GPL-2.0
// Times, shares and sizes as people write them. What is written can be read
// back without loss.
#ifndef LTPCTL_UNITS_H_
#define LTPCTL_UNITS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ltpctl {

// Each of these throws a usage error that begins with `name`. They check the form only: ranges are
// the kernel's business, so that there is one place that knows them.

// "20ms", "1.5s", "300us", "none"; a number without unit counts microseconds.
uint64_t ParseTimeUs(const std::string &name, const std::string &text);
// The same, or "adaptive".
uint64_t ParseThresholdUs(const std::string &name, const std::string &text);
// The same, or "profile".
uint64_t ParseSlackUs(const std::string &name, const std::string &text);
// In whole milliseconds.
uint32_t ParseTimeMs(const std::string &name, const std::string &text);
// "0.9" or "90%", in millionths.
uint32_t ParseFractionPpm(const std::string &name, const std::string &text);
// "dcn" or "wan", as enum ltp_profile.
uint32_t ParseProfile(const std::string &name, const std::string &text);
// In the order of enum ltp_profile. Inline: tables of other files are made of it.
inline const std::vector<const char *> kProfiles = {"unset", "dcn", "wan"};
// Digits.
uint32_t ParseNumber(const std::string &name, const std::string &text);
// "64" or "none", which is 0.
uint32_t ParseCount(const std::string &name, const std::string &text);
// "65536", "64K", "8M", "1G": powers of 1024.
uint32_t ParseBytes(const std::string &name, const std::string &text);
// "9899", or "off" for 0.
uint32_t ParsePort(const std::string &name, const std::string &text);

std::string FormatTimeUs(uint64_t us);
std::string FormatFractionPpm(uint32_t ppm);
// Bits a second, as iproute2 has it: "997.3Mbit". For reading only.
std::string FormatRate(uint64_t bytes_a_second);

}  // namespace ltpctl

#endif  // LTPCTL_UNITS_H_
