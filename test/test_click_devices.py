# SPDX-License-Identifier: Apache-2.0
"""Click's device elements, on files, interfaces, TUN devices and other processes."""

import json
import os
import struct

import pytest

from helpers.command import PERIGEE, check, perigee, run, running, wait_until
from helpers.network import Wire, veth

HEADER = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)


def save(path, frames):
    records = (struct.pack("<IIII", 100 + i, 0, len(f), len(f)) + f
               for i, f in enumerate(frames))
    path.write_bytes(HEADER + b"".join(records))


def load(path):
    data, frames = path.read_bytes()[24:], []
    while data:
        length = struct.unpack_from("<I", data, 8)[0]
        frames.append(data[16:16 + length])
        data = data[16 + length:]
    return frames


FRAMES = [bytes([i]) * (60 + i) for i in range(100)]


def test_port_strings_and_numbers(tmp_path):
    """A file comes to its end, which stops the router; numbers are ports of --port."""
    save(tmp_path / "in", FRAMES)
    for number, options in (("7", ["--port", "7=pcap:rx=in", "--port", "8=pcap:tx=out"]),
                            ("\"pcap:rx=in\"", ["--port", "8=pcap:tx=out"])):
        result = perigee("click", *options, "-e",
                         f"f :: FromDPDKDevice({number}) -> c :: Counter -> t ::"
                         " ToDPDKDevice(8); DriverManager(pause, print c.count,"
                         " print f.count, print t.count, print f.hw_count)",
                         cwd=tmp_path)
        assert result.stderr == ""
        assert result.stdout == "100\n" * 4
        assert load(tmp_path / "out") == FRAMES


@pytest.mark.fast
def test_devices_that_are_not_there():
    for argument, message in (
            ('"nonsense:"', "nonsense:: Unknown or invalid PORT: "),
            ("packet:none0", "While initializing 'FromDPDKDevice@1 :: FromDPDKDevice':\n"
             "  port 'packet:none0': there is no kernel interface 'none0'")):
        result = perigee("click", "-e", f"FromDPDKDevice({argument}) -> Discard")
        assert result.returncode == 1
        assert message in result.stderr
    result = perigee("click", "-e", "FromDPDKDevice(packet:none0, ALLOW_NONEXISTENT true)"
                     " -> t :: ToDPDKDevice(packet:none1, ALLOW_NONEXISTENT true);"
                     " InfiniteSource(LIMIT 3, STOP true) -> t;"
                     " DriverManager(pause, print t.count)")
    assert (result.returncode, result.stdout) == (0, "0\n"), result.stderr


@pytest.mark.fast
def test_an_interface_is_shared_by_its_elements(namespace):
    """Two elements send to an interface, pushed and pulled to, and one receives."""
    router, peer = namespace("a"), namespace("b")
    veth(router, "eth0", peer, "eth1", offloads=False)
    config = ("FromDevice(eth0) -> c :: Classifier(12/88b5, -);"
              " c[0] -> StoreData(0, X) -> ToDevice(eth0);"
              " c[1] -> StoreData(0, Y) -> Queue -> t :: ToDevice(eth0);")
    with running(*router.command(PERIGEE, "click", "-e", config)) as click:
        with Wire(peer, "eth1") as wire:
            click.wait_for_engine()
            a, b = (b"\xff" * 12 + kind + bytes(46) for kind in (b"\x88\xb5", b"\x88\xb6"))
            while not wire.receive(0.2):
                wire.send(a)
            while wire.receive(0.5):
                pass
            wire.send(a)
            assert wire.receive() == b"X" + a[1:]
            wire.send(b)
            assert wire.receive() == b"Y" + b[1:]
        assert click.interrupt() == 0


