-- SPDX-License-Identifier: Apache-2.0
-- Neighbour caches that outlive the process (net.keep). What a cache knows is written
-- down in a table of net.flow, too, whenever it changes, which is seldom. Of many that
-- a former process knew, each comes into that table when it is looked for, the others
-- in steps (net.keep.going_on), and gets its entry then.

local C = require("core.declare")("net/neighbor/neighbor.h")
local bytes = require("net.wire.bytes")
local ffi = require("ffi")
local flow = require("net.flow.flow")
local key = require("net.neighbor.key")
local tables = require("net.keep.tables")

local kept = {}

local LAYOUT = "neighbor 1" -- of struct neighbor_record: another with each change
local FOR_EVER = 2 ^ 40 -- milliseconds

-- The value is the MAC address as a number, so that it changes by one store; 0: none.
local mac = ffi.new("uint8_t[6]")

-- What is written down ------------------------------------------------------------

local Store = {}
Store.__index = Store

local function new_store(cache)
  local flows = flow.new{key = key.type, value = "uint64_t", full = "evict",
    limit = cache.index.limit, ages = {0}}
  local into = ffi.new("struct neighbor_into", {table = flows.table})
  return setmetatable({cache = cache, flows = flows, into = into}, Store)
end

-- The cache's own, as long as there is room in it: what is kept stays in its file when
-- the cache has other settings, and no table waits for the garbage collector.
local function store_of(cache, o)
  local store = cache.store
  if not store or store.flows.table.limit < cache.index.limit then
    store = new_store(cache)
  end
  store.o = o
  store.timeout = cache.timeout == 0 and FOR_EVER or math.ceil(cache.timeout * o.scale)
  store.flows.table.list[0].timeout = store.timeout
  return store
end

local function mac_of(value)
  bytes.write48(mac, tonumber(value))
  return ffi.string(mac, 6)
end

--- The entry is what it is: known, and heard of then.
function Store:note(e)
  if not e.known then return self:forget(e) end
  local number = self.flows:add(key.of(e.ip), math.floor(e.live_at * self.o.scale))
  if number == 0 then return end
  ffi.copy(mac, e.mac, 6)
  self.flows.record[number].value = bytes.read48(mac)
  self.into.made = 0 -- it has an entry
end

--- The entry isn't known any more.
function Store:forget(e)
  local number = self.flows:find(key.of(e.ip))
  if number ~= 0 then self.flows:remove(number) end
  self.into.made = 0
end

--- Nothing is known, nor waits.
function Store:clear() self.flows:clear() end

-- When the neighbour of a record was heard of, in the cache's unit.
local function heard_at(self, record)
  local heard = tonumber(record.age.expiry - self.timeout) / self.o.scale
  return math.min(heard, self.latest)
end

-- What C has put into the table gets entries: the last one.
local function make_entries(self, is_oldest)
  local into, e = self.into, nil
  for i = 0, into.made - 1 do
    local record = self.flows.record[into.number[i]]
    e = self.cache:restore(key.address(record.key), mac_of(record.value),
      heard_at(self, record), is_oldest)
    if self.o.used then self.o.used(e) end
  end
  into.made = 0
  return e
end

-- The time now, in milliseconds.
local function now_of(self)
  self.latest = self.o.now()
  self.into.count, self.into.most = self.cache.count, self.cache:most()
  return math.floor(self.latest * self.o.scale)
end

--- A former process may have known that key: its entry, or nil.
function Store:recall(k)
  if self.flows.table.index.former == nil then return nil end
  self.latest, self.into.count = self.o.now(), 0 -- the cache makes room
  self.into.most = 1
  self.flows:find(k)
  return make_entries(self, false)
end

-- Going on ------------------------------------------------------------------------

-- Does the kept record say something? nil, or what net.keep.tables' check() says.
local function check(record)
  local ip = key.address(record.key)
  if ip == nil then return tables.BAD end
  record.key = key.of(ip) -- no other bytes stand for the same address
  local number = record.value
  if number == 0 then return tables.PASS end -- the process was killed before it was
  if number >= 2ULL ^ 48 then return tables.BAD end
end

-- How C restores records, so that many can wait.
local function in_c(store)
  local restore = tables.in_c(store.flows, C.pg_neighbor_restore,
    function () return store.into end, {[C.NEIGHBOR_PASSED] = tables.PASS})
  restore.most = C.NEIGHBOR_AT_ONCE
  function restore.made() make_entries(store, true) end
  return restore
end

--- An item for net.keep of the cache. `o`: of; now(), in the cache's unit; scale: the
--- milliseconds of that, by CLOCK_MONOTONIC; used(entry), optional, for each that goes
--- on.
function kept.item(cache, o)
  local store = store_of(cache, o)
  local flows = store.flows
  cache.store = nil
  for e in cache:each() do
    if e.known then store:note(e) end
  end
  cache.store = store
  return tables.item{of = o.of, layout = LAYOUT, flows = flows,
    check = check,
    now = function () return now_of(store) end,
    used = function (record)
      local e = cache:restore(key.address(record.key), mac_of(record.value),
        heard_at(store, record))
      if o.used then o.used(e) end
    end,
    restore = in_c(store)}
end

return kept
