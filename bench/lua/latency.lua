-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/latency.lua LIBRARY RATE SWING APPS WARM-UP CHANGES SECONDS: as
-- bench/native/latency.c, which LIBRARY is, but with fused apps, on DPDK's port 0.
-- Prints what that prints. What comes in the WARM-UP seconds is not measured. CHANGES:
-- how many times a second the graph is configured anew, one app with another argument.

local ffi = require("ffi")
local C = require("core.native")
local packet = require("core.packet")
local Port = require("apps.port.port").Port

ffi.cdef[[
struct latency;
struct latency *latency_watch(uint16_t port, const struct packet *example, double rate,
                              double swing);
void latency_begin(struct latency *l, double rate, double swing);
void latency_print(const struct latency *l, double seconds);
]]

local Swap = {}
Swap.__index = Swap
function Swap:new(arg) return setmetatable({arg = arg}, self) end

local addresses = ffi.typeof("struct { int32_t a; uint16_t b; int32_t c; "
  .. "uint16_t d; } __attribute__((packed)) *")

function Swap.process(_, p)
  if p.length < 14 then return nil end
  local h = ffi.cast(addresses, p.data)
  h.a, h.b, h.c, h.d = h.c, h.d, h.a, h.b
  return p
end

local function graph(apps, change)
  local c = config.new()
  config.app(c, "port", Port, "0")
  local from = "port"
  for i = 1, apps do
    config.app(c, "app" .. i, Swap, i == 1 and change or 0)
    config.link(c, ("%s.output -> app%d.input"):format(from, i))
    from = "app" .. i
  end
  config.link(c, from .. ".output -> port.input")
  return c
end

local function run(apps, seconds, changes)
  local parts = math.max(1, math.floor(seconds * changes))
  for part = 1, parts do
    if changes > 0 then engine.configure(graph(apps, part)) end
    engine.main{duration = seconds / parts, no_report = true}
  end
end

local function main(path, rate, swing, apps, warm_up, changes, seconds)
  local library = ffi.load(path)
  rate, swing, warm_up, seconds =
    tonumber(rate), tonumber(swing), tonumber(warm_up), tonumber(seconds)
  engine.busywait = true
  engine.configure(graph(apps, 0))
  local example = packet.allocate()
  local latency = library.latency_watch(
    engine.app_table.port.port.id, example, rate, swing)
  assert(latency ~= nil, "the port can't be watched")
  packet.free(example)
  if warm_up > 0 then run(apps, warm_up, 0) end
  library.latency_begin(latency, rate, swing)
  local cpu = C.pg_cpu_seconds()
  run(apps, seconds, tonumber(changes))
  library.latency_print(latency, C.pg_cpu_seconds() - cpu)
end

main(...)
