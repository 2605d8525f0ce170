// SPDX-License-Identifier: GPL-2.0
#include "printer.h"

#include <linux/ltp.h>

#include "units.h"

namespace ltpctl {

std::string PlainText(const std::string &value) {
    std::string text;
    for (unsigned char c : value) {
        char escaped[8];
        if (c >= ' ' && c != 0x7f) {
            text += static_cast<char>(c);
            continue;
        }
        snprintf(escaped, sizeof(escaped), "\\x%02x", c);
        text += escaped;
    }
    return text;
}

std::string JsonString(const std::string &value) {
    std::string text = "\"";
    for (unsigned char c : value) {
        char escaped[8];
        if (c == '"' || c == '\\') {
            text += '\\';
            text += static_cast<char>(c);
        } else if (c >= ' ' && c < 0x7f) {
            text += static_cast<char>(c);
        } else {
            snprintf(escaped, sizeof(escaped), "\\u%04x", c);
            text += escaped;
        }
    }
    return text + "\"";
}

void Printer::Indent() {
    if (!format_.pretty) return;
    fputc('\n', out_);
    for (int i = 0; i < depth_; i++) fputs("    ", out_);
}

void Printer::Separate() {
    if (!first_) fputc(',', out_);
    first_ = false;
    if (depth_) Indent();
}

void Printer::BeginList() {
    if (!json()) return;
    Separate();
    fputc('[', out_);
    depth_++;
    first_ = true;
}

void Printer::EndList() {
    if (!json()) return;
    depth_--;
    if (!first_) Indent();
    first_ = false;
    fputc(']', out_);
    if (!depth_) fputc('\n', out_);
}

void Printer::BeginItem() {
    if (!json()) return;
    Separate();
    fputc('{', out_);
    depth_++;
    first_ = true;
}

void Printer::EndItem() {
    if (!json()) {
        fputc('\n', out_);
        in_line_ = false;
        return;
    }
    depth_--;
    if (!first_) Indent();
    first_ = false;
    fputc('}', out_);
    if (!depth_) fputc('\n', out_);
}

void Printer::NewLine() {
    if (json()) return;
    fputs("\n   ", out_);
    in_line_ = true;
}

void Printer::Word(const std::string &word) {
    if (in_line_) fputc(' ', out_);
    in_line_ = true;
    fputs(word.c_str(), out_);
}

void Printer::Key(const std::string &key) {
    Separate();
    fprintf(out_, "\"%s\":%s", key.c_str(), format_.pretty ? " " : "");
}

void Printer::Value(const std::string &key, const char *label, const std::string &json_form,
                    const std::string &text, bool quote) {
    if (json()) {
        Key(key);
        fputs(quote ? JsonString(json_form).c_str() : json_form.c_str(), out_);
        return;
    }
    if (label) Word(label);
    Word(PlainText(text));
}

void Printer::Number(const char *key, const char *label, uint64_t value) {
    std::string number = std::to_string(value);
    Value(key, label, number, number, false);
}

void Printer::Text(const char *key, const char *label, const std::string &value) {
    Value(key, label, value, value, true);
}

void Printer::Flag(const char *key, const char *label, bool value) {
    if (json() || value) Value(key, nullptr, value ? "true" : "false", label, false);
}

void Printer::TimeUs(const char *key, const char *label, uint64_t us) {
    Value(key, label, std::to_string(us), FormatTimeUs(us), false);
}

void Printer::TimeMs(const char *key, const char *label, uint32_t ms) {
    Value(key, label, std::to_string(ms), FormatTimeUs(ms * uint64_t{1000}), false);
}

void Printer::ThresholdUs(const char *key, const char *label, uint64_t us) {
    if (us == LTP_TIME_ADAPTIVE)
        Text(key, label, "adaptive");
    else
        Value(key, label, std::to_string(us), us ? FormatTimeUs(us) : "none", false);
}

void Printer::SlackUs(const char *key, const char *label, uint64_t us) {
    if (us == LTP_TIME_ADAPTIVE)
        Text(key, label, "profile");
    else
        TimeUs(key, label, us);
}

void Printer::Count(const char *key, const char *label, uint32_t count) {
    Value(key, label, std::to_string(count), count ? std::to_string(count) : "none", false);
}

void Printer::FractionPpm(const char *key, const char *label, uint32_t ppm) {
    Value(key, label, FormatFractionPpm(ppm), FormatFractionPpm(ppm), false);
}

void Printer::Rate(const char *key, const char *label, uint64_t bytes_a_second) {
    Value(key, label, std::to_string(bytes_a_second), FormatRate(bytes_a_second), false);
}

void Printer::Endpoint(const char *prefix, const std::string &address, uint16_t port) {
    std::string number = std::to_string(port);
    if (!json()) {
        bool colons = address.find(':') != std::string::npos;
        Word(prefix);
        Word((colons ? "[" + address + "]" : address) + ":" + number);
        return;
    }
    Value(std::string(prefix) + "_addr", nullptr, address, "", true);
    Value(std::string(prefix) + "_port", nullptr, number, "", false);
}

void Printer::Column(const char *key, const std::string &value, int width) {
    if (json()) {
        Value(key, nullptr, value, "", true);
        return;
    }
    fprintf(out_, "%-*s", width, PlainText(value).c_str());
    in_line_ = true;
}

}  // namespace ltpctl