def test_the_interface_of_the_default_route(namespace):
    """That of a namespace of its own will do; of the machine's, the message says how."""
    router, peer = namespace("a"), namespace("b")
    veth(router, "eth0", peer, "eth1", offloads=False)
    router.ip("route", "add", "default", "dev", "eth0")
    config = "FromDevice({0}) -> Queue -> ToDevice({0}); Script(print 1, stop)"
    result = router.run(PERIGEE, "click", "-e", config.format("eth0"))
    assert (result.returncode, result.stdout) == (0, "1\n"), result.stderr
    peer.has_default_route_over("x")
    result = run(*peer.machine(PERIGEE, "click", "-e", config.format("x")))
    assert result.returncode == 1
    option = "--device x=packet:x,force=1"
    assert "could cut this machine off" in result.stderr and option in result.stderr
    result = run(*peer.machine(PERIGEE, "click", "-e", config.format("x"), *option.split()))
    assert (result.returncode, result.stdout) == (0, "1\n"), result.stderr


def test_from_device_knows_to_whom_frames_are_sent(namespace):
    router, peer = namespace("a"), namespace("b")
    veth(router, "eth0", peer, "eth1", offloads=False)
    mac = router.check("cat", "/sys/class/net/eth0/address").strip()
    mac = bytes(int(digits, 16) for digits in mac.split(":"))
    config = ("FromDevice(eth0) -> DropBroadcasts -> HostEtherFilter(" + mac.hex(":")
              + ") -> Print(mine, 6) -> Discard")
    with running(*router.command(PERIGEE, "click", "-e", config)) as click:
        click.wait_for_engine()
        with Wire(peer, "eth1") as wire:
            while "mine" not in click.said:
                wire.send(mac + b"\x02" * 6 + b"\x88\xb5" + bytes(46))
                click.read(0.1)
            assert mac.hex()[:8] in click.said
        assert click.interrupt() == 0


def test_kernel_tun_answers_pings(namespace):
    router = namespace()
    config = ("tun :: KernelTun(10.9.0.1/24, DEVNAME tun9) -> CheckIPHeader"
              " -> ICMPPingResponder -> tun; Script(print 'ready')")
    with running(*router.command(PERIGEE, "click", "-e", config)) as click:
        click.wait_for("ready")
        result = router.run("ping", "-c", "3", "-i", "0.2", "-W", "5", "10.9.0.2")
        assert "3 received" in result.stdout, result.stdout + click.said
        assert click.interrupt() == 0
    assert "tun9" not in router.ip("link")


def test_kernel_tun_takes_what_a_source_sends_by_itself(namespace):
    router = namespace()
    config = ("InfiniteSource(LIMIT 3, STOP false) -> c :: Counter"
              " -> KernelTun(10.9.0.1/24, DEVNAME tun9) -> Discard;"
              " Script(TYPE ACTIVE, label again, wait 10ms, goto again $(lt $(c.count) 3),"
              " print 'all sent', stop)")
    with running(*router.command(PERIGEE, "click", "-e", config)) as click:
        click.wait_for("all sent")


def test_what_kernel_tun_pulls_and_cannot_send_is_counted(namespace):
    router = namespace()
    config = ("InfiniteSource(LENGTH 2000, LIMIT 3, STOP false) -> Queue"
              " -> k :: KernelTun(10.9.0.1/24, DEVNAME tun9, MTU 1500) -> Discard;"
              " Script(print 'ready')")
    with running(*router.command(PERIGEE, "click", "-e", config)) as click:
        click.wait_for("ready")
        wait_until(lambda: json.loads(check(PERIGEE, "shm", "--json", click.pid)).get(
            "apps/k/drop_longer_than_the_MTU") == 3, lambda: f"3 drops; it said {click.said}")
        assert click.interrupt() == 0, click.said


def test_from_host_needs_no_address(namespace):
    router = namespace()
    config = "FromHost(tap9{}) -> Discard; Script(print 'ready')"
    for address in ("", ", 10.9.0.1/24", ", PREFIX 10.9.0.1/24"):
        with running(*router.command(PERIGEE, "click", "-e", config.format(address))) as click:
            click.wait_for("ready")
            shown = router.ip("address", "show", "dev", "tap9")
            assert "UP" in shown and ("inet 10.9.0.1/24" in shown) == bool(address), shown
            assert click.interrupt() == 0, click.said
    result = router.run(PERIGEE, "click", "-e", config.format(", GATEWAY 10.9.0.2"))
    assert result.returncode == 1 and "GATEWAY needs an address" in result.stderr


