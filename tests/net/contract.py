# SPDX-License-Identifier: GPL-2.0
"""Every system call on a socket in every state, for LTP and, where it has the same call, for TCP.

States and calls are here; what comes of them is in contract.txt, which test_contract.py compares
with the kernel. Whoever changes what a call does runs in the lab

    python3 -m tests.net.contract

and, if what this prints is right, makes it contract.txt and runs, anywhere,

    python3 -m tests.net.contract man

which puts it into ltp(7).
"""
import ctypes
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.net import calls, lab, ltp

FILE = Path(__file__).with_name("contract.txt")
KINDS = ("ltp", "tcp")
HERE, THERE, NOWHERE = "10.1.0.1", "10.1.0.2", "10.1.0.9"

SOL = socket.SOL_SOCKET
TCP_FIN_WAIT2 = 5
SIOCATMARK, UNKNOWN_IOCTL = 0x8905, 0x89E0
MSG_FASTOPEN, MSG_ZEROCOPY, MSG_PROBE, MSG_UNKNOWN = 0x20000000, 0x4000000, 0x10, 0x1000000
MSG_ERRQUEUE = socket.MSG_ERRQUEUE
UNSPEC = struct.pack("=H14x", 0)


class Stage:
    """Two hosts, and sockets of both kinds in any state."""

    def __init__(self, net: lab.Net) -> None:
        self.net = net
        self.here, self.there = net.link()
        self.here.set_neighbour(NOWHERE, b"\2\0\0\0\0\1")  # what is sent there is lost
        self.listeners = {kind: self._listener(kind) for kind in KINDS}
        self.peer: socket.socket | None = None

    def _listener(self, kind: str) -> socket.socket:
        sock = self.new(kind, self.there)
        sock.setblocking(True)
        sock.bind((THERE, 5000))
        sock.listen(100)
        return sock

    def new(self, kind: str, host: lab.Host | None = None) -> socket.socket:
        host = host or self.here
        if kind == "ltp":
            sock: socket.socket = host.socket()
        else:
            sock = host.enter(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            self.net.sockets.append(sock)
        sock.setblocking(False)
        return sock

    def connected(self, kind: str) -> socket.socket:
        sock = self.new(kind)
        sock.setblocking(True)
        sock.connect((THERE, 5000))
        sock.setblocking(False)
        self.peer, _ = self.listeners[kind].accept()
        self.net.sockets.append(self.peer)
        return sock

    def make(self, kind: str, state: str) -> socket.socket:
        return STATES[state](self, kind)


def wait(sock: socket.socket, mask: int) -> socket.socket:
    """Until poll() says so."""
    poll = select.poll()
    poll.register(sock, mask)
    lab.until(lambda: dict(poll.poll(0)).get(sock.fileno(), 0) & mask, f"the mask is {mask:#x}")
    return sock


def abort(sock: socket.socket | None) -> None:
    assert sock is not None
    sock.setsockopt(SOL, socket.SO_LINGER, struct.pack("=ii", 1, 0))
    sock.close()


# ---- states


def fresh(stage: Stage, kind: str) -> socket.socket:
    return stage.new(kind)


def bound(stage: Stage, kind: str) -> socket.socket:
    sock = stage.new(kind)
    sock.bind((HERE, 0))
    return sock


def listening(stage: Stage, kind: str) -> socket.socket:
    sock = bound(stage, kind)
    sock.listen(10)
    return sock


def connecting(stage: Stage, kind: str) -> socket.socket:
    sock = stage.new(kind)
    assert sock.connect_ex((NOWHERE, 5000)) == errno.EINPROGRESS
    return sock


def refused(stage: Stage, kind: str) -> socket.socket:
    sock = stage.new(kind)
    assert sock.connect_ex((THERE, 5999)) == errno.EINPROGRESS
    return wait(sock, select.POLLERR)


def connected(stage: Stage, kind: str) -> socket.socket:
    return stage.connected(kind)


def unread(stage: Stage, kind: str) -> socket.socket:
    sock = stage.connected(kind)
    assert stage.peer is not None
    stage.peer.send(b"hello")
    return wait(sock, select.POLLIN)


def peer_ended(stage: Stage, kind: str) -> socket.socket:
    sock = stage.connected(kind)
    assert stage.peer is not None
    stage.peer.shutdown(socket.SHUT_WR)
    return wait(sock, select.POLLRDHUP)


def shut_rd(stage: Stage, kind: str) -> socket.socket:
    sock = stage.connected(kind)
    sock.shutdown(socket.SHUT_RD)
    return sock


def shut_wr(stage: Stage, kind: str) -> socket.socket:
    sock = stage.connected(kind)
    sock.shutdown(socket.SHUT_WR)
    assert stage.peer is not None
    wait(stage.peer, select.POLLRDHUP)
    if kind == "tcp":  # SIOCOUTQ counts its FIN until that is acknowledged
        info = socket.IPPROTO_TCP, socket.TCP_INFO, 1
        lab.until(lambda: sock.getsockopt(*info)[0] == TCP_FIN_WAIT2, "its FIN is acknowledged")
    return sock


def ended(stage: Stage, kind: str) -> socket.socket:
    sock = stage.connected(kind)
    assert stage.peer is not None
    stage.peer.shutdown(socket.SHUT_WR)
    wait(sock, select.POLLRDHUP).shutdown(socket.SHUT_WR)
    wait(stage.peer, select.POLLHUP)
    return wait(sock, select.POLLHUP)


def reset(stage: Stage, kind: str) -> socket.socket:
    sock = stage.connected(kind)
    abort(stage.peer)
    return wait(sock, select.POLLERR)


def told(stage: Stage, kind: str) -> socket.socket:
    sock = reset(stage, kind)
    assert sock.getsockopt(SOL, socket.SO_ERROR) == errno.ECONNRESET
    return sock


STATES: dict[str, Callable[[Stage, str], socket.socket]] = {
    "new": fresh,
    "bound": bound,
    "listening": listening,
    "connecting": connecting,
    "refused": refused,
    "connected": connected,
    "unread": unread,
    "peer ended": peer_ended,
    "shut RD": shut_rd,
    "shut WR": shut_wr,
    "ended": ended,
    "reset": reset,
    "told": told,
}

# ---- calls: what they return is a number or a word, what they raise is an errno


def flags_of(mask: int) -> str:
    names = ("IN", "OUT", "ERR", "HUP", "RDHUP")
    return " ".join(name for name in names if mask & getattr(select, "POLL" + name)) or "none"


def poll_mask(sock: socket.socket) -> str:
    poll = select.poll()
    poll.register(sock, select.POLLIN | select.POLLOUT | select.POLLRDHUP)
    return flags_of(dict(poll.poll(0)).get(sock.fileno(), 0))


def epoll_edge(sock: socket.socket) -> str:
    """The first EPOLLET event, and that there is no second one."""
    with select.epoll() as poll:
        poll.register(sock, select.EPOLLIN | select.EPOLLOUT | select.EPOLLRDHUP | select.EPOLLET)
        mask = dict(poll.poll(0)).get(sock.fileno(), 0)
        assert not mask or poll.poll(0) == []
    return flags_of(mask)


def raw(name: str, *args: object) -> int:
    value = calls.result(getattr(lab.libc, name)(*args))
    if value < 0:
        raise OSError(-value, name)
    return value


class Mmsghdr(ctypes.Structure):
    _fields_ = [("hdr", calls.Msghdr), ("len", ctypes.c_uint)]


def sendmmsg(sock: socket.socket) -> int:
    """Two messages; how many were sent."""
    data = bytearray(b"x")
    headers = (Mmsghdr * 2)()
    alive = []
    for header in headers:
        header.hdr, keep = calls.message([(calls.address_of(data), 1)])
        alive.append(keep)
    return raw("sendmmsg", sock.fileno(), headers, 2, socket.MSG_NOSIGNAL)


def recvmmsg(sock: socket.socket) -> int:
    space = bytearray(10)
    headers = (Mmsghdr * 2)()
    alive = []
    for header in headers:
        header.hdr, keep = calls.message([(calls.address_of(space), 10)])
        alive.append(keep)
    return raw("recvmmsg", sock.fileno(), headers, 2, 0, None)


def named(address: tuple[str, int] | None) -> str:
    return "ok" if address else "none"


def send(flags: int = 0) -> Callable[[socket.socket], int]:
    return lambda sock: sock.send(b"x", flags | socket.MSG_NOSIGNAL)


def sigpipe(sock: socket.socket) -> str:
    """Whether a send raises SIGPIPE."""
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
    try:
        calls.error_of(sock.send, b"x")
        if signal.SIGPIPE not in signal.sigpending():
            return "no"
        signal.sigwait({signal.SIGPIPE})
        return "yes"
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGPIPE, before)


