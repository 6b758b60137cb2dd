-- SPDX-License-Identifier: Apache-2.0
-- Mixes of packet sizes: each is a fixed sequence of sizes that is sent over and over,
-- so that every full round has exactly the shares asked for. A size is that of the
-- frame from its first address on, without the frame check sequence.

local packet = require("core.packet")

local M = {}

local LONGEST_ROUND = 65536

-- "Simple IMIX": IP packets of 40, 576 and 1,500 bytes, 7:4:1, the mix that test
-- equipment goes by (Spirent, "Test Methodology Journal: IMIX", 2006; RFC 6985 is on
-- such mixes). 60 is the shortest frame, the others have an Ethernet header of 14.
M.IMIX = {{60, 7}, {576 + 14, 4}, {1500 + 14, 1}}

-- The letters of a genome and the frames that they mean, with the frame check sequence
-- (RFC 6985, section 4; j, 16,384 bytes, is longer than a packet here, and z is the
-- MTU, which a size doesn't know).
local LETTERS = {a = 64, b = 128, c = 256, d = 512, e = 1024, f = 1280, g = 1518,
  h = 2112, i = 9216}
local FRAME_CHECK = 4

-- The sizes of a genome ("aaaaaaaddddg"), in its order.
local function genome(letters)
  local round = {}
  for letter in letters:gmatch(".") do
    local frame = LETTERS[letter]
    if not frame then
      return nil, ("a genome has the letters a to i of RFC 6985, not '%s'")
        :format(letter)
    end
    round[#round + 1] = frame - FRAME_CHECK
  end
  if #round == 0 then return nil, "a genome has a letter for each packet" end
  return round
end

local function size_of(text)
  local size = text:match("^%d+$") and tonumber(text)
  if not size or size < 14 or size > packet.max_payload then
    return nil, ("a packet has 14 to %d bytes, not '%s'"):format(packet.max_payload,
                                                                text)
  end
  return size
end

-- The sizes of one round, spread as evenly as their weights allow: the next is the one
-- that is furthest behind its share.
local function interleave(weights)
  local total, credit, round = 0, {}, {}
  for i, item in ipairs(weights) do
    total, credit[i] = total + item[2], 0
  end
  for n = 1, total do
    local best = 1
    for i, item in ipairs(weights) do
      credit[i] = credit[i] + item[2]
      if credit[i] > credit[best] then best = i end
    end
    credit[best] = credit[best] - total
    round[n] = weights[best][1]
  end
  return round
end

local function range(low, high, step)
  local round = {}
  for size = low, high, step do round[#round + 1] = size end
  return round
end

-- "60:7,590:4" to {{60, 7}, {590, 4}}; a size without a weight counts once.
local function weights_of(text)
  local weights, total = {}, 0
  for item in (text .. ","):gmatch("([^,]*),") do
    local size, weight = item:match("^%s*(.-)%s*:%s*(%d+)%s*$")
    size, weight = size or item:match("^%s*(.-)%s*$"), tonumber(weight or 1)
    local number, problem = size_of(size)
    if not number then return nil, problem end
    weights[#weights + 1] = {number, weight}
    total = total + weight
    if weight == 0 or total > LONGEST_ROUND then
      return nil, ("weights are whole numbers above 0, and their sum up to %d")
        :format(LONGEST_ROUND)
    end
  end
  return weights
end

local function round_of(text)
  if text == "imix" then return interleave(M.IMIX) end
  local letters = text:match("^imix:(.*)$")
  if letters then return genome(letters) end
  local first, rest = text:match("^(.-)%.%.(.*)$")
  if not first then
    local weights, problem = weights_of(text)
    return weights and interleave(weights), problem
  end
  local last, step = rest:match("^(.-)/(.*)$")
  step = tonumber(step and step:match("^%d+$") or not last and 1)
  if not step or step == 0 then
    return nil, "a step is a whole number above 0, such as in 64..1514/50"
  end
  last = last or rest
  local low, problem = size_of(first)
  local high, other = size_of(last)
  if not low or not high then return nil, problem or other end
  if low > high then return nil, "the first size of a range is the smaller one" end
  return range(low, high, step)
end

--- Converter (lib.cli) of a size mix: "60", "64..1514" (each size in turn),
--- "64..1514/50" (each 50th), "imix", "imix:aaaaaaaddddg" (a genome of RFC 6985), or
--- "60:7,590:4" (sizes and their weights). Returns {text =, round = the sizes of one
--- round in the order they are sent, smallest =, largest =, mean = bytes}.
function M.parse(text)
  local round, problem = round_of(text)
  if not round then
    return nil, ("'%s' isn't a size such as 60, 64..1514, imix or 60:7,590:4: %s")
      :format(text, problem)
  end
  local mix, sum = {text = text, round = round}, 0
  mix.smallest, mix.largest = math.huge, 0
  for _, size in ipairs(round) do
    mix.smallest, mix.largest = math.min(mix.smallest, size),
      math.max(mix.largest, size)
    sum = sum + size
  end
  mix.mean = sum / #round
  return mix
end

return M
