# SPDX-License-Identifier: Apache-2.0
"""`netmap:` ports in a virtual machine whose kernel has netmap's module: both ways byte for
byte, refusals, what is left behind, and `perigee model`. Instructions are counted there."""

import json
import re

import pytest

from helpers import guest_image, netmap
from helpers.capture import load, save
from helpers.command import wait_until
from helpers.guest import COUNTED, booted
from helpers.report import account
from helpers.schema import valid

SIZES = [14, 15, 59, 60, 61, 64, 65, 127, 128, 500, 1000, 1499, 1500, 1513, 1514]
FRAMES = [b"\2\0\0\0\0\1\2\0\0\0\0\2\x88\xb5" + bytes((i + k) % 256 for k in range(size - 14))
          for i, size in enumerate(SIZES * 20)]
ENDS = {"pipe": ("a{1", "a}1"), "switch": ("vale0:a", "vale0:b"),
        "veth": ("left", "right")}
MODEL_TIMEOUT_S = 600

# There and back: FILE is sent by one end, and what the other sent back is written.
EXCHANGE = """
local Port = require("apps.port.port").Port
local near, far, sent, received, count = ...
local c = config.new()
config.app(c, "near", Port, near)
config.app(c, "far", Port, far)
config.app(c, "file", Port, "pcap:rx=" .. sent .. ",tx=" .. received)
config.link(c, "file.output -> near.input")
config.link(c, "far.output -> far.input")
config.link(c, "near.output -> file.input")
engine.configure(c)
local function back() return engine.link_table["near.output -> file.input"] end
local link = require("core.link")
engine.main{done = function ()
  return link.stats(back()).rxpackets >= tonumber(count)
end}
"""


@pytest.fixture(scope="module")
def guest(tmp_path_factory):
    guest_image.require()
    netmap.require()
    folder = tmp_path_factory.mktemp("guest")
    (folder / "exchange.lua").write_text(EXCHANGE)
    (folder / "netmap.ko").write_bytes(netmap.MODULE.read_bytes())
    with booted(folder, memory=768, devices=COUNTED) as running:
        without = running.perigee("echo", "netmap:a{1")
        assert without.returncode == 2
        assert "there is no /dev/netmap, as the kernel's module" in without.stdout
        netmap.load(running)
        running.check("ip link add left type veth peer name right && "
                      "ip link set left up && ip link set right up")
        yield running


@pytest.mark.parametrize("kind", ENDS)
def test_frames_of_all_sizes_go_there_and_back(guest, kind):
    near, far = ENDS[kind]
    save(guest.folder / "in.pcap", FRAMES)
    result = guest.perigee("run", guest.folder / "exchange.lua", f"netmap:{near}",
                           f"netmap:{far}", guest.folder / "in.pcap",
                           guest.folder / "out.pcap", len(FRAMES))
    assert result.returncode == 0, result.stdout
    assert list(load(guest.folder / "out.pcap")) == FRAMES
    counts = account(result.stdout)
    assert counts["received"] == counts["sent"] == 3 * len(FRAMES)


def test_between_processes_and_after_kill_9(guest):
    """The far end's process dies in the middle; another takes its place."""
    for _ in range(2):
        far = guest.start("echo", "netmap:a}1")
        far.wait_for_engine()
        guest.check(f"kill -9 {far.pid}")
        assert far.finish() == 128 + 9
    far = guest.start("capture", "netmap:a}1", guest.folder / "far.pcap", "--limit",
                      len(FRAMES))
    far.wait_for_engine()
    save(guest.folder / "in.pcap", FRAMES)
    sent = guest.perigee("replay", "--topspeed", guest.folder / "in.pcap", "netmap:a{1")
    assert sent.returncode == 0, sent.stdout
    assert far.finish() == 0, far.said
    assert list(load(guest.folder / "far.pcap")) == FRAMES


@pytest.mark.parametrize("kind", ENDS)
def test_it_wakes_a_sleeping_engine(guest, kind):
    """Frames half a second apart."""
    near, far = ENDS[kind]
    save(guest.folder / "slow.pcap", FRAMES[:6], gap_us=500_000)
    echo = guest.start("echo", f"netmap:{far}")
    echo.wait_for_engine()
    sent = guest.perigee("replay", guest.folder / "slow.pcap", f"netmap:{near}")
    assert sent.returncode == 0, sent.stdout
    assert echo.interrupt() == 0, echo.said
    assert "looked at every" not in echo.said
    came = re.search(r"slept [\d,]+ times .* it came ([\d,]+) times", echo.said)
    assert int(came[1].replace(",", "")) >= 3, echo.said
    assert account(echo.said)["received"] >= 6


def test_an_interface_is_one_processs_and_goes_back_to_the_kernel(guest):
    first = guest.start("echo", "netmap:left")
    first.wait_for_engine()
    second = guest.perigee("echo", "netmap:left")
    assert second.returncode == 1
    assert "another process has 'left' by netmap already; end that first" in second.stdout
    assert "promiscuity 1" in guest.check("ip -details link show left")
    assert first.interrupt() == 0, first.said
    assert "promiscuity 0" in guest.check("ip -details link show left")
    assert guest.run("grep -q '^netmap [0-9]* 0 ' /proc/modules").returncode == 0


def test_an_interface_that_goes_away(guest):
    guest.check("ip link add gone type veth peer name gone1 && ip link set gone up && "
                "ip link set gone1 up")
    program = guest.start("echo", "netmap:gone")
    program.wait_for_engine()
    guest.check("ip link delete gone")
    wait_until(lambda: "its interface 'gone' is gone" in program.said, "the sentence")
    guest.check("ip link add gone type veth peer name gone1 && ip link set gone up && "
                "ip link set gone1 up")
    wait_until(lambda: "its interface 'gone' is back" in program.said, "the sentence")
    assert program.interrupt() == 0, program.said


def test_it_is_measured_as_other_ports_are(guest):
    """A pipe costs more than a ring in one process, which calls no kernel, and long frames
    more than short ones, as they are copied."""
    measured = guest.perigee("model", "--quick", "--no-memory", "--ports", "ring,netmap",
                             "--out", guest.folder / "model", timeout=MODEL_TIMEOUT_S)
    assert measured.returncode == 0, measured.stdout
    found = valid("model", (guest.folder / "model" / "model.json").read_text())
    ports = {port["name"]: port for port in found["ports"]}
    io = {name: {(cell["burst"], cell["size"]): cell["io"] for cell in port["cells"]}
          for name, port in ports.items()}
    assert io["netmap"][32, 64] > 2 * io["ring"][32, 64], json.dumps(ports)
    assert io["netmap"][32, 1518] > 1.2 * io["netmap"][32, 64]
    assert io["netmap"][1, 64] > 2 * io["netmap"][32, 64]
