# SPDX-License-Identifier: Apache-2.0
"""Interfaces that go away while a port has them, and come back: the port waits, carries
on, tells both once and counts; the rest of the graph goes on meanwhile."""

import os
import re

import pytest

from helpers.capture import save
from helpers.command import PERIGEE, ROOT, run, running, wait_until
from helpers.network import Wire, veth
from helpers.pings import Pings
from helpers.report import account, drops, port_statistics

FRAMES = [b"\xff" * 12 + b"\x88\xb5" + bytes([n]) * 46 for n in range(1, 101)]
CPUS = sorted(os.sched_getaffinity(0))
SENTENCE = re.compile(r"^perigee: (?:port|device) .*? its interface ('\w+' )?is (gone|back)",
                      re.MULTILINE)


def told(program):
    """What was said of interfaces: "gone" and "back"."""
    return [what for _, what in SENTENCE.findall(program.said)]


def index(namespace, iface):
    return int(namespace.check("cat", f"/sys/class/net/{iface}/ifindex"))


def take_away(here, there, how):
    if how == "removed":
        here.ip("link", "delete", "left")
    elif how == "moved":
        here.ip("link", "set", "left", "netns", there.name)
    else:
        here.ip("link", "set", "left", "down")
        here.ip("link", "set", "left", "name", "other")


def bring_back(here, there, how):
    if how == "removed":
        veth(here, "left", there, "right", offloads=False)
    elif how == "moved":
        there.ip("link", "set", "left", "netns", here.name)
    else:
        here.ip("link", "set", "other", "name", "left")
    here.ip("link", "set", "left", "up")


def is_up(namespace, iface):
    """Can a raw socket be bound to it, and is there a carrier?"""
    return "LOWER_UP" in namespace.ip("link", "show", iface)


def comes_back(here, there, program):
    """The interface that the program waits for: all is as before."""
    assert program.runs_for(0.3), program.said
    veth(here, "left", there, "right", offloads=False)
    program.wait_for("is back")
    with Wire(there, "right") as wire:
        wire.wait_for_echo(program)
        assert wire.exchange(FRAMES) == FRAMES, program.said
    assert program.interrupt() == 0, program.said


@pytest.mark.parametrize("kind", ["packet", "xdp"])
@pytest.mark.parametrize("how, options", [
    ("removed", []), ("moved", []), ("renamed", []), ("removed", ["--sandbox"])])
def test_it_carries_on_when_the_interface_is_back(namespace, kind, how, options):
    here, there = namespace("h"), namespace("t")
    veth(here, "left", there, "right", offloads=False)
    probes = 0
    with running(*here.command(PERIGEE, *options, "echo", f"{kind}:left")) as program:
        for times in 1, 2:
            with Wire(there, "right") as wire:
                probes += wire.wait_for_echo(program)
                assert wire.exchange(FRAMES) == FRAMES, program.said
            take_away(here, there, how)
            program.wait_for("is gone", count=times)
            assert program.runs_for(0.5), program.said
            bring_back(here, there, how)
            program.wait_for("is back", count=times)
        with Wire(there, "right") as wire:
            probes += wire.wait_for_echo(program)
            assert wire.exchange(FRAMES) == FRAMES, program.said
        assert program.interrupt() == 0, program.said
    assert told(program) == ["gone", "back"] * 2, program.said
    stats = port_statistics(program.said)[f"{kind}:left"]
    assert stats["ipackets"] == 3 * len(FRAMES) + probes, program.said
    a = account(program.said)
    lost = sum(drops(program.said).values()) + stats["oerrors"]
    assert a["received"] == stats["ipackets"] == stats["opackets"] + lost, program.said


def test_a_hint_is_given_once(namespace):
    here, there = namespace("h"), namespace("t")
    veth(here, "left", there, "right")
    with running(*here.command(PERIGEE, "echo", "xdp:left")) as program:
        program.wait_for_engine()
        for times in 1, 2:
            here.ip("link", "delete", "left")
            program.wait_for("is gone", count=times)
            veth(here, "left", there, "right")
            program.wait_for("is back", count=times)
        assert program.said.count("has no checksums yet") == 1, program.said


