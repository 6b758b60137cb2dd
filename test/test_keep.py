# SPDX-License-Identifier: Apache-2.0
"""What a process keeps (--keep) is there after it was killed: TCP goes on through a NAT,
and each record is whole, whenever the process was killed."""

import contextlib
import ctypes
import os
import random
import re
import signal
import socket
import stat
import time

import pytest

from helpers.command import PERIGEE, ROOT, run, running, wait_until
from helpers.failover import CHUNK, INSIDE, NAT, OUTSIDE, pass_on, reset
from helpers.network import Namespace, veth

CHUNKS = 20
MUTANTS = 100000 if os.environ.get("PERIGEE_LONG") else 500
KILLS = 1000 if os.environ.get("PERIGEE_LONG") else 8


@pytest.fixture
def environment(tmp_path):
    return {**os.environ, "SNABB_SHM_ROOT": str(tmp_path / "shm")}


class Net:
    """A host inside, a host outside, and the namespace of the NAT between them."""

    def __init__(self, stack):
        names = "inside", "nat", "outside"
        self.inside, self.nat, self.outside = (Namespace(name) for name in names)
        for namespace in (self.inside, self.nat, self.outside):
            stack.callback(namespace.remove)
        veth(self.inside, "eth0", self.nat, "in0", offloads=False)
        veth(self.outside, "eth0", self.nat, "out0", offloads=False)
        self.inside.ip("address", "add", f"{INSIDE}/24", "dev", "eth0")
        self.inside.ip("route", "add", "default", "via", "10.0.0.1")
        self.outside.ip("address", "add", f"{OUTSIDE}/24", "dev", "eth0")

    def router(self, *options, environment, text=NAT, cpus=None):
        more = ["--cpus", cpus] if cpus else []
        return running(*self.nat.command(str(PERIGEE), *options, "click", "-e", text, *more,
                                         "--device", "0=packet:in0", "--device",
                                         "1=packet:out0"), env=environment)

    def connected(self, stack, router):
        """Both ends of the second TCP connection through the NAT: it has not the port
        that the first one of another NAT gets, too. The first one has been reset."""
        router.wait_for_engine()
        with self.outside.entered():
            listener = stack.enter_context(socket.create_server((OUTSIDE, 0)))
        listener.settimeout(60)
        for i in range(2):
            with self.inside.entered():
                client = stack.enter_context(socket.socket())
            client.settimeout(60)
            try:
                client.connect(listener.getsockname())
            except OSError as problem:
                router.read()
                pytest.fail(f"{problem}; the router said {router.said}")
            server, (address, _) = listener.accept()
            stack.enter_context(server)
            server.settimeout(60)
            assert address == "192.0.2.1"
            if i == 0:
                reset(client, server)
        return client, server


def kill(router):
    router.send(signal.SIGKILL)
    assert router.finish() == -signal.SIGKILL


def take_and_go_on(client, server, router):
    """The server gets the 100 bytes that it has been sent; then both send some."""
    got = b""
    while len(got) < 100:
        got += server.recv(100 - len(got))
    for _ in range(CHUNKS):
        pass_on(client, server, router)
        pass_on(server, client, router)


@pytest.mark.parametrize("more", [[], ["--sandbox"]], ids=["plain", "sandbox"])
def test_tcp_goes_on_through_a_nat_that_was_killed(environment, more):
    with contextlib.ExitStack() as stack:
        net = Net(stack)
        options = ["--keep", "nat", *more]
        with net.router(*options, environment=environment) as router:
            client, server = net.connected(stack, router)
            for _ in range(CHUNKS):
                pass_on(client, server, router)
            router.read()
            kill(router)
        client.sendall(CHUNK[:100])  # while nobody passes it on
        with net.router(*options, environment=environment) as router:
            router.wait_for("Click's nat goes on with 2 of 2 records")
            take_and_go_on(client, server, router)
            # And it ends well: the next one goes on, too.
            assert router.interrupt() == 0
        with net.router(*options, environment=environment) as router:
            router.wait_for("Click's nat goes on with 2 of 2 records")
            pass_on(server, client, router)


MANAGED = NAT[:NAT.index("nat :: ")] + """
in -> there :: IPClassifier(tcp, -); there[1] -> Discard;
there[0] -> flows :: FlowIPManager(TIMEOUT 300) -> nat :: FlowIPNAT(outside)
  -> SetIPAddress($GATEWAY) -> out;
out -> back :: IPClassifier(tcp, -); back[1] -> Discard;
back[0] -> answers :: FlowIPManager(TIMEOUT 300) -> FlowIPNATReverse(nat)
  -> GetIPAddress(16) -> in;
"""


