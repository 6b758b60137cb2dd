# SPDX-License-Identifier: Apache-2.0
"""Kernel interfaces that carry ports: TAP, and what is left behind on any of them."""

import json

import pytest

from helpers.command import PERIGEE, running, wait_until
from helpers.network import Wire, veth
from helpers.report import account, drops


def facts(namespace, iface):
    """Address, MTU, the flags that an administrator sets, and how many want it to be
    promiscuous."""
    link = json.loads(namespace.ip("-json", "-details", "link", "show", iface))[0]
    return {"address": link["address"], "mtu": link["mtu"],
            "promiscuity": link["promiscuity"],
            "flags": {"UP", "PROMISC"} & set(link["flags"])}


def exists(namespace, iface):
    return namespace.run("ip", "link", "show", iface).returncode == 0


def frames(longest):
    return [b"\xff" * 12 + b"\x88\xb5" + bytes([n % 256]) * (length - 14)
            for n, length in enumerate([14, 60, 61, 1000, longest] * 20)]


def echoed(namespace, port, sent, wire_on=None):
    """Send the frames through `echo PORT`; what came back, and what it said."""
    iface = port.split(":")[1]
    with running(*namespace.command(PERIGEE, "echo", port, 1)) as program:
        def up():
            assert program.read(), program.said
            return exists(namespace, iface) and "UP" in facts(namespace, iface)["flags"]
        wait_until(up, iface, timeout=20)
        with Wire(*(wire_on or (namespace, iface))) as wire:
            wire.wait_for_echo(program)
            during = facts(namespace, iface)
            back = wire.exchange(sent, timeout=2)
        assert program.interrupt() == 0, program.said
    assert drops(program.said) == {}
    a = account(program.said)
    assert a["received"] == a["sent"], program.said
    return back, during


def test_a_tap_interface_is_made_and_removed(namespace):
    here = namespace()
    back, during = echoed(here, "tap:tap0", frames(1514))
    assert back == frames(1514)
    assert during["mtu"] == 1500
    assert not exists(here, "tap0")


@pytest.mark.parametrize("state", ["up", "down"])
@pytest.mark.parametrize("queues", [["multi_queue"], []], ids=["many", "one"])
def test_a_tap_interface_that_was_there_stays_as_it_was(namespace, queues, state):
    here = namespace()
    here.ip("tuntap", "add", "tap7", "mode", "tap", *queues)
    here.ip("link", "set", "tap7", "address", "02:00:00:00:00:77", "mtu", "9000", state)
    before = facts(here, "tap7")
    assert before["address"] == "02:00:00:00:00:77"
    back, during = echoed(here, "tap:tap7", frames(1514))
    assert back == frames(1514)
    assert (during["address"], during["mtu"]) == (before["address"], 9000)
    assert facts(here, "tap7") == before


def test_taps_of_one_queue_are_opened_again_and_again(namespace):
    """Two at once, thrice: the driver opens each several times."""
    here = namespace()
    for name in "tap7", "tap8":
        here.ip("tuntap", "add", name, "mode", "tap")
    code = """
      local Port = require("apps.port.port").Port
      for round = 1, 3 do
        local c = config.new()
        for _, name in ipairs{"tap7", "tap8"} do config.app(c, name, Port, "tap:" .. name) end
        config.link(c, "tap7.output -> tap8.input")
        config.link(c, "tap8.output -> tap7.input")
        engine.configure(c)
        engine.main{duration = 0.05, no_report = true}
        engine.configure(config.new())
        print("round", round)
      end"""
    result = here.run(PERIGEE, "snsh", "-e", code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("round") == 3


def test_a_tap_interface_takes_no_frame_longer_than_its_driver_can(namespace):
    here = namespace()
    here.ip("tuntap", "add", "tap7", "mode", "tap", "multi_queue")
    here.ip("link", "set", "tap7", "mtu", "9000")
    sent = frames(9014)
    with running(*here.command(PERIGEE, "echo", "tap:tap7", 1)) as program:
        wait_until(lambda: program.read() and "UP" in facts(here, "tap7")["flags"],
                   "tap7", timeout=20)
        with Wire(here, "tap7") as wire:
            wire.wait_for_echo(program)
            back = wire.exchange(sent, timeout=1)
        assert program.interrupt() == 0, program.said
    assert back == [frame for frame in sent if len(frame) <= 1514]
    assert drops(program.said) == {"tx_oversize": len(sent) - len(back)}
    assert account(program.said)["in links"] == 0


@pytest.mark.parametrize("kind", ["packet", "xdp"])
@pytest.mark.parametrize("promiscuous", ["on", "off"])
def test_an_interface_is_left_as_it_was(namespace, kind, promiscuous):
    here, there = namespace("p"), namespace("t")
    veth(here, "left", there, "right", mtu=2000)
    here.ip("link", "set", "left", "promisc", promiscuous)
    before = facts(here, "left")
    back, during = echoed(here, f"{kind}:left", frames(2014), (there, "right"))
    assert back == frames(2014)
    assert during["promiscuity"] >= 1
    assert facts(here, "left") == before
    assert "prog/xdp" not in here.ip("-details", "link", "show", "left")


def test_an_interface_of_a_namespace_with_the_sys_of_another(namespace):
    """`unshare -n` alone leaves /sys as it was: there is no veth in it."""
    here, there = namespace("p"), namespace("t")
    veth(here, "left", there, "right")
    inside = ["nsenter", f"--net=/run/netns/{here.name}"]
    with Wire(there, "right") as wire, \
            running(*inside, PERIGEE, "echo", "packet:left", 1) as program:
        wire.wait_for_echo(program)
        assert wire.exchange(frames(1514)) == frames(1514)
        assert program.interrupt() == 0, program.said


@pytest.mark.parametrize("port", ["packet:left", "xdp:left", "tap:tap0"])
def test_nothing_is_said_when_all_is_well(namespace, port):
    here, there = namespace("p"), namespace("t")
    veth(here, "left", there, "right", offloads=port != "xdp:left")
    result = here.run(PERIGEE, "echo", port, 1, 0.1)
    assert (result.returncode, result.stderr) == (0, "")


def test_xdp_says_what_it_cannot_take(namespace):
    """Checksums that nobody has computed: AF_XDP doesn't tell."""
    here, there = namespace("p"), namespace("t")
    veth(here, "left", there, "right")
    result = here.run(PERIGEE, "echo", "xdp:left", 1, 0.1)
    assert result.returncode == 0
    assert result.stderr.count("\n") == 1
    assert "use packet:left" in result.stderr and "left tx off" in result.stderr