def test_an_interface_of_another_number(namespace):
    """It is away for less time than the port looks for it in, maybe: the number tells."""
    here, there = namespace("h"), namespace("t")
    veth(here, "left", there, "right", offloads=False)
    with running(*here.command(PERIGEE, "echo", "packet:left")) as program, \
            Wire(there, "right") as wire:
        wire.wait_for_echo(program)
        before = index(here, "left")
        here.ip("link", "delete", "left")
        veth(here, "left", there, "right", offloads=False)
        assert index(here, "left") != before
        program.wait_for("is back")
        with Wire(there, "right") as again:
            again.wait_for_echo(program)
        assert program.interrupt() == 0, program.said
    assert told(program) == ["gone", "back"], program.said


def answers(host, address):
    return host.run("ping", "-n", "-c1", "-W5", address).returncode == 0


@pytest.mark.parametrize("kind", ["packet", "xdp"])
@pytest.mark.parametrize("options", [[], ["--cpus", ",".join(map(str, CPUS[:2]))]],
                         ids=["one CPU", "several"])
def test_the_rest_goes_on(namespace, kind, options):
    """No ping through two ports is lost while a third is away; what is sent there has a
    name among the drops, and metrics tell."""
    a, b, middle, other = (namespace(label) for label in "abmo")
    for host, iface, address in (a, "one", 1), (b, "two", 2):
        veth(middle, iface, host, "net", offloads=False)
        host.ip("address", "add", f"10.0.0.{address}/24", "dev", "net")
    veth(middle, "left", other, "right", offloads=False)
    command = middle.command(PERIGEE, *options, "run", ROOT / "test/interface_away.lua",
                             f"{kind}:one", f"{kind}:two", f"{kind}:left")
    with running(*command) as program:
        program.wait_for("begins")
        wait_until(lambda: program.read() and answers(a, "10.0.0.2"), "a first ping")
        middle.ip("link", "delete", "left")
        program.wait_for("is gone")
        with Pings(a, "10.0.0.2", 20, interval=0.02) as pings:
            pass
        assert pings.sent and not pings.lost, (pings.sent, pings.lost, program.said)
        text = wait_until(lambda: (t := metrics(program)) and
                          'app="away",name="interface_away"} 1' in t and t,
                          "the metric")
        assert 'name="interface_losses"} 1' in text, text
        veth(middle, "left", other, "right", offloads=False)
        program.wait_for("is back")
        assert 'app="away",name="interface_away"} 0' in wait_until(
            lambda: (t := metrics(program)) and "interface_away\"} 1" not in t and t,
            "the metric")
        assert program.interrupt() == 0, program.said
    assert told(program) == ["gone", "back"], program.said
    assert drops(program.said)["tx_unplugged"] >= 20, program.said
    account(program.said)


def metrics(program):
    assert program.read(), program.said
    return run(PERIGEE, "metrics", "--plain", program.pid).stdout.replace(
        "perigee_app_events_total", "perigee_app")


@pytest.mark.parametrize("kind", ["packet", "xdp"])
def test_one_that_is_not_there_at_the_start(namespace, kind):
    here, there = namespace("h"), namespace("t")
    refused = here.run(PERIGEE, "echo", f"{kind}:left", 1, 1)
    assert refused.returncode == 2, refused.stderr
    assert "there is no kernel interface 'left'" in refused.stderr
    with running(*here.command(PERIGEE, "echo", f"{kind}:left,wait=1")) as program:
        program.wait_for(f"port '{kind}:left,wait=1': there is no interface 'left' that is "
                         "up yet; waiting for it")
        comes_back(here, there, program)
    account(program.said)


