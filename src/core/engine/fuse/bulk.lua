-- SPDX-License-Identifier: Apache-2.0
-- Bulk apps: process_burst(packets, n, route) is called once for a burst from a link,
-- and says for each packet where it goes: 0 and up are outputs, -1 and down drops.

local ffi = require("ffi")
local C = require("core.native")
local drops = require("core.engine.fuse.drops")
local link = require("core.link")
local packet = require("core.packet")
local pool = require("core.pool")

local bulk = {}

local BURST = C.PORT_BURST
local CODES = 256 -- of a route: a byte, in which -k is CODES - k
local ONE_OUTPUT = {"output"}
local NONE = {}

local array_t = ffi.typeof("struct packet *[?]")
local route_t = ffi.typeof("uint8_t[?]")
local lost = ffi.new("int32_t[?]", CODES) -- of the burst, by code
local freelist, free = pool.freelist, packet.free

-- By app: its arrays of a burst. They stay in use until the apps behind have run.
local bursts = setmetatable({}, {__mode = "k"})

-- {packets =, route =, chosen = {by output, those of `packets` that go there}}
local function burst_of(app, outputs)
  local burst = {packets = array_t(BURST), route = route_t(BURST), chosen = {}}
  for o = 1, #outputs do burst.chosen[o] = array_t(BURST) end
  bursts[app] = burst
  return burst
end

-- Count the app's `lost` packets of this code as dropped for the reason; how many.
local function settle(app, code, reason)
  local n = lost[code]
  if n > 0 then
    drops.add(app, reason, n)
    lost[code] = 0
  end
  return n
end

-- Count the `n` packets that are lost.
local function settle_all(app, outputs, n)
  local reasons = app.drops or NONE
  n = n - settle(app, 0, "dropped")
  for k = 1, #reasons do n = n - settle(app, CODES - k, reasons[k]) end
  for o = 1, #outputs do
    if lost[o] > 0 then n = n - settle(app, o, "no link at " .. outputs[o]) end
  end
  if n == 0 then return end
  for code = 1, CODES - 1 do settle(app, code, "no such output") end
end

-- Drop those of `n` packets that no link has taken.
local function drop_rest(burst, links, outputs, n)
  for i = 0, n - 1 do
    local code = burst.route[i]
    local name = outputs[code]
    if not (name and links[name]) then
      lost[code] = lost[code] + 1
      free(burst.packets[i])
    end
  end
end

local function pass_all(app, outputs, burst, n)
  local passed, packets, route, chosen = 0, burst.packets, burst.route, burst.chosen
  for o = 1, #outputs do
    local l = app.output[outputs[o]]
    if l then
      passed = passed + C.pg_hand_routed(freelist, l, packets, n, route, o, chosen[o])
    end
  end
  if passed < n then
    drop_rest(burst, app.output, outputs, n)
    settle_all(app, outputs, n - passed)
  end
end

-- Put what was handed over, and not yet taken, where it doesn't need the arrays.
local function clear(app, outputs)
  for o = 1, #outputs do
    local l = app.output[outputs[o]]
    if l and l.nhanded > 0 then C.pg_queue_handed(freelist, l) end
  end
end

--- Take a burst from the link and let the app route it. (While process_burst is
--- called, the local variable `app` is the app at work: core.engine.fuse.rescue.)
function bulk.process(app, outputs, l)
  clear(app, outputs)
  local burst = bursts[app]
  if not burst or #burst.chosen < #outputs then burst = burst_of(app, outputs) end
  local n = C.pg_accept_counted(freelist, l, burst.packets)
  if n == 0 then return end
  ffi.fill(burst.route, n, 1)
  app:process_burst(burst.packets, n, burst.route)
  pass_all(app, outputs, burst, n)
end
local process = bulk.process

--- The push(app) of a bulk app.
function bulk.push(app)
  local outputs = app.outputs or ONE_OUTPUT
  for i = 1, #app.input do
    local l = app.input[i]
    for _ = 1, link.nreadable(l) + l.nhanded, BURST do process(app, outputs, l) end
  end
end

return bulk