def test_tcp_goes_on_through_a_flow_manager_that_was_killed(environment):
    with contextlib.ExitStack() as stack:
        net = Net(stack)
        with net.router("--keep", "nat", environment=environment, text=MANAGED) as router:
            client, server = net.connected(stack, router)
            pass_on(client, server, router)
            router.read()
            kill(router)
        client.sendall(CHUNK[:100])
        with net.router("--keep", "nat", environment=environment, text=MANAGED) as router:
            router.wait_for("Click's flows goes on with 2 of 2 records")
            take_and_go_on(client, server, router)
            assert router.interrupt() == 0


@pytest.mark.parametrize("text", [NAT, MANAGED], ids=["IPRewriter", "FlowIPNAT"])
def test_copies_go_on_and_so_does_one_with_what_they_had(environment, text):
    """Each of two copies has its part still; then one router of rewriters has all of it."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two CPUs")
    cpus = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0))[:2])
    name = "nat" if text is NAT else "flows"
    with contextlib.ExitStack() as stack:
        net = Net(stack)
        ends = []
        with net.router("--keep", "nat", environment=environment, text=text,
                        cpus=cpus) as router:
            for _ in range(3):
                ends.append(net.connected(stack, router))
            router.read()
            kill(router)

        def goes_on(router):
            for client, server in ends:
                pass_on(client, server, router)
                pass_on(server, client, router)
            router.read()
            found = re.findall(rf"Click's {name}(?: on CPU . of 2)? goes on with (\d+) of "
                               rf"(\d+) records", router.said)
            assert [sum(int(pair[i]) for pair in found) for i in (0, 1)] == [6, 6], \
                router.said

        with net.router("--keep", "nat", environment=environment, text=text,
                        cpus=cpus) as router:
            goes_on(router)
            kill(router)
        if text is MANAGED:  # two copies may have given one port, which one router can't
            return
        with net.router("--keep", "nat", environment=environment, text=text) as router:
            goes_on(router)
            assert f"records of Click's {name} on CPU " in router.said
            files = run(PERIGEE, "keep", "list", env=environment).stdout
            assert f"Click's {name}: 6 records" in files and "on CPU" not in files
            kill(router)


def test_without_keep_it_does_not(environment):
    """The other test could fail: the NAT doesn't know the connection any more."""
    with contextlib.ExitStack() as stack:
        net = Net(stack)
        with net.router(environment=environment) as router:
            client, server = net.connected(stack, router)
            pass_on(client, server, router)
            kill(router)
        with net.router(environment=environment) as router:
            client.sendall(CHUNK)
            with pytest.raises(ConnectionResetError):
                client.recv(1)


FLOWS = """
FastUDPFlows(0, -1, 60, 2:2:2:2:2:2, 10.0.0.1, 3:3:3:3:3:3, 10.0.0.2, 5000, 3)
  -> Strip(14) -> CheckIPHeader
  -> nat :: IPRewriter(pattern 192.0.2.1-192.0.2.9 1024-65535 - - 0 1, drop,
                       MAPPING_CAPACITY 3000);
nat[0] -> Discard; nat[1] -> Discard; Idle -> [1] nat;
"""


# The first takes all over before packets flow, the second while they do.
@pytest.mark.parametrize("capacity", [3000, 30000])
def test_whenever_it_is_killed_all_records_are_whole(environment, tmp_path, capacity):
    (tmp_path / "flows.click").write_text(FLOWS.replace("3000", str(capacity)))
    command = [PERIGEE, "--keep", "flows", "click", tmp_path / "flows.click"]
    kept = tmp_path / "shm/keep/flows"
    seed = random.randrange(2**31)
    chance, had = random.Random(seed), 0

    def has_records():
        return re.search(r"[1-9]\d* records", run(PERIGEE, "keep", "list",
                                                  env=environment).stdout)
    for turn in range(KILLS):
        with running(*command, env=environment) as router:
            if turn == 0:
                wait_until(has_records, lambda: f"records; the router said {router.said}")
            elif turn % 2:  # while it works
                router.wait_for("goes on with")
                time.sleep(chance.random() * 0.2)
            else:  # also while it starts, or takes over
                time.sleep(chance.random() * 1.5)
            router.read()
            kill(router)
            said = router.said
        # Killed as a record came from an old file to the new one, it leaves it in both.
        said = said.replace("1 that are there twice", "")
        assert "isn't" not in said and "that no rewriter" not in said \
            and "twice" not in said, f"seed {seed}, kill {turn}: {said}"
        for used, of in re.findall(r"goes on with (\d+) of (\d+) records", said):
            had += int(used)
            assert int(of) <= capacity + 1, said
        result = run(PERIGEE, "keep", "check", "flows", env=environment)
        assert result.returncode == 0, f"seed {seed}, kill {turn}: {result}"
    assert had > 0
    for path in kept.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def no_large_pages():
    ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE, <linux/prctl.h>