def test_what_stands_in_the_way_is_told_once(namespace):
    """The interface is back, and can't be had yet."""
    here, there = namespace("h"), namespace("t")
    veth(here, "left", there, "right", offloads=False)
    with running(*here.command(PERIGEE, "echo", "xdp:left")) as program:
        with Wire(there, "right") as wire:
            wire.wait_for_echo(program)
        here.ip("link", "delete", "left")
        program.wait_for("is gone")
        veth(here, "left", there, "right", mtu=9000, offloads=False)
        program.wait_for("is more than AF_XDP can carry")
        assert program.runs_for(2.5), program.said
        assert program.said.count("more than AF_XDP") == 1, program.said
        here.ip("link", "set", "left", "mtu", "1500")
        program.wait_for("is back")
        assert program.interrupt() == 0, program.said
    assert told(program) == ["gone", "back"], program.said


def test_a_tap_interface_is_made_again(namespace):
    here = namespace()
    with running(*here.command(PERIGEE, "echo", "tap:tap0")) as program:
        program.wait_for_engine()
        before = wait_until(lambda: program.read() and here.run(
            "ip", "link", "show", "tap0").returncode == 0 and index(here, "tap0"), "tap0")
        here.ip("link", "delete", "tap0")
        program.wait_for("is back")
        assert index(here, "tap0") != before
        with Wire(here, "tap0") as wire:
            wire.wait_for_echo(program)
            assert wire.exchange(FRAMES) == FRAMES, program.said
        assert program.interrupt() == 0, program.said
    assert told(program) == ["gone", "back"], program.said
    assert here.run("ip", "link", "show", "tap0").returncode != 0


def test_a_tap_interface_of_somebody_elses_is_waited_for(namespace):
    here = namespace()
    here.ip("tuntap", "add", "tap0", "mode", "tap")
    with running(*here.command(PERIGEE, "echo", "tap:tap0")) as program:
        program.wait_for_engine()
        wait_until(lambda: program.read() and is_up(here, "tap0"), "tap0")
        # Who made it: a TAP that a process has attached isn't given to another.
        here.ip("link", "delete", "tap0")
        program.wait_for("is gone")
        assert program.runs_for(0.5), program.said
        assert here.run("ip", "link", "show", "tap0").returncode != 0, program.said
        here.ip("tuntap", "add", "tap0", "mode", "tap")
        here.ip("link", "set", "tap0", "up")
        program.wait_for("is back")
        with Wire(here, "tap0") as wire:
            wire.wait_for_echo(program)
        assert program.interrupt() == 0, program.said
    assert told(program) == ["gone", "back"], program.said


def test_a_vhost_socket_that_nobody_serves_yet(tmp_path):
    path = tmp_path / "socket"
    client = ["capture", f"virtio-user:{path},wait=1", tmp_path / "out.pcap"]
    with running(PERIGEE, *client) as program:
        program.wait_for_engine()
        assert program.runs_for(0.5), program.said
        assert run(PERIGEE, *client[:1], f"virtio-user:{path}", tmp_path / "2.pcap"
                   ).returncode == 2
        source = f"pcap:rx={save(tmp_path / 'in.pcap', FRAMES)},loop=1"
        with running(PERIGEE, "run", ROOT / "test/interface_away.lua", source, "null",
                     f"vhost:{path}") as host:
            wait_until(lambda: host.read() and program.read() and
                       (tmp_path / "out.pcap").exists() and
                       (tmp_path / "out.pcap").stat().st_size > 10000, "packets")
        assert program.interrupt() == 0, program.said


@pytest.mark.parametrize("kind", ["click", "moongen"])
def test_other_families(namespace, kind):
    here, there = namespace("h"), namespace("t")
    veth(here, "left", there, "right", offloads=False)
    words = {"click": ["click", "-e", "FromDevice(left) -> Queue -> ToDevice(left)"],
             "moongen": ["moongen", "--port", "0=packet:left",
                         ROOT / "test/moongen/answer.lua"]}[kind]
    with running(*here.command(PERIGEE, *words)) as program:
        if kind == "moongen":
            program.wait_for("begins")
        with Wire(there, "right") as wire:
            wire.wait_for_echo(program)
        here.ip("link", "delete", "left")
        program.wait_for("is gone")
        comes_back(here, there, program)
    assert told(program) == ["gone", "back"], program.said
