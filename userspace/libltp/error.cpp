// SPDX-License-Identifier: MIT
#include <linux/ltp.h>

#include <cerrno>
#include <cstring>
#include <ltp/error.hpp>

namespace ltp {

SizeMismatch::SizeMismatch(std::size_t message, std::size_t buffer, const std::string &sentence)
    : Error(EMSGSIZE, sentence), message_(message), buffer_(buffer) {}

namespace {

const char *verb(Operation op) {
    switch (op) {
        case Operation::socket:
            return "making an LTP socket";
        case Operation::resolve:
            return "looking up the address";
        case Operation::bind:
            return "binding to";
        case Operation::listen:
            return "listening on";
        case Operation::accept:
            return "accepting on";
        case Operation::connect:
            return "connecting to";
        case Operation::send:
            return "sending to";
        case Operation::receive:
            return "receiving from";
        case Operation::option:
            return "setting or reading an option of the socket to";
        case Operation::report:
            return "reading a report of the socket to";
    }
    return "using";
}

bool module_missing(Operation op, int error) {
    return op == Operation::socket && (error == EPROTONOSUPPORT || error == ESOCKTNOSUPPORT);
}

}  // namespace

std::string explain(Operation op, int error, const std::string &who) {
    const std::string peer = who.empty() ? "the peer" : who;

    if (module_missing(op, error))
        return "the LTP module is not loaded: run 'modprobe ltp' (or 'insmod ltp.ko') as root";
    switch (error) {
        case EAFNOSUPPORT:
            return "this machine cannot use the address family of " + peer +
                   " with LTP: is IPv6 switched on?";
        case ECONNREFUSED:
            return "nobody listens on " + peer +
                   ": start the server first, or check address and port";
        case ECONNRESET:
            if (op == Operation::send || op == Operation::receive)
                return peer + " died in the middle of a message: start it again and connect anew";
            return peer + " has ended the connection: connect anew";
        case ETIMEDOUT:
            if (op == Operation::connect)
                return peer +
                       " did not answer: check the address, and that IP protocol 253 passes every "
                       "firewall "
                       "on the way";
            return peer +
                   " does not answer any more: check that it runs and that the network is up, then "
                   "connect "
                   "anew";
        case EPIPE:
            return "the connection to " + peer + " is closed: connect anew to send more";
        case ENOTCONN:
            return "this socket has no peer: connect it first";
        case EHOSTUNREACH:
        case ENETUNREACH:
            return "there is no route to " + peer + ": check the address and the routing table";
        case EADDRINUSE:
            return "the port of " + peer +
                   " is in use: choose another, or end the program that has it";
        case EADDRNOTAVAIL:
            return peer +
                   " is not an address of this host: choose one that 'ip address' shows, or "
                   "0.0.0.0";
        case EMSGSIZE:
            return "the message to " + peer + " is too long: a message has at most " +
                   std::to_string(LTP_MESSAGE_MAX) + " bytes";
        case EACCES:
        case EPERM:
            return std::string(verb(op)) + " " + peer +
                   " is not permitted: run as root, or use a port above 1023";
        case EMFILE:
        case ENFILE:
            return "too many files are open: close some, or raise the limit with 'ulimit -n'";
        case ENOBUFS:
        case ENOMEM:
            return "the kernel has no memory left for " + std::string(verb(op)) + " " + peer +
                   ": lower SO_SNDBUF or SO_RCVBUF, or free memory";
        case ENOPROTOOPT:
            return "the loaded LTP module does not know this option: load the module that belongs "
                   "to this "
                   "library";
        case EBADF:
            return "the socket is closed: make a new one";
        default:
            return std::string(verb(op)) + " " + peer + " failed: " + std::strerror(error);
    }
}

void fail(Operation op, int error, const std::string &who) {
    const std::string sentence = explain(op, error, who);

    if (module_missing(op, error)) throw ModuleMissing(error, sentence);
    throw Error(error, sentence);
}

}  // namespace ltp
