-- SPDX-License-Identifier: Apache-2.0
-- The Ethernet address of the next hop, before anything is sent: by ARP (RFC 826) or
-- neighbour discovery (RFC 4861), in the name of the streams' source address.

local C = require("core.native")
local cache = require("net.neighbor.cache")
local ffi = require("ffi")
local config = require("core.config")
local engine = require("core.app")
local failure = require("core.failure")
local link = require("core.link")
local packet = require("core.packet")
local Port = require("apps.port.port").Port
local addresses = require("net.address.address")
local station = require("net.neighbor.station")

local M = {}

-- Seconds: 6 requests, and as long a wait behind the last.
local TIMES = {between = 0.5, tries = 6, entry_capacity = 1}
local TIMEOUT_S = TIMES.between * TIMES.tries
local SOURCES = {[4] = "ip4Src", [6] = "ip6Src"}

-- The first value that one of the texts LABEL=VALUE sets the field to, or nil.
local function first_value(list, label)
  for _, text in ipairs(list) do
    local value = text:match("^" .. label .. "=([%x.:]+)")
    if value then return (value:gsub("%.%..*", "")) end
  end
end

-- Asks, and hears what comes in. It has the form of an app, and is one.
local Asker = {}
Asker.__index = Asker

function Asker:new(own)
  return setmetatable({own = own, neighbors = cache.new(TIMES)}, Asker)
end

function Asker:pull()
  local list, now, hop = self.neighbors, C.pg_now(), self.own.hop
  self.failed = self.failed or list:tend(list:ensure(hop, now), now, function ()
    link.transmit(self.output.output, station.request(self.own, hop))
  end)
end

-- What comes for others, or in the source's name, says nothing.
function Asker:push()
  local input = self.input.input
  for _ = 1, link.nreadable(input) do
    local p = link.receive(input)
    local heard = station.read(self.own, p)
    packet.free(p)
    if heard and heard.address == self.own.hop then self.mac = heard.mac end
    if heard and heard.answer then link.transmit(self.output.output, heard.answer) end
  end
end

local function own_mac(list, port)
  local text = first_value(list, "ethSrc")
  if text then return addresses.mac(text) end
  local bytes = ffi.new("uint8_t[6]")
  local mac = C.pg_port_mac(port, bytes) == 0 and ffi.string(bytes, 6)
  if not mac or mac:byte(1) % 2 == 1 or mac == ("\0"):rep(6) then
    failure.usage("--resolve needs a source MAC address, which the port hasn't: --set "
      .. "ethSrc=02:00:00:00:00:01")
  end
  return mac
end

-- Who asks, and for what.
local function asker_of(options, list)
  local hop, family = addresses.ip(options.resolve)
  if not hop or not addresses.is_unicast(hop) then
    failure.usage("--resolve: '%s' isn't the IP address of a host", options.resolve)
  end
  local label = SOURCES[family]
  local source = first_value(list, label)
  local address, of = addresses.ip(source or "")
  if not address or of ~= family then
    failure.usage("--resolve %s needs a source address to ask with: --set %s=ADDRESS",
      options.resolve, label)
  end
  return {hop = hop, address = address, family = family}
end

local function ask(own, to)
  local c = config.new()
  config.app(c, "to", Port, to)
  engine.configure(c)
  own.mac = own_mac(own.set, engine.app_table.to.port)
  config.app(c, "asker", Asker, own)
  config.link(c, "asker.output -> to.input")
  config.link(c, "to.output -> asker.input")
  engine.configure(c)
  local asker = engine.app_table.asker
  engine.main{no_report = true, done = function ()
    return asker.mac ~= nil or asker.failed
  end}
  return asker.mac
end

--- Set ethDst (and ethSrc, if it isn't) in all streams of the direction: the MAC
--- address of options.resolve. Raises a sentence if nobody answers.
function M.run(options, direction, stream)
  for _, lane in ipairs(direction.lanes) do
    if first_value(lane.stream.set, "ethDst") then
      failure.usage("--resolve finds the destination's MAC address; don't set ethDst")
    end
  end
  local lane = direction.lanes[1]
  local set = lane and lane.stream.set or options.set
  local own = asker_of(options, set)
  own.set = set
  local mac = ask(own, options.port)
  if not mac then
    failure.raise("nobody says to have %s: no answer from %s within %d seconds",
      options.resolve, options.port, TIMEOUT_S)
  end
  stream:write(("%s is at %s\n"):format(options.resolve, addresses.text(mac)))
  options.resolved = {"ethDst=" .. addresses.text(mac),
                      "ethSrc=" .. addresses.text(own.mac)}
  for _, l in ipairs(direction.lanes) do
    set = l.stream.set
    set[#set + 1] = "ethDst=" .. addresses.text(mac)
    if not first_value(set, "ethSrc") then
      set[#set + 1] = "ethSrc=" .. addresses.text(own.mac)
    end
  end
end

return M
