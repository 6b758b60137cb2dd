-- SPDX-License-Identifier: Apache-2.0
-- MAC addresses, and the port and group each was last seen at: a bounded hash table
-- with buckets of 8 (snabb/apps/bridge/bridge.c). Addresses not seen for a time are
-- forgotten. An address that finds its bucket full isn't learned: then, and when
-- there are more addresses than the size aimed at, the table is made larger in time.

local ffi = require("ffi")
local C = require("core.declare")("apps/bridge/bridge.h")
local class = require("lib.lua.class")
local engine = require("core.app")
local failure = require("core.failure")
local lib = require("core.lib")
local timer = require("core.timer")

local mac_table = class.subClass(nil)

local WAYS = 8
local defaults = {size = 256, timeout = 60, verbose = false, copy_on_resize = true,
  resize_max = 2^16}

-- Addresses have a bucket of 8 slots to themselves, on average.
local function buckets_for(size)
  local n = 1
  while n < size do n = n * 2 end
  return n
end

local function allocate(self)
  self._slot = ffi.new("struct mac_entry[?]", self._buckets * WAYS)
  local t = self._table
  t.slot, t.mask, t.overflow = self._slot, self._buckets - 1, 0
end

local function check(config)
  for _, key in ipairs{"size", "timeout", "resize_max"} do
    local n = config[key]
    if type(n) ~= "number" or not (n >= 1 and n <= 2^24) then
      failure.usage("a bridge's mac_table has the %s %s; give a number from 1 to %d",
        key, tostring(n), 2^24)
    end
  end
end

local function log(format, ...)
  print("mac_table: " .. format:format(...))
end

-- Once in each timeout interval.
local function maintain(self)
  self._table.now = engine.now()
  if self._config.verbose then
    local info = self:info()
    local max, average, deviation = self:stats()
    log("%d of %d hash buckets in use, %d MAC entries, target size %d, Max/Avg/Std-dev "
      .. "slots per bucket: %d/%1.2f/%1.2f, size/bucket overflow: %s/%s",
      info.ubuckets, info.buckets, info.entries, info.size, max, average, deviation,
      info.entries > info.size, self:overflow_p())
  end
  self:maybe_resize()
end

--- `config`: size (addresses aimed at, 256), timeout (seconds, 60), verbose (print how
--- full it is once a timeout), copy_on_resize (true), resize_max (65,536). `memory`:
--- the struct mac_table to use.
function mac_table:new(config, memory)
  local o = mac_table:superClass().new(self)
  local full = {}
  for key, value in pairs(defaults) do
    full[key] = value
    if config and config[key] ~= nil then full[key] = config[key] end
  end
  check(full)
  o._config = full
  o._size = math.min(full.size, full.resize_max)
  o._buckets = buckets_for(o._size)
  o._table = memory or ffi.new("struct mac_table")
  o._table.seed = ffi.cast("uint64_t *", lib.random_bytes(8))[0]
  o._table.timeout = math.ceil(full.timeout)
  o._table.now = engine.now()
  allocate(o)
  o._timer = timer.new("mac_table_timeout", function () maintain(o) end,
    full.timeout * 1e9, "repeating")
  timer.activate(o._timer)
  return o
end

--- Stop the table's timer, which has kept it from the garbage collector.
function mac_table:stop()
  timer.cancel(self._timer)
end

local word = ffi.new("union { uint64_t number; uint8_t bytes[8]; }")

local function read(box)
  word.number = 0
  ffi.copy(word.bytes, box[0], 6)
  return word.number
end

--- The address is where `box` (uint8_t *[1]) points to, 6 bytes.
function mac_table:insert(box, port, group)
  C.pg_mac_insert(self._table, read(box), port, group)
end

--- The port and the group of the address; nil if it isn't known.
function mac_table:lookup(box)
  local found = tonumber(C.pg_mac_lookup(self._table, read(box)))
  if found < 0 then return nil, nil end
  return found % 2^16, math.floor(found / 2^16)
end

--- Make the table larger if it is too small and may grow; whether it has been.
function mac_table:maybe_resize()
  local info, config = self:info(), self._config
  local too_many = info.entries > info.size
  if not (self:overflow_p() or too_many) then return false end
  local size, buckets = self._size, self._buckets
  while (buckets < 2 * self._buckets or info.entries > size)
        and size < config.resize_max do
    size = math.min(size * 2, config.resize_max)
    buckets = buckets_for(size)
  end
  if buckets == self._buckets then
    log("can't grow table beyond resize limit %d (size/bucket overflow: %s/%s)",
      config.resize_max, tostring(too_many), tostring(self:overflow_p()))
    return false
  end
  log("resizing from %d to %d hash buckets, new target size %d (%d MAC entries, old "
    .. "target size %d)", self._buckets, buckets, size, info.entries, info.size)
  local following, state = self:iterator()
  self._size, self._buckets = size, buckets
  allocate(self)
  if config.copy_on_resize then
    local box = ffi.new("uint8_t *[1]")
    for mac, port, group in following, state do
      box[0] = mac
      self:insert(box, port, group)
    end
  end
  return true
end

--- The table itself: Snabb's have a "main" and a "shadow", this is one.
function mac_table:table()
  return self._table
end

--- Forget all addresses.
function mac_table:clear()
  ffi.fill(self._slot, ffi.sizeof(self._slot))
  self._table.overflow = 0
end

--- Whether an address has found its bucket full.
function mac_table:overflow_p()
  return self._table.overflow ~= 0
end

-- How many slots of each bucket in use are used, an array.
local function usage(self)
  local used = {}
  for i = 0, self._buckets - 1 do
    local n = C.pg_mac_used(self._table, i)
    if n > 0 then used[#used + 1] = n end
  end
  return used
end

--- A table: size aimed at, buckets, mask (buckets - 1), entries, ubuckets (in use) and
--- load (the part of the buckets in use).
function mac_table:info()
  local used, entries = usage(self), 0
  for _, n in ipairs(used) do entries = entries + n end
  return {size = self._size, buckets = self._buckets, mask = self._buckets - 1,
    ubuckets = #used, entries = entries, load = #used / self._buckets}
end

--- Of the slots used in each bucket in use: the maximum, the average and the standard
--- deviation.
function mac_table:stats()
  local used, sum, max, squares = usage(self), 0, 0, 0
  for _, n in ipairs(used) do
    sum, max = sum + n, math.max(max, n)
  end
  local average = sum / #used
  for _, n in ipairs(used) do squares = squares + (n - average)^2 end
  return max, average, math.sqrt(squares / #used)
end

local function following(state)
  while state.index < state.count do
    local e = state.slot[state.index]
    state.index = state.index + 1
    if e.mac ~= 0 and state.now - e.seen <= state.timeout then
      state.word.number = e.mac
      return state.word.bytes, e.port, e.group
    end
  end
end

local State = {}
State.__index = State

--- Begin anew.
function State:reset() self.index = 0 end

--- For `for mac, port, group in t:iterator() do`: the address is a uint8_t *, and good
--- until the next one. The second value has a method reset().
function mac_table:iterator()
  return following, setmetatable({slot = self._slot, index = 0,
    count = self._buckets * WAYS, now = self._table.now, timeout = self._table.timeout,
    word = ffi.new("union { uint64_t number; uint8_t bytes[8]; }")}, State)
end

return mac_table
