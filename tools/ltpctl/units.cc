// SPDX-License-Identifier: GPL-2.0
#include "units.h"

#include <linux/ltp.h>

#include <cstdio>
#include <cstring>
#include <limits>

#include "failure.h"

namespace ltpctl {
namespace {

struct Unit {
    const char *suffix;
    uint64_t factor;
};

const Unit kTimeUnits[] = {{"us", 1}, {"ms", 1000}, {"s", 1000000}, {"", 1}};
const Unit kShareUnits[] = {{"%", 10000}, {"", 1000000}};
const Unit kCountUnits[] = {{"", 1}};
const Unit kByteUnits[] = {{"K", 1ULL << 10}, {"M", 1ULL << 20}, {"G", 1ULL << 30}, {"", 1}};

// A decimal number times the unit behind it, exactly. False if it is no such thing, does not come
// out even, or is above `max`.
template <size_t N>
bool ParseScaled(const std::string &text, const Unit (&units)[N], uint64_t max, uint64_t *result) {
    size_t end = text.find_first_not_of("0123456789.");
    std::string number = text.substr(0, end);
    std::string suffix = end == std::string::npos ? "" : text.substr(end);
    const Unit *unit = nullptr;

    for (const Unit &candidate : units)
        if (suffix == candidate.suffix) unit = &candidate;
    size_t point = number.find('.');
    std::string whole = number.substr(0, point);
    std::string part = point == std::string::npos ? "" : number.substr(point + 1);
    if (!unit || (whole.empty() && part.empty()) || part.find('.') != std::string::npos)
        return false;

    unsigned __int128 value = 0;
    for (char digit : whole) {
        value = value * 10 + static_cast<unsigned>(digit - '0');
        if (value > max) return false;
    }
    value *= unit->factor;
    uint64_t scale = unit->factor;
    for (char digit : part) {
        unsigned units_of_digit = static_cast<unsigned>(digit - '0');
        if (units_of_digit && scale % 10) return false;
        scale /= 10;
        value += units_of_digit * scale;
        if (units_of_digit && !scale) return false;
    }
    if (value > max) return false;
    *result = static_cast<uint64_t>(value);
    return true;
}

std::string Quoted(const std::string &name, const std::string &text) {
    return name + ": \"" + text + "\" is not ";
}

// value / 10^digits without trailing zeros.
std::string Decimal(uint64_t value, int digits) {
    uint64_t scale = 1;
    for (int i = 0; i < digits; i++) scale *= 10;
    std::string text = std::to_string(value / scale);
    if (value % scale) {
        std::string part = std::to_string(value % scale);
        part.insert(0, static_cast<size_t>(digits) - part.size(), '0');
        part.erase(part.find_last_not_of('0') + 1);
        text += "." + part;
    }
    return text;
}

}  // namespace

uint64_t ParseTimeUs(const std::string &name, const std::string &text) {
    uint64_t us;
    if (text == "none") return 0;
    if (!ParseScaled(text, kTimeUnits, std::numeric_limits<uint64_t>::max(), &us))
        throw UsageError(Quoted(name, text) +
                         "a time: write 20ms, 1.5s, 300us (the default unit) or none");
    return us;
}

uint64_t ParseThresholdUs(const std::string &name, const std::string &text) {
    uint64_t us;
    if (text == "none") return 0;
    if (text == "adaptive") return LTP_TIME_ADAPTIVE;
    if (!ParseScaled(text, kTimeUnits, std::numeric_limits<uint64_t>::max() - 1, &us))
        throw UsageError(Quoted(name, text) +
                         "a time: write 20ms, 1.5s, 300us (the default unit), none or adaptive");
    return us;
}

uint64_t ParseSlackUs(const std::string &name, const std::string &text) {
    uint64_t us;
    if (text == "profile") return LTP_TIME_ADAPTIVE;
    if (!ParseScaled(text, kTimeUnits, std::numeric_limits<uint64_t>::max() - 1, &us))
        throw UsageError(Quoted(name, text) +
                         "a time: write 20ms, 1.5s, 300us (the default unit) or profile");
    return us;
}

uint32_t ParseTimeMs(const std::string &name, const std::string &text) {
    uint64_t us = ParseTimeUs(name, text);
    if (us % 1000 || us / 1000 > std::numeric_limits<uint32_t>::max())
        throw UsageError(Quoted(name, text) + "a time in whole milliseconds");
    return static_cast<uint32_t>(us / 1000);
}

uint32_t ParseFractionPpm(const std::string &name, const std::string &text) {
    uint64_t ppm;
    if (!ParseScaled(text, kShareUnits, std::numeric_limits<uint32_t>::max(), &ppm))
        throw UsageError(Quoted(name, text) +
                         "a share with at most six decimals: write 0.9 or 90%");
    return static_cast<uint32_t>(ppm);
}

static_assert(__LTP_PROFILES == 3, "name the new profile here");

uint32_t ParseProfile(const std::string &name, const std::string &text) {
    for (uint32_t i = LTP_PROFILE_DCN; i < kProfiles.size(); i++)
        if (text == kProfiles[i]) return i;
    throw UsageError(Quoted(name, text) + "a profile: write dcn or wan");
}

uint32_t ParseCount(const std::string &name, const std::string &text) {
    uint64_t count;
    if (text == "none") return 0;
    if (!ParseScaled(text, kCountUnits, std::numeric_limits<uint32_t>::max(), &count))
        throw UsageError(Quoted(name, text) + "a number: write 64 or none");
    return static_cast<uint32_t>(count);
}

uint32_t ParseNumber(const std::string &name, const std::string &text) {
    uint64_t number;
    if (!ParseScaled(text, kCountUnits, std::numeric_limits<uint32_t>::max(), &number))
        throw UsageError(Quoted(name, text) + "a number");
    return static_cast<uint32_t>(number);
}

uint32_t ParseBytes(const std::string &name, const std::string &text) {
    uint64_t bytes;
    if (!ParseScaled(text, kByteUnits, std::numeric_limits<uint32_t>::max(), &bytes))
        throw UsageError(Quoted(name, text) + "a size: write 65536, 64K, 8M or 1G");
    return static_cast<uint32_t>(bytes);
}

uint32_t ParsePort(const std::string &name, const std::string &text) {
    uint64_t port;
    if (text == "off") return 0;
    if (!ParseScaled(text, kCountUnits, std::numeric_limits<uint32_t>::max(), &port))
        throw UsageError(Quoted(name, text) + "a UDP port: write 9899 or off");
    return static_cast<uint32_t>(port);
}

std::string FormatTimeUs(uint64_t us) {
    if (us >= 1000000) return Decimal(us, 6) + "s";
    if (us >= 1000) return Decimal(us, 3) + "ms";
    return Decimal(us, 0) + "us";
}

std::string FormatFractionPpm(uint32_t ppm) { return Decimal(ppm, 6); }

std::string FormatRate(uint64_t bytes_a_second) {
    static const char *const kPrefixes[] = {"bit", "Kbit", "Mbit", "Gbit", "Tbit"};
    double rate = static_cast<double>(bytes_a_second) * 8;
    size_t prefix = 0;
    while (rate >= 1000 && prefix + 1 < sizeof(kPrefixes) / sizeof(*kPrefixes)) {
        rate /= 1000;
        prefix++;
    }
    char text[32];
    snprintf(text, sizeof(text), "%.4g%s", rate, kPrefixes[prefix]);
    return text;
}

}  // namespace ltpctl