def recv(flags: int = 0, size: int = 3) -> Callable[[socket.socket], int]:
    def call(sock: socket.socket) -> int:
        space = bytearray(size or 1)
        return raw("recv", sock.fileno(), calls.pointer(space), size, flags)

    return call


def ioctl(request: int) -> Callable[[socket.socket], int]:
    return lambda sock: struct.unpack("=i", fcntl.ioctl(sock, request, bytes(4)))[0]


def accept(sock: socket.socket) -> None:
    os.close(raw("accept4", sock.fileno(), None, None, os.O_CLOEXEC))


CALLS: dict[str, Callable[[socket.socket], int | str | None]] = {
    "bind": lambda sock: sock.bind((HERE, 0)),
    "listen": lambda sock: sock.listen(1),
    "accept": accept,
    "connect": lambda sock: sock.connect((NOWHERE, 5000)),
    "connect to port 0": lambda sock: sock.connect((THERE, 0)),
    "connect to 255.255.255.255": lambda sock: sock.connect(("255.255.255.255", 1)),
    "connect to nothing (AF_UNSPEC)": lambda sock: raw("connect", sock.fileno(), UNSPEC, 16),
    "connect to AF_INET6": lambda sock: raw("connect", sock.fileno(), b"\x0a" + bytes(27), 28),
    "connect, 8 bytes of address": lambda sock: raw("connect", sock.fileno(), b"\2" + bytes(7), 8),
    "send": send(),
    "send MSG_DONTWAIT": send(socket.MSG_DONTWAIT),
    "send MSG_EOR": send(socket.MSG_EOR),
    "send MSG_MORE": send(socket.MSG_MORE),
    "send MSG_OOB": send(socket.MSG_OOB),
    "send MSG_DONTROUTE": send(socket.MSG_DONTROUTE),
    "send MSG_CONFIRM": send(socket.MSG_CONFIRM),
    "send MSG_ZEROCOPY": send(MSG_ZEROCOPY),
    "send MSG_FASTOPEN": send(MSG_FASTOPEN),
    "send MSG_PROBE": send(MSG_PROBE),
    "send, an unknown flag": send(MSG_UNKNOWN),
    "send nothing": lambda sock: sock.send(b"", socket.MSG_NOSIGNAL),
    "sendto": lambda sock: sock.sendto(b"x", socket.MSG_NOSIGNAL, (NOWHERE, 5000)),
    "sendmsg": lambda sock: sock.sendmsg([b"x", b"y"], [], socket.MSG_NOSIGNAL),
    "sendmmsg": sendmmsg,
    "write": lambda sock: ignoring_sigpipe(lambda: os.write(sock.fileno(), b"x")),
    "send raises SIGPIPE": sigpipe,
    "recv": recv(),
    "recv, no room": recv(0, 0),
    "recv MSG_DONTWAIT": recv(socket.MSG_DONTWAIT),
    "recv MSG_PEEK": recv(socket.MSG_PEEK),
    "recv MSG_TRUNC": recv(socket.MSG_TRUNC),
    "recv MSG_WAITALL": recv(socket.MSG_WAITALL),
    "recv MSG_OOB": recv(socket.MSG_OOB),
    "recv MSG_ERRQUEUE": recv(MSG_ERRQUEUE),
    "recvmmsg": recvmmsg,
    "read": lambda sock: len(os.read(sock.fileno(), 3)),
    "shutdown RD": lambda sock: sock.shutdown(socket.SHUT_RD),
    "shutdown WR": lambda sock: sock.shutdown(socket.SHUT_WR),
    "shutdown RDWR": lambda sock: sock.shutdown(socket.SHUT_RDWR),
    "shutdown 3": lambda sock: sock.shutdown(3),
    "poll": poll_mask,
    "epoll EPOLLET": epoll_edge,
    "getsockname": lambda sock: named(sock.getsockname()),
    "getpeername": lambda sock: named(sock.getpeername()),
    "ioctl SIOCINQ": ioctl(ltp.SIOCINQ),
    "ioctl SIOCOUTQ": ioctl(ltp.SIOCOUTQ),
    "ioctl SIOCOUTQNSD": ioctl(ltp.SIOCOUTQNSD),
    "ioctl SIOCATMARK": ioctl(SIOCATMARK),
    "ioctl, unknown": ioctl(UNKNOWN_IOCTL),
    "getsockopt SO_ERROR": lambda sock: name_of(sock.getsockopt(SOL, socket.SO_ERROR)),
    "getsockopt SO_ACCEPTCONN": lambda sock: sock.getsockopt(SOL, socket.SO_ACCEPTCONN),
}


