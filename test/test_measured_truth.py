# SPDX-License-Identifier: Apache-2.0
"""perigee generate measures what devices of known limits do, which are made of Perigee's own
elements and apps in another process: what these have counted is what it must report, on an idle
machine and on a busy one. PERIGEE_LONG=1: 20 runs each, beside no and beside 6 busy processes."""

import contextlib
import os
import subprocess
import sys

import pytest

from helpers.command import PERIGEE, running
from helpers.control import Client, wait_for_socket
from helpers.generate import generate

LONG = bool(os.environ.get("PERIGEE_LONG"))
RUNS = range(20 if LONG else 1)
LOADS = [0, 6] if LONG else [0]
COUNT = 4000
RATE = "4kpps"

# Loses, keeps back until another one has passed, and doubles each so-many-th packet.
MANGLER = """
local path, lose, swap, double = ...
local link, packet = require("core.link"), require("core.packet")
local Port = require("apps.port.port").Port
local Mangler = {}
Mangler.__index = Mangler
function Mangler:new() return setmetatable({n = 0}, Mangler) end
function Mangler:push()
  local input, output = self.input.input, self.output.output
  for _ = 1, link.nreadable(input) do
    local p = link.receive(input)
    self.n = self.n + 1
    if self.n % lose == 0 then
      packet.free(p)
    elseif self.n % swap == 0 then
      self.held = p
    else
      if self.n % double == 0 then link.transmit(output, packet.clone(p)) end
      link.transmit(output, p)
      if self.held then link.transmit(output, self.held) end
      self.held = nil
    end
  end
end
local c = config.new()
config.app(c, "port", Port, path)
config.app(c, "mangler", Mangler)
config.link(c, "port.output -> mangler.input")
config.link(c, "mangler.output -> port.input")
engine.configure(c)
engine.main{}
"""


@contextlib.contextmanager
def beside(load):
    """So many processes that take all the CPU time that they get."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(load)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


@contextlib.contextmanager
def device(tmp_path, text):
    """A Click configuration between both ends of the port x: its client, and generate's
    words for the port."""
    port = f"memif:{tmp_path}/m.sock"
    with running(PERIGEE, "click", "--device", f"x={port},role=server", "-e",
                 text) as process:
        client = Client(wait_for_socket(process))
        yield client, ["--port", f"{port},role=client", "--receive", f"{port},role=client"]
        client.close()
        process.send(2)
        process.finish()


def measure(ports, *words):
    """What was sent and received; all that was sent reached the device's port."""
    results = generate(*ports, "--rate", RATE, "--count", str(COUNT), "--idle", "3", *words)
    sent, got = results["sent"], results["received"]
    assert sent["packets"] == COUNT and sent["unsent"] == sent["dropped"] == 0
    assert got["missed"] == got["other"] == got["unclear"] == got["too_late"] == 0
    return got


def read(client, handler):
    return int(client.ask(do="read", handler=handler)["answer"]["value"])


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("run", RUNS)
def test_loss_by_chance(tmp_path, run, load):
    text = """FromDevice(x) -> all :: Counter -> s :: RandomSample(DROP 0.03) -> ToDevice(x);
    s[1] -> lost :: Counter -> Discard;"""
    with beside(load), device(tmp_path, text) as (client, ports):
        got = measure(ports, "--seed", str(run + 1))
        assert read(client, "all.count") == COUNT
        lost = read(client, "lost.count")
    assert got["lost"] == lost > 0 and got["packets"] == COUNT - lost
    assert got["duplicates"] == got["reordered"] == 0


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("run", RUNS)
def test_a_short_queue_before_a_rate(tmp_path, run, load):
    text = """FromDevice(x) -> all :: Counter -> q :: Queue(20) -> RatedUnqueue(1000)
    -> passed :: Counter -> ToDevice(x);"""
    with beside(load), device(tmp_path, text) as (client, ports):
        got = measure(ports)
        lost, passed = read(client, "q.drops"), read(client, "passed.count")
        assert read(client, "all.count") == COUNT == lost + passed
    assert (got["lost"], got["packets"]) == (lost, passed)
    assert lost > 0 and got["duplicates"] == got["reordered"] == 0


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("run", RUNS)
def test_delays(tmp_path, run, load):
    """Every other packet is delayed by 20 ms, the others by 40: none may seem faster, half of
    them are overtaken at most, and none is lost."""
    text = """FromDevice(x) -> SetTimestamp -> r :: RoundRobinSwitch;
    r[0] -> Queue(5000) -> DelayUnqueue(0.02) -> ToDevice(x);
    r[1] -> Queue(5000) -> DelayUnqueue(0.04) -> ToDevice(x);"""
    with beside(load), device(tmp_path, text) as (_, ports):
        got = measure(ports)
    assert got["packets"] == COUNT and got["lost"] == got["duplicates"] == 0
    latency = got["latency_ns"]
    least = 0.99  # a burst has the time at which it was begun, two clocks differ
    assert latency["min"] >= 20e6 * least and latency["p90"] >= 40e6 * least
    assert latency["mean"] >= 30e6 * least and 0 < got["reordered"] <= COUNT / 2
    if LONG and not load:
        assert latency["min"] <= 20.2e6, latency


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("run", RUNS)
def test_loss_order_and_duplicates_by_number(tmp_path, run, load):
    script = tmp_path / "device.lua"
    script.write_text(MANGLER)
    port = f"memif:{tmp_path}/m.sock"
    lose, swap, double = 97, 11, 13
    with beside(load), running(PERIGEE, "run", script, f"{port},role=server", lose, swap,
                               double) as process:
        wait_for_socket(process)
        got = measure(["--port", f"{port},role=client", "--receive", f"{port},role=client"])
        process.send(2)
        process.finish()
    numbers = range(1, COUNT + 1)
    lost = [n for n in numbers if n % lose == 0]
    held = [n for n in numbers if n % swap == 0 and n % lose]
    doubled = [n for n in numbers if n % double == 0 and n % lose and n % swap]
    assert held[-1] < COUNT and got["lost"] == len(lost)
    assert got["duplicates"] == len(doubled)
    assert got["reordered"] == len(held)
    assert got["packets"] == COUNT - len(lost) + len(doubled)
