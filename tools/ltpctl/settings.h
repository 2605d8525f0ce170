// SPDX-License-Identifier: GPL-2.0
// Lines of keys and values, put into requests.
#ifndef LTPCTL_SETTINGS_H_
#define LTPCTL_SETTINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "commands.h"
#include "genl.h"

namespace ltpctl {

struct Setting {
    const char *key;
    void (*put)(Request *request, const char *key, const std::string &value);
};

template <uint16_t type, uint32_t (*parse)(const std::string &, const std::string &)>
void PutU32(Request *request, const char *key, const std::string &value) {
    request->PutU32(type, key, parse(key, value));
}

template <uint16_t type, uint64_t (*parse)(const std::string &, const std::string &)>
void PutTime(Request *request, const char *key, const std::string &value) {
    request->PutU64(type, key, parse(key, value));
}

template <uint16_t type>
void PutName(Request *request, const char *key, const std::string &value) {
    request->PutString(type, key, value);
}

// Puts a "key value ..." line into a request. `verb` begins the errors, as does the hint what to
// write if there is nothing.
void PutSettings(Request *request, const std::vector<Setting> &settings, const Arguments &arguments,
                 const std::string &verb, const std::string &hint);

}  // namespace ltpctl

#endif  // LTPCTL_SETTINGS_H_
