// SPDX-License-Identifier: GPL-2.0
#include "fields.h"

#include <arpa/inet.h>
#include <linux/ltp_netlink.h>
#include <net/if.h>

namespace ltpctl {
namespace {

// What the endpoints are made of has the same numbers in both sets, one after the other.
constexpr uint16_t kFirstEndpoint = LTP_A_FLOW_LOCAL_PORT;
constexpr uint16_t kLastEndpoint = LTP_A_FLOW_IFINDEX;
static_assert(static_cast<int>(LTP_A_ASSOC_LOCAL_PORT) == kFirstEndpoint &&
              static_cast<int>(LTP_A_ASSOC_IFINDEX) == kLastEndpoint);

void PrintEndpoint(Printer &printer, const Message &message, const char *prefix, uint16_t ipv4,
                   uint16_t ipv6, uint16_t port) {
    auto number = As<uint16_t>(message.Find(port));
    auto addr4 = As<in_addr>(message.Find(ipv4));
    auto addr6 = As<in6_addr>(message.Find(ipv6));
    char text[INET6_ADDRSTRLEN] = "?";

    if (!number || (!addr4 && !addr6)) return;
    if (addr4)
        inet_ntop(AF_INET, &*addr4, text, sizeof(text));
    else
        inet_ntop(AF_INET6, &*addr6, text, sizeof(text));
    printer.Endpoint(prefix, text, ntohs(*number));
}

void PrintRaw(Printer &printer, const Message::Attribute &attribute) {
    static const char kDigits[] = "0123456789abcdef";
    std::string hex = "0x";
    for (unsigned char c : attribute.payload) {
        hex += kDigits[c >> 4];
        hex += kDigits[c & 15];
    }
    std::string key = "attr_" + std::to_string(attribute.type);
    printer.Text(key.c_str(), key.c_str(), hex);
}

bool PrintEnum(Printer &printer, const Field &field, std::optional<uint32_t> value) {
    if (value)
        printer.Text(field.key, field.label,
                     *value < field.names.size() ? field.names[*value] : std::to_string(*value));
    return value.has_value();
}

bool PrintPort(Printer &printer, const Field &field, std::optional<uint16_t> value) {
    if (value) printer.Number(field.key, field.label, ntohs(*value));
    return value.has_value();
}

void PrintPrefix(Printer &printer, const Field &field, const Message &message) {
    auto addr4 = As<in_addr>(message.Find(LTP_A_RULE_PEER_IPV4));
    auto addr6 = As<in6_addr>(message.Find(LTP_A_RULE_PEER_IPV6));
    auto length = As<uint32_t>(message.Find(LTP_A_RULE_PREFIX_LEN));
    char text[INET6_ADDRSTRLEN] = "?";

    if (!length || (!addr4 && !addr6)) return;
    if (addr4)
        inet_ntop(AF_INET, &*addr4, text, sizeof(text));
    else
        inet_ntop(AF_INET6, &*addr6, text, sizeof(text));
    printer.Text(field.key, field.label, std::string(text) + "/" + std::to_string(*length));
}

// Prints the attribute as a T. False if it has not the size of one.
template <typename T, typename Method>
bool PrintAs(Printer &printer, const Field &field, const Message::Attribute &attribute,
             Method method) {
    std::optional<T> value = As<T>(&attribute);
    if (value) (printer.*method)(field.key, field.label, *value);
    return value.has_value();
}

// False if the attribute has not the size that its kind wants.
bool PrintField(Printer &printer, const Field &field, const Message::Attribute &attribute) {
    switch (field.kind) {
        case Kind::kU32:
            return PrintAs<uint32_t>(printer, field, attribute, &Printer::Number);
        case Kind::kU64:
            return PrintAs<uint64_t>(printer, field, attribute, &Printer::Number);
        case Kind::kTimeU32:
            return PrintAs<uint32_t>(printer, field, attribute, &Printer::TimeUs);
        case Kind::kTimeU64:
            return PrintAs<uint64_t>(printer, field, attribute, &Printer::TimeUs);
        case Kind::kMillisU32:
            return PrintAs<uint32_t>(printer, field, attribute, &Printer::TimeMs);
        case Kind::kThreshold:
            return PrintAs<uint64_t>(printer, field, attribute, &Printer::ThresholdUs);
        case Kind::kSlack:
            return PrintAs<uint64_t>(printer, field, attribute, &Printer::SlackUs);
        case Kind::kCount:
            return PrintAs<uint32_t>(printer, field, attribute, &Printer::Count);
        case Kind::kFraction:
            return PrintAs<uint32_t>(printer, field, attribute, &Printer::FractionPpm);
        case Kind::kRate:
            return PrintAs<uint64_t>(printer, field, attribute, &Printer::Rate);
        case Kind::kEnum:
            return PrintEnum(printer, field, As<uint32_t>(&attribute));
        case Kind::kText:
            printer.Text(field.key, field.label, attribute.payload.c_str());
            return true;
        case Kind::kFlag:
            if (attribute.payload.empty()) printer.Flag(field.key, field.label, true);
            return attribute.payload.empty();
        case Kind::kPort:
            return PrintPort(printer, field, As<uint16_t>(&attribute));
        case Kind::kPrefix:
        case Kind::kEndpoints:
        case Kind::kNewLine:
            break;
    }
    return false;
}

void PrintEndpoints(Printer &printer, const Message &message) {
    PrintEndpoint(printer, message, "local", LTP_A_FLOW_LOCAL_IPV4, LTP_A_FLOW_LOCAL_IPV6,
                  LTP_A_FLOW_LOCAL_PORT);
    PrintEndpoint(printer, message, "peer", LTP_A_FLOW_PEER_IPV4, LTP_A_FLOW_PEER_IPV6,
                  LTP_A_FLOW_PEER_PORT);
    auto ifindex = As<uint32_t>(message.Find(LTP_A_FLOW_IFINDEX));
    char name[IF_NAMESIZE];
    if (ifindex)
        printer.Text("dev", "dev",
                     if_indextoname(*ifindex, name) ? name : "if" + std::to_string(*ifindex));
}

bool Knows(const std::vector<Field> &fields, uint16_t type) {
    for (const Field &field : fields) {
        if (field.type == type) return true;
        if (field.kind == Kind::kPrefix &&
            (type == LTP_A_RULE_PEER_IPV4 || type == LTP_A_RULE_PEER_IPV6))
            return true;
        if (field.kind == Kind::kEndpoints && type >= kFirstEndpoint && type <= kLastEndpoint)
            return true;
    }
    return false;
}

}  // namespace

void PrintFields(Printer &printer, const Message &message, const std::vector<Field> &fields) {
    std::vector<const Message::Attribute *> unprinted;
    for (const Field &field : fields) {
        if (field.detail && !printer.details()) continue;
        if (field.kind == Kind::kNewLine) {
            printer.NewLine();
        } else if (field.kind == Kind::kEndpoints) {
            PrintEndpoints(printer, message);
        } else if (field.kind == Kind::kPrefix) {
            PrintPrefix(printer, field, message);
        } else if (const Message::Attribute *attribute = message.Find(field.type)) {
            if (!PrintField(printer, field, *attribute)) unprinted.push_back(attribute);
        } else if (field.kind == Kind::kFlag) {
            printer.Flag(field.key, field.label, false);
        }
    }
    for (const Message::Attribute &attribute : message.attributes())
        if (!Knows(fields, attribute.type)) unprinted.push_back(&attribute);
    for (const Message::Attribute *attribute : unprinted) PrintRaw(printer, *attribute);
}

void PrintList(const Format &format, const std::vector<Message> &messages,
               const std::vector<Field> &fields) {
    Printer printer(format);
    printer.BeginList();
    for (const Message &message : messages) {
        printer.BeginItem();
        PrintFields(printer, message, fields);
        printer.EndItem();
    }
    printer.EndList();
}

}  // namespace ltpctl
