-- SPDX-License-Identifier: Apache-2.0
-- perigee run test/lwaftr_changes_elsewhere.lua CONF SECONDS CPU: an lwAFTR between
-- DPDK's ports 0 (internet) and 1 (B4s) on that CPU, while this one changes its
-- softwires as fast as it can. Prints how many changes it has made, and the counters of
-- packets that aren't 0, as APP/COUNTER NUMBER.

local ffi = require("ffi")
local Binding = require("apps.lwaftr.binding")
local C = require("core.native")
local Port = require("apps.port.port").Port
local counter = require("core.counter")
local graph = require("apps.lwaftr.graph")
local reader = require("apps.lwaftr.conf_reader")
local shm = require("core.shm")

local AT_ONCE = 1000
local OUTSIDE = 0xc6120000 -- 198.18.0.0: softwires that no packet is for,
local OTHERS = 14 -- so many of them at a time

local function configure(conf, binding, cpu)
  local c = config.new()
  config.app(c, "nic4", Port, 0)
  config.app(c, "nic6", Port, 1)
  local names = graph.add(c, conf, {binding = binding,
    v4 = {"nic4.output", "nic4.input"}, v6 = {"nic6.output", "nic6.input"}})
  names[#names + 1], names[#names + 2] = "nic4", "nic6"
  for _, name in ipairs(names) do config.cpu(c, name, cpu) end
  engine.busywait = true
  engine.configure(c)
end

-- One of the `n` in `list` is written again, or another comes or goes, whose address
-- may have to make room in the table for one that packets are for, or give it.
local function change(binding, list, n, others)
  if math.random() < 0.3 then return binding:add(list[math.random(0, n - 1)], true) end
  if #others >= OTHERS then
    return assert(binding:remove(table.remove(others, math.random(OTHERS)), 1))
  end
  local s = ffi.new("struct softwire", list[0])
  s.ipv4, s.psid = OUTSIDE + math.random(0, 65535), 1
  if not binding:port_set(s.ipv4) then
    others[#others + 1] = s.ipv4
    binding:add(s)
  end
end

local function print_counters()
  for _, app in ipairs(shm.children("apps")) do
    for _, name in ipairs(shm.children("apps/" .. app)) do
      local packets = name:match("packets%.counter$") and name
      local path = ("apps/%s/%s"):format(app, packets)
      local n = packets and tonumber(counter.read(counter.open(path))) or 0
      if n > 0 then print(("%s/%s %d"):format(app, packets:match("[^.]+"), n)) end
    end
  end
end

local function main(path, seconds, cpu)
  local conf = reader.file(path)
  local binding = Binding.new(conf.softwire_config.binding_table.softwires)
  configure(conf, binding, tonumber(cpu))
  local list, n = binding:list()
  local made, began, others = 0, C.pg_monotonic(), {}
  engine.main{no_report = true, done = function ()
    for _ = 1, AT_ONCE do
      made = made + 1
      change(binding, list, n, others)
    end
    return C.pg_monotonic() - began >= tonumber(seconds)
  end}
  engine.main{duration = 0.2, no_report = true} -- until counters are published
  print("changes " .. made)
  print_counters()
end

main(...)
