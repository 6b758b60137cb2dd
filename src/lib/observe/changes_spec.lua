-- SPDX-License-Identifier: Apache-2.0
local changes = require("lib.observe.changes")
local createStack = require("lib.stack").createStack
local packet = require("core.packet")
local trace = require("program.trace.trace")

local function bytes(stack, values)
  local p = packet.allocate()
  local pkt = createStack(unpack(stack))(p)
  pkt:fill(values)
  local text = require("ffi").string(p.data, p.length)
  packet.free(p)
  return text
end

local UDP = {"eth", "ip4", "udp"}

local function between(a, b) return (changes.between(changes.read(a), b, #b)) end

describe("changes of a packet", function ()
  it("are fields", function ()
    local a = bytes(UDP, {ip4TTL = 64, udpDst = 7, pktLength = 60})
    local b = bytes(UDP, {ip4TTL = 63, udpDst = 54, pktLength = 60})
    assert.same({"ip4 TTL 64 -> 63", "udp Dst 7 -> 54"}, between(a, b))
    assert.same({}, between(a, a))
  end)

  it("are headers in front, or taken off", function ()
    local inner = bytes(UDP, {pktLength = 60})
    local outer = bytes({"eth", "ip4", "udp", "vxlan", "noPayload"}, {pktLength = 110})
      :sub(1, 50)
    local whole = outer .. inner
    assert.same({"eth, ip4, udp, vxlan put in front", "length 60 -> 110"},
      between(inner, whole))
    assert.same({"eth, ip4, udp, vxlan taken off", "length 110 -> 60"},
      between(whole, inner))
  end)

  it("are headers in the place of others, and payload", function ()
    local udp = bytes(UDP, {pktLength = 60})
    local tcp = bytes({"eth", "ip4", "tcp"}, {pktLength = 60})
    local lines = between(udp, tcp)
    assert.equal("udp gone", lines[1])
    assert.equal("tcp new", lines[2])
    local other = string.char((udp:byte(60) + 1) % 256) -- whatever a buffer held before
    assert.same({"bytes behind the headers"}, between(udp, udp:sub(1, 59) .. other))
  end)

  it("of anything raise nothing", function ()
    math.randomseed(7)
    for _ = 1, 300 do
      local a = bytes(UDP, {pktLength = 60})
      local cut = a:sub(1, math.random(0, 60))
      assert.is_table(between(a, cut))
      assert.is_table(between(cut, a:reverse()))
    end
  end)

  it("are told app by app", function ()
    local a = bytes(UDP, {ip4TTL = 64, pktLength = 60})
    local b = bytes(UDP, {ip4TTL = 63, pktLength = 60})
    local function hex(s)
      return (s:gsub(".", function (c) return ("%02x"):format(c:byte()) end))
    end
    local text = trace.text{number = 3, cpu = 2, hops = {
      {link = "in.output -> ttl.input", data = hex(a), length = 60},
      {link = "ttl.output -> last.input", data = hex(b), length = 60}},
      ["end"] = {what = "dropped", app = "last", reason = "no route"}}
    assert.equal("packet 3 on CPU 2: 60 bytes, IP 192.168.1.1.1024 > 192.168.1.2.1025: "
      .. "UDP, length 18\n  from in\n  ttl\n    ip4 TTL 64 -> 63\n"
      .. "  dropped by last: no route\n", text)
  end)
end)
