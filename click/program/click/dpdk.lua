-- SPDX-License-Identifier: Apache-2.0
-- FastClick's options for DPDK, `--dpdk -l 0-3 -n 4 -a 0000:01:00.0 --`: the CPUs
-- are the router's, the rest goes to DPDK when it starts.

local affinity = require("core.cpus.affinity")

local dpdk = {}

-- The CPUs in "0-3,8"; nil if it is no such list, as "(0,2)@..." isn't.
local function list_of(text)
  for part in text:gmatch("[^,]+") do
    if not part:match("^%d+%-?%d*$") then return nil end
  end
  local numbers = affinity.parse(text)
  return #numbers > 0 and numbers or nil
end

-- The bits that are set in "ff" or "0xff".
local function mask_of(text)
  local digits = text:match("^0[xX](%x+)$") or text:match("^(%x+)$")
  if not digits then return nil end
  local numbers = {}
  for i = #digits, 1, -1 do
    local digit = tonumber(digits:sub(i, i), 16)
    for bit = 0, 3 do
      if math.floor(digit / 2 ^ bit) % 2 == 1 then
        numbers[#numbers + 1] = (#digits - i) * 4 + bit
      end
    end
  end
  return #numbers > 0 and numbers or nil
end

local READERS = {["-l"] = list_of, ["-c"] = mask_of}

--- The CPUs that these words name (a list; nil: none), and the words for DPDK; or nil,
--- nil and what is wrong.
function dpdk.split(words)
  local cpus, rest, i = nil, {}, 1
  while words[i] do
    local option, value = words[i]:match("^(%-[lc])(.*)$")
    if option then
      if value == "" then i, value = i + 1, words[i + 1] or "" end
      cpus = READERS[option](value)
      if not cpus then
        return nil, nil, ("--dpdk %s %s: that is no list of CPUs"):format(option, value)
      end
    else
      rest[#rest + 1] = words[i]
    end
    i = i + 1
  end
  return cpus, rest
end

--- Take the words: DPDK gets its own, the result is the CPUs, or nil and what is wrong.
function dpdk.take(words)
  local cpus, rest, problem = dpdk.split(words)
  if problem then return nil, problem end
  if #rest > 0 then require("core.eal").pass(table.concat(rest, " ")) end
  return cpus
end

return dpdk
