-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/lwaftr_changes.lua CONF SECONDS: an lwAFTR between DPDK's ports
-- 0 (internet) and 1 (B4s), whose softwires change 1,000 times a second. Then CONF is
-- read again by a thread, and its softwires are swapped in, SWAPS times.
--
-- Prints a line each: changes made, packets received and lost meanwhile; the seconds of
-- each reading; the microseconds for which the packets' thread was busy with each swap;
-- softwires and bytes of the table; megabytes that the process needed to read them.

local ffi = require("ffi")
local Binding = require("apps.lwaftr.binding")
local C = require("core.native")
local Port = require("apps.port.port").Port
local counter = require("core.counter")
local graph = require("apps.lwaftr.graph")
local loader = require("apps.lwaftr.loader")

local RATE, SWAPS = 1000, 5
local OUTSIDE = 0xc6336400 -- 198.51.100.0: softwires that no packet is for

-- What another thread does, without packets, with them, or both.
local function wait_for(loading)
  local began, conf, wrong = C.pg_monotonic(), nil, nil
  local function done()
    conf, wrong = loading:poll()
    return conf ~= nil
  end
  if engine.app_table.nic4 then
    engine.main{no_report = true, done = done}
  else
    while not done() do C.pg_sleep(0.01) end
  end
  if not conf then error(wrong) end
  return conf, C.pg_monotonic() - began
end

local function configure(conf, binding)
  local c = config.new()
  config.app(c, "nic4", Port, 0)
  config.app(c, "nic6", Port, 1)
  graph.add(c, conf, {binding = binding, v4 = {"nic4.output", "nic4.input"},
    v6 = {"nic6.output", "nic6.input"}})
  engine.busywait = true
  engine.configure(c)
end

local function carried()
  local n4, n6 = engine.app_table.nic4.port, engine.app_table.nic6.port
  return tonumber(n4.rxpackets + n6.rxpackets), tonumber(n4.txpackets + n6.txpackets)
end

local function dropped()
  local shm = engine.app_table.lwaftr.shm
  return tonumber(counter.read(shm["drop-all-ipv4-iface-packets"])
    + counter.read(shm["drop-all-ipv6-iface-packets"]))
end

-- The i-th change: one that is there is written again, another comes, or goes.
local function change(binding, list, n, i)
  local kind = i % 3
  if kind == 0 then return binding:add(list[math.random(0, n - 1)], true) end
  local s = ffi.new("struct softwire", list[0])
  s.ipv4, s.psid = OUTSIDE + math.floor(i / 3) % 256, 1
  if kind == 1 then return binding:add(s, true) end
  assert(binding:remove(s.ipv4, s.psid))
end

local function changes(binding, seconds)
  local list, n = binding:list()
  local before_rx, before_tx = carried()
  local drops, made, began = dropped(), 0, C.pg_monotonic()
  engine.main{no_report = true, done = function ()
    local passed = C.pg_monotonic() - began
    while made < passed * RATE do
      made = made + 1
      change(binding, list, n, made)
    end
    return passed >= seconds
  end}
  local rx, tx = carried()
  rx, tx = rx - before_rx, tx - before_tx
  print(("changes %d packets %d lost %d"):format(made, rx, rx - tx + dropped() - drops))
end

-- Megabytes that the process had at most.
local function resident()
  local status = io.open("/proc/self/status"):read("*a")
  return tonumber(status:match("VmHWM:%s*(%d+)")) / 1024
end

local function main(path, seconds)
  local empty = resident()
  local conf, took = wait_for(loader.start(path))
  print(("megabytes %.0f"):format(resident() - empty))
  local binding = Binding.new(conf.softwire_config.binding_table.softwires)
  print(("softwires %d bytes %.0f"):format(binding:count(), binding:bytes()))
  configure(conf, binding)
  engine.main{duration = 0.3, no_report = true}
  changes(binding, tonumber(seconds))
  local readings, swaps = {("%.2f"):format(took)}, {}
  for i = 1, SWAPS do
    conf, took = wait_for(loader.start(path))
    local softwires = conf.softwire_config.binding_table.softwires
    local began = C.pg_monotonic()
    binding:swap(softwires)
    swaps[i] = ("%.1f"):format((C.pg_monotonic() - began) * 1e6)
    readings[i + 1] = ("%.2f"):format(took)
  end
  print("reading " .. table.concat(readings, " "))
  print("swaps " .. table.concat(swaps, " "))
end

main(...)
