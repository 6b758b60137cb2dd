# SPDX-License-Identifier: Apache-2.0
"""What bridges, tunnels and ARP have learned is there after kill -9 (--keep), while
packets come all the time."""

import contextlib
import json
import os
import signal
import threading
import time

import pytest

from helpers.command import PERIGEE, running, wait_until
from helpers.network import Wire, veth
from helpers.vtep import Site

MACS = [bytes((2, 0, 0, 0, 0, n)) for n in range(1, 4)]
ALL = b"\xff" * 6
PAYLOAD = b"\x88\xb5" + bytes(46)

ETHER_SWITCH = """
s :: EtherSwitch;
FromDevice(0) -> [0] s; s[0] -> Queue -> ToDevice(0);
FromDevice(1) -> [1] s; s[1] -> Queue -> ToDevice(1);
FromDevice(2) -> [2] s; s[2] -> Queue -> ToDevice(2);
"""
SCRIPT = """
local Port = require("apps.port.port").Port
local c = config.new()
config.app(c, "switch", %s)
for i = 0, 2 do
  local name = "p" .. i
  config.app(c, name, Port, "packet:" .. name)
  config.link(c, name .. ".output -> switch." .. name)
  config.link(c, "switch." .. name .. " -> " .. name .. ".input")
end
engine.configure(c)
engine.main{}
"""
BRIDGE = SCRIPT % 'require("apps.bridge.learning").bridge, {ports = {"p0", "p1", "p2"}}'
VLAN_SWITCH = SCRIPT % """require("apps.vlan_switch.vlan_switch").VlanSwitch,
  {ports = {{name = "p0"}, {name = "p1"}, {name = "p2"}}}"""

GRAPH = """
%s
ports: {p0: packet:p0, p1: packet:p1, p2: packet:p2}
apps:
  switch: {class: apps.bridge.learning.bridge, arg: {ports: [p0, p1, p2]}}
links:
  - p0 -> switch.p0
  - p1 -> switch.p1
  - p2 -> switch.p2
  - switch.p0 -> p0
  - switch.p1 -> p1
  - switch.p2 -> p2
"""

KINDS = {
    "graph": ("switch's addresses goes on with 2 of 2 records", GRAPH),
    "EtherSwitch": ("Click's s goes on with 2 of 2 records", ETHER_SWITCH),
    "bridge": ("switch's addresses goes on with 2 of 2 records", BRIDGE),
    "VlanSwitch": ("switch's addresses goes on with 2 of 2 records", VLAN_SWITCH),
}


@pytest.fixture
def environment(tmp_path):
    return {**os.environ, "SNABB_SHM_ROOT": str(tmp_path / "shm")}


def kill(program):
    program.send(signal.SIGKILL)
    assert program.finish() == -signal.SIGKILL


@contextlib.contextmanager
def traffic(wire, frame):
    """The frame, again and again, in the background."""
    over = threading.Event()

    def send():
        while not over.is_set():
            wire.send(frame)
            time.sleep(0.002)
    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def has(wire, frame, timeout):
    """Does the frame come in time? Others are passed over."""
    ends = time.monotonic() + timeout
    while time.monotonic() < ends:
        got = wire.receive(timeout=max(ends - time.monotonic(), 0.001))
        if got == frame:
            return True
    return False


def drain(wire):
    while wire.receive(timeout=0.01) is not None:
        pass


