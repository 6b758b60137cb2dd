-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/chain.lua KIND LENGTH BURST SECONDS: a null port's packets
-- through a chain of apps and back. Prints what bench/native/chain.c prints:
-- packets, CPU seconds, TSC Hz. What comes before SECONDS isn't measured.
--
-- KIND: push (a link before and after each app), lifted (the same apps, which the
-- engine fuses as they are), fused (process(p) that passes each packet on), bridge (the
-- same between two ports, both ways), swap
-- (fused; each app swaps the Ethernet addresses), or service and service-lifted
-- (bench/lua/service.lua, between links and fused as it is, LENGTH times).
-- BURST: packets received at once, 1 to 256; "random", 0 to 64, another number in
-- each breath; or "late:S", single packets for S seconds, then 256.

local ffi = require("ffi")
local C = require("core.native")
local Port = require("apps.port.port").Port

local WARM_UP_SECONDS = 0.2

-- The apps ----------------------------------------------------------------------

local kinds = {push = {}, fused = {}, swap = {}}

function kinds.push:push()
  local input, output = self.input.input, self.output.output
  for _ = 1, link.nreadable(input) do
    link.transmit(output, link.receive(input))
  end
end

kinds.lifted = {push = kinds.push.push}

function kinds.fused.process(_, p) return p end

local addresses = ffi.typeof("struct { int32_t a; uint16_t b; int32_t c; "
  .. "uint16_t d; } __attribute__((packed)) *")

function kinds.swap.process(_, p)
  if p.length < 14 then return nil end
  local h = ffi.cast(addresses, p.data)
  h.a, h.b, h.c, h.d = h.c, h.d, h.a, h.b
  return p
end

for _, class in pairs(kinds) do
  class.__index = class
  function class:new() return setmetatable({}, self) end
end

-- Changes a port's burst in each breath, before the port pulls.
local Dice = {}
Dice.__index = Dice
local FACES = 4096

function Dice:new(seed)
  local faces = ffi.new("uint16_t[?]", FACES)
  math.randomseed(seed)
  for i = 0, FACES - 1 do faces[i] = math.random(0, 64) end
  return setmetatable({faces = faces, at = 0}, self)
end

function Dice:pull()
  self.at = bit.band(self.at + 1, FACES - 1)
  self.device.burst = self.faces[self.at]
end

-- The run -------------------------------------------------------------------------

-- A chain from each of two ports to the other.
local function bridge(length, burst)
  local c = config.new()
  for side = 1, 2 do
    config.app(c, "port" .. side, Port, {port = "null", burst = burst})
    local from = "port" .. side
    for i = 1, length do
      local name = ("app%d_%d"):format(side, i)
      config.app(c, name, kinds.fused)
      config.link(c, ("%s.output -> %s.input"):format(from, name))
      from = name
    end
    config.link(c, ("%s.output -> port%d.input"):format(from, 3 - side))
  end
  return c
end

local function graph(kind, length, burst)
  if kind == "bridge" then return bridge(length, tonumber(burst)) end
  local c = config.new()
  config.app(c, "port", Port, {port = "null", burst = tonumber(burst)})
  if burst == "random" then config.app(c, "dice", Dice, 1) end
  local from = "port"
  local service = kind:match("^service")
    and dofile(debug.getinfo(1, "S").source:match("^@(.*)chain.lua$") .. "service.lua")
  for i = 1, length * (service and #service.CHAIN or 1) do
    local app = service and service.CHAIN[(i - 1) % #service.CHAIN + 1] or {kinds[kind]}
    config.app(c, "app" .. i, app[1], app[2])
    config.link(c, ("%s.output -> app%d.input"):format(from, i))
    from = "app" .. i
  end
  config.link(c, ("%s.output -> port.input"):format(from))
  return c
end

local function main(kind, length, burst, seconds)
  engine.lift = kind:match("lifted$") ~= nil
  engine.configure(graph(kind, tonumber(length), burst))
  engine.busywait = true
  local apps = engine.app_table
  local device = (apps.port or apps.port1).port
  if apps.dice then apps.dice.device = device end
  local single = tonumber(burst:match("^late:(.+)"))
  if single then
    device.burst = 1
    engine.main{duration = single, no_report = true}
    device.burst = C.PORT_BURST
  end
  engine.main{duration = WARM_UP_SECONDS, no_report = true}
  local packets, cpu = device.txpackets, C.pg_cpu_seconds()
  engine.main{duration = tonumber(seconds), no_report = true}
  print(("%d %.6f %d"):format(tonumber(device.txpackets - packets),
    C.pg_cpu_seconds() - cpu, tonumber(C.pg_tsc_hz())))
end

main(...)
