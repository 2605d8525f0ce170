// SPDX-License-Identifier: GPL-2.0
// Every value is printed by one call, as text or as JSON.
#ifndef LTPCTL_PRINTER_H_
#define LTPCTL_PRINTER_H_

#include <cstdint>
#include <cstdio>
#include <string>

namespace ltpctl {

struct Format {
    bool json = false;     // -j
    bool pretty = false;   // -p
    bool details = false;  // -s
};

// In text a value is its label and itself, words are parted by spaces, and each item begins a
// line. In JSON it is a member of the innermost object; a list is an array of objects.
class Printer {
  public:
    explicit Printer(const Format &format, FILE *out = stdout) : format_(format), out_(out) {}

    bool json() const { return format_.json; }
    // Whether to print what a glance does not need. In JSON everything is always there.
    bool details() const { return format_.json || format_.details; }

    void BeginList();
    void EndList();
    void BeginItem();
    void EndItem();
    // Text goes on in a new, indented line; JSON does not care.
    void NewLine();

    // `label` may be nullptr: the value alone.
    void Number(const char *key, const char *label, uint64_t value);
    void Text(const char *key, const char *label, const std::string &value);
    // Text says the label if `value` is true, else nothing.
    void Flag(const char *key, const char *label, bool value);
    void TimeUs(const char *key, const char *label, uint64_t us);
    void TimeMs(const char *key, const char *label, uint32_t ms);
    // A threshold in time: 0 is "none" in text, LTP_TIME_ADAPTIVE is "adaptive" everywhere.
    void ThresholdUs(const char *key, const char *label, uint64_t us);
    // LTP_TIME_ADAPTIVE is "profile": that of the profile.
    void SlackUs(const char *key, const char *label, uint64_t us);
    // 0 is "none" in text.
    void Count(const char *key, const char *label, uint32_t count);
    void FractionPpm(const char *key, const char *label, uint32_t ppm);
    void Rate(const char *key, const char *label, uint64_t bytes_a_second);
    // "10.0.0.1:5000", "[fe80::1]:5000"; in JSON two members, of which `prefix` begins the keys.
    void Endpoint(const char *prefix, const std::string &address, uint16_t port);
    // A counter in a column of counters.
    void Column(const char *key, const std::string &value, int width);

  private:
    // A member whose JSON form is a literal (a number, true) or, with `quote`, a string.
    void Value(const std::string &key, const char *label, const std::string &json,
               const std::string &text, bool quote);
    void Word(const std::string &word);
    void Key(const std::string &key);
    void Separate();
    void Indent();

    const Format format_;
    FILE *const out_;
    int depth_ = 0;
    bool first_ = true;     // nothing yet in the innermost object or array
    bool in_line_ = false;  // text: something is in this line
};

// Characters that could disturb a terminal, as \xNN; what JSON cannot hold, as it wants it.
std::string PlainText(const std::string &value);
std::string JsonString(const std::string &value);

}  // namespace ltpctl

#endif  // LTPCTL_PRINTER_H_
