// SPDX-License-Identifier: GPL-2.0
// Counters.
#include <linux/ltp_netlink.h>

#include <algorithm>

#include "commands.h"
#include "failure.h"
#include "fields.h"

namespace ltpctl {
namespace {

const std::vector<Field> kFields = {
    {LTP_A_STAT_NAME, Kind::kText, "name", nullptr},
    {LTP_A_STAT_VALUE, Kind::kU64, "value", nullptr},
    {LTP_A_STAT_DOC, Kind::kText, "doc", nullptr, true},
};

void Show(const Format &format, const Arguments &arguments) {
    RefuseArguments(arguments);
    std::vector<Message> stats = OpenLtp().Dump(LTP_CMD_STAT_GET);

    auto is_zero = [](const Message &stat) {
        return As<uint64_t>(stat.Find(LTP_A_STAT_VALUE)) == 0;
    };
    if (!Printer(format).details())
        stats.erase(std::remove_if(stats.begin(), stats.end(), is_zero), stats.end());
    PrintList(format, stats, kFields);
}

}  // namespace

const Object kStat = {
    "stat",
    "Usage: ltpctl [ -s ] stat show\n"
    "       with -s also the counters that are 0, and what each counts\n",
    {{"show", Show}},
};

}  // namespace ltpctl