@pytest.mark.fast
@pytest.mark.parametrize("first", ["from", "to"])
def test_rings_join_two_processes(tmp_path, first):
    """Whoever comes first makes the socket."""
    name = f"ring{tmp_path.name}".replace("-", "_")
    ends = {
        "from": f"FromDPDKRing(MEM_POOL {name}, FROM_PROC b, TO_PROC a)"
                " -> c :: Counter(COUNT_CALL 10 s.run) -> Discard;"
                " s :: Script(TYPE PASSIVE, print 'arrived')",
        "to": "RatedSource(RATE 100) -> ToDPDKRing(MEM_POOL"
              f" {name}, FROM_PROC a, TO_PROC b)",
    }
    second = "to" if first == "from" else "from"
    with running(PERIGEE, "click", "-e", ends[first]) as one:
        one.wait_for_engine()
        with running(PERIGEE, "click", "-e", ends[second]) as other:
            (one if first == "from" else other).wait_for("arrived")
            assert other.interrupt() == 0
        assert one.interrupt() == 0


@pytest.mark.fast
def test_a_ring_within_one_process():
    result = perigee("click", "-e",
                     "FromDPDKRing(MEM_POOL x) -> c :: Counter(COUNT_CALL 10 stop)"
                     " -> Discard; RatedSource(RATE 1000) -> ToDPDKRing(MEM_POOL x);"
                     " DriverManager(pause, print $(ge $(c.count) 10))")
    assert (result.returncode, result.stdout) == (0, "true\n"), result.stderr


@pytest.mark.fast
def test_dumps_are_tcpdumps(tmp_path):
    save(tmp_path / "in", FRAMES)
    result = perigee("click", "-e", "FromDump(in, STOP true) -> ToDump(out, SNAPLEN 0)",
                     cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "in").read_bytes()[24:] == (tmp_path / "out").read_bytes()[24:]
    assert run("tcpdump", "-r", tmp_path / "out").stdout.count("\n") >= 100


def files(tmp_path, **counts):
    """Capture files of so many packets, and what makes them the devices of their names."""
    options = []
    for name, count in counts.items():
        save(tmp_path / name, [FRAMES[i % 100] for i in range(count)])
        options += ["--device", f"{name}=pcap:rx={name}"]
    return options


END = "DriverManager(pause, print $(i.count), print $(o.count), print $(q.length))"

# What comes in, where, and what has been counted at the end.
ENDS = {
    "a queue runs out": ("FromDevice(a) -> i :: Counter -> q :: Queue(9000)"
                         " -> Unqueue -> o :: Counter -> Discard;"
                         " FromDevice(b) -> Queue -> Discard;", "3000 3000 0"),
    "however slowly": ("FromDevice(a) -> Discard; FromDevice(b) -> i :: Counter ->"
                       " q :: Queue -> RatedUnqueue(20, BURST_SIZE 1, BURST 1)"
                       " -> o :: Counter -> Discard;", "7 7 0"),
    "after a delay": ("FromDevice(a) -> Discard; FromDevice(b) -> i :: Counter ->"
                      " q :: Queue -> SetTimestamp -> DelayUnqueue(0.2s)"
                      " -> o :: Counter -> Discard;", "7 7 0"),
    "by a link": ("FromDevice(a) -> Discard; FromDevice(b) -> i :: Counter ->"
                  " q :: Queue -> LinkUnqueue(0.2s, 1Mbps) -> o :: Counter -> Discard;",
                  "7 7 0"),
    "by time, at last": ("FromDevice(a) -> Discard; FromDevice(b) -> i :: Counter ->"
                         " q :: Queue -> DelayShaper(0.2s) -> Unqueue"
                         " -> o :: Counter -> Discard;", "7 7 0"),
    "nobody pulls": ("FromDevice(a) -> Discard; FromDevice(b) -> i :: Counter ->"
                     " q :: Queue -> Unqueue(ACTIVE false) -> o :: Counter -> Discard;",
                     "7 0 7"),
    "nobody can pull": ("FromDevice(a) -> Discard; FromDevice(b) -> i :: Counter ->"
                        " q :: Queue -> [0] s :: SimplePullSwitch(1) -> Unqueue ->"
                        " o :: Counter -> Discard; Idle -> [1] s;", "7 0 7"),
    "another file is read, too": ("FromDevice(a) -> Discard; q :: Queue;"
                                  " FromDump(b, TIMING false, BURST 1) -> i :: Counter"
                                  " -> q -> Unqueue -> o :: Counter -> Discard;",
                                  "7 7 0"),
}


