-- SPDX-License-Identifier: Apache-2.0
-- perigee run tools/same_packets.lua A B: do two savefiles hold the same packets in
-- the same order, byte for byte? Times may differ.

local ffi = require("ffi")
local failure = require("core.failure")
local lib = require("core.lib")
local reader = require("lib.pcap.reader")

local names = {...}
if #names ~= 2 then
  failure.usage("give two files: same_packets.lua A B")
end

local function packets(name)
  local file = reader.open(name)
  return function()
    local data, length = file:next()
    return data and ffi.string(data, length)
  end
end

local next_a, next_b = packets(names[1]), packets(names[2])
local n = 0
while true do
  local a, b = next_a(), next_b()
  if a ~= b then
    failure.raise("%s and %s differ from packet %d on", names[1], names[2], n + 1)
  elseif not a then
    break
  end
  n = n + 1
end
print(("the same %s packets, in the same order, byte for byte"):format(
  lib.comma_value(n)))