def ignoring_sigpipe(call: Callable[[], int]) -> int:
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        return call()
    finally:
        signal.signal(signal.SIGPIPE, before)


def name_of(error: int | None) -> str:
    names = {errno.EOPNOTSUPP: "EOPNOTSUPP", 0: "0"} | {
        value: name for value, name in errno.errorcode.items() if value != errno.EOPNOTSUPP
    }
    return names[error or 0]


def outcome(call: str, sock: socket.socket) -> str:
    """What the call says, in a word."""
    try:
        value = CALLS[call](sock)
    except OSError as error:
        return name_of(error.errno)
    return "ok" if value is None else str(value)


# ---- the table


Row = dict[str, str]  # kind: outcome
Table = dict[tuple[str, str], Row]  # by call and state


def observe(net: lab.Net, state: str) -> Table:
    """What the kernel does: each call gets a socket of its own."""
    stage = Stage(net)
    table: Table = {}
    for call in CALLS:
        row = {}
        for kind in KINDS:
            sock = stage.make(kind, state)
            row[kind] = outcome(call, sock)
            for one in (sock, stage.peer):
                if one is not None and one.fileno() >= 0:
                    abort(one)
        table[call, state] = row
    return table


def lines_of(table: Table) -> Iterator[str]:
    """Each call, and the states in which the same comes of it."""
    for call in CALLS:
        groups: dict[tuple[str, ...], list[str]] = {}
        for state in STATES:
            groups.setdefault(tuple(table[call, state][kind] for kind in KINDS), []).append(state)
        for (of_ltp, of_tcp), states in groups.items():
            tcp = "" if of_ltp == of_tcp else of_tcp
            yield f"{call:31}| {of_ltp:24}| {tcp:24}| {'; '.join(states)}"


