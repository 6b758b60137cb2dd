-- SPDX-License-Identifier: Apache-2.0
-- Texts that are nearly right: one of some that are, with one to four faults.

local Mutants = {}
Mutants.__index = Mutants

local MOST_BYTES = 20000
local NUMBERS = {"0", "-1", "1", "00", "1e9", "0x10", "1.5", "65535", "65536",
                 "4294967295", "4294967296", "9007199254740993", "99999999999999999999",
                 "nan", "inf", "1e999", "+1", " 1", "1 "}

--- Of these texts, and of pieces (strings) that are put in.
function Mutants.new(seeds, pieces)
  return setmetatable({seeds = seeds, pieces = pieces}, Mutants)
end

local function splice(text, at, removed, inserted)
  return text:sub(1, at - 1) .. inserted .. text:sub(at + removed)
end

local function place(random, text) return random:range(1, #text + 1) end

local MUTATIONS = {
  function (random, text) -- a byte
    return splice(text, place(random, text), 1, string.char(random:range(0, 255)))
  end,
  function (random, text) -- less
    return splice(text, place(random, text), random:range(1, 8), "")
  end,
  function (random, text) -- again
    local at = place(random, text)
    local piece = text:sub(at, at + random:range(0, 15))
    return splice(text, at, 0, piece:rep(random:choose{1, 1, 2, 100}))
  end,
  function (random, text, self) -- a piece
    return splice(text, place(random, text), random:choose{0, 0, 1, 4},
      random:choose(self.pieces))
  end,
  function (random, text) -- another number
    local first, last = text:find("%d+", place(random, text))
    if not first then first, last = text:find("%d+") end
    if not first then return text .. random:choose(NUMBERS) end
    return splice(text, first, last - first + 1, random:choose(NUMBERS))
  end,
  function (random, text, self) -- the end of another
    local other = random:choose(self.seeds)
    return text:sub(1, place(random, text)) .. other:sub(place(random, other))
  end,
  function (random, text) -- its end cut off
    return text:sub(1, place(random, text) - 1)
  end,
  function (_, text) return text:upper() end,
}

--- A mutant.
function Mutants:make(random)
  local text = random:choose(self.seeds)
  for _ = 1, random:range(1, 4) do
    text = random:choose(MUTATIONS)(random, text, self):sub(1, MOST_BYTES)
  end
  return text
end

return Mutants
