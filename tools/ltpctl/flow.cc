// SPDX-License-Identifier: GPL-2.0
// Flows.
#include <linux/ltp.h>
#include <linux/ltp_netlink.h>

#include "commands.h"
#include "fields.h"

namespace ltpctl {
namespace {

// Numbers and order of enum ltp_direction and enum ltp_close_reason.
const std::vector<const char *> kDirections = {"in", "out"};
const std::vector<const char *> kReasons = {"open",     "complete", "fraction",
                                            "deadline", "gave-up",  "lost"};
static_assert(__LTP_CLOSE_REASONS == 6, "name the new close reason here");

const std::vector<Field> kFields = {
    {LTP_A_FLOW_FLOW, Kind::kU32, "flow", "flow"},
    {LTP_A_FLOW_DIRECTION, Kind::kEnum, "direction", nullptr, false, kDirections},
    Endpoints(),
    {LTP_A_FLOW_TAG, Kind::kU64, "tag", "tag"},
    {LTP_A_FLOW_REASON, Kind::kEnum, "reason", "reason", false, kReasons},
    {LTP_A_FLOW_AGE_US, Kind::kTimeU64, "age_us", "age"},
    {LTP_A_FLOW_COOKIE, Kind::kU64, "cookie", "cookie", true},
    NewLine(),
    {LTP_A_FLOW_LENGTH, Kind::kU32, "length", "length"},
    {LTP_A_FLOW_SEG_SIZE, Kind::kU32, "seg_size", "seg_size"},
    {LTP_A_FLOW_SEGMENTS, Kind::kU32, "segments", "segments"},
    {LTP_A_FLOW_ARRIVED, Kind::kU32, "arrived", "arrived"},
    {LTP_A_FLOW_CRITICAL, Kind::kU32, "critical", "critical"},
    {LTP_A_FLOW_CRITICAL_ARRIVED, Kind::kU32, "critical_arrived", "critical_arrived"},
    {LTP_A_FLOW_TOLERANT, Kind::kFlag, "tolerant", "tolerant"},
    {LTP_A_FLOW_FRACTION_PPM, Kind::kFraction, "fraction", "fraction"},
    {LTP_A_FLOW_LT_US, Kind::kThreshold, "lt_us", "lt"},
    {LTP_A_FLOW_DEADLINE_US, Kind::kThreshold, "deadline_us", "deadline"},
    {LTP_A_FLOW_CALIBRATING, Kind::kFlag, "calibrating", "calibrating"},
};

void Show(const Format &format, const Arguments &arguments) {
    RefuseArguments(arguments);
    PrintList(format, OpenLtp().Dump(LTP_CMD_FLOW_GET), kFields);
}

}  // namespace

const Object kFlow = {
    "flow",
    "Usage: ltpctl [ -s ] flow show\n",
    {{"show", Show}},
};

}  // namespace ltpctl
