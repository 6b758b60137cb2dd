-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/record.lua SIZE SECONDS [FLOWS [metered]]: packets of that
-- size come from a null port, and stay in a ring of 256 MiB until others overwrite
-- them. With FLOWS they are UDP of so many flows, one at random each; `metered`: flows
-- are accounted (record --flows), of which none ends. Prints what
-- bench/native/record.c prints: packets, CPU seconds, TSC Hz.

local C = require("core.native")
local ffi = require("ffi")
local Port = require("apps.port.port").Port
local Recorder = require("apps.record.recorder").Recorder

local RING_BYTES = 2^28
local WARM_UP_SECONDS = 0.5 -- the ring has been full once
local HEADER = "\2\0\0\0\0\1\2\0\0\0\0\2\8\0" .. "\69\0\0\46\0\0\0\0\64\17\0\0"
  .. "\10\0\0\1\10\0\0\2" .. "\4\0\0\53\0\26\0\0"
local SOURCE = 28 -- where the source address's lower half is

-- UDP headers in packets, of one of the flows each.
local Header = {}
Header.__index = Header

function Header:new(flows)
  return setmetatable({flows = tonumber(flows), dice = 2463534242 % 2^31}, self)
end

local header = ffi.new("uint8_t[?]", #HEADER, HEADER)

-- Random numbers are xorshift32's (Marsaglia, 2003).
function Header:process(p)
  local dice = self.dice
  dice = bit.bxor(dice, bit.lshift(dice, 13))
  dice = bit.bxor(dice, bit.rshift(dice, 17))
  dice = bit.bxor(dice, bit.lshift(dice, 5))
  self.dice = dice
  local flow = bit.band(dice, 0x7fffffff) % self.flows
  ffi.copy(p.data, header, #HEADER)
  p.data[SOURCE] = bit.band(flow, 255)
  p.data[SOURCE + 1] = bit.band(bit.rshift(flow, 8), 255)
  p.data[SOURCE + 2] = bit.band(bit.rshift(flow, 16), 255)
  return p
end

local size, seconds, flows, metered = ...
local c = config.new()
config.app(c, "port", Port, "null:size=" .. size)
config.app(c, "recorder", Recorder, {inputs = {"a"}, memory = RING_BYTES,
  flows = metered and {limit = 2^17, idle = 3600, active = 3600}})
if flows then
  config.app(c, "header", Header, flows)
  config.link(c, "port.output -> header.input")
  config.link(c, "header.output -> recorder.a")
else
  config.link(c, "port.output -> recorder.a")
end
engine.busywait = true
engine.configure(c)
engine.main{duration = WARM_UP_SECONDS, no_report = true}
local port = engine.app_table.port
local packets, cpu = tonumber(port.port.rxpackets), C.pg_cpu_seconds()
engine.main{duration = tonumber(seconds), no_report = true}
print(("%d %.6f %d"):format(tonumber(port.port.rxpackets) - packets,
  C.pg_cpu_seconds() - cpu, tonumber(C.pg_tsc_hz())))
