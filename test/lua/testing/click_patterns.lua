-- SPDX-License-Identifier: Apache-2.0
-- Random patterns for Click's classifiers, and packets that some of them match.

local bit = require("bit")
local packet = require("core.packet")

local Random = {}
Random.__index = Random

local patterns = {}

--- A source of patterns and packets, the same for the same seed.
function patterns.new(seed)
  local self = setmetatable({state = seed}, Random)
  self.no_errors = {
    error = function (_, fmt, ...) error(fmt:format(...), 2) end,
    warning = function () end,
  }
  return self
end

--- A whole number from `least` to `most`. (Numerical Recipes' generator.)
function Random:to(least, most)
  self.state = bit.tobit(self.state * 1664525 % 2 ^ 32 + 1013904223) % 2 ^ 32
  return least + math.floor(self.state / 2 ^ 32 * (most - least + 1))
end

local function one_of(self, list) return list[self:to(1, #list)] end

-- Few different bytes, so that patterns match.
local BYTES = {"00", "ff", "01", "80", "1?", "0?"}

function Random:byte_pattern()
  local clauses = {}
  for i = 1, self:to(1, 3) do
    local value, mask = "", ""
    for _ = 1, self:to(1, 6) do
      value = value .. one_of(self, BYTES)
      mask = mask .. one_of(self, {"ff", "f0", "01", "ff"})
    end
    local bang = one_of(self, {"", "", "!"})
    clauses[i] = ("%s%d/%s%s"):format(bang, self:to(0, 12), value,
      self:to(1, 3) == 1 and "%" .. mask or "")
  end
  return table.concat(clauses, " ")
end

function Random:byte_patterns()
  local list = {}
  for i = 1, self:to(1, 6) do list[i] = self:byte_pattern() end
  if self:to(1, 2) == 1 then list[#list + 1] = "-" end
  return list
end

local PRIMITIVES = {
  "src host 10.0.0.%d", "host 10.0.0.%d", "dst net 10.0.%d.0/24", "net 10.%d.0.0/16",
  "tcp", "udp", "icmp", "ip proto %d", "src port %d", "dst tcp port %d",
  "udp port > %d", "src or dst port <= %d", "port != %d", "src and dst port %d",
  "ip ttl %d", "ip tos > %d", "ip id & 0xff == %d", "ip len >= %d", "ip hl 5",
  "ip vers 4", "ip dscp %d", "ip frag", "ip unfrag", "ip ect", "ip ce",
  "tcp opt ack", "tcp opt fin and ack", "icmp type echo", "icmp type %d",
  "tcp win < %d",
  "ip[%d:1] == 1", "transp[%d] & 1 == 1", "tcp[12:4] > %d", "true", "false",
  "ether src 0:0:0:0:0:%d", "dst ether host 1:1:1:1:1:%d", "src port 1 or %d",
}

function Random:ip_pattern(depth)
  local kind = depth > 0 and self:to(1, 8) or 1
  local function part() return self:ip_pattern(depth - 1) end
  if kind <= 3 then
    return (one_of(self, PRIMITIVES):gsub("%%d", function ()
      return tostring(one_of(self, {0, 1, 2, 3, 6, 7}))
    end))
  elseif kind <= 5 then return ("%s and %s"):format(part(), part())
  elseif kind == 6 then return ("(%s or %s)"):format(part(), part())
  elseif kind == 7 then return ("not (%s)"):format(part()) end
  return ("(%s ? %s : %s)"):format(part(), part(), part())
end

--- Rules for four outputs, some of which match nothing.
function Random:ip_patterns()
  local list = {}
  for i = 1, self:to(1, 5) do
    list[i] = ("%s %s"):format(one_of(self, {"0", "1", "2", "3", "deny"}),
      self:ip_pattern(self:to(0, 3)))
  end
  if self:to(1, 2) == 1 then list[#list + 1] = "3 all" end
  return list
end

local function bytes_of(self, n)
  local list = {}
  for i = 1, n do
    list[i] = string.char(one_of(self, {0, 0, 1, 1, 2, 6, 10, 17, 128, 255}))
  end
  return table.concat(list)
end

--- A packet of up to 20 bytes, and those by header, as click.classification.kernel
--- numbers headers.
function Random:bytes()
  local bytes = bytes_of(self, self:to(1, 3) == 1 and self:to(0, 20) or 20)
  return packet.from_string(bytes), {[0] = bytes}
end

local function address(self)
  return string.char(10, 0, self:to(0, 1), self:to(0, 3))
end

local function ip_header(self, words)
  return string.char(64 + words, one_of(self, {0, 1, 2, 3, 255}), 0, self:to(0, 40), 0,
      self:to(0, 3), one_of(self, {0, 0, 0, 32}), one_of(self, {0, 0, 0, 1}),
      self:to(0, 3), one_of(self, {1, 6, 17, 6, 17, 3}), 0, 0)
    .. address(self) .. address(self) .. bytes_of(self, 4 * words - 20)
end

--- A frame whose headers are noted, and its bytes from each header on. It may be cut
--- anywhere behind the Ethernet header, if it needn't be `whole`.
function Random:ip_packet(whole)
  local words = one_of(self, {5, 5, 5, 6})
  local ether = bytes_of(self, 6) .. "\0\0\0\0\0" .. string.char(self:to(0, 3))
    .. "\8\0"
  local frame = ether .. ip_header(self, words) .. bytes_of(self, 24)
  if not whole and self:to(1, 4) == 1 then frame = frame:sub(1, self:to(14, #frame)) end
  local p = packet.from_string(frame)
  local start = p.data_off
  p.note16[0], p.note16[1], p.note16[2] = start, start + 14, start + 14 + 4 * words
  return p, {[0] = "\0\0" .. frame, frame:sub(15), frame:sub(15 + 4 * words)}
end

return patterns
