# SPDX-License-Identifier: MIT
"""What goes wrong ends in time, with one sentence, and leaves usable what can be."""
import errno
import os
import select
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch
from conftest import BUILT, SOON, connected, in_namespace, in_thread

import ltp_torch


def is_sentence(error):
    text = str(error)
    return text and "\n" not in text and ". " not in text and "Errno" not in text


def works(pair):
    client, server = pair
    y = torch.empty(3)
    client.send(torch.arange(3.0), timeout=SOON)
    server.recv(y, timeout=SOON)
    return torch.equal(y, torch.arange(3.0))


@pytest.mark.parametrize("size", [1, 99, 101, 100000, 0])
def test_wrong_size(pair, size):
    client, server = pair
    client.send(torch.ones(100), timeout=SOON)
    with pytest.raises(ltp_torch.SizeMismatch, match=f"400 bytes.*{4 * size} bytes") as e:
        server.recv(torch.empty(size), timeout=SOON)
    assert isinstance(e.value, ValueError) and is_sentence(e.value)
    assert works(pair)


def test_empty_into_not_empty(pair):
    client, server = pair
    client.send(torch.empty(0), timeout=SOON)
    with pytest.raises(ltp_torch.SizeMismatch, match="0 bytes.*4 bytes"):
        server.recv(torch.empty(1), timeout=SOON)
    assert works(pair)


def test_wrong_dtype(pair):
    client, server = pair
    client.send(torch.ones(100), timeout=SOON)
    with pytest.raises(ltp_torch.DTypeMismatch, match="float32.*int32") as e:
        server.recv(torch.empty(100, dtype=torch.int32), timeout=SOON)
    assert isinstance(e.value, TypeError) and is_sentence(e.value)
    assert works(pair)


def test_bad_arguments(pair):
    client, server = pair
    with pytest.raises(TypeError):
        client.send([1, 2, 3])
    with pytest.raises(TypeError):
        server.recv(None)
    with pytest.raises(ltp_torch.LtpError, match="sparse"):
        client.send(torch.eye(3).to_sparse())
    with pytest.raises(ltp_torch.LtpError, match="memory"):
        client.send(torch.empty(3, device="meta"))
    with pytest.raises(ValueError, match="critical"):
        client.send(torch.empty(3), critical=13)
    with pytest.raises(ltp_torch.LtpError, match="tag"):
        client.send(torch.empty(3), tag=1 << 48)
    with pytest.raises(ValueError, match="timeout"):
        server.recv(torch.empty(3), timeout=-1)
    with pytest.raises(ltp_torch.LtpError, match="fraction"):
        server.set_thresholds(fraction=1.5)
    with pytest.raises(ltp_torch.LtpError, match="deadline"):
        server.set_thresholds(deadline=7200)
    with pytest.raises(ltp_torch.LtpError, match="cannot be found|no address"):
        ltp_torch.connect("no such host", 1)
    assert works(pair)


def test_largest_tag(pair):
    client, server = pair
    client.send(torch.empty(3), tag=(1 << 48) - 1, timeout=SOON)
    assert server.recv(torch.empty(3), timeout=SOON).tag == (1 << 48) - 1


def test_nobody_listens(listener):
    address, port = listener.local
    listener.close()
    with pytest.raises(ltp_torch.Refused, match="nobody listens") as e:
        ltp_torch.connect(address, port, timeout=SOON)
    assert isinstance(e.value, ConnectionRefusedError) and e.value.errno == errno.ECONNREFUSED
    assert is_sentence(e.value)


def test_nobody_answers(wire):
    wire.set(loss=1.0)
    start = time.monotonic()
    with pytest.raises(ltp_torch.LtpTimeout, match="10.78.0.2:5000") as e:
        in_namespace("ta", lambda: ltp_torch.connect("10.78.0.2", 5000, timeout=0.5))
    assert 0.5 <= time.monotonic() - start < 5
    assert isinstance(e.value, TimeoutError) and is_sentence(e.value)


def test_port_in_use(listener):
    with pytest.raises(ltp_torch.LtpError, match="in use"):
        ltp_torch.listen(*listener.local)


def test_not_our_address():
    with pytest.raises(ltp_torch.LtpError, match="not an address of this host"):
        ltp_torch.listen("192.0.2.1", 0)


