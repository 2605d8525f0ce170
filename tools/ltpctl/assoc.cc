// SPDX-License-Identifier: GPL-2.0
// Associations.
#include <linux/ltp.h>
#include <linux/ltp_netlink.h>

#include "commands.h"
#include "fields.h"

namespace ltpctl {
namespace {

// Numbers and order of enum ltp_state.
const std::vector<const char *> kStates = {"closed",      "listen",      "init-sent",
                                           "cookie-sent", "established", "closing"};

const std::vector<Field> kFields = {
    Endpoints(),
    {LTP_A_ASSOC_STATE, Kind::kEnum, "state", "state", false, kStates},
    {LTP_A_ASSOC_CC, Kind::kText, "cc", "cc"},
    {LTP_A_ASSOC_ENCAP_PORT, Kind::kU32, "encap_port", "encap_port"},
    {LTP_A_ASSOC_COOKIE, Kind::kU64, "cookie", "cookie", true},
    NewLine(),
    {LTP_A_ASSOC_SRTT_US, Kind::kTimeU32, "srtt_us", "srtt"},
    {LTP_A_ASSOC_RTTVAR_US, Kind::kTimeU32, "rttvar_us", "rttvar"},
    {LTP_A_ASSOC_RTPROP_US, Kind::kTimeU32, "rtprop_us", "rtprop"},
    {LTP_A_ASSOC_BTLBW, Kind::kRate, "btlbw", "btlbw"},
    {LTP_A_ASSOC_PACING_RATE, Kind::kRate, "pacing_rate", "pacing"},
    {LTP_A_ASSOC_CWND, Kind::kU32, "cwnd", "cwnd"},
    {LTP_A_ASSOC_IN_FLIGHT, Kind::kU32, "in_flight", "in_flight"},
    {LTP_A_ASSOC_PEER_WINDOW, Kind::kU32, "peer_window", "peer_window"},
    {LTP_A_ASSOC_SEG_SIZE, Kind::kU32, "seg_size", "seg_size"},
    NewLine(),
    {LTP_A_ASSOC_FLOWS_OUT, Kind::kU32, "flows_out", "flows_out"},
    {LTP_A_ASSOC_FLOWS_IN, Kind::kU32, "flows_in", "flows_in"},
    {LTP_A_ASSOC_RETRANSMITTED, Kind::kU32, "retransmitted", "retransmitted"},
    {LTP_A_ASSOC_LOST, Kind::kU32, "lost", "lost"},
    {LTP_A_ASSOC_SPURIOUS, Kind::kU32, "spurious", "spurious", true},
    {LTP_A_ASSOC_PROBES, Kind::kU32, "probes", "probes", true},
    {LTP_A_ASSOC_SEGMENTS_OUT, Kind::kU32, "segments_out", "segments_out", true},
    {LTP_A_ASSOC_SEGMENTS_IN, Kind::kU32, "segments_in", "segments_in", true},
    {LTP_A_ASSOC_BYTES_ACKED, Kind::kU64, "bytes_acked", "bytes_acked", true},
    {LTP_A_ASSOC_BYTES_RECEIVED, Kind::kU64, "bytes_received", "bytes_received", true},
};

void Show(const Format &format, const Arguments &arguments) {
    RefuseArguments(arguments);
    PrintList(format, OpenLtp().Dump(LTP_CMD_ASSOC_GET), kFields);
}

}  // namespace

const Object kAssoc = {
    "assoc",
    "Usage: ltpctl [ -s ] assoc show\n",
    {{"show", Show}},
};

}  // namespace ltpctl
