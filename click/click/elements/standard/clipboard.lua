-- SPDX-License-Identifier: Apache-2.0
-- Elements that move bytes from packet to packet, and a packet's two ends.

local element = require("click.element")
local ffi = require("ffi")
local packet = require("core.packet")

local copy, fill = ffi.copy, ffi.fill
local MOST = packet.max_payload

-- Clipboard ----------------------------------------------------------------

local Clipboard = element.define{
  name = "Clipboard", summary = "copies bytes of one packet into others", ports = "2/2",
  flow = "#/#", silent = true, live = true,
}

function Clipboard:configure_raw(list)
  local ranges, size, least = {}, 0, 0
  for i, text in ipairs(list) do
    local offset, length = text:match("^(%d+)/(%d+)$")
    if not offset then
      return self:error("range %d: expected '/' between offset and length", i - 1)
    end
    offset, length = tonumber(offset), tonumber(length)
    if offset + length > MOST then
      return self:error("range %d: invalid offset or length", i - 1)
    end
    ranges[i] = {offset = offset, length = length, at = size}
    size, least = size + length, math.max(least, offset + length)
  end
  self.ranges, self.least, self.bytes = ranges, least, ffi.new("uint8_t[?]", size + 1)
end

local function take(self, p)
  for _, range in ipairs(self.ranges) do
    copy(self.bytes + range.at, p.data + range.offset, range.length)
  end
end

local function put(self, p)
  for _, range in ipairs(self.ranges) do
    copy(p.data + range.offset, self.bytes + range.at, range.length)
  end
end

function Clipboard:process(p, i)
  if p.length < self.least then return p, i end
  if i == 1 then take(self, p) else put(self, p) end
  return p, i
end

-- Resize -------------------------------------------------------------------

local Resize = element.define{
  name = "Resize", summary = "adds bytes to packets' ends, or removes some",
  division = "any",
  live = true, drops = {"too long"},
  arguments = {{"HEAD", "int", default = 0}, {"TAIL", "int", default = 0}},
  handlers = {head = element.data("head", "int"), tail = element.data("tail", "int")},
}

function Resize:configure(a) self.head, self.tail = a.HEAD, a.TAIL end

local function shorten(p, n, at_front)
  n = math.min(n, p.length)
  if at_front then p.data_off = p.data_off + n end
  p.length = p.length - n
end

function Resize:process(p)
  local head, tail = self.head, self.tail
  if p.length + math.max(0, head) + math.max(0, tail) > MOST then return nil, 1 end
  if head > 0 then
    if p.data_off >= head then
      p.data_off, p.length = p.data_off - head, p.length + head
    else
      packet.shiftright(p, head)
    end
  elseif head < 0 then
    shorten(p, -head, true)
  end
  if tail > 0 then
    fill(p.data + p.length, tail)
    p.length = p.length + tail
  elseif tail < 0 then
    shorten(p, -tail, false)
  end
  return p
end

return {Clipboard, Resize}