def test_timeouts(pair, listener):
    _client, server = pair
    for wait in (lambda: server.recv(torch.empty(3), timeout=0.2),
                 lambda: listener.accept(timeout=0.2)):
        start = time.monotonic()
        with pytest.raises(ltp_torch.LtpTimeout, match="0.2 s") as e:
            wait()
        assert 0.2 <= time.monotonic() - start < 5
        assert is_sentence(e.value)
    # Another tensor may be used after it.
    assert works(pair)


def test_timeout_in_the_middle_of_a_message(wire):
    wire.set(rate="100mbit")
    client, server = pair = wire.pair()
    x = torch.arange(1 << 20, dtype=torch.int32)
    sender = in_thread(lambda: client.send(x, timeout=SOON))
    timeouts = 0
    while True:
        y = torch.empty_like(x)     # a new one each time: the beginning is not lost
        try:
            server.recv(y, timeout=0.02)
            break
        except ltp_torch.LtpTimeout:
            timeouts += 1
    sender.join()
    assert timeouts and torch.equal(x, y)
    assert works(pair)
    client.close()
    server.close()


def test_send_timeout(pair):
    client, _server = pair
    x = torch.empty(1 << 24)        # more than fits into the buffers of both sides
    start = time.monotonic()
    with pytest.raises(ltp_torch.LtpTimeout, match="cut") as e:
        client.send(x, timeout=0.5)
    assert time.monotonic() - start < 5 and is_sentence(e.value)
    with pytest.raises(ltp_torch.BrokenConnection, match="cut in the middle"):
        client.send(torch.empty(1))


def test_orderly_close(pair):
    client, server = pair
    client.send(torch.ones(1000), timeout=SOON)
    client.close()
    client.close()
    y = torch.empty(1000)
    server.recv(y, timeout=SOON)
    assert y.all()
    for _ in range(2):
        with pytest.raises(ltp_torch.Closed, match="has closed") as e:
            server.recv(y, timeout=SOON)
        assert isinstance(e.value, EOFError) and is_sentence(e.value)


def test_half_close(pair):
    client, server = pair
    client.shutdown()
    with pytest.raises(ltp_torch.Closed):
        server.recv(torch.empty(1), timeout=SOON)
    with pytest.raises(ltp_torch.BrokenConnection):
        client.send(torch.empty(1))
    server.send(torch.ones(1), timeout=SOON)
    y = torch.zeros(1)
    client.recv(y, timeout=SOON)
    assert y.all()


def test_send_to_one_that_closed(pair):
    client, server = pair
    server.close()
    with pytest.raises((ltp_torch.BrokenConnection, ltp_torch.PeerDied)) as e:
        for _ in range(100):
            client.send(torch.empty(1000), timeout=SOON)
            time.sleep(0.01)
    assert is_sentence(e.value)


@pytest.fixture
def peer():
    """Forks a peer that does what a body says with its connection, until it is killed."""
    pids = []

    def fork(listener, body, namespace=None):
        def connect():
            return ltp_torch.connect(*listener.local, timeout=SOON)
        pid = os.fork()
        if not pid:
            try:
                with in_namespace(namespace, connect) if namespace else connect() as c:
                    body(c)
                    time.sleep(60)
            finally:
                os._exit(1)
        pids.append(pid)
        return pid, listener.accept(timeout=SOON)

    yield fork
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass


@pytest.mark.parametrize("moment", range(5))
def test_peer_dies_in_the_middle_of_a_message(wire, peer, moment):
    wire.set(rate="100mbit")    # the message takes 5 s
    with in_namespace("tb", lambda: ltp_torch.listen(wire.hosts["tb"], 0)) as listener:
        pid, server = peer(listener, lambda c: c.send(torch.ones(1 << 24)), "ta")
    y = torch.empty(1 << 24)
    go = threading.Event()

    def kill():
        # Some of it is there, and not all: so much fits into no buffer.
        assert select.select([server], [], [], SOON)[0]
        go.set()
        time.sleep(0.02 * moment)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    killer = in_thread(kill)
    with server:
        assert go.wait(SOON)
        start = time.monotonic()
        with pytest.raises(ltp_torch.PeerDied, match="died in the middle of a message") as e:
            server.recv(y, timeout=SOON)
        assert time.monotonic() - start < 10
        assert isinstance(e.value, ConnectionResetError) and is_sentence(e.value)
    killer.join()


