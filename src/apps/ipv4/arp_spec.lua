-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local ARP = require("apps.ipv4.arp").ARP
local testing = require("testing.harness")

local ENDS = {"north", "south"}
local US, THEM = "\10\0\0\1", "\10\0\0\2"

local function mac(last) return "\2\0\0\0\0" .. string.char(last) end

local function ip(bytes) return ffi.new("uint8_t[4]", {bytes:byte(1, 4)}) end

local function app()
  local own = ffi.new("uint8_t[6]", {mac(1):byte(1, 6)})
  return testing.app(ARP, {self_mac = own, self_ip = ip(US), next_ip = ip(THEM)}, ENDS,
    ENDS)
end

-- Their answer that they are at the MAC address.
local function reply(their_mac)
  return mac(1) .. their_mac .. "\8\6\0\1\8\0\6\4\0\2" .. their_mac .. THEM
    .. mac(1) .. US
end

-- What comes out, and the lines that are printed meanwhile.
local function through(a, frames, input, output)
  local say, lines = print, {}
  _G.print = function (line) lines[#lines + 1] = line end
  local ok, result = pcall(testing.through, a, frames, input, output)
  _G.print = say
  assert(ok, result)
  return result, lines
end

describe("ARP", function ()
  it("asks, believes the answer, and sends packets there", function ()
    local a = app()
    local asked, lines = through(a, {}, "south", "south")
    assert.equal(("\255"):rep(6) .. mac(1), asked[1]:sub(1, 12))
    assert.same({"ARP: Resolving '10.0.0.2'"}, lines)
    assert.same({"ARP: '10.0.0.2' resolved (02:00:00:00:00:02)"},
      select(2, through(a, {reply(mac(2))}, "south", "north")))
    assert.is_true(a.restless) -- so that all tick, and see it, before the engine sleeps
    a:tick()
    assert.is_false(a.restless)
    local out = through(a, {("x"):rep(60)}, "north", "south")
    assert.equal(mac(2) .. mac(1) .. ("x"):rep(48), out[#out])
  end)

  it("has no group's address, and takes another's as Snabb's does", function ()
    assert.has_error(function ()
      local group = ffi.new("uint8_t[6]", {1, 0, 94, 0, 0, 1})
      testing.app(ARP, {self_mac = group, self_ip = ip(US), next_ip = ip(THEM)}, ENDS,
        ENDS)
    end, "ARP's own MAC address can't be 01:00:5e:00:00:01, which is a group's; give a "
      .. "station's, whose first byte is even")
    local a = app()
    through(a, {reply("\1\0\94\0\0\2")}, "south", "north")
    assert.equal("\1\0\94\0\0\2", ffi.string(a.next_mac, 6))
    assert.equal(0, testing.count(a, "drop-arp-invalid-packets"))
  end)

  it("follows changes, and fills no log with what somebody sends", function ()
    local a, frames = app(), {}
    for i = 1, 100 do frames[i] = reply(mac(2)) end
    local _, lines = through(a, frames, "south", "north")
    assert.equal(2, #lines) -- the question, too
    for i = 1, 100 do frames[i] = reply(mac(i % 5 + 3)) end
    _, lines = through(a, frames, "south", "north")
    assert.same({"ARP: '10.0.0.2' resolved (02:00:00:00:00:04)"}, lines)
    assert.equal(mac(100 % 5 + 3), ffi.string(a.next_mac, 6))
  end)
end)
