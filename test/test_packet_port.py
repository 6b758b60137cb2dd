# SPDX-License-Identifier: Apache-2.0
"""`packet:` ports: hosts whose offloads are on; loss in the kernel is counted;
CAP_NET_RAW is enough; interfaces that change; nothing stays. (What the port does for
cards: test_segmentation.py.)"""

import json
import os
import shutil
import signal

import pytest

from helpers.capture import load
from helpers.command import PERIGEE, ROOT, run, running, wait_until
from helpers.network import Wire, veth
from helpers.report import account, drops, port_statistics

AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
             "--inh-caps=-all,+net_raw", "--ambient-caps=-all,+net_raw",
             "--bounding-set=-all,+net_raw"]


def hosts(namespace):
    """Two hosts joined through Perigee's namespace, all offloads on."""
    a, middle, b = namespace("a"), namespace("m"), namespace("b")
    for host, iface, address in (a, "left", 1), (b, "right", 2):
        veth(middle, iface, host, "net")
        host.ip("address", "add", f"10.0.0.{address}/24", "dev", "net")
    return a, middle, b


BRIDGE = ROOT / "test" / "chained_bridge.lua"


def bridged(middle, *more, program=PERIGEE, script=BRIDGE):
    return running(*middle.command(*more, program, "run", script, "packet:left",
                                   "packet:right", 1))


def answers(a, *options):
    return a.run("ping", "-n", "-c", "1", "-W", "1", *options, "10.0.0.2").returncode == 0


def test_udp_and_tcp_pass_between_hosts_whose_offloads_are_on(namespace):
    a, middle, b = hosts(namespace)
    with bridged(middle) as program:
        wait_until(lambda: answers(a), "an answer")
        for more in (["-u", "-b", "20M", "-l", "1000"], ["-u", "-b", "20M", "-l", "100"],
                     ["-w", "128K"]):
            with running(*b.command("iperf3", "-s", "-1", "--forceflush")) as server:
                server.wait_for("Server listening")
                result = a.run("iperf3", "-c", "10.0.0.2", "-n", "5M", "--json", *more)
                assert result.returncode == 0, result.stdout
                received = json.loads(result.stdout)["end"]["sum_received"]["bytes"]
                # What is in TCP's buffers (-w) when all is sent isn't counted.
                assert received > 2.5 * 1000**2
        assert program.interrupt() == 0, program.said
    assert drops(program.said) == {}
    for port in port_statistics(program.said).values():
        assert port["oerrors"] == port["ierrors"] == 0


def promiscuity(namespace, iface):
    link, = json.loads(namespace.ip("-json", "-details", "link", "show", iface))
    return link["promiscuity"]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_an_ordinary_user_needs_only_cap_net_raw(namespace, ending, readable):
    a, middle, b = hosts(namespace)
    script = shutil.copy(BRIDGE, readable.parent)
    os.chmod(script, 0o644)
    with bridged(middle, *AS_NOBODY, program=readable, script=script) as program:
        wait_until(lambda: program.read() and answers(a), "an answer", timeout=20)
        assert promiscuity(middle, "left") == promiscuity(middle, "right") == 1
        assert answers(a, "-s", 1400)
        assert program.interrupt(ending) in (0, -signal.SIGKILL), program.said
    assert promiscuity(middle, "left") == promiscuity(middle, "right") == 0


def flood(namespace, iface, frame, count):
    with Wire(namespace, iface) as wire:
        for _ in range(count):
            wire.send(frame)


@pytest.mark.parametrize("ring, least", [("", 4096), (",ring=600", 600)])
def test_what_the_kernel_had_no_room_for_is_counted(pair, tmp_path, ring, least):
    here, there = pair
    with running(*here.command(PERIGEE, "capture", "packet:left" + ring,
                               tmp_path / "a.pcap")) as program:
        program.wait_for_engine()
        program.send(signal.SIGSTOP)
        flood(there, "right", b"\xff" * 12 + b"\x88\xb5" + bytes(46), 20000)
        program.send(signal.SIGCONT)
        assert program.runs_for(0.5), program.said
        assert program.interrupt() == 0, program.said
    written = len(list(load(tmp_path / "a.pcap")))
    assert least <= written < least + 100
    assert f"not written: {20000 - written:,} missed by the port" in program.said


