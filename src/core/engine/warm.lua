-- SPDX-License-Identifier: Apache-2.0
-- Runs the loops of fused regions on made-up full bursts before real packets come,
-- so that LuaJIT compiles them for bursts and not for what happens to come first.
-- Nothing of it remains but the compiled code: no packet leaves, and apps, counters
-- and packets are as before. A region with an app whose class has `warm` = false,
-- or too much state to save, is left out.
--
-- Off unless engine.warm is set: it gains nothing that could be measured (doc/apps.md),
-- and doesn't see state that apps keep in C or in locals of functions.

local ffi = require("ffi")
local C = require("core.native")
local packet = require("core.packet")
local pool = require("core.pool")
local state = require("core.engine.warm.state")
local traffic = require("core.engine.warm.traffic")

local warm = {}

local BURST = tonumber(C.PORT_BURST)
-- A loop is hot after 56 packets, its branches after 10 more each. Its end must be met
-- less than 10 times: LuaJIT would try to compile what follows, here, in a pcall(),
-- give up, and leave the end of every real burst to the interpreter: 480 cycles.
local BURSTS = 8
local freelist = pool.freelist

local function address(p)
  return tonumber(ffi.cast("uintptr_t", ffi.cast("void *", p)))
end

-- Saved state of all apps of the region, or nil if it isn't to be warmed up.
local function save_apps(region)
  local saved = {}
  for i, app in ipairs(region.app) do
    if app.warm == false then return nil end
    saved[i] = state.save(app)
    if not saved[i] then return nil end
  end
  return saved
end

local function save_memory(memory)
  local size = ffi.sizeof(memory)
  local copy = ffi.new("uint8_t[?]", size)
  ffi.copy(copy, memory, size)
  return function () ffi.copy(memory, copy, size) end
end

-- Put back what of the burst is in the arrays of the exits or still with an app.
-- (If the free list has spilled to the pool, nobody knows any more.)
local function collect(region, burst, spilled)
  if freelist.spilled ~= spilled then return end
  local free = {}
  for i = freelist.nfree - 1, 0, -1 do free[address(freelist.list[i])] = true end
  for _, p in ipairs(burst) do
    if not free[address(p)] then packet.free_internal(p) end
  end
  for _, out in ipairs(region.out) do ffi.fill(out, ffi.sizeof(out)) end
end

local function run_burst(region, entry)
  local burst, spilled = {}, freelist.spilled
  for i = 0, BURST - 1 do
    local p = packet.allocate()
    traffic.fill(p, i)
    burst[i + 1], region.packets[i] = p, p
  end
  ffi.fill(region.fill, ffi.sizeof(region.fill))
  local ok, err = pcall(region.loop[entry], BURST)
  collect(region, burst, spilled)
  return ok, err
end

-- The packets the free list counts as freed, and those it has: a burst must fit, and
-- none of it may go to the pool.
local function keep_freelist()
  local frees, bytes, bits = freelist.frees, freelist.freebytes, freelist.freebits
  return function ()
    freelist.frees, freelist.freebytes, freelist.freebits = frees, bytes, bits
  end
end

--- Warm up the region (core.fuse.region); true, or false and why it wasn't.
function warm.region(region)
  local apps = save_apps(region)
  if not apps then return false, "an app can't be warmed up" end
  local restore = {keep_freelist(), save_memory(region.tally.counts),
                   save_memory(region.tally.growth)}
  local done, err = true, nil
  for entry in ipairs(region.loop) do
    for _ = 1, BURSTS do
      if done then done, err = run_burst(region, entry) end
      for _, saved in ipairs(apps) do state.restore(saved) end
    end
  end
  for _, put_back in ipairs(restore) do put_back() end
  return done, err
end

--- Warm up those of the list of regions that haven't been.
function warm.regions(list)
  for _, region in ipairs(list) do
    if not region.warmed then
      region.warmed = true
      warm.region(region)
    end
  end
end

return warm
