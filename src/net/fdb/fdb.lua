-- SPDX-License-Identifier: Apache-2.0
-- Forwarding databases of bridges: at which port an address of a segment is
-- (README.md). What is done for each packet is in C (find.h); here is the rest.

local ffi = require("ffi")
local C = require("core.declare")("net/fdb/fdb.h")
local failure = require("core.failure")
local flow = require("net.flow.flow")

local fdb = {FULL = C.FDB_FULL, GROUP = C.FDB_GROUP, FIXED = C.FDB_FIXED,
  LEARNED = C.FDB_LEARNED, SAME = C.FDB_SAME, MOVED = C.FDB_MOVED}

local FOR_EVER = 2 ^ 62 -- in any unit

local Fdb = {}
Fdb.__index = Fdb

local function set_timeouts(t, timeout)
  t.list[C.FDB_NEW].timeout, t.list[C.FDB_KNOWN].timeout = timeout, timeout
end

--- The most bytes of a database of up to `limit` entries.
function fdb.bytes(limit)
  return flow.bytes(flow.record_type("uint64_t", nil, true), limit)
end

--- A database. `options`: limit, of entries; timeout: for how long an address is known
--- after it was last seen, in the user's unit; reserve: entries that there is memory
--- for from the start; seed (a number; random if absent). `memory`: the struct fdb to
--- use, if it is part of something else.
function fdb.new(options, memory)
  local timeout = options.timeout
  if not (type(timeout) == "number" and timeout >= 0 and timeout < FOR_EVER) then
    failure.raise("a forwarding database's timeout is a number from 0 on, not %s",
      tostring(timeout))
  end
  local flows = flow.new{key = "uint64_t", limit = options.limit,
    reserve = options.reserve, seed = options.seed, ages = {timeout, timeout, FOR_EVER}}
  local f = memory or ffi.new("struct fdb")
  flows.record[0].age.expiry = -0x7fffffffffffffffLL
  f.table, f.now, f.moves, f.full, f.evicted = flows.table, 0, 0, 0, 0
  return setmetatable({fdb = f, flows = flows}, Fdb)
end

--- The key of an address (a pointer to 6 bytes) in a segment (0 to 65,535).
function fdb.key(mac, segment) return C.pg_fdb_key(mac, segment) end

local parts = ffi.new("union { uint64_t key; uint8_t byte[8]; uint16_t half[4]; }")

--- The address (6 bytes) and the segment of a key.
function fdb.of_key(key)
  parts.key = key
  return ffi.string(parts.byte, 6), parts.half[3]
end

--- Give the memory back: it can't be used any more, nor can the struct fdb.
function Fdb:close() self.flows:close() end

--- The time, in the unit of `timeout`.
function Fdb:set_now(now) self.fdb.now = now end
function Fdb:now() return tonumber(self.fdb.now) end

--- Another timeout, also for what is known.
function Fdb:set_timeout(timeout)
  local t, entry = self.flows.table, self.flows.record
  local more = ffi.cast("int64_t", timeout) - t.list[C.FDB_KNOWN].timeout
  set_timeouts(t, timeout)
  for n in self.flows:each() do
    local age = entry[n].age
    if age.list ~= C.FDB_STATIC then
      age.expiry, age.queued = age.expiry + more, age.queued + more
    end
  end
end

local function outcome(self, result, gone)
  local f = self.fdb
  for i = 0, gone and f.gones - 1 or -1 do gone(f.gone[i]) end
  return result, f.had >= 0 and f.had or nil
end

--- The address has sent from the port (0 to 65,535). Returns fdb.LEARNED, SAME, MOVED,
--- FIXED (its entry is static, and stays as it is), GROUP (it's the address of a group,
--- which never sends) or FULL; and the port that its entry had, if there was one.
--- gone(port), if given, is called for each other entry that went for it.
function Fdb:learn(key, port, gone)
  return outcome(self, C.pg_fdb_learn(self.fdb, key, port), gone)
end

--- The same of what a program says, and no packet: groups' addresses are taken, too,
--- but none takes another's place.
function Fdb:put(key, port, gone)
  return outcome(self, C.pg_fdb_put(self.fdb, key, port), gone)
end

--- The address is at the port for good. As learn().
function Fdb:fix(key, port, gone)
  return outcome(self, C.pg_fdb_fix(self.fdb, key, port), gone)
end

--- The number of the address's entry, which may be out of time; or 0.
function Fdb:find(key) return (C.pg_fdb_find(self.fdb, key)) end

--- The port of the address, and the rest that entry() tells; nil: it isn't known.
function Fdb:port(key)
  local number = C.pg_fdb_find(self.fdb, key)
  if number == 0 or not C.pg_fdb_is_live(self.fdb, number) then return nil end
  return self:entry(number)
end

--- Of an entry's number: the port, whether it is static, the key, and the time when it
--- was last seen.
function Fdb:entry(number)
  local e, list = self.flows.record[number], self.flows.table.list
  return C.pg_fdb_port_of(self.fdb, number), e.age.list == C.FDB_STATIC, e.key,
    tonumber(e.age.expiry - list[e.age.list].timeout)
end

--- Forget the address, static or not. The port it had, or nil.
function Fdb:remove(key)
  local number = C.pg_fdb_find(self.fdb, key)
  if number == 0 then return nil end
  local port = C.pg_fdb_port_of(self.fdb, number)
  C.pg_fdb_remove(self.fdb, number)
  return port
end

--- Take out up to `most` entries that haven't been seen within the timeout; gone(port),
--- if given, is called for each. How many there were.
function Fdb:expire(most, gone)
  if not gone then return C.pg_fdb_expire(self.fdb, most) end
  for n = 1, most do
    local number = C.pg_fdb_expired(self.fdb)
    if number == 0 then return n - 1 end
    local port = C.pg_fdb_port_of(self.fdb, number)
    C.pg_fdb_remove(self.fdb, number)
    gone(port)
  end
  return most
end

--- From now on there may be so many entries, up to the limit at first.
function Fdb:set_limit(limit)
  local t = self.flows.table
  t.limit = math.min(limit, t.records.most)
end

--- How many times there was no room for an address: another went, or it wasn't learned.
function Fdb:shortages() return tonumber(self.fdb.full + self.fdb.evicted) end

--- Has the entry with that number been seen within the timeout, or is it static?
function Fdb:is_live(number) return C.pg_fdb_is_live(self.fdb, number) end

--- `for number in t:each() do`: all entries, those out of time too.
function Fdb:each() return self.flows:each() end

--- How many entries there are, those out of time too; and how many there may be.
function Fdb:count() return self.flows:count(), self.flows.table.limit end

--- Forget all.
function Fdb:clear() self.flows:clear() end

--- Bytes in use, and the most that there can be.
function Fdb:memory() return self.flows:memory() end

return fdb