def cpu_seconds(program):
    with open(f"/proc/{program.pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def test_an_idle_port_costs_what_an_idle_ring_costs(pair):
    """To look at an empty port is to read memory, not to call the kernel."""
    here, _ = pair
    spent = []
    for port in "ring:idle", "packet:left":
        with running(*here.command(PERIGEE, "echo", port, 1)) as program:
            program.wait_for_engine()
            assert program.runs_for(1), program.said
            before = cpu_seconds(program)
            assert program.runs_for(4), program.said
            spent.append(cpu_seconds(program) - before)
            assert program.interrupt() == 0, program.said
    assert spent[1] < 2 * spent[0] + 0.1, spent


def test_two_processes_do_not_both_send_unless_asked_to(pair):
    here, _ = pair
    with running(*here.command(PERIGEE, "echo", "packet:left", 1)) as first:
        first.wait_for_engine()
        second = here.run(PERIGEE, "echo", "packet:left", 1, 0.1)
        assert second.returncode == 1
        assert second.stderr == (
            "perigee: app 'port': port 'packet:left': another process sends on 'left' by "
            "a packet port already; end that first, or write shared=1 to send as well\n")
        assert here.run(PERIGEE, "echo", "packet:left,shared=1", 1, 0.1).returncode == 0
        assert here.run(PERIGEE, "capture", "packet:left", os.devnull, "--duration",
                        0.1).returncode == 0
        first.interrupt(signal.SIGKILL)
    assert here.run(PERIGEE, "echo", "packet:left", 1, 0.1).returncode == 0


def test_an_interface_with_the_default_route(namespace):
    here = namespace("h")
    here.has_default_route_over("left")
    refused = run(*here.machine(PERIGEE, "echo", "packet:left", 1, 0.1))
    assert refused.returncode == 2
    assert "('packet:left,force=1')" in refused.stderr
    assert "perigee capture" in refused.stderr
    assert "force=1" in run(*here.machine(PERIGEE, "ports")).stdout
    for allowed in (["echo", "packet:left,force=1", 1, 0.1],
                    ["capture", "packet:left", os.devnull, "--duration", 0.1]):
        result = run(*here.machine(PERIGEE, *allowed))
        assert result.returncode == 0, result.stderr


def test_the_default_route_of_a_container(pair):
    """It isn't the machine's way out, seen from a container, too: left leads elsewhere."""
    here, _ = pair
    here.ip("route", "add", "default", "dev", "left")
    for command in (here.command, here.machine):
        result = run(*command(PERIGEE, "echo", "packet:left", 1, 0.1))
        assert result.returncode == 0, result.stderr


def test_an_interface_that_is_down_for_a_while(pair):
    here, there = pair
    frame = b"\xff" * 12 + b"\x88\xb5" + b"\1" * 46 # no probe
    with Wire(there, "right") as wire, \
            running(*here.command(PERIGEE, "echo", "packet:left", 1)) as program:
        wire.wait_for_echo(program)
        here.ip("link", "set", "left", "down")
        assert program.runs_for(0.3), program.said
        here.ip("link", "set", "left", "up")
        wire.wait_for_echo(program)
        assert wire.exchange([frame] * 100) == [frame] * 100
        assert program.interrupt() == 0, program.said
    account(program.said)


def test_an_interface_that_goes_away_is_noticed_without_sysfs(pair):
    here, there = pair
    inside = ["nsenter", f"--net=/run/netns/{here.name}"]
    with Wire(there, "right") as wire, \
            running(*inside, PERIGEE, "echo", "packet:left", 1) as program:
        wire.wait_for_echo(program)
        here.ip("link", "delete", "left")
        program.wait_for("port 'packet:left': its interface 'left' is gone")
        veth(here, "left", there, "right")
        program.wait_for("port 'packet:left': its interface 'left' is back")
        with Wire(there, "right") as again:
            again.wait_for_echo(program)
        assert program.interrupt() == 0, program.said


def test_what_is_sent_to_an_interface_that_is_down_is_counted(namespace):
    a, middle, _ = hosts(namespace)
    with bridged(middle) as program:
        wait_until(lambda: program.read() and answers(a), "an answer", timeout=20)
        middle.ip("link", "set", "right", "down")
        flood(a, "net", b"\xff" * 12 + b"\x88\xb5" + bytes(46), 500)
        assert program.runs_for(0.3), program.said
        assert program.interrupt() == 0, program.said
    account(program.said)
    assert port_statistics(program.said)["packet:right"]["oerrors"] == 500


def test_an_mtu_that_changes_while_the_port_is_open(pair):
    here, there = pair
    long = b"\xff" * 12 + b"\x88\xb5" + bytes(4000)
    with Wire(there, "right") as wire, \
            running(*here.command(PERIGEE, "echo", "packet:left", 1)) as program:
        wire.wait_for_echo(program)
        here.ip("link", "set", "left", "mtu", "9000")
        there.ip("link", "set", "right", "mtu", "9000")
        assert program.runs_for(0.3), program.said
        assert wire.exchange([long] * 50, timeout=1) == [long] * 50
        assert program.interrupt() == 0, program.said
    assert drops(program.said) == {}


def test_frames_too_long_for_a_packet_are_dropped_by_name(namespace):
    here, there = namespace("h"), namespace("t")
    veth(here, "left", there, "right", mtu=20000)
    long = b"\xff" * 12 + b"\x88\xb5" + bytes(12000)
    most = b"\xff" * 12 + b"\x88\xb5" + bytes(10240 - 14)
    with Wire(there, "right") as wire, \
            running(*here.command(PERIGEE, "echo", "packet:left", 1)) as program:
        wire.wait_for_echo(program)
        assert wire.exchange([most, long, long, most], timeout=1) == [most, most]
        assert program.interrupt() == 0, program.said
    assert drops(program.said) == {"rx_oversize": 2}
    assert account(program.said)["dropped by ports"] == 2
