-- SPDX-License-Identifier: Apache-2.0
-- What device 0 receives while its MAC filter changes. The first byte behind a frame's
-- Ethernet header is a command: the next phase's place in COMMANDS, from 1, or 0. The
-- last bytes of the addresses to which the latter came are printed at the end of each
-- phase; after the last, the device's xstats, less what they were at the first command:
-- the wire may hold frames of before.

local device = require "device"
local dpdkc = require "dpdkc"
local ffi = require "ffi"
local lm = require "libmoon"
local memory = require "memory"

local ADDED = "02:00:00:00:00:77"
local COMMANDS = {
  {"promiscuous", function (dev) dev:setPromisc(true) end},
  {"filtering", function (dev) dev:setPromisc(false) end},
  {"one more", function (dev) dev:addMac(ADDED) end},
  {"end", function () end},
}

-- By name.
local function xstats()
  local result, n = {}, dpdkc.rte_eth_xstats_get_names(0, nil, 0)
  local names = ffi.new("struct rte_eth_xstat_name[?]", n)
  local values = ffi.new("struct rte_eth_xstat[?]", n)
  dpdkc.rte_eth_xstats_get_names(0, names, n)
  for i = 0, dpdkc.rte_eth_xstats_get(0, values, n) - 1 do
    result[ffi.string(names[tonumber(values[i].id)].name)] = tonumber(values[i].value)
  end
  return result
end

function master()
  io.stdout:setvbuf("line")
  local dev = device.config{port = 0}
  local queue, bufs = dev:getRxQueue(0), memory.bufArray()
  local phase, came, before = 0, {}, nil
  print("up")
  while lm.running() and phase < #COMMANDS do
    for i = 1, queue:tryRecv(bufs, 1000) do
      local bytes = bufs[i]:getBytes()
      local command, address = bytes[14], bytes[5]
      if command == 0 then
        came[#came + 1] = address
      elseif command == phase + 1 then
        before = before or xstats()
        if phase > 0 then
          print(("phase %s: %s."):format(COMMANDS[phase][1], table.concat(came, " ")))
        end
        phase, came = command, {}
        COMMANDS[command][2](dev)
        print("begins: " .. COMMANDS[command][1])
      end
      bufs[i]:free()
    end
  end
  for name, value in pairs(xstats()) do print(name .. " = " .. value - before[name]) end
  print("that was all")
end
