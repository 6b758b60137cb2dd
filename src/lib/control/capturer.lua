-- SPDX-License-Identifier: Apache-2.0
-- A tap (lib.control.taps) that copies packets, as blocks of pcapng, into a buffer that
-- is reported a hundred times a second. What doesn't fit meanwhile is lost, and
-- counted.

local ffi = require("ffi")
local C = require("core.native")
local blocks = require("lib.pcap.blocks")
local clock = require("core.lib.clock")
local filter = require("lib.filter")

local capturer = {}

local match = C.pg_filter -- found now: LuaJIT can't compile a loop that looks for it

local ROOM = 4 * 1024 * 1024
local packet_bytes, write_packet = blocks.packet_bytes, blocks.write_packet

local Capturer = {}
Capturer.__index = Capturer

--- A tap that captures: `arguments` = {links = the numbers of interfaces by link,
--- dropped = is it all drops instead, interface = their number, filter = an expression
--- of pcap-filter(7), or nil, snaplen = bytes, limit = packets, rate = packets a
--- second}. It calls tell{bytes =, packets =, lost =, over = packets over the rate}.
function capturer.new(arguments, tell)
  return setmetatable({
    links = arguments.links or {}, losses = arguments.dropped or false,
    interface = arguments.interface, snaplen = arguments.snaplen, tell = tell,
    left = arguments.limit, rate = arguments.rate, allowed = arguments.rate,
    next_second = 0,
    filter = arguments.filter and filter.new(arguments.filter) or false,
    buffer = ffi.new("uint8_t[?]", ROOM), used = 0, packets = 0, missed = 0, over = 0,
    comments = {},
  }, Capturer)
end

-- Put the packet into the buffer, with these options.
local function write(self, interface, p, options)
  local captured = math.min(p.length, self.snaplen)
  local total = packet_bytes(captured, #options)
  if self.used + total > ROOM then
    self.missed = self.missed + 1
    return
  end
  local start = self.buffer + self.used
  write_packet(start, total, interface, p.data, captured, p.length,
    clock.unix_nanoseconds())
  ffi.copy(start + total - 4 - #options, options, #options)
  self.used, self.packets = self.used + total, self.packets + 1
end

-- The filter has accepted it, if there is one.
local function take(self, interface, p, options)
  if self.left <= 0 then return end
  if self.allowed <= 0 then
    self.over = self.over + 1
    return
  end
  self.left, self.allowed = self.left - 1, self.allowed - 1
  write(self, interface, p, options)
end

local function look(self, interface, p, options)
  if self.filter and match(self.filter, p.data, p.length) == 0 then return end
  take(self, interface, p, options)
end

local function look_at_all(self, f, interface, packets, n)
  for i = 0, n - 1 do
    local p = packets[i]
    if match(f, p.data, p.length) ~= 0 then take(self, interface, p, "") end
  end
end

local function take_all(self, interface, packets, n)
  for i = 0, n - 1 do take(self, interface, packets[i], "") end
end

-- As a tap ------------------------------------------------------------------------

--- Is the link captured?
function Capturer:wants(spec) return self.links[spec] ~= nil end

--- A burst comes by a link.
function Capturer:burst(spec, packets, n)
  local interface = self.links[spec]
  if not interface or self.left <= 0 then return false end
  if self.filter then
    look_at_all(self, self.filter, interface, packets, n)
  else
    take_all(self, interface, packets, n)
  end
  return false
end

--- A packet passes a link.
function Capturer:seen(spec, p)
  local interface = self.links[spec]
  if interface then look(self, interface, p, "") end
end

--- An app drops a packet.
function Capturer:lost(app, reason, p)
  if not self.losses then return end
  local by_app = self.comments[app] or {}
  self.comments[app] = by_app
  by_app[reason] = by_app[reason]
    or blocks.comment(("dropped by %s: %s"):format(app, reason))
  look(self, self.interface, p, by_app[reason])
end

function Capturer.kept() end
function Capturer.after() end

-- Time ----------------------------------------------------------------------------

--- Tell of what there is.
function Capturer:tend(now)
  if now and now >= self.next_second then
    self.next_second, self.allowed = now + 1, self.rate
  end
  if self.packets + self.missed + self.over == 0 then return end
  self.tell{bytes = ffi.string(self.buffer, self.used), packets = self.packets,
            lost = self.missed, over = self.over}
  self.used, self.packets, self.missed, self.over = 0, 0, 0, 0
end

--- The main thread hasn't taken what was told: that is lost.
function Capturer:lose(told)
  for _, chunk in ipairs(told) do
    self.missed = self.missed + chunk.packets + chunk.lost
    self.over = self.over + chunk.over
  end
end

--- The last.
function Capturer:stop() self:tend() end

return capturer
