-- SPDX-License-Identifier: Apache-2.0
-- Neighbour caches that outlive the process (net.keep). What a cache knows is written
-- down in a table of net.flow, too, whenever it changes, which is seldom.

local bytes = require("net.wire.bytes")
local ffi = require("ffi")
local flow = require("net.flow.flow")
local key = require("net.neighbor.key")
local tables = require("net.keep.tables")

local kept = {}

local LAYOUT = "neighbor 1" -- of the record below: another number with each change
local FOR_EVER = 2 ^ 40 -- milliseconds

-- The value is the MAC address as a number, so that it changes by one store; 0: none.
local mac = ffi.new("uint8_t[6]")

-- What is written down ------------------------------------------------------------

local Store = {}
Store.__index = Store

local function new_store(cache, scale)
  local timeout = cache.timeout == 0 and FOR_EVER or math.ceil(cache.timeout * scale)
  return setmetatable({scale = scale, timeout = timeout,
    flows = flow.new{key = key.type, value = "uint64_t", full = "evict",
      limit = cache.index.limit, ages = {timeout}}}, Store)
end

--- The entry is what it is: known, and heard of then.
function Store:note(e)
  if not e.known then return self:forget(e) end
  local number = self.flows:add(key.of(e.ip), math.floor(e.live_at * self.scale))
  if number == 0 then return end
  ffi.copy(mac, e.mac, 6)
  self.flows.record[number].value = bytes.read48(mac)
end

--- The entry isn't known any more.
function Store:forget(e)
  local number = self.flows:find(key.of(e.ip))
  if number ~= 0 then self.flows:remove(number) end
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

local function mac_of(value)
  bytes.write48(mac, tonumber(value))
  return ffi.string(mac, 6)
end

--- An item for net.keep of the cache. `o`: of; now(), in the cache's unit; scale: the
--- milliseconds of that, by CLOCK_MONOTONIC; used(entry), optional, for each that goes
--- on; wants(ip), optional: is it an address that may be asked for?
function kept.item(cache, o)
  local store = new_store(cache, o.scale)
  local flows = store.flows
  cache.store = nil
  for e in cache:each() do
    if e.known then store:note(e) end
  end
  cache.store = store
  local latest
  local function used(record)
    local heard = tonumber(record.age.expiry - store.timeout) / o.scale
    local e = cache:insert(key.address(record.key), mac_of(record.value),
      math.min(heard, latest))
    if o.used then o.used(e) end
  end
  return tables.item{of = o.of, layout = LAYOUT, flows = flows,
    check = function (record)
      local problem = check(record)
      if problem ~= nil then return problem end
      if o.wants and not o.wants(key.address(record.key)) then return tables.PASS end
      if cache:find(key.address(record.key)) then return tables.PASS end
    end,
    now = function ()
      latest = o.now()
      return math.floor(latest * o.scale)
    end, used = used}
end

return kept
