-- SPDX-License-Identifier: Apache-2.0
-- Packets to try: random bytes, valid packets, and valid packets that were bent.

local ffi = require("ffi")

local Mutants = {}
Mutants.__index = Mutants

local MOST = 9000 -- bytes
local EXTREMES = {0, 1, 2, 4, 5, 0x0f, 0x3f, 0x40, 0x7f, 0x80, 0xf0, 0xfe, 0xff}

--- Mutants of the `seeds` (what testing.fuzz.seeds made).
function Mutants.new(seeds)
  return setmetatable({seeds = seeds, bytes = ffi.new("uint8_t[?]", 2 * MOST),
    length = 0}, Mutants)
end

-- Short lengths more often than long ones.
local function random_length(random)
  return random:range(0, random:choose{16, 64, 128, 128, 300, 1514, MOST})
end

function Mutants:load(seed)
  self.length = #seed.bytes
  ffi.copy(self.bytes, seed.bytes, self.length)
end

local bend = {}

function bend.flip_bits(self, random)
  for _ = 1, random:range(1, 8) do
    local at = random:range(0, math.max(self.length, 1) - 1)
    self.bytes[at] = bit.bxor(self.bytes[at], 2 ^ random:range(0, 7))
  end
end

function bend.truncate(self, random)
  self.length = random:range(0, self.length)
end

-- Shorter by few bytes than its headers, where most checks are.
function bend.shorten(self, random)
  self.length = math.max(0, self.length - random:range(1, 8))
end

function bend.lengthen(self, random)
  local more = math.min(random_length(random), MOST - self.length)
  random:bytes(self.bytes + self.length, more, true)
  self.length = self.length + more
end

-- One field or the byte fields around it: all bits 0, all 1, or an extreme.
function bend.extreme(self, random, seed)
  local cell = random:choose(seed.cells)
  local same = random:one_in(2)
  local value = random:choose(EXTREMES)
  for i = cell[1], cell[1] + cell[2] - 1 do
    self.bytes[i] = value
    if not same then value = random:choose(EXTREMES) end
  end
end

function bend.overwrite(self, random)
  local from = random:range(0, math.max(self.length, 1) - 1)
  local n = math.min(random:range(1, 16), self.length - from)
  random:bytes(self.bytes + from, math.max(n, 0))
end

-- The start of this packet, then another from some byte on.
function bend.splice(self, random)
  local other = random:choose(self.seeds).bytes
  local at = random:range(0, self.length)
  local from = random:range(0, #other - 1)
  local n = math.min(#other - from, MOST - at)
  ffi.copy(self.bytes + at, other:sub(from + 1), n)
  self.length = math.max(at + n, random:one_in(2) and self.length or 0)
end

-- Bytes taken out or put in, so that what follows lies elsewhere.
function bend.shift(self, random)
  local at, n = random:range(0, self.length), random:range(1, 40)
  local tail = ffi.string(self.bytes + at, self.length - at)
  if random:one_in(2) then
    n = math.min(n, MOST - self.length)
    random:bytes(self.bytes + at, n)
    ffi.copy(self.bytes + at + n, tail, #tail)
    self.length = self.length + n
  else
    n = math.min(n, #tail)
    ffi.copy(self.bytes + at, tail:sub(n + 1), #tail - n)
    self.length = self.length - n
  end
end

-- One header over and over again: towers of tags, labels and options.
function bend.pile(self, random, seed)
  local item = random:choose(seed.shape.items)
  local from, size = item.offset, math.max(item.size, 1)
  local copies = math.min(random:range(2, 60), math.floor((MOST - from) / size) - 1)
  for i = 1, copies do
    ffi.copy(self.bytes + from + i * size, self.bytes + from, size)
  end
  self.length = math.max(self.length, from + (copies + 1) * size)
end

local BENDS = {bend.flip_bits, bend.flip_bits, bend.truncate, bend.shorten,
  bend.lengthen, bend.extreme, bend.extreme, bend.extreme, bend.overwrite,
  bend.splice, bend.shift, bend.pile}

--- Make the next mutant: its `bytes`, `length`; the seed it is, if it was not bent.
function Mutants:make(random)
  if random:one_in(20) then
    self.length = random_length(random)
    random:bytes(self.bytes, self.length, random:one_in(2))
    return nil
  end
  local seed = random:choose(self.seeds)
  self:load(seed)
  if random:one_in(20) then return seed end
  for _ = 1, random:choose{1, 1, 2, 3, 6} do
    random:choose(BENDS)(self, random, seed)
  end
  return nil
end

return Mutants
