-- SPDX-License-Identifier: Apache-2.0
-- NumberPacket writes numbers into packets, and CheckNumberPacket counts which of them
-- arrive. A number has 64 bits, in the machine's byte order unless NET_ORDER is true.

local ffi = require("ffi")
local element = require("click.element")
local bytes = require("net.wire.bytes")
local note = require("click.note")
local packet = require("core.packet")
local wire = require("click.net.wire")

local barrier = wire.barrier
local BYTES = 8
local HALF = 2 ^ 32

local bswap, tobit = bit.bswap, bit.tobit
local words = ffi.typeof("uint32_t *")

-- The number at `offset` of the packet, which is long enough; exact up to 2^53.
local function read_number(p, offset, net_order)
  local at = ffi.cast(words, p.data + offset)
  if net_order then
    return bswap(tobit(at[0])) % HALF * HALF + bswap(tobit(at[1])) % HALF
  end
  return at[0] + at[1] * HALF
end

local function write_number(p, offset, net_order, number)
  local at = ffi.cast(words, p.data + offset)
  local low, high = number % HALF, math.floor(number / HALF)
  if net_order then
    at[0], at[1] = bswap(tobit(high)), bswap(tobit(low))
  else
    at[0], at[1] = low, high
  end
end

-- NumberPacket --------------------------------------------------------------------

local NumberPacket = element.define{
  name = "NumberPacket", summary = "writes increasing numbers into packets",
  division = "none", undivided = "packets are numbered in one row",
  ports = "1/1",
  arguments = {
    {"OFFSET", "unsigned", default = 40},
    {"NET_ORDER", "bool", default = false, keyword = true},
  },
  handlers = {count = element.data("count")},
}

function NumberPacket:configure(a)
  if a.OFFSET + BYTES > packet.max_payload then
    return self:error("OFFSET: out of range, bound %d", packet.max_payload - BYTES)
  end
  self.offset, self.net_order, self.count = a.OFFSET, a.NET_ORDER, 0
end

local NETWORK, TOTAL_LENGTH = note.NETWORK_HEADER, 2

-- Make a short packet long enough, and say so in its IP header, if it has one.
local function lengthen(p, length)
  local old = p.length
  packet.resize(p, length)
  local network = p.note16[NETWORK]
  if network == 0 or network < p.data_off or network - p.data_off + 20 > old then
    return
  end
  local ip = p.buf_addr + network
  local total = length - (network - p.data_off)
  bytes.write16(ip + TOTAL_LENGTH, total)
end

function NumberPacket:process(p)
  local offset = self.offset
  if p.length < offset + BYTES then lengthen(p, offset + BYTES) end
  write_number(p, offset, self.net_order, self.count)
  self.count = self.count + 1
  barrier()
  return p
end

-- CheckNumberPacket ---------------------------------------------------------------

local MOST = 2 ^ 30 -- numbers, of four bytes each

local CheckNumberPacket = element.define{
  name = "CheckNumberPacket", summary = "counts the numbers in packets",
  ports = "1/1-2", processing = "h/h", drops = {"too short", "number out of range"},
  arguments = {
    {"OFFSET", "unsigned", default = 40},
    {"COUNT", "unsigned", default = 0, max = MOST},
    {"NET_ORDER", "bool", default = false, keyword = true},
  },
}

local function set_count(self, count)
  self.count, self.seen = count, ffi.new("uint32_t[?]", math.max(count, 1))
end

function CheckNumberPacket:configure(a)
  self.offset, self.net_order, self.strange = a.OFFSET, a.NET_ORDER, 0
  set_count(self, a.COUNT)
end

local TO_BE_SAID = 10 -- packets, of those with a strange number

local function complain(self, number)
  self.strange = self.strange + 1
  if self.strange > TO_BE_SAID then return end
  self:remark("%.0f out of scope (count is %.0f) !%s", number, self.count,
    self.strange == TO_BE_SAID and " (No more of this is said.)" or "")
end

function CheckNumberPacket:process(p)
  local offset = self.offset
  if p.length < offset + BYTES then
    if self.noutputs > 1 then return p, 2 end
    return nil, 1
  end
  local number = read_number(p, offset, self.net_order)
  if number >= self.count then
    complain(self, number)
    if self.noutputs > 1 then return p, 2 end
    return nil, 2
  end
  self.seen[number] = self.seen[number] + 1
  return p
end

-- "[NUMBER] : TIMES" of the first number that is the best by `better`.
local function extreme(self, better)
  local best = -1
  for i = 0, self.count - 1 do
    if best < 0 or better(self.seen[i], self.seen[best]) then best = i end
  end
  return ("[%d] : %d"):format(best, best < 0 and -1 or self.seen[best])
end

local function dump(self)
  local lines = {}
  for i = 0, self.count - 1 do
    lines[i + 1] = ("%d: %d\n"):format(i, self.seen[i])
  end
  return table.concat(lines)
end

CheckNumberPacket.handlers = {
  count = {
    read = function (self) return self.count end,
    write = function (self, text)
      local count = tonumber(text)
      if not count or count % 1 ~= 0 or count < 0 or count > MOST then
        return "count parameter must be integer"
      end
      set_count(self, count)
    end,
  },
  max = {read = function (self)
    return extreme(self, function (a, b) return a > b end)
  end},
  min = {read = function (self)
    return extreme(self, function (a, b) return a < b end)
  end},
  dump = {read = dump},
}

-- For the elements that read numbers, too.
NumberPacket.read_number, NumberPacket.BYTES = read_number, BYTES

return {NumberPacket, CheckNumberPacket}
