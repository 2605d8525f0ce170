// SPDX-License-Identifier: GPL-2.0
// The objects of the command line and what can be done with them.
#ifndef LTPCTL_COMMANDS_H_
#define LTPCTL_COMMANDS_H_

#include <string>
#include <vector>

#include "genl.h"
#include "printer.h"

namespace ltpctl {

using Arguments = std::vector<std::string>;

struct Command {
    const char *name;
    // Gets the words behind the command's name; throws Failure.
    void (*run)(const Format &format, const Arguments &arguments);
};

struct Object {
    const char *name;
    const char *usage;
    // The first is what an object without a command means.
    std::vector<Command> commands;
};

extern const Object kConfig;
extern const Object kProfile;
extern const Object kRule;
extern const Object kAssoc;
extern const Object kFlow;
extern const Object kStat;

// A connection to the module; to be made when the command line is known to be right.
Genl OpenLtp();

// For commands that take no words.
void RefuseArguments(const Arguments &arguments);

}  // namespace ltpctl

#endif  // LTPCTL_COMMANDS_H_