def read() -> Table:
    table: Table = {}
    for line in FILE.read_text(encoding="ascii").splitlines():
        if not line or line.startswith("#"):
            continue
        call, of_ltp, of_tcp, states = (part.strip() for part in line.split("|"))
        for state in states.split("; "):
            assert (call, state) not in table, line
            table[call, state] = {"ltp": of_ltp, "tcp": of_tcp or of_ltp}
    return table


# ---- the manual page

MAN = FILE.parents[2] / "Documentation/man/ltp.7"
BEGIN, END = (f'.\\" {x} of the table, made by tests/net/contract.py\n' for x in ("Begin", "End"))
WIDTH, INDENT = 78, 2


def of_call(table: Table, call: str) -> dict[tuple[str, str], list[str]]:
    """What comes of a call, for LTP and TCP, and in which states; the most frequent at the end."""
    groups: dict[tuple[str, str], list[str]] = {}
    for state in STATES:
        row = table[call, state]
        groups.setdefault((row["ltp"], row["tcp"]), []).append(state)
    return dict(sorted(groups.items(), key=lambda group: len(group[1])))


def man_lines(table: Table) -> Iterator[str]:
    """Calls of which always the same comes are together; the rest of the states has no names."""
    alike: dict[str, list[str]] = {}
    for call in CALLS:
        alike.setdefault(str(of_call(table, call)), []).append(call)
    for names in alike.values():
        yield from textwrap.wrap("; ".join(names), WIDTH)
        groups = of_call(table, names[0])
        for number, ((of_ltp, of_tcp), states) in enumerate(groups.items(), 1):
            result = of_ltp if of_ltp == of_tcp else f"{of_ltp} (TCP: {of_tcp})"
            last = "else" if number > 1 else "always"
            where = ", ".join(states) if number < len(groups) else last
            text = f"{result:24} {where}" if len(result) <= 24 else f"{result}  {where}"
            yield from textwrap.wrap(text, WIDTH, initial_indent=" " * INDENT,
                                     subsequent_indent=" " * (INDENT + 25))


def man_block(table: Table) -> str:
    return "\n".join([f"{BEGIN}.Bd -literal", *man_lines(table), ".Ed", END])


def man_parts() -> tuple[str, str, str]:
    """The page before, in and after the table."""
    text = MAN.read_text(encoding="ascii")
    before, _, rest = text.partition(BEGIN)
    inside, _, after = rest.partition(END)
    return before, BEGIN + inside + END, after


def main() -> None:
    table: Table = {}
    if "man" in sys.argv[1:]:
        before, _, after = man_parts()
        MAN.write_text(before + man_block(read()) + after, encoding="ascii")
        return
    for state in STATES:
        net = lab.Net()
        table |= observe(net, state)
        net.close()
    print("\n".join(lines_of(table)))


if __name__ == "__main__":
    main()