def test_peer_dies_while_we_send(listener, peer):
    pid, server = peer(listener, lambda c: time.sleep(60))

    def kill():
        time.sleep(0.2)
        os.kill(pid, signal.SIGKILL)
    killer = in_thread(kill)
    with server, pytest.raises((ltp_torch.PeerDied, ltp_torch.BrokenConnection)) as e:
        server.send(torch.ones(1 << 24), timeout=SOON)
    assert is_sentence(e.value)
    killer.join()


def test_close_in_another_thread(pair, listener):
    _client, server = pair
    for endpoint, wait in ((server, lambda: server.recv(torch.empty(1))),
                           (listener, lambda: listener.accept())):
        waiting = in_thread(wait)
        time.sleep(0.2)
        endpoint.close()
        with pytest.raises(ltp_torch.LtpError, match="closed here"):
            waiting.join(5)
        with pytest.raises(ltp_torch.LtpError, match="closed"):
            wait()
        assert endpoint.fileno() == -1


def test_close_while_sending(pair):
    client, _server = pair
    sender = in_thread(lambda: client.send(torch.empty(1 << 24)))
    time.sleep(0.2)
    client.close()
    with pytest.raises(ltp_torch.LtpError, match="closed here"):
        sender.join(5)


def test_signal_ends_a_wait(pair):
    class Alarm(Exception):
        pass

    def handler(_number, _frame):
        raise Alarm
    previous = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Alarm):
            pair[1].recv(torch.empty(3), timeout=SOON)
        # A handler that returns lets the wait go on.
        seen = []
        signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
        signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
        with pytest.raises(ltp_torch.LtpTimeout):
            pair[1].recv(torch.empty(3), timeout=0.5)
        assert seen
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert works(pair)


def counted(body):
    """How far another Python thread counts while body() runs."""
    stop = threading.Event()
    count = [0]

    def spin():
        while not stop.is_set():
            count[0] += 1
    thread = threading.Thread(target=spin)
    thread.start()
    before = count[0]
    body()
    after = count[0]
    stop.set()
    thread.join()
    return after - before


def test_the_lock_is_free_while_waiting(pair, listener):
    client, server = pair

    def expire(wait):
        def body():
            with pytest.raises(ltp_torch.LtpTimeout):
                wait()
        return body
    base = counted(lambda: time.sleep(0.5))
    for wait in (lambda: server.recv(torch.empty(1), timeout=0.5),
                 lambda: listener.accept(timeout=0.5),
                 lambda: ltp_torch.Gather([server], torch.empty(1))(torch.empty(1), timeout=0.5),
                 lambda: client.send(torch.empty(1 << 24), timeout=0.5)):
        # Other work of the machine may slow it down; with the lock held it would be nearly nothing.
        assert counted(expire(wait)) > base / 10


def test_select_on_a_connection(pair):
    client, server = pair
    assert select.select([server], [], [], 0.1)[0] == []
    client.send(torch.ones(10), timeout=SOON)
    assert select.select([server], [], [], SOON)[0] == [server]
    server.recv(torch.empty(10), timeout=SOON)
    assert select.select([server], [], [], 0.1)[0] == []


def test_context_managers_and_many_connections(listener):
    for _ in range(50):
        client, server = connected(listener)
        with client, server:
            client.send(torch.ones(1), timeout=SOON)
            server.recv(torch.empty(1), timeout=SOON)


def test_zz_module_missing(module):
    """Last: takes the module out for a moment."""
    path = os.path.join(os.environ.get("LTP_MODULES", ""), "ltp.ko")
    if not os.path.exists(path):
        pytest.skip("only in the lab machine")
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import ltp_torch\n"
            "try: ltp_torch.connect('127.0.0.1', 5000, timeout=1)\n"
            "except ltp_torch.ModuleMissing as e: print(e)")
    subprocess.run(["rmmod", "ltp"], check=True)
    try:
        said = subprocess.run([sys.executable, "-c", code, str(BUILT / "torch")], check=True,
                              text=True, stdout=subprocess.PIPE).stdout.strip()
    finally:
        subprocess.run(["insmod", path], check=True)
    assert "not loaded" in said and "modprobe ltp" in said and "\n" not in said
    ltp_torch.listen("127.0.0.1", 0).close()
