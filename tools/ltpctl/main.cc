// SPDX-License-Identifier: GPL-2.0
// ltpctl: looks at and sets what the LTP module does in a network namespace. See ltpctl(8).
#include <fcntl.h>
#include <getopt.h>
#include <linux/ltp_netlink.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "commands.h"
#include "failure.h"

namespace ltpctl {
namespace {

const char kUsage[] =
    "Usage: ltpctl [ OPTIONS ] OBJECT COMMAND [ KEY VALUE ... ]\n"
    "       ltpctl [ OPTIONS ] OBJECT help\n"
    "       ltpctl [ OPTIONS ] { show | set KEY VALUE ... }\n"
    "where  OBJECT := { config | profile | rule | assoc | flow | stat }\n"
    "       OPTIONS := { -j | --json           print JSON\n"
    "                  | -p | --pretty         with line breaks in it\n"
    "                  | -s | --statistics     print more\n"
    "                  | -n | --netns NETNS    work there: a name of ip-netns(8), or a path\n"
    "                  | -V | --version }\n"
    "       \"show\" and \"set\" without an object are those of config.\n";

const Object *const kObjects[] = {&kConfig, &kProfile, &kRule, &kAssoc, &kFlow, &kStat};

void EnterNetns(const std::string &name) {
    std::string path = name.find('/') == std::string::npos ? "/run/netns/" + name : name;
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    int error = 0;

    if (fd < 0 && errno == ENOENT)
        throw Failure(kExitRefused, "there is no network namespace \"" + name + "\"");
    if (fd < 0 || setns(fd, CLONE_NEWNET) < 0) error = errno;
    if (fd >= 0) close(fd);
    if (error)
        throw Failure(kExitRefused, "network namespace \"" + name + "\": " + strerror(error));
}

const Object *FindObject(const std::string &name) {
    for (const Object *object : kObjects)
        if (name == object->name) return object;
    return nullptr;
}

void RunObject(const Object &object, const Format &format, const Arguments &words) {
    if (words.empty()) {
        object.commands.front().run(format, {});
        return;
    }
    for (const Command &command : object.commands) {
        if (words[0] != command.name) continue;
        if (words.size() == 2 && words[1] == "help")
            fputs(object.usage, stdout);
        else
            command.run(format, Arguments(words.begin() + 1, words.end()));
        return;
    }
    if (words[0] != "help")
        throw UsageError(std::string(object.name) + ": there is no command \"" + words[0] +
                         "\", see ltpctl " + object.name + " help");
    fputs(object.usage, stdout);
}

void Run(int argc, char **argv) {
    Format format;
    std::string netns;
    int option;
    const ::option long_options[] = {
        {"json", no_argument, nullptr, 'j'},
        {"pretty", no_argument, nullptr, 'p'},
        {"statistics", no_argument, nullptr, 's'},
        {"netns", required_argument, nullptr, 'n'},
        {"version", no_argument, nullptr, 'V'},
        {"help", no_argument, nullptr, 'h'},
        {nullptr, 0, nullptr, 0},
    };

    // "+": options stand before the object.
    while ((option = getopt_long(argc, argv, "+:jpsn:Vh", long_options, nullptr)) != -1) {
        switch (option) {
            case 'j':
                format.json = true;
                break;
            case 'p':
                format.pretty = true;
                break;
            case 's':
                format.details = true;
                break;
            case 'n':
                netns = optarg;
                break;
            case 'V':
                printf("ltpctl %s, netlink family %s version %d\n", LTP_VERSION, LTP_FAMILY_NAME,
                       LTP_FAMILY_VERSION);
                return;
            case 'h':
                fputs(kUsage, stdout);
                return;
            case ':':
                throw UsageError(std::string(argv[optind - 1]) + " lacks its argument");
            default:
                throw UsageError("there is no option " +
                                 (optopt ? std::string("-") + static_cast<char>(optopt)
                                         : std::string(argv[optind - 1])) +
                                 ", see ltpctl help");
        }
    }
    Arguments words(argv + optind, argv + argc);
    if (words.empty()) {
        fputs(kUsage, stderr);
        throw UsageError("name an object");
    }
    if (words[0] == "help") {
        fputs(kUsage, stdout);
        return;
    }
    if (!netns.empty()) EnterNetns(netns);
    if (const Object *object = FindObject(words[0])) {
        words.erase(words.begin());
        RunObject(*object, format, words);
    } else if (words[0] == "show" || words[0] == "set") {
        RunObject(kConfig, format, words);
    } else {
        throw UsageError("there is no object \"" + words[0] + "\", see ltpctl help");
    }
}

}  // namespace

Genl OpenLtp() { return Genl(LTP_FAMILY_NAME, LTP_FAMILY_VERSION); }

void RefuseArguments(const Arguments &arguments) {
    if (!arguments.empty()) throw UsageError("\"" + arguments[0] + "\" is too much");
}

}  // namespace ltpctl

int main(int argc, char **argv) {
    try {
        ltpctl::Run(argc, argv);
        if (fflush(stdout) || ferror(stdout))
            throw ltpctl::Failure(ltpctl::kExitRefused,
                                  std::string("standard output: ") + strerror(errno));
        return ltpctl::kExitOk;
    } catch (const ltpctl::Failure &failure) {
        fflush(stdout);
        fprintf(stderr, "ltpctl: %s\n", failure.what());
        return failure.code();
    } catch (const std::exception &error) {
        fprintf(stderr, "ltpctl: %s\n", error.what());
        return ltpctl::kExitRefused;
    }
}
