# SPDX-License-Identifier: Apache-2.0
"""Small scripts of libmoon's and MoonGen's kind, each the least that failed of one of
others' that was run on Perigee, with what is right."""

import re
import struct

import pytest

from helpers import capture
from helpers.command import perigee

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
