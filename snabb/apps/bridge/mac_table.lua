-- SPDX-License-Identifier: Apache-2.0
-- MAC addresses, and the port and group each was last seen at: a forwarding database
-- (net.fdb). Addresses not seen for a time are forgotten. It has room for 8 times the
-- size aimed at. When there are more addresses than the size, or one wasn't learned for
-- want of room, it is made larger in time.

local ffi = require("ffi")
local C = require("core.declare")("apps/bridge/bridge.h")
local class = require("lib.lua.class")
local engine = require("core.app")
local failure = require("core.failure")
local fdb = require("net.fdb.fdb")
local fdb_kept = require("net.fdb.kept")
local timer = require("core.timer")

local mac_table = class.subClass(nil)

local WAYS, MOST_PLACES = 8, 65535
local defaults = {size = 256, timeout = 60, verbose = false, copy_on_resize = true,
  resize_max = 2^16}

-- For how many addresses a table of that size has room.
local function room(size)
  local n = 1
  while n < size do n = n * 2 end
  return n * WAYS
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
  self._fdb:set_now(engine.now())
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
  o._table = memory or ffi.new("struct mac_table")
  o._fdb = fdb.new({limit = room(full.resize_max), timeout = math.ceil(full.timeout),
    reserve = o._size}, o._table.fdb)
  o._fdb:set_now(engine.now())
  o._fdb:set_limit(room(o._size))
  o._places, o._place_of, o._room, o._shortages = 0, {}, 0, 0
  o._timer = timer.new("mac_table_timeout", function () maintain(o) end,
    full.timeout * 1e9, "repeating")
  timer.activate(o._timer)
  return o
end

--- Stop the table's timer, which has kept it from the garbage collector.
function mac_table:stop()
  timer.cancel(self._timer)
end

local function more_places(self)
  local old = self._place
  self._room = math.min(math.max(2 * self._room, 16), MOST_PLACES + 1)
  self._place = ffi.new("struct mac_place[?]", self._room)
  for i = 0, self._places - 1 do self._place[i] = old[i] end
  self._table.place = self._place
end

--- The number of a port and a group, for bridge.c.
function mac_table:place(port, group)
  local both = port % 2^16 + group % 2^16 * 2^16
  local number = self._place_of[both]
  if number then return number end
  number = self._places
  if number > MOST_PLACES then
    failure.raise("a mac_table has up to %d pairs of a port and a group",
      MOST_PLACES + 1)
  end
  if number == self._room then more_places(self) end
  self._place[number].port, self._place[number].group = port, group
  self._place_of[both], self._places = number, number + 1
  return number
end

--- The address is where `box` (uint8_t *[1]) points to, 6 bytes. As in Snabb, a group's
--- will do, and it isn't taken when the table is full.
function mac_table:insert(box, port, group)
  self._fdb:put(fdb.key(box[0], 0), self:place(port, group))
end

--- The port and the group of the address; nil if it isn't known.
function mac_table:lookup(box)
  local number = self._fdb:port(fdb.key(box[0], 0))
  if not number then return nil, nil end
  local place = self._place[number]
  return place.port, place.group
end

--- Make the table larger if it is too small and may grow; whether it has been.
function mac_table:maybe_resize()
  local config, entries = self._config, (self._fdb:count())
  local too_many, overflow = entries > self._size, self:overflow_p()
  if not (overflow or too_many) then return false end
  local old, size = self._size, self._size
  while (size == old or entries > size) and size < config.resize_max do
    size = math.min(size * 2, config.resize_max)
  end
  if size == old then
    log("can't grow table beyond resize limit %d (size/bucket overflow: %s/%s)",
      config.resize_max, tostring(too_many), tostring(overflow))
    return false
  end
  log("resizing from room for %d to room for %d, new target size %d (%d MAC entries, "
    .. "old target size %d)", room(old), room(size), size, entries, old)
  self._size = size
  self._fdb:set_limit(room(size))
  if not config.copy_on_resize then self._fdb:clear() end
  self._shortages = self._fdb:shortages()
  return true
end

--- The table itself: Snabb's have a "main" and a "shadow", this is one.
function mac_table:table()
  return self._table
end

--- Forget all addresses.
function mac_table:clear()
  self._fdb:clear()
  self._shortages = self._fdb:shortages()
end

--- Whether there was no room for an address since the table was made, cleared
--- or made larger.
function mac_table:overflow_p()
  return self._fdb:shortages() > self._shortages
end

local function buckets(self) return self._table.fdb.table.index.lines end

--- For net.keep: `names` of ports, and the numbers of their places, by port.
function mac_table:kept_state(names, places)
  local by_place = {}
  for i, name in ipairs(names) do by_place[places[i]] = name end
  local notes, port, numbers = fdb_kept.by_name(by_place)
  local item = fdb_kept.item(self._fdb, {of = "addresses", notes = notes, port = port,
    numbers = numbers})
  self._fdb:set_limit(room(self._config.resize_max))
  item.done = function ()
    self._fdb:set_limit(room(self._size))
    self:maybe_resize()
  end
  return item
end

-- How many slots of each bucket in use are used, an array.
local function usage(self)
  local used = {}
  self._fdb:expire(2^31)
  for i = 0, buckets(self) - 1 do
    local n = C.pg_mac_used(self._table, i)
    if n > 0 then used[#used + 1] = n end
  end
  return used
end

--- A table: size aimed at, buckets (lines of the index), mask (buckets - 1), entries,
--- ubuckets (in use) and load (the part of the buckets in use).
function mac_table:info()
  local used, n = usage(self), buckets(self)
  return {size = self._size, buckets = n, mask = n - 1, ubuckets = #used,
    entries = (self._fdb:count()), load = #used / n}
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
  local t = state.table
  repeat
    state.at = t._fdb.flows:next(state.at)
    if state.at == 0 then return nil end
  until t._fdb:is_live(state.at)
  local number, _, key = t._fdb:entry(state.at)
  state.word.number = key
  return state.word.bytes, t._place[number].port, t._place[number].group
end

local State = {}
State.__index = State

--- Begin anew.
function State:reset() self.at = 0 end

--- For `for mac, port, group in t:iterator() do`: the address is a uint8_t *, and good
--- until the next one. The second value has a method reset().
function mac_table:iterator()
  return following, setmetatable({table = self, at = 0,
    word = ffi.new("union { uint64_t number; uint8_t bytes[8]; }")}, State)
end

return mac_table
