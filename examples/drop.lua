-- SPDX-License-Identifier: Apache-2.0
-- perigee run examples/drop.lua IN OUT
-- Passes the IPv4 packets of one port on to another, with their time to live lowered
-- by one. Everything else is dropped, and each drop has a name and a counter.

local bit = require("bit")
local counter = require("core.counter")
local failure = require("core.failure")
local lib = require("core.lib")
local port = require("apps.port.port")

-- Offsets into a frame, in bytes (RFC 791, section 3.1, behind Ethernet's 14).
local ETHERTYPE, TTL, CHECKSUM, END_OF_HEADERS = 12, 22, 24, 34

local Hop = {
  shm = {truncated = {counter}, not_ipv4 = {counter}, ttl_expired = {counter}},
}
Hop.__index = Hop

function Hop:new()
  return setmetatable({}, self)
end

-- The name of the drop, or nil if the packet may pass.
local function reason_to_drop(p)
  if p.length < END_OF_HEADERS then return "truncated" end
  local data = p.data
  if data[ETHERTYPE] ~= 0x08 or data[ETHERTYPE + 1] ~= 0x00 then return "not_ipv4" end
  if data[TTL] <= 1 then return "ttl_expired" end
end

-- The header checksum follows from the old one (RFC 1624): the TTL is the upper byte
-- of its 16 bits, so that the ones' complement of their sum grows by 0x0100.
local function lower_ttl(p)
  local data = p.data
  data[TTL] = data[TTL] - 1
  local sum = (data[CHECKSUM] * 256 + data[CHECKSUM + 1] + 0x0100) % 0xffff
  data[CHECKSUM], data[CHECKSUM + 1] = bit.rshift(sum, 8), bit.band(sum, 0xff)
end

function Hop:push()
  local input, output = self.input.input, self.output.output
  for _ = 1, link.nreadable(input) do
    local p = link.receive(input)
    local reason = reason_to_drop(p)
    if reason then
      counter.add(self.shm[reason])
      packet.free(p)
    else
      lower_ttl(p)
      link.transmit(output, p)
    end
  end
end

function Hop:report()
  for _, reason in ipairs{"truncated", "not_ipv4", "ttl_expired"} do
    local n = tonumber(counter.read(self.shm[reason]))
    print(("  %s dropped: %s"):format(lib.comma_value(n), reason))
  end
end

local from, to = ...
if not to then failure.usage("give two ports: drop.lua IN OUT") end

local c = config.new()
config.app(c, "from", port.Port, from)
config.app(c, "hop", Hop)
config.app(c, "to", port.Port, to)
config.link(c, "from.output -> hop.input")
config.link(c, "hop.output -> to.input")
engine.configure(c)
local wire = engine.link_table["hop.output -> to.input"]
engine.main{done = function ()
  return engine.app_table.from:ended() and link.empty(wire)
end}
