# SPDX-License-Identifier: Apache-2.0
"""`perigee upgrade`: another process takes the place of one that runs, and the connections
that go through it go on; what goes wrong leaves what ran before."""

import contextlib
import os
import pathlib
import re
import signal
import socket
import struct
import time

import pytest

from helpers.command import PERIGEE, catches, run, running, wait_until
from helpers.network import Namespace
from test_keep import CHUNKS, NAT, Net, environment, pass_on  # noqa: F401 (a fixture)

QUIET = "RatedSource(RATE 10) -> Discard"
WINDOW = 200  # packets
BAD_AT_ITS_TURN = """
local Bad = {}
function Bad:new() return setmetatable({}, {__index = Bad}) end
function Bad:begin() require("core.failure").raise("the file is taken") end
local c = config.new()
config.app(c, "bad", Bad)
engine.configure(c)
engine.main()"""

# <linux/if_packet.h>, and a port's ring: bytes of a block, blocks, bytes of a frame, frames
SOL_PACKET, PACKET_RX_RING, PACKET_VERSION, TPACKET_V2 = 263, 5, 10, 1
RING = 65536, 103, 1600, 4120

OVER = re.compile(r"process (\d+) has taken over from (\d+)")


@contextlib.contextmanager
def ended(env):
    """What `perigee upgrade` has started is ended."""
    try:
        yield
    finally:
        for pid in re.findall(r"^(\d+) +click", run(PERIGEE, "ps", env=env).stdout, re.M):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


def upgrade(env, *words):
    result = run(PERIGEE, "upgrade", *words, env=env)
    assert result.returncode == 0, result.stderr
    new, old = OVER.search(result.stderr).groups()
    return int(new), int(old)


def test_tcp_goes_on_through_a_nat_that_is_upgraded(environment):  # noqa: F811
    with contextlib.ExitStack() as stack:
        stack.enter_context(ended(environment))
        net = Net(stack)
        router = stack.enter_context(net.router("--keep", "nat", environment=environment))
        client, server = net.connected(stack, router)
        pid = int(re.search(r"^(\d+) +click", run(PERIGEE, "ps", env=environment).stdout,
                            re.M).group(1))
        for words in (["nat"], ["nat", "--", "click", "-e", NAT.replace("02:00:00:00:00:01",
                                                                        "02:00:00:00:00:0a"),
                                "--device", "0=packet:in0", "--device", "1=packet:out0"],
                      ["--back", "nat"]):
            new, old = upgrade(environment, *words)
            assert old == pid and new != old
            pid = new
            for _ in range(CHUNKS):
                pass_on(client, server, router)
                pass_on(server, client, router)
        assert router.process.wait(60) == 0  # it ended as by any SIGTERM


