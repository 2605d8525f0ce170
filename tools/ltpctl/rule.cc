// SPDX-License-Identifier: GPL-2.0
// Rules: what is set for some peers.
#include <arpa/inet.h>
#include <linux/ltp_netlink.h>

#include "commands.h"
#include "failure.h"
#include "fields.h"
#include "settings.h"
#include "units.h"

namespace ltpctl {
namespace {

// "10.0.0.0/8", "2001:db8::/32", or an address alone.
void PutPeer(Request *request, const char *key, const std::string &value) {
    size_t slash = value.find('/');
    std::string address = value.substr(0, slash);
    in_addr v4;
    in6_addr v6;

    if (inet_pton(AF_INET, address.c_str(), &v4) == 1)
        request->PutRaw(LTP_A_RULE_PEER_IPV4, key, &v4, sizeof(v4));
    else if (inet_pton(AF_INET6, address.c_str(), &v6) == 1)
        request->PutRaw(LTP_A_RULE_PEER_IPV6, key, &v6, sizeof(v6));
    else
        throw UsageError(std::string(key) + ": \"" + value +
                         "\" is not an address or a prefix: write 10.1.0.0/16 or 2001:db8::1");
    if (slash != std::string::npos)
        request->PutU32(LTP_A_RULE_PREFIX_LEN, key, ParseNumber(key, value.substr(slash + 1)));
}

template <uint16_t type>
void PutPort(Request *request, const char *key, const std::string &value) {
    uint32_t port = ParseNumber(key, value);
    if (port > 65535) throw UsageError(std::string(key) + ": \"" + value + "\" is not a port");
    uint16_t wire = htons(static_cast<uint16_t>(port));
    request->PutRaw(type, key, &wire, sizeof(wire));
}

const std::vector<Setting> kWhom = {
    {"peer", PutPeer},
    {"port", PutPort<LTP_A_RULE_LOCAL_PORT>},
    {"peer_port", PutPort<LTP_A_RULE_PEER_PORT>},
};

std::vector<Setting> WhomAndWhat() {
    std::vector<Setting> all = kWhom;
    all.insert(all.end(), {
                              {"fraction", PutU32<LTP_A_RULE_FRACTION_PPM, ParseFractionPpm>},
                              {"lt", PutTime<LTP_A_RULE_LT_US, ParseThresholdUs>},
                              {"deadline", PutTime<LTP_A_RULE_DEADLINE_US, ParseThresholdUs>},
                              {"profile", PutU32<LTP_A_RULE_PROFILE, ParseProfile>},
                              {"slack", PutTime<LTP_A_RULE_SLACK_US, ParseTimeUs>},
                              {"epoch", PutU32<LTP_A_RULE_EPOCH, ParseCount>},
                              {"cc", PutName<LTP_A_RULE_CC>},
                          });
    return all;
}

// The labels are the keys above: what is shown can be added.
const std::vector<Field> kFields = {
    {LTP_A_RULE_PREFIX_LEN, Kind::kPrefix, "peer", "peer"},
    {LTP_A_RULE_LOCAL_PORT, Kind::kPort, "port", "port"},
    {LTP_A_RULE_PEER_PORT, Kind::kPort, "peer_port", "peer_port"},
    {LTP_A_RULE_FRACTION_PPM, Kind::kFraction, "fraction", "fraction"},
    {LTP_A_RULE_LT_US, Kind::kThreshold, "lt_us", "lt"},
    {LTP_A_RULE_DEADLINE_US, Kind::kThreshold, "deadline_us", "deadline"},
    {LTP_A_RULE_PROFILE, Kind::kEnum, "profile", "profile", false, kProfiles},
    {LTP_A_RULE_SLACK_US, Kind::kTimeU64, "slack_us", "slack"},
    {LTP_A_RULE_EPOCH, Kind::kCount, "epoch", "epoch"},
    {LTP_A_RULE_CC, Kind::kText, "cc", "cc"},
};

void Show(const Format &format, const Arguments &arguments) {
    RefuseArguments(arguments);
    PrintList(format, OpenLtp().Dump(LTP_CMD_RULE_GET), kFields);
}

void Change(uint8_t command, const std::vector<Setting> &settings, const Arguments &arguments,
            const std::string &verb) {
    const char hint[] = "for whom? Name a peer or a port";
    // Parse before the module is asked for: a wrong line is wrong on any machine.
    Request dry_run(0, command, LTP_FAMILY_VERSION, 0);
    PutSettings(&dry_run, settings, arguments, verb, hint);

    Genl genl = OpenLtp();
    Request request = genl.Make(command);
    PutSettings(&request, settings, arguments, verb, hint);
    genl.Do(std::move(request));
}

void Add(const Format &, const Arguments &arguments) {
    Change(LTP_CMD_RULE_ADD, WhomAndWhat(), arguments, "rule add");
}

void Replace(const Format &, const Arguments &arguments) {
    Change(LTP_CMD_RULE_SET, WhomAndWhat(), arguments, "rule replace");
}

void Del(const Format &, const Arguments &arguments) {
    Change(LTP_CMD_RULE_DEL, kWhom, arguments, "rule del");
}

void Flush(const Format &, const Arguments &arguments) {
    RefuseArguments(arguments);
    Genl genl = OpenLtp();
    genl.Do(genl.Make(LTP_CMD_RULE_FLUSH));
}

}  // namespace

const Object kRule = {
    "rule",
    "Usage: ltpctl rule [ show ]\n"
    "       ltpctl rule { add | replace } WHOM ... KEY VALUE ...\n"
    "       ltpctl rule del WHOM ...\n"
    "       ltpctl rule flush\n"
    "where  WHOM := { peer PREFIX     address of the peer\n"
    "               | port PORT       of this host\n"
    "               | peer_port PORT }\n"
    "       PREFIX := 10.1.0.0/16 | 10.1.2.3 | 2001:db8::/32\n"
    "       KEY VALUE as of ltpctl set: fraction, lt, deadline, profile, slack, epoch, cc\n",
    {{"show", Show}, {"add", Add}, {"replace", Replace}, {"del", Del}, {"flush", Flush}},
};

}  // namespace ltpctl
