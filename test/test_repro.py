# SPDX-License-Identifier: Apache-2.0
"""Small programs, scripts and configurations, each the least that failed of one of others'
that was run on Perigee, with what is right."""

import re
import struct

import pytest

from helpers import capture
from helpers.command import PERIGEE, perigee

# Snabb ------------------------------------------------------------------------------


def snabb(tmp_path, text, *arguments, before=()):
    """Run a script of Snabb's; its standard output."""
    file = tmp_path / "script.lua"
    file.write_text(text)
    result = perigee(*before, "snsh", file, *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("option", ["--snabb", "-p"])
def test_a_tree_with_a_link_to_itself(tmp_path, option):
    (tmp_path / "tree/core").mkdir(parents=True)
    (tmp_path / "tree/core/app.lua").touch()
    deep = tmp_path / "tree/program/x/env"
    deep.mkdir(parents=True)
    for name in "a", "b", "c":
        (deep / name).symlink_to("../../../")
    assert snabb(tmp_path, "print('began')", before=(option, tmp_path / "tree")) == "began\n"


# An IPv4 echo request to no Ethernet address; the kernel answers what is sent to it.
TAP = """
local Tap, ffi = require("apps.tap.tap").Tap, require("ffi")
local checksum = require("lib.checksum")
local Ping = {}; Ping.__index = Ping
function Ping:new() return setmetatable({answered = 0}, self) end
function Ping:pull()
  local p = packet.from_string(("\\0"):rep(6) .. "\\2\\0\\0\\0\\0\\9\\8\\0"
    .. "\\69\\0\\0\\28\\0\\1\\0\\0\\64\\1\\0\\0\\10\\9\\0\\2\\10\\9\\0\\1"
    .. "\\8\\0\\0\\0\\0\\1\\0\\1")
  for _, part in ipairs{{14, 20, 24}, {34, 8, 36}} do
    local sum = checksum.ipsum(p.data + part[1], part[2], 0)
    p.data[part[3]], p.data[part[3] + 1] = bit.rshift(sum, 8), bit.band(sum, 255)
  end
  link.transmit(self.output.output, p)
end
function Ping:push()
  while not link.empty(self.input.input) do
    local p = link.receive(self.input.input)
    if p.data[12] == 8 and p.data[13] == 0 and p.data[34] == 0 then
      self.answered = self.answered + 1
    end
    packet.free(p)
  end
end
local c = config.new()
config.app(c, "ping", Ping)
config.app(c, "tap", Tap, {name = "reproT", overwrite_dst_mac = main.parameters[1] == "on"})
config.link(c, "ping.output -> tap.input")
config.link(c, "tap.output -> ping.input")
engine.configure(c)
os.execute("ip addr add 10.9.0.1/24 dev reproT && "
  .. "ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:09 dev reproT")
local ping = engine.app_table.ping
local sent = engine.app_table.tap.input.input
local function seen()
  return ping.answered > 0 or main.parameters[1] ~= "on"
    and link.stats(sent).rxpackets > 200
end
engine.main{done = seen, no_report = true}
print(ping.answered > 0)
"""


def test_a_tap_that_writes_the_address_it_has(tmp_path, namespace):
    there = namespace("tap")
    file = tmp_path / "tap.lua"
    file.write_text(TAP)
    for option, answered in ("on", "true"), ("off", "false"):
        result = there.run(PERIGEE, "snsh", file, option)
        assert (result.returncode, result.stdout) == (0, f"{answered}\n"), result.stderr


def test_values_that_are_asserted_and_used_at_once(tmp_path):
    assert snabb(tmp_path, """
local ffi, list = require("ffi"), {}
table.insert(list, assert("x"))
print(select("#", assert(1)), select("#", assert(1, "m", nil)), #list)
print(ffi.sizeof(ffi.new("uint8_t[?]", assert(3))), string.char(assert(66)))
print(pcall(assert, false, "no"))
print(select(2, pcall(assert, nil)))
""") == "1\t3\t1\n3\tB\nfalse\tno\nassertion failed!\n"


def test_a_list_that_grows_between_its_look_up_and_its_use(tmp_path):
    """list.t is the array before list.t_new() replaces it by a larger one."""
    assert snabb(tmp_path, """
local ffi, LPM = require("ffi"), require("lib.lpm.lpm").LPM
for round = 1, 400 do
  local list = LPM:new()
  for bits = 8, 64, 8 do
    if bits == 8 or bits == 16 or bits == 32 or bits == 64 then
      local name = "uint" .. bits .. "_t"
      list:alloc(name, ffi.typeof(name), 8)
      for i = 1, 100 do list[name][list[name .. "_new"]()] = i end
    end
  end
end
collectgarbage()
print("whole")
""") == "whole\n"


def test_a_module_beside_a_script(tmp_path):
    (tmp_path / "beside.lua").write_text("return {word = 'found'}")
    (tmp_path / "it.lua").write_text("print(require('beside').word)")
    assert perigee("run", tmp_path / "it.lua").stdout == "found\n"


# libmoon and MoonGen ----------------------------------------------------------------

HEAD = """
local mg, memory, device = require "moongen", require "memory", require "device"
local stats = require "stats"
"""


def moongen(tmp_path, ports, text, *arguments):
    """Run a script; the finished process."""
    file = tmp_path / "script.lua"
    file.write_text(HEAD + text)
    options = [word for number, port in enumerate(ports)
               for word in ("--port", f"{number}={port}")]
    return perigee("moongen", *options, file, *arguments)


# A rate holds if what is sent takes as long as it must: 250 packets of 1,000 bits are
# 25 ms at 10 Mbit/s. A busy machine makes it longer, never shorter.
SENDS = {
    "try_send": "local done = 0 while done < 8 do done = done + q:trySend(bufs, done) end",
    "send": "q:send(bufs)",
    "single": "for _, b in ipairs(bufs) do q:sendSingle(b) end",
}


@pytest.mark.parametrize("whose", ["q", "q.dev"])
@pytest.mark.parametrize("way", SENDS)
def test_a_rate_holds_in_all_ways_to_send(tmp_path, way, whose):
    result = moongen(tmp_path, ["null"], """
function master()
  local d = device.config{port = 0, txQueues = 2}
  device.waitForLinks()
  print("took", mg.startTask("tx", d:getTxQueue(0)):wait())
end
function tx(q)
  %s:setRate(10)
  local mem = memory.createMemPool(function (b) b:getUdpPacket():fill{pktLength = 121} end)
  local bufs = mem:bufArray(8)
  local began = mg.getTime()
  for _ = 1, 40 do
    bufs:alloc(121)
    %s
  end
  return mg.getTime() - began
end
""" % (whose, SENDS[way]))
    [took] = re.findall(r"took\t(\S+)", result.stdout)
    assert float(took) >= 0.9 * 320 * 1000 / 10e6, result.stderr


def test_more_receivers_than_a_pool_has_room_for_in_caches(tmp_path):
    result = moongen(tmp_path, ["ring:repro", "ring:repro"], """
function master()
  local tx = device.config{port = 0, txQueues = 1}
  local rx = device.config{port = 1, rxQueues = 8, rssQueues = 8}
  device.waitForLinks()
  local tasks, got = {}, 0
  for i = 0, 7 do tasks[#tasks + 1] = mg.startTask("receive", rx:getRxQueue(i)) end
  mg.startTask("send", tx:getTxQueue(0)):wait()
  mg.sleepMillisIdle(500)
  mg.stop()
  for _, task in ipairs(tasks) do got = got + task:wait() end
  local s = rx:getStats()
  print("sums", tonumber(tx:getStats().opackets), got + tonumber(s.imissed))
end
function send(q)
  local mem = memory.createMemPool{n = 1024, func = function (b)
    b:getUdpPacket():fill{pktLength = 80}
  end}
  local bufs = mem:bufArray(32)
  for k = 1, 300 do
    bufs:alloc(80)
    for i, b in ipairs(bufs) do b:getUdpPacket().udp:setSrcPort(k * 32 + i) end
    q:send(bufs)
  end
end
function receive(q)
  local bufs, n = memory.bufArray(), 0
  while mg.running() do
    local count = q:tryRecvIdle(bufs, 1000)
    bufs:free(count)
    n = n + count
  end
  return n
end
""")
    assert "sums\t9600\t9600\n" in result.stdout, result.stdout + result.stderr


ONE_PACKET = """
function master()
  local d = device.config{port = 0, txQueues = 1}
  device.waitForLinks()
  mg.startTask("tx", d:getTxQueue(0)):wait()
end
function tx(q)
  local bufs = memory.createMemPool():bufArray(1)
  bufs:alloc(%d)
  %s
  q:send(bufs)
end
"""


def test_icmp6_has_a_pseudo_header(tmp_path):
    moongen(tmp_path, [f"pcap:tx={tmp_path}/o.pcap"], ONE_PACKET % (90, """
  local p = bufs[1]:getIcmp6Packet()
  p:fill{pktLength = 90, ip6Src = "fe80::1", ip6Dst = "fe80::2", icmpType = 128}
  p:calculateChecksums()"""))
    [frame] = capture.load(tmp_path / "o.pcap")
    covered = frame[22:54] + struct.pack("!II", len(frame) - 54, 58) + frame[54:]
    total = sum(struct.unpack(f"!{len(covered) // 2}H", covered))  # RFC 8200, section 8.1
    while total > 0xffff:
        total = (total & 0xffff) + (total >> 16)
    assert total == 0xffff


def test_what_is_longer_than_its_buffer(tmp_path):
    result = moongen(tmp_path, ["null"], ONE_PACKET % (
        60, "bufs[1]:getUdpPacket():fill{pktLength = 5000}"))
    assert result.returncode == 1
    assert "pktLength is 5000" in result.stderr and "2048 bytes" in result.stderr


def test_a_cpu_and_a_stack_of_elsewhere(tmp_path):
    result = moongen(tmp_path, [], """
require "packet"
local getVxlan = packetCreate("eth", "ip4", "udp", "vxlan", {"eth", "innerEth"})
function master() mg.launchLuaOnCore(999, "t") mg.waitForTasks() end
function t() print("ran", type(getVxlan)) end
""")
    assert (result.returncode, result.stdout.count("ran\t")) == (0, 1), result.stderr
    assert "there is no CPU 999" in result.stdout + result.stderr


# Click ------------------------------------------------------------------------------

def click(text, *options):
    """Run a configuration; the finished process."""
    return perigee("click", *options, "-e", text)


def values(result):
    """The lines with a number of what `-h` printed."""
    return [int(line) for line in re.findall(r"^\d+$", result.stdout, re.MULTILINE)]


def test_an_address_of_an_interface_that_has_another(namespace):
    there = namespace("click")
    there.ip("link", "add", "eth0", "type", "veth", "peer", "name", "eth1")
    there.ip("addr", "add", "192.168.7.7/24", "dev", "eth0")
    result = there.run(PERIGEE, "click", "-e", """AddressInfo(HERE 100.0.0.1 eth0);
Idle -> r :: ARPResponder(HERE) -> Discard; DriverManager(print r.table, stop)""")
    address = there.check("cat", "/sys/class/net/eth0/address").strip()
    assert result.stdout == f"100.0.0.1/32 {address.upper().replace(':', '-')}\n"


@pytest.mark.parametrize("queue", ["-> Queue(100000)", ""])
def test_files_of_different_lengths(tmp_path, queue):
    for name, count in ("long", 2500), ("short", 3), ("none", 0):
        capture.save(tmp_path / f"{name}.pcap", [bytes(60)] * count)
    result = click(f"""FromDevice(a) -> i :: Counter {queue}
  -> o :: Counter -> {'Unqueue ->' if queue else ''} Discard;
FromDevice(b) -> s :: Counter -> Discard; FromDevice(c) -> n :: Counter -> Discard""",
                   *(word for name, file in zip("abc", ("long", "short", "none"))
                     for word in ("--device", f"{name}=pcap:rx={tmp_path}/{file}.pcap")),
                   "-h", "i.count", "-h", "o.count", "-h", "s.count", "-h", "n.count")
    assert values(result) == [2500, 2500, 3, 0], result.stderr


def test_a_file_for_two_devices(tmp_path):
    port = f"pcap:rx={capture.save(tmp_path / 'f.pcap', [bytes(60)] * 700)}"
    result = click("FromDevice(a) -> i :: Counter -> Discard;"
                   "FromDevice(b) -> j :: Counter -> Discard",
                   "--device", f"a={port}", "--device", f"b={port}",
                   "-h", "i.count", "-h", "j.count")
    assert values(result) == [700, 700], result.stderr


def test_a_queue_by_its_position():
    result = click("FromDPDKDevice(0, 0) -> ToDPDKDevice(0, 0); Script(wait 1ms, stop)",
                   "--port", "0=null")
    assert (result.returncode, result.stderr) == (0, "")


def test_a_context_with_a_mask_alone():
    result = click("""InfiniteSource(LENGTH 20, LIMIT 1, STOP true) -> CTXManager
  -> d :: CTXDispatcher(12/0/ffffffff) -> c :: Counter -> Discard; d[1] -> Discard""",
                   "-h", "c.count")
    assert values(result) == [1], result.stderr


def fragments(size, part=1480):
    """The fragments of a UDP datagram of `size` bytes."""
    data = struct.pack("!HHHH", 5000, 53, size + 8, 0) + bytes(size)
    frames = []
    for at in range(0, len(data), part):
        piece = data[at:at + part]
        more = 0x2000 if at + part < len(data) else 0
        header = struct.pack("!BBHHHBBH4B4B", 0x45, 0, 20 + len(piece), 7,
                             more | at // 8, 64, 17, 0, 10, 0, 0, 1, 9, 9, 9, 9)
        frames.append(bytes(12) + b"\x08\x00" + header + piece)
    return frames


def test_fragments_and_a_nat(tmp_path):
    """Alone it says what is missing; with it the datagram passes, whole and in fragments."""
    port = capture.save(tmp_path / "f.pcap", fragments(4000))
    for before, behind, count in ("", "", 1), ("-> IPReassembler", "-> IPFragmenter(1500)", 3):
        result = click(f"""FromDevice(a) -> Strip(14) -> SetIPChecksum -> CheckIPHeader
  {before} -> rw :: IPRewriter(pattern 1.2.3.4 1024-65535 - - 0 0) {behind}
  -> IPClassifier(src host 1.2.3.4) -> c :: Counter -> Discard""",
                       "--device", f"a=pcap:rx={port}", "-h", "c.count")
        assert values(result) == [count], result.stderr
        assert ("IPReassembler" in result.stderr) == (before == "")


@pytest.mark.parametrize("tool", ["flatten", "align", "check", "combine", "devirtualize",
                                  "fastclassifier", "pretty", "uncombine", "undead",
                                  "xform"])
def test_options_that_a_tool_of_clicks_has_not(tool):
    result = perigee(f"click-{tool}", "--no-such-option")
    assert result.returncode != 0 and "--no-such-option" in result.stderr


@pytest.mark.parametrize("element, keyword", [
    ("IPRewriter", "UDP_TIMEOUT"), ("ICMPPingRewriter", "TIMEOUT"),
    ("ControlSocket", "LOCALHOST")])
def test_keywords_are_explained(element, keyword):
    page = perigee("click", "--explain", element).stdout
    assert re.search(rf"^ +{keyword} +(seconds|bool) .*by keyword only", page,
                     re.MULTILINE), page


# All ------------------------------------------------------------------------------

def test_one_option_for_a_number_of_packets(tmp_path):
    for program in "trace", "capture", "generate":
        page = perigee(program, "--help").stdout
        assert re.search(r"-c,? .*--count", page), f"{program}: {page}"
