# SPDX-License-Identifier: Apache-2.0
"""A process that was killed is in nobody's way: the same program starts again, needs no
help, and nothing that it left piles up."""

import json
import os
import pathlib
import random
import re
import signal
import time

import pytest

from helpers import xdp
from helpers.command import PERIGEE, Running, running
from helpers.network import Wire, veth

TIMES = 20

# Started by the arguments: port strings.
ECHOES = """
local Port = require("apps.port.port").Port
local c = config.new()
for i, port in ipairs{...} do
  local name = "port" .. i
  config.app(c, name, Port, port)
  config.link(c, name .. ".output -> " .. name .. ".input")
end
engine.configure(c)
engine.main()
"""


def state(namespace):
    """What administrators see of each interface."""
    links = json.loads(namespace.ip("-json", "-details", "link", "show"))
    return {link["ifname"]: {
        "address": link["address"], "mtu": link["mtu"], "xdp": link.get("xdp"),
        "promiscuity": link["promiscuity"],
        "flags": {"UP", "PROMISC", "ALLMULTI"} & set(link["flags"])} for link in links}


def left_behind(processes, environment):
    """What there is of these processes (numbers) where processes leave things. Others,
    of other tests, may run."""
    folders = [environment["SNABB_SHM_ROOT"], "/run/dpdk", "/tmp/dpdk", "/dev/hugepages",
               "/dev/shm"]
    return [name for folder in folders if os.path.isdir(folder)
            for name in os.listdir(folder)
            if set(map(int, re.findall(r"\d+", name))) & processes]


def notes(namespace):
    """Of the interfaces that were brought up."""
    inode = os.stat(f"/run/netns/{namespace.name}").st_ino
    return [path.name for path in pathlib.Path("/run/perigee-brought-up").glob(f"{inode}-*")]


class Machine:
    """A namespace with interfaces of all kinds, whose ports a program echoes."""

    def __init__(self, make, tmp_path):
        self.here, self.there = make("p"), make("t")
        for name in "raw", "fast":
            veth(self.here, name, self.there, name + "-peer", offloads=False)
        self.here.ip("link", "set", "fast", "promisc", "on")
        for name, flags in ("tap-up", "up"), ("tap-down", "down"):
            self.here.ip("tuntap", "add", name, "mode", "tap", "multi_queue")
            self.here.ip("link", "set", name, "mtu", "9000", flags)
        self.script = tmp_path / "echoes.lua"
        self.script.write_text(ECHOES)
        self.sockets = [tmp_path / name for name in ("memif", "vhost")]
        self.ports = ["packet:raw", "xdp:fast", "tap:tap-up", "tap:tap-down", "tap:made",
                      f"memif:{self.sockets[0]},role=server", f"vhost:{self.sockets[1]}",
                      "ring:round", "ring:round"]
        self.environment = {**os.environ, "SNABB_SHM_ROOT": str(tmp_path / "shm")}
        (tmp_path / "shm").mkdir()

    def start(self):
        return running(*self.here.command(PERIGEE, "run", self.script, *self.ports),
                       env=self.environment)

    def wait(self, program):
        """Until all ports echo."""
        program.wait_for_engine()
        for name in "raw-peer", "fast-peer":
            with Wire(self.there, name) as wire:
                wire.wait_for_echo(program)
        for name in "tap-up", "tap-down", "made":
            with Wire(self.here, name) as wire:
                wire.wait_for_echo(program)


def test_twenty_times_at_any_moment(namespace, tmp_path):
    machine = Machine(namespace, tmp_path)
    before, rng = state(machine.here), random.Random(TIMES)
    took, killed = 0, set()
    for i in range(TIMES):
        began = time.monotonic()
        with machine.start() as program:
            if i == 0:
                machine.wait(program)
                took = time.monotonic() - began
            else:
                program.runs_for(rng.uniform(0, took))
            assert program.interrupt(signal.SIGKILL) == -signal.SIGKILL, program.said
        killed.add(program.pid)
        now = state(machine.here)
        now["tap-down"]["flags"] -= {"UP"}
        assert now == before
    with machine.start() as program:
        machine.wait(program)
        assert left_behind(killed, machine.environment) == []
        assert len(notes(machine.here)) == 1
        assert program.interrupt() == 0, program.said
    assert state(machine.here) == before
    assert notes(machine.here) == []
    assert not any(socket.exists() for socket in machine.sockets)
    assert left_behind({program.pid}, machine.environment) == []


# A side of a queue between processes: what it received, it says ten times a second.
INTERLINK = """
local basic = require("apps.basic.basic_apps")
local side = ...
local c = config.new()
config.app(c, "queue", require("apps.interlink." .. side), {queue = "/killed"})
config.app(c, "source", basic.Source)
config.app(c, "sink", basic.Sink)
config.link(c, side == "receiver" and "queue.output -> sink.input"
  or "source.output -> queue.input")
engine.configure(c)
local before = 0
timer.activate(timer.new("say", function ()
  local l = engine.app_table.sink.input.input
  local now = l and link.stats(l).rxpackets or 0
  if now > before then print("some came") io.flush() end
  before = now
end, 1e8, "repeating"))
engine.main()
"""


def test_both_sides_of_an_interlink(tmp_path):
    environment = {**os.environ, "SNABB_SHM_ROOT": str(tmp_path / "shm")}
    (tmp_path / "shm").mkdir()
    script = tmp_path / "side.lua"
    script.write_text(INTERLINK)
    rng = random.Random(TIMES)

    def start(side):
        return Running([PERIGEE, "run", script, side], env=environment)
    sides = {side: start(side) for side in ("receiver", "transmitter")}
    try:
        for _ in range(TIMES):
            victim = rng.choice(sorted(sides))
            sides[victim].runs_for(rng.uniform(0, 0.5))
            assert sides[victim].interrupt(signal.SIGKILL) == -signal.SIGKILL
            sides[victim] = start(victim)
        receiver = sides["receiver"]
        receiver.wait_for("some came", count=receiver.said.count("some came") + 2)
        for side in sides.values():
            assert side.interrupt() == 0, side.said
    finally:
        for side in sides.values():
            side.process.kill()
            side.process.wait()
    assert os.listdir(tmp_path / "shm" / "interlink") == []


def test_an_xdp_program_of_another_stays(namespace):
    here, there = namespace("p"), namespace("t")
    veth(here, "left", there, "right", offloads=False)
    xdp.attach(here, "left")
    attached = state(here)["left"]["xdp"]
    assert attached["prog"]["id"] > 0
    for _ in range(2):
        result = here.run(PERIGEE, "echo", "xdp:left", 1, "100ms")
        assert result.returncode == 2
        assert "the interface has an XDP program already; end the process that uses " \
            "it, or take the program off with: ip link set left xdp off" in result.stderr
        assert state(here)["left"]["xdp"] == attached
    here.ip("link", "set", "left", "xdp", "off")
    assert here.run(PERIGEE, "echo", "xdp:left", 1, "100ms").returncode == 0


def test_an_xdp_program_that_comes_while_a_port_is_open_is_refused(namespace):
    here, there = namespace("p"), namespace("t")
    veth(here, "left", there, "right", offloads=False)
    with running(*here.command(PERIGEE, "echo", "xdp:left")) as program, \
            Wire(there, "right") as wire:
        wire.wait_for_echo(program)
        with pytest.raises(AssertionError, match="busy"):
            xdp.attach(here, "left")
        wire.wait_for_echo(program)
        assert program.interrupt() == 0, program.said
    assert state(here)["left"]["xdp"] is None
    xdp.attach(here, "left")