@pytest.mark.parametrize("case", ENDS)
def test_it_ends_when_all_files_have_and_queues_have_run_out(tmp_path, case):
    config, counted = ENDS[case]
    result = perigee("click", *files(tmp_path, a=3000, b=7), "-e", config + END,
                     cwd=tmp_path)
    assert (result.stdout.split(), result.stderr) == (counted.split(), "")


@pytest.mark.parametrize("first", ["empty", "full"])
def test_an_empty_file_does_not_end_others(tmp_path, first):
    other = {"empty": "full", "full": "empty"}[first]
    result = perigee("click", *files(tmp_path, empty=0, full=3000), "-e",
                     f"FromDevice({first}) -> c :: Counter -> Discard; FromDevice({other})"
                     " -> c; DriverManager(pause, print $(c.count))", cwd=tmp_path)
    assert (result.stdout, result.stderr) == ("3000\n", "")


def test_it_ends_earlier_if_the_configuration_says_so(tmp_path):
    options = files(tmp_path, a=3000, b=7)
    slow = "FromDevice(a) -> Queue(9000) -> RatedUnqueue(1, BURST 1) -> c :: Discard;"
    for ending in ("DriverManager(wait 0.1s)", "FromDump(b, STOP true) -> Discard"):
        result = perigee("click", *options, "-h", "c.count", "-e", slow + ending,
                         cwd=tmp_path)
        assert int(result.stdout) < 7, ending


def test_it_ends_when_the_files_of_all_threads_have(tmp_path):
    """A thread that is ready long before the other doesn't end it."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two CPUs")
    config = ("a :: FromDevice(a) -> Queue(9000) -> u :: RatedUnqueue(9000) ->"
              " i :: Counter -> Discard; b :: FromDevice(b) -> o :: Counter -> q :: Queue"
              " -> d :: Discard; ")
    for threads in ("a 0, u 0, b 1, d 1", "a 1, u 1, b 0, d 0"):
        result = perigee("click", "-j", "2", *files(tmp_path, a=3000, b=7), "-e",
                         config + END + f"StaticThreadSched({threads})", cwd=tmp_path)
        assert (result.stdout.split(), result.stderr) == (["3000", "7", "0"], "")


def test_one_capture_file_for_two_devices(tmp_path):
    """Each device reads it, whole; two elements can't share one that is a file."""
    save(tmp_path / "in", FRAMES)
    options = ["--device", "a=pcap:rx=in", "--device", "b=pcap:rx=in"]
    result = perigee("click", *options, "-h", "i.count", "-h", "j.count", "-e",
                     "FromDevice(a) -> i :: Counter -> Discard;"
                     " FromDevice(b) -> j :: Counter -> Discard", cwd=tmp_path)
    assert result.stdout.split() == ["i.count:", "100", "j.count:", "100"], result.stderr
    result = perigee("click", *options, "-e", "FromDevice(a) -> Discard;"
                     " FromDevice(a) -> Discard", cwd=tmp_path)
    assert result.returncode == 1
    assert ("2 elements receive from 'a', and port 'pcap:rx=in' has one queue. Give each"
            in result.stderr)
    result = perigee("click", "--device", "a=pcap:tx=out", "--device", "b=pcap:tx=out",
                     "-e", "FromDump(in, STOP true) -> t :: Tee -> ToDevice(a);"
                     " t[1] -> ToDevice(b)", cwd=tmp_path)
    assert result.stderr == ""
    assert len(load(tmp_path / "out")) == 200
