// SPDX-License-Identifier: GPL-2.0
// Tables that say how the attributes of a message are printed.
#ifndef LTPCTL_FIELDS_H_
#define LTPCTL_FIELDS_H_

#include <cstdint>
#include <vector>

#include "genl.h"
#include "printer.h"

namespace ltpctl {

enum class Kind {
    kU32,
    kU64,
    kTimeU32,    // microseconds
    kTimeU64,    // microseconds
    kMillisU32,  // milliseconds
    kThreshold,  // microseconds in 64 bits, 0 is none, all bits are adaptive
    kSlack,      // microseconds in 64 bits, all bits are the profile's
    kCount,      // 32 bits, 0 is none
    kFraction,   // millionths in 32 bits
    kRate,       // bytes a second in 64 bits
    kText,
    kFlag,
    kEnum,  // 32 bits, named by Field::names
    kPort,  // 16 bits, big-endian
    // The peer prefix of a rule: the type is that of its length, the address is beside it.
    kPrefix,
    // These are no attributes.
    kEndpoints,  // addresses, ports and interface of an association or flow
    kNewLine,    // text goes on in a new line
};

struct Field {
    uint16_t type;
    Kind kind;
    const char *key;    // in JSON
    const char *label;  // in text; nullptr: the value alone
    bool detail = false;
    std::vector<const char *> names = {};
};

inline Field Endpoints() { return {0, Kind::kEndpoints, "", ""}; }
inline Field NewLine(bool detail = false) { return {0, Kind::kNewLine, "", "", detail}; }

// Prints what of the message is in the table. An attribute that is missing (the module is older)
// is left out. One that the table does not know (the module is newer), or that has another size
// than the table thinks, is shown raw at the end.
void PrintFields(Printer &printer, const Message &message, const std::vector<Field> &fields);

// The same for each of a list of messages.
void PrintList(const Format &format, const std::vector<Message> &messages,
               const std::vector<Field> &fields);

}  // namespace ltpctl

#endif  // LTPCTL_FIELDS_H_
