# SPDX-License-Identifier: Apache-2.0
"""Scripts that need more than Perigee has: modules and protocols of a checkout (--tree)."""

import struct

import pytest

from helpers import capture
from helpers.command import PERIGEE, run


def test_modules_of_a_tree(tmp_path):
    (tmp_path / "lua").mkdir()
    (tmp_path / "lua/more.lua").write_text("return {word = 'found'}")
    (tmp_path / "own.lua").write_text("return 'beside'")
    script = tmp_path / "script.lua"
    script.write_text("local more = require 'more' function master()"
                      " print(more.word, require 'own', engine, config) end")
    result = run(PERIGEE, "moongen", "--tree", tmp_path, script)
    assert "found\tbeside\tnil\tnil" in result.stdout


def test_a_module_that_is_nowhere(tmp_path):
    script = tmp_path / "script.lua"
    script.write_text("\nlocal serpent = require 'Serpent'\nfunction master() end")
    result = run(PERIGEE, "moongen", "script.lua", cwd=tmp_path)
    assert result.returncode == 1
    assert (
        "perigee: task 'master': script.lua:2: there is no module 'Serpent': not next to the "
        "script, and not in a folder that --tree names; a checkout of libmoon or MoonGen may "
        "have it (--tree CHECKOUT)\n") in result.stderr
    assert "no file" not in result.stderr


# A protocol as forks of libmoon add it, by proto/newProtocolTemplate.lua.
CLOCK = """
require "utils"
require "proto.template"
local clock = {TYPE_REQUEST = 7}
clock.headerFormat = [[
    uint8_t command;
    uint32_t time;
]]
clock.headerVariableMember = nil
local header = initHeader()
header.__index = header
function header:setCommand(n) self.command = n or clock.TYPE_REQUEST end
function header:getTime() return ntoh(self.time) end
function header:fill(args, pre)
    args = args or {}
    self:setCommand(args[(pre or "clock") .. "Command"])
    self.time = hton(args[(pre or "clock") .. "Time"] or 0)
end
function header:get(pre) return {[(pre or "clock") .. "Time"] = self:getTime()} end
function header:getString() return "CLOCK " .. self:getTime() end
clock.metatype = header
return clock
"""

SCRIPT = """
local lm, device, memory = require "libmoon", require "device", require "memory"
local proto = require "proto.proto"
function master(port)
    local dev = device.config{port = tonumber(port)}
    device.waitForLinks()
    lm.startTask("send", dev:getTxQueue(0))
    lm.waitForTasks()
    print("types", proto.eth.TYPE_CLOCK, proto.eth.TYPE_IP, proto.clock.TYPE_REQUEST,
        proto.nothing)
end
function send(queue)
    local mem = memory.createMemPool(function (buf)
        buf:getClockPacket():fill{clockTime = 0x01020304}
    end)
    local bufs = mem:bufArray(2)
    bufs:alloc(60)
    local inner = bufs[2]:getInnerClockPacket()
    inner:fill{pktLength = 60, laterCommand = 9, laterTime = 5}
    bufs[1]:dump(60)
    queue:send(bufs)
    bufs = mem:bufArray(1)
    bufs:alloc(60)
    print("port", bufs[1]:getUdpPacket().udp:getDstPort())
    print(pcall(function () return bufs[1]:getOddPacket() end))
    print(pcall(function () return bufs[1]:getEmptyPacket() end))
    bufs:freeAll()
end
"""

CASTS = """
local pkt = {}
local createStack = require "utils"
pkt.getUdpPacket = createStack("eth", "clock")
pkt.getClockPacket = createStack("eth", "clock")
pkt.getInnerClockPacket = createStack("eth", 'ip4', "udp", {"clock", name = "later"})
pkt.getOddPacket = createStack(someFunction(), os.exit(3))
pkt.getEmptyPacket = createStack("eth", "empty")
pkt.getEndlessPacket = createStack((function () while true do end end)())
pkt.getLongPacket = createStack(("x"):rep(1e10))
pkt.getOtherPacket = function (self) os.exit(3) end
return pkt
"""


@pytest.mark.parametrize("layout", ["lua", "libmoon/lua", "lua/include"])
def test_protocols_that_a_fork_has_of_its_own(tmp_path, layout):
    lua = tmp_path / layout
    (lua / "proto").mkdir(parents=True)
    (lua / "proto/clock.lua").write_text(CLOCK)
    (lua / "proto/proto.lua").write_text(
        'local proto = {}\nproto.eth = require "proto.ethernet"\n'
        'proto.clock = require "proto.clock"\nproto.empty = require "proto.empty"\n')
    (lua / "proto/empty.lua").write_text("")
    (lua / "proto/ethernet.lua").write_text(
        "local eth = {}\neth.TYPE_IP = 0x1234\neth.TYPE_CLOCK = 0x88b5\n"
        "local mapNameType = {\n\tip4 = eth.TYPE_IP,\n\tclock = eth.TYPE_CLOCK,\n}\n")
    (lua / "proto/udp.lua").write_text(
        "udp.PORT_CLOCK = 4000\nlocal mapNamePort = {\n    clock = udp.PORT_CLOCK,\n}\n")
    (lua / "packet.lua").write_text(CASTS)
    script, out = tmp_path / "script.lua", tmp_path / "out.pcap"
    script.write_text(SCRIPT)
    result = run(PERIGEE, "moongen", "--tree", tmp_path, "--port", f"0=pcap:tx={out}",
                 script, "0")
    assert result.returncode == 0, result.stderr
    assert f"types\t{0x88b5}\t{0x800}\t7\tnil" in result.stdout
    assert "CLOCK 16909060" in result.stdout         # the dump knows it
    assert "false" in result.stdout and "getOddPacket" in result.stdout
    assert "proto/empty.lua returns no table, so 'empty' is no protocol\n" in result.stdout
    plain, inner = capture.load(out)
    assert plain[12:19] == struct.pack("!HBI", 0x88b5, 7, 0x01020304)
    assert inner[36:38] == struct.pack("!H", 4000)   # the port that announces it
    assert inner[42:47] == struct.pack("!BI", 9, 5)