def test_without_large_pages_it_says_so_and_keeps_all(environment, tmp_path):
    (tmp_path / "flows.click").write_text(FLOWS.replace("5000,", "60000,").replace(
        "3000", "100000"))
    command = [PERIGEE, "--keep", "flows", "click", tmp_path / "flows.click"]
    with running(*command, env=environment, preexec_fn=no_large_pages) as router:
        router.wait_for("--keep flows: the kernel makes no large pages for what is kept "
                        "(Invalid argument): look-ups in many records take longer")
        kill(router)
    assert run(PERIGEE, "keep", "check", "flows", env=environment).returncode == 0


def test_files_that_somebody_has_changed_are_read_within_bounds(tmp_path):
    fuzz, folder = tmp_path / "fuzz_keep", tmp_path / "files"
    sources = [ROOT / "test/fuzz_keep.c"]
    sources += [ROOT / f"src/net/keep/{name}.c"
                for name in ("keep", "former", "recall", "restore")]
    sources += [ROOT / f"src/net/flow/{name}.c"
                for name in ("table", "index", "hints", "records", "memory")]
    sources += [ROOT / f"src/net/replica/{name}.c" for name in ("source", "target")]
    built = run("cc", "-std=gnu11", "-O1", "-g", "-Wall", "-fsanitize=address,undefined",
                "-fno-sanitize-recover=all", "-o", fuzz, *sources)
    assert built.returncode == 0, built.stderr
    folder.mkdir()
    seed = random.randrange(2**31)
    result = run(fuzz, folder, MUTANTS, seed, timeout=7200)
    assert result.returncode == 0, f"seed {seed}: {result.stderr[-5000:]}"
    went_on, records, refused = map(int, re.findall(r"\d+", result.stdout))
    assert went_on + refused == MUTANTS and went_on and records and refused


def test_a_name_is_one_process_s(environment, tmp_path):
    (tmp_path / "flows.click").write_text(FLOWS)
    command = [PERIGEE, "--keep", "flows", "click", tmp_path / "flows.click"]
    with running(*command, env=environment) as router:
        router.wait_for_engine()
        second = run(*command, env=environment)
        assert second.returncode == 1
        assert second.stderr == ("perigee: --keep flows: another process keeps its state "
                                 "under this name\n")
        refused = run(PERIGEE, "keep", "remove", "flows", env=environment)
        assert refused.returncode == 1 and "end it first" in refused.stderr
        assert "flows: in use\n" in run(PERIGEE, "keep", "list", env=environment).stdout
        assert router.interrupt() == 0
    assert run(PERIGEE, "keep", "remove", "flows", env=environment).returncode == 0
    assert run(PERIGEE, "keep", "list", env=environment).stdout == ""
    gone = run(PERIGEE, "keep", "check", "flows", env=environment)
    assert (gone.returncode, gone.stderr) == (
        2, "perigee: nothing is kept under the name 'flows'; there are no names\n")


@pytest.mark.parametrize("name", ["", "../x", ".x", "a/b", "a" * 65])
def test_what_is_no_name_is_refused(environment, name):
    result = run(PERIGEE, "--keep", name, "click", "-e", "Idle -> Discard",
                 env=environment)
    assert result.returncode == 2
    assert result.stderr == (f"perigee: --keep {name}: a name has up to 64 letters, digits, '-', "
                             "'_' and '.', a letter or digit first\n")


def test_a_folder_that_others_can_open_is_refused(environment, tmp_path):
    folder = tmp_path / "shm/keep"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    result = run(PERIGEE, "--keep", "x", "click", "-e", "Idle -> Discard", env=environment)
    assert result.returncode == 1
    assert "others have access to it: its mode is 777" in result.stderr, result.stderr