@pytest.mark.parametrize("keeps", [True, False], ids=["kept", "not kept"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_bridge_that_was_killed_floods_nothing_it_knows(namespace, environment, tmp_path,
                                                          kind, keeps):
    told, text = KINDS[kind]
    switch, wires = namespace("s"), []
    for i in range(3):
        host = namespace(f"h{i}")
        veth(switch, f"p{i}", host, "eth0", offloads=False)
        wires.append(Wire(host, "eth0"))
    a, b, c = wires
    words = ["--keep", "bridge"] if keeps else []
    if kind == "EtherSwitch":
        words += ["click", "-e", text]
        words += [word for i in range(3) for word in ("--device", f"{i}=packet:p{i}")]
    elif kind == "graph":  # and in a folder of its own, as a service's
        (tmp_path / "graph.yaml").write_text(text % ("keep: bridge" if keeps else ""))
        (tmp_path / "own").mkdir()
        environment["PERIGEE_KEEP_ROOT"] = str(tmp_path / "own")
        words = ["--sandbox", "run", str(tmp_path / "graph.yaml")]
    else:
        (tmp_path / "switch.lua").write_text(text)
        words += ["run", str(tmp_path / "switch.lua")]

    def start():
        return running(*switch.command(str(PERIGEE), *words), env=environment)
    a_to_b, b_to_a = (MACS[1] + MACS[0] + PAYLOAD, MACS[0] + MACS[1] + PAYLOAD)
    with start() as program:
        program.wait_for_engine()
        hello = ALL + MACS[0] + PAYLOAD
        a.send(hello)
        assert has(c, hello, 20), program.said
        b.send(b_to_a)
        assert has(a, b_to_a, 20), program.said
        with traffic(a, a_to_b):
            assert has(b, a_to_b, 20), program.said
            drain(c)
            program.read()
            kill(program)
            with start() as program:
                drain(b)
                assert has(b, a_to_b, 60), program.said
                assert has(c, a_to_b, 0.5) != keeps, program.said
                program.read()
                assert (told in program.said) == keeps, program.said
                assert program.interrupt() == 0, program.said
    for wire in wires:
        wire.socket.close()


ROUTER = """
FromDevice(0) -> Classifier(12/0800) -> Strip(14) -> CheckIPHeader -> GetIPAddress(16)
  -> [0] querier :: ARPQuerier(192.0.2.1, 02:00:00:00:00:99);
FromDevice(1) -> answers :: Classifier(12/0806 20/0002, -);
answers[0] -> [1] querier; answers[1] -> Discard;
querier -> Queue -> ToDevice(1);
"""


@pytest.mark.parametrize("keeps", [True, False], ids=["kept", "not kept"])
def test_a_router_that_was_killed_knows_its_neighbours(namespace, environment, keeps):
    """The neighbour answers ARP once, and no more after that."""
    router, near, far = namespace("r"), namespace("n"), namespace("f")
    veth(router, "p0", near, "eth0", offloads=False)
    veth(router, "p1", far, "eth0", offloads=False)
    far.ip("address", "add", "192.0.2.2/24", "dev", "eth0")
    mac = json.loads(far.ip("-json", "link", "show", "eth0"))[0]["address"]
    packet = bytes.fromhex("4500001c00000000401100000a000001c0000202" "0001000200080000")
    total = sum(int.from_bytes(packet[i:i + 2]) for i in range(0, 20, 2))
    total = (total & 0xffff) + (total >> 16)
    packet = packet[:10] + (0xffff - total).to_bytes(2) + packet[12:]
    sent = bytes(12) + b"\x08\x00" + packet
    due = bytes.fromhex(mac.replace(":", "")) + bytes.fromhex("020000000099") + sent[12:]
    words = ["--keep", "router"] if keeps else []
    words += ["click", "-e", ROUTER, "--device", "0=packet:p0", "--device", "1=packet:p1"]

    def start():
        return running(*router.command(str(PERIGEE), *words), env=environment)
    with Wire(near, "eth0") as a, Wire(far, "eth0") as b, start() as program:
        program.wait_for_engine()
        with traffic(a, sent):
            assert has(b, due, 20), program.said
            far.ip("link", "set", "eth0", "arp", "off")
            program.read()
            kill(program)
            drain(b)
            with start() as program:
                program.wait_for_engine()
                assert has(b, due, 60 if keeps else 2) == keeps, program.said
                program.read()
                assert ("Click's querier goes on with 1 of 1 records"
                        in program.said) == keeps, program.said
                assert program.interrupt() == 0, program.said


@pytest.mark.parametrize("keeps", [True, False], ids=["kept", "not kept"])
def test_a_tunnel_that_was_killed_knows_who_is_where(namespace, environment, monkeypatch,
                                                     keeps):
    monkeypatch.setenv("SNABB_SHM_ROOT", environment["SNABB_SHM_ROOT"])
    site = Site(namespace, "packet", remotes=2)
    two, three = site.remotes
    options = ["--keep", "tunnel"] if keeps else []
    mac = json.loads(two.ip("-json", "link", "show", "vxlan0"))[0]["address"]
    frame = bytes.fromhex(mac.replace(":", "")) + MACS[0] + PAYLOAD
    with site.start(*options) as program, Wire(site.station, "net") as station, \
            Wire(two, "vxlan0") as near, Wire(three, "vxlan0") as other:
        wait_until(lambda: program.read() and site.station.run(
            "ping", "-n", "-W", "2", "-c", "1", "10.9.0.2").returncode == 0,
            lambda: f"a first ping; {program.said}", timeout=30)
        station.send(frame)
        assert has(near, frame, 20), program.said
        with traffic(station, frame):
            program.read()
            kill(program)
            drain(near)
            drain(other)
            with site.start(*options) as program:
                assert has(near, frame, 60), program.said
                assert has(other, frame, 0.5) != keeps, program.said
                program.read()
                for what in "forwarding entries", "neighbours":
                    assert (f"vtep_host's {what} goes on with " in program.said) \
                        == keeps, program.said
                assert program.interrupt() == 0, program.said
