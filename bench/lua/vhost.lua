-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/vhost.lua switch|links PORTS SECONDS: each port gives bursts
-- of 32 packets for the others, through a VlanSwitch or by links past it. Prints
-- packets, CPU seconds, TSC Hz.

local cpu_time = require("cpu_time")
local ffi = require("ffi")
local VlanSwitch = require("apps.vlan_switch.vlan_switch").VlanSwitch

local BURST, SIZE = 32, 60

-- A port of the switch: its packets are for the others, by a table that chance has
-- made; what it gets it frees.
local Guest = {}
Guest.__index = Guest

local function address(number)
  return ("52:54:00:00:00:%02x"):format(number)
end

function Guest:new(arg)
  local headers = ffi.new("uint64_t[?]", 2 * BURST)
  local bytes = ffi.cast("uint8_t *", headers)
  for i = 0, BURST - 1 do
    local to = math.random(arg.ports - 1)
    if to >= arg.number then to = to + 1 end
    ffi.copy(bytes + 16 * i, "\82\84\0\0\0" .. string.char(to) .. "\82\84\0\0\0"
      .. string.char(arg.number) .. "\136\181", 14)
  end
  return setmetatable({headers = headers, got = 0}, self)
end

function Guest:pull()
  local output, headers = self.output.output, self.headers
  for i = 0, BURST - 1 do
    local p = packet.allocate()
    local data = ffi.cast("uint64_t *", p.data)
    data[0], data[1] = headers[2 * i], headers[2 * i + 1]
    p.length = SIZE
    link.transmit(output, p)
  end
end

function Guest:push()
  local input = self.input.input
  local n = link.nreadable(input)
  for _ = 1, n do packet.free(link.receive(input)) end
  self.got = self.got + n
end

local function switch_graph(ports, switched)
  local c, list = config.new(), {}
  for i = 1, ports do
    local name = "g" .. i
    list[i] = {name = name, vlan = 7, mac = address(i)}
    config.app(c, name, Guest, {number = i, ports = ports})
    if switched then
      config.link(c, ("%s.output -> switch.%s"):format(name, name))
      config.link(c, ("switch.%s -> %s.input"):format(name, name))
    else
      config.link(c, ("%s.output -> g%d.input"):format(name, i % ports + 1))
    end
  end
  if switched then config.app(c, "switch", VlanSwitch, {ports = list}) end
  return c
end

-- Packets that have come, so far, to who counts them.
local function counter(apps)
  return function ()
    local sum = 0
    for _, app in pairs(apps) do sum = sum + (app.got or 0) end
    return sum
  end
end

local function main(what, where, seconds)
  math.randomseed(1)
  engine.configure(switch_graph(tonumber(where), what == "switch"))
  engine.busywait = true
  cpu_time.report(counter(engine.app_table), seconds)
end

main(...)
