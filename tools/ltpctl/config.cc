// SPDX-License-Identifier: GPL-2.0
// Configuration of a network namespace.
#include <linux/ltp.h>
#include <linux/ltp_netlink.h>

#include "commands.h"
#include "failure.h"
#include "fields.h"
#include "settings.h"
#include "units.h"

namespace ltpctl {
namespace {

const std::vector<Setting> kSettings = {
    {"fraction", PutU32<LTP_A_CONFIG_FRACTION_PPM, ParseFractionPpm>},
    {"lt", PutTime<LTP_A_CONFIG_LT_US, ParseThresholdUs>},
    {"deadline", PutTime<LTP_A_CONFIG_DEADLINE_US, ParseThresholdUs>},
    {"profile", PutU32<LTP_A_CONFIG_PROFILE, ParseProfile>},
    {"slack", PutTime<LTP_A_CONFIG_SLACK_US, ParseSlackUs>},
    {"epoch", PutU32<LTP_A_CONFIG_EPOCH, ParseCount>},
    {"cc", PutName<LTP_A_CONFIG_CC>},
    {"rcvbuf", PutU32<LTP_A_CONFIG_RCVBUF, ParseBytes>},
    {"sndbuf", PutU32<LTP_A_CONFIG_SNDBUF, ParseBytes>},
    {"dead", PutU32<LTP_A_CONFIG_DEAD_MS, ParseTimeMs>},
    {"encap_port", PutU32<LTP_A_CONFIG_ENCAP_PORT, ParsePort>},
    {"encap_peer", PutU32<LTP_A_CONFIG_ENCAP_PEER, ParsePort>},
};

// The labels are the keys of kSettings: what is shown can be set.
const std::vector<Field> kFields = {
    {LTP_A_CONFIG_FRACTION_PPM, Kind::kFraction, "fraction", "fraction"},
    {LTP_A_CONFIG_LT_US, Kind::kThreshold, "lt_us", "lt"},
    {LTP_A_CONFIG_DEADLINE_US, Kind::kThreshold, "deadline_us", "deadline"},
    {LTP_A_CONFIG_PROFILE, Kind::kEnum, "profile", "profile", false, kProfiles},
    {LTP_A_CONFIG_SLACK_US, Kind::kSlack, "slack_us", "slack"},
    {LTP_A_CONFIG_EPOCH, Kind::kCount, "epoch", "epoch"},
    {LTP_A_CONFIG_CC, Kind::kText, "cc", "cc"},
    {LTP_A_CONFIG_RCVBUF, Kind::kU32, "rcvbuf", "rcvbuf"},
    {LTP_A_CONFIG_SNDBUF, Kind::kU32, "sndbuf", "sndbuf"},
    {LTP_A_CONFIG_DEAD_MS, Kind::kMillisU32, "dead_ms", "dead"},
    {LTP_A_CONFIG_ENCAP_PORT, Kind::kU32, "encap_port", "encap_port"},
    {LTP_A_CONFIG_ENCAP_PEER, Kind::kU32, "encap_peer", "encap_peer"},
};

void Show(const Format &format, const Arguments &arguments) {
    RefuseArguments(arguments);
    Genl genl = OpenLtp();
    Message config = genl.Get(genl.Make(LTP_CMD_CONFIG_GET));

    Printer printer(format);
    printer.BeginItem();
    PrintFields(printer, config, kFields);
    printer.EndItem();
}

const char kHint[] = "what? Name at least one key and its value";

void Set(const Format &, const Arguments &arguments) {
    // Parse before the module is asked for: a wrong line is wrong on any machine.
    Request dry_run(0, LTP_CMD_CONFIG_SET, LTP_FAMILY_VERSION, 0);
    PutSettings(&dry_run, kSettings, arguments, "set", kHint);

    Genl genl = OpenLtp();
    Request request = genl.Make(LTP_CMD_CONFIG_SET);
    PutSettings(&request, kSettings, arguments, "set", kHint);
    genl.Do(std::move(request));
}

void ShowProfile(const Format &format, const Arguments &arguments) {
    RefuseArguments(arguments);
    Genl genl = OpenLtp();
    Message config = genl.Get(genl.Make(LTP_CMD_CONFIG_GET));
    const Message::Attribute *profile = config.Find(LTP_A_CONFIG_PROFILE);
    auto value = As<uint32_t>(profile);

    if (!value) throw Failure(kExitRefused, "this module knows no profiles");
    Printer printer(format);
    printer.BeginItem();
    printer.Text("profile", nullptr,
                 *value < kProfiles.size() ? kProfiles[*value] : std::to_string(*value));
    printer.EndItem();
}

template <uint32_t profile>
void SetProfile(const Format &format, const Arguments &arguments) {
    RefuseArguments(arguments);
    Set(format, {"profile", kProfiles[profile]});
}

}  // namespace

const Object kProfile = {
    "profile",
    "Usage: ltpctl profile [ show | dcn | wan ]\n"
    "       short for ltpctl set profile\n",
    {{"show", ShowProfile},
     {"dcn", SetProfile<LTP_PROFILE_DCN>},
     {"wan", SetProfile<LTP_PROFILE_WAN>}},
};

const Object kConfig = {
    "config",
    "Usage: ltpctl [ config ] show\n"
    "       ltpctl [ config ] set KEY VALUE ...\n"
    "where  KEY VALUE := { fraction SHARE  enough of a tolerant flow's segments from lt on\n"
    "                    | lt TIME         from a flow's first packet: the LT threshold\n"
    "                    | deadline TIME   from which only critical segments count\n"
    "                    | profile PROFILE how patient an adaptive deadline is\n"
    "                    | slack TIME      from the group's largest lt to an adaptive deadline\n"
    "                    | epoch NUMBER    of flows after which adaptive thresholds change\n"
    "                    | cc NAME         congestion control of new associations\n"
    "                    | rcvbuf SIZE     SO_RCVBUF of new sockets\n"
    "                    | sndbuf SIZE     SO_SNDBUF of new sockets\n"
    "                    | dead TIME       without any answer: the association is dead\n"
    "                    | encap_port PORT LTP in UDP comes from and goes to this port here\n"
    "                    | encap_peer PORT } new associations go to this UDP port\n"
    "       SHARE := 0.9 | 90%\n"
    "       TIME := 300us | 20ms | 1.5s | none; a number alone counts microseconds;\n"
    "               of lt and deadline also adaptive, of slack also profile\n"
    "       PROFILE := dcn | wan\n"
    "       NUMBER := 64 | none\n"
    "       SIZE := 65536 | 64K | 8M | 1G\n"
    "       PORT := 9899 | off\n",
    {{"show", Show}, {"set", Set}},
};

}  // namespace ltpctl
