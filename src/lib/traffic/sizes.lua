-- SPDX-License-Identifier: Apache-2.0
-- Mixes of packet sizes: each is a fixed sequence of sizes that is sent over and over,
-- so that every whole round has exactly the shares asked for. A size is that of the
-- frame from its first address on, without the frame check sequence.

local packet = require("core.packet")

local M = {}

local LONGEST_ROUND = 65536

-- "Simple IMIX": IP packets of 40, 576 and 1,500 bytes, 7:4:1, the mix that test
-- equipment goes by (Spirent, "Test Methodology Journal: IMIX", 2006; RFC 6985 is on
-- such mixes). 60 is the shortest frame, the others have an Ethernet header of 14.
M.IMIX = {{60, 7}, {576 + 14, 4}, {1500 + 14, 1}}

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

local function range(low, high)
  local round = {}
  for size = low, high do round[#round + 1] = size end
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
  local first, last = text:match("^(.-)%.%.(.*)$")
  if not first then
    local weights, problem = weights_of(text)
    return weights and interleave(weights), problem
  end
  local low, problem = size_of(first)
  local high, other = size_of(last)
  if not low or not high then return nil, problem or other end
  if low > high then return nil, "the first size of a range is the smaller one" end
  return range(low, high)
end

--- Converter (lib.cli) of a size mix: "60", "64..1514" (each size in turn), "imix", or
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
