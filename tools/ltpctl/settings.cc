// SPDX-License-Identifier: GPL-2.0
#include "settings.h"

#include <set>

#include "failure.h"

namespace ltpctl {
namespace {

const Setting &FindSetting(const std::vector<Setting> &settings, const std::string &key,
                           const std::string &verb) {
    for (const Setting &setting : settings)
        if (key == setting.key) return setting;
    throw UsageError(verb + ": there is no \"" + key + "\"");
}

}  // namespace

void PutSettings(Request *request, const std::vector<Setting> &settings, const Arguments &arguments,
                 const std::string &verb, const std::string &hint) {
    std::set<std::string> seen;

    if (arguments.empty()) throw UsageError(verb + ": " + hint);
    for (size_t i = 0; i < arguments.size(); i += 2) {
        const std::string &key = arguments[i];
        const Setting &setting = FindSetting(settings, key, verb);
        if (i + 1 == arguments.size()) throw UsageError(verb + ": " + key + " lacks its value");
        if (!seen.insert(key).second) throw UsageError(verb + ": " + key + " is given twice");
        setting.put(request, setting.key, arguments[i + 1]);
    }
}

}  // namespace ltpctl