@pytest.mark.parametrize("cpus", [[], ["--cpus", "0,1"]], ids=["one", "workers"])
def test_no_packet_is_lost_or_comes_twice(environment, cpus):  # noqa: F811
    """Numbered packets while it is upgraded, and taken back, so many on their way that the
    receiver's socket has room for them: each comes once, in order."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(ended(environment))
        net = Net(stack)
        if len(os.sched_getaffinity(0)) < 2 and cpus:
            pytest.skip("one CPU")
        router = stack.enter_context(net.router("--keep", "nat", *cpus,
                                                environment=environment))
        router.wait_for_engine()
        with net.inside.entered():
            sender = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        with net.outside.entered():
            receiver = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            receiver.bind(("192.0.2.254", 4000))
        receiver.setblocking(False)
        came, sent = [], 0

        def exchange():
            nonlocal sent
            if sent - len(came) < WINDOW:
                sender.sendto(struct.pack("!I", sent), ("192.0.2.254", 4000))
                sent += 1
            with contextlib.suppress(BlockingIOError):
                while True:
                    came.append(struct.unpack("!I", receiver.recv(100))[0])
            return came and came[-1] > after
        after = 10
        wait_until(exchange, lambda: f"packets; the router said {router.said}")
        for words in (["nat"], ["--back", "nat"]):
            with running(PERIGEE, "upgrade", *words, env=environment) as process:
                wait_until(lambda: exchange() and not process.read(), lambda: process.said)
                assert process.process.wait(60) == 0, process.said
            after = sent
            wait_until(exchange, lambda: f"packets; the router said {router.said}")
        assert came == list(range(came[-1] + 1))


def index_of(namespace, name):
    return namespace.run("cat", f"/sys/class/net/{name}/ifindex").stdout


def test_taps_are_passed_on(environment):  # noqa: F811
    """They stay, and up, and numbered frames that go through them come each once."""
    bridge = "FromDPDKDevice(0) -> ToDPDKDevice(1); FromDPDKDevice(1) -> ToDPDKDevice(0)"
    with contextlib.ExitStack() as stack:
        namespace = Namespace("taps")
        stack.callback(namespace.remove)
        stack.enter_context(ended(environment))
        process = stack.enter_context(running(*namespace.command(
            str(PERIGEE), "--keep", "taps", "click", "-e", bridge, "--device", "0=tap:t0",
            "--device", "1=tap:t1"), env=environment))
        process.wait_for_engine()
        for name in "t0", "t1":
            wait_until(lambda: namespace.run("ip", "link", "set", name, "up").returncode == 0,
                       name)
        sender, receiver = (stack.enter_context(raw_socket(namespace, name))
                            for name in ("t0", "t1"))
        places = [index_of(namespace, name) for name in ("t0", "t1")]
        came, sent, after = [], 0, 10

        def exchange():
            nonlocal sent
            if sent - len(came) < WINDOW:
                sender.send(struct.pack("!12sHI46x", b"\x02" * 12, 0x88b5, sent))
                sent += 1
            with contextlib.suppress(BlockingIOError):
                while True:
                    frame, (_, _, kind, _, _) = receiver.recvfrom(100)
                    if frame[12:14] == b"\x88\xb5" and kind != socket.PACKET_OUTGOING:
                        came.append(struct.unpack_from("!I", frame, 14)[0])
            return came and came[-1] > after
        wait_until(exchange, lambda: process.read() and process.said)
        for words in (["taps"], ["--back", "taps"]):
            with running(*namespace.command(str(PERIGEE), "upgrade", *words),
                         env=environment) as upgrading:
                wait_until(lambda: exchange() and not upgrading.read(),
                           lambda: upgrading.said)
                assert upgrading.process.wait(60) == 0, upgrading.said
            after = sent
            wait_until(exchange, lambda: (came[-5:], sent, process.read() and process.said))
            assert places == [index_of(namespace, name) for name in ("t0", "t1")]
        assert came == list(range(came[-1] + 1))


def raw_socket(namespace, name):
    with namespace.entered():
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        made.bind((name, 0))
    made.setblocking(False)
    return made


def test_what_goes_wrong_leaves_the_old_one(environment):  # noqa: F811
    with ended(environment), running(PERIGEE, "--keep", "x", "click", "-e", QUIET,
                                     env=environment) as first:
        first.wait_for_engine()
        for words, why in ((["click", "-e", "x :: Nothing; Idle -> x"], "it ended with the status 1"),
                           (["nothing"], "it ended with the status 2")):
            wrong = run(PERIGEE, "upgrade", "x", "--", *words, env=environment)
            assert wrong.returncode == 1
            assert wrong.stderr == (f"perigee: upgrade x: the new process wasn't ready: {why}; "
                                    f"process {first.pid} runs on\n")
        none = run(PERIGEE, "upgrade", "--back", "x", env=environment)
        assert (none.returncode, none.stderr) == (
            2, "perigee: upgrade x --back: nothing ran before an upgrade\n")
        assert first.read() and "x: in use" in run(PERIGEE, "keep", "list", env=environment).stdout
        assert first.interrupt() == 0
    for name, text in (("../x", "is no name"), ("y", "no process of this pid namespace has")):
        refused = run(PERIGEE, "upgrade", name, env=environment)
        assert refused.returncode and text in refused.stderr


def test_ctrl_c_leaves_nothing_behind(environment):  # noqa: F811
    with contextlib.ExitStack() as stack:
        stack.enter_context(ended(environment))
        old = stack.enter_context(running(PERIGEE, "--keep", "quiet", "click", "-e", QUIET,
                                          env=environment))
        old.wait_for_engine()
        upgrading = stack.enter_context(running(PERIGEE, "upgrade", "quiet", env=environment))
        children = pathlib.Path(f"/proc/{upgrading.pid}/task/{upgrading.pid}/children")
        [new] = wait_until(lambda: children.read_text().split(), "the new process")
        upgrading.send(signal.SIGINT)
        assert upgrading.process.wait(60) == 1
        upgrading.read()
        assert f"SIGINT came; process {old.pid} runs on" in upgrading.said
        wait_until(lambda: not pathlib.Path("/proc", new).exists(), "its end")
        assert old.interrupt() == 0


def test_what_fails_as_it_takes_over_is_taken_back(environment, tmp_path):  # noqa: F811
    with ended(environment), running(PERIGEE, "--keep", "x", "click", "-e", QUIET,
                                     env=environment) as first:
        first.wait_for_engine()
        graph = tmp_path / "graph.lua"
        graph.write_text(BAD_AT_ITS_TURN)
        wrong = run(PERIGEE, "upgrade", "x", "--", "run", graph, env=environment)
        assert wrong.returncode == 1
        found = re.search(r"the new process failed as it took over: it ended with the status 1; "
                          r"what ran before is started again, as process (\d+)", wrong.stderr)
        assert found, wrong.stderr
        assert first.process.wait(60) == 0

        def runs():
            return re.search(rf"^{found[1]} +click -e RatedSource.*control.socket$",
                             run(PERIGEE, "ps", env=environment).stdout, re.M)
        wait_until(runs, "the process from before")


def test_the_old_one_may_take_long_to_end_when_the_new_one_is_killed(environment):  # noqa: F811
    after = pathlib.Path(environment["SNABB_SHM_ROOT"], "keep", ".x.next")
    with ended(environment), running(PERIGEE, "--keep", "x", "click", "-e", QUIET,
                                     env=environment) as old:
        old.wait_for_engine()
        old.send(signal.SIGSTOP)
        with running(PERIGEE, "upgrade", "x", env=environment) as upgrading:
            children = pathlib.Path(f"/proc/{upgrading.pid}/task/{upgrading.pid}/children")
            wait_until(after.exists, "the takeover")
            [new] = children.read_text().split()
            os.kill(int(new), signal.SIGKILL)
            assert upgrading.process.wait(60) == 1
            upgrading.read()
            again = re.search(r"started again, as process (\d+)", upgrading.said)
        assert again, upgrading.said
        time.sleep(4)  # what is started without --standby waits for 2 s
        old.send(signal.SIGCONT)
        assert old.process.wait(60) == 0
        wait_until(lambda: catches(again[1]), "what ran before")
        os.kill(int(again[1]), signal.SIGKILL)

def test_one_that_was_killed_holds_up_nobody(environment, tmp_path):  # noqa: F811
    """Its number may be another process's by now: this one's, which runs."""
    command = [PERIGEE, "--keep", "x", "--standby", "click", "-e", QUIET]
    with running(*command, env=environment) as first:
        first.wait_for_engine()
        with running(*command, env=environment) as second:
            second.wait_for("stands by for")
            [folder] = pathlib.Path(environment["SNABB_SHM_ROOT"]).glob("keep")
            fields = pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split()
            namespace = re.search(r"\d+", os.readlink("/proc/self/ns/pid"))[0]
            (folder / ".x.next").write_text(f"{namespace}/{os.getpid()}/{int(fields[19]) - 1}\n")
            assert first.interrupt() == 0
            second.wait_for("took over in")
            assert second.interrupt() == 0


def test_others_that_stand_by_come_later(environment):  # noqa: F811
    command = [PERIGEE, "--keep", "x", "--standby", "click", "-e", QUIET]
    with ended(environment), running(*command, env=environment) as first:
        first.wait_for_engine()
        with running(*command, env=environment) as second:
            second.wait_for("stands by for")
            for _ in range(3):
                new, _ = upgrade(environment, "x")
                second.wait_for(f"stands by for process {new}\n")
            os.kill(new, signal.SIGKILL)
            second.wait_for("took over in")
            assert second.interrupt() == 0


def test_what_is_passed_on_is_checked(environment, tmp_path):  # noqa: F811
    """Another process of this user's lies about sockets: none of them is used, and packets pass
    after the takeover."""
    with contextlib.ExitStack() as stack:
        net = Net(stack)
        command = ["--keep", "nat", "--standby"]
        first = stack.enter_context(net.router(*command, environment=environment))
        first.wait_for_engine()
        second = stack.enter_context(net.router(*command, environment=environment))
        second.wait_for("stands by for")
        [path] = pathlib.Path(environment["SNABB_SHM_ROOT"], "keep").glob(".nat.*.passed")
        assert path.stat().st_mode & 0o777 == 0o600
        with net.nat.entered():
            index = socket.if_nametoindex("in0")
            bare = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
            bare.bind(("in0", 0))
            ring = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
            ring.setsockopt(SOL_PACKET, PACKET_VERSION, struct.pack("i", TPACKET_V2))
            ring.setsockopt(SOL_PACKET, PACKET_RX_RING, struct.pack("4I", *RING))
            ring.bind(("in0", 0))
        other = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        file = stack.enter_context(open(tmp_path / "file", "wb"))
        lie = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        lie.connect(str(path))
        lie.setblocking(False)
        bytes_, blocks, frame, frames = RING
        good = frame, bytes_, blocks
        for fds in ([], [file], [file] * 2, [other], [bare], [ring] * 9, [ring]):
            fds = [f.fileno() for f in fds]
            for numbers in ((*good, blocks, 0), (*good, 0, frames // blocks),
                            (*good, 2**32 - 1, 0), (2**32 - 1,) * 5, (0,) * 5, (frame, bytes_, blocks - 1, 0, 0),
                            *([(*good, 0, 0)] if ring.fileno() not in fds else [])):
                body = struct.pack("=7I", 0x50470001, index, *numbers)
                for text in (body, body[:-1], body + b"x", b"y" * 200, b"\0"):
                    socket.send_fds(lie, [text], fds)
        assert first.interrupt() == 0
        second.wait_for("took over in")
        net.connected(stack, second)
        assert not path.exists()
        fds = [os.readlink(f) for f in pathlib.Path(f"/proc/{second.pid}/fd").iterdir()]
        assert not [f for f in fds if "/file" in f]
        assert second.interrupt() == 0
