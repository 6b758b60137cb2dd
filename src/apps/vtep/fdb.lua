-- SPDX-License-Identifier: Apache-2.0
-- The forwarding table: (VNI, MAC address) -> remote. A bounded hash table in FFI
-- memory: a key has two buckets of 4 slots, one cache line each. A slot is free when
-- its remote is 0. Keys come as two 32-bit numbers: `a` is the MAC address's first 4
-- bytes as this CPU reads them, `b` the last 2 and, above them, the number of the VNI
-- (from 1). A key is looked up in C: where it lies is chance, and LuaJIT would compile
-- each place apart.

local ffi = require("ffi")
local C = require("core.declare")("apps/vtep/vtep.h")

local band, rol, tobit = bit.band, bit.rol, bit.tobit
local fdb_find = C.pg_fdb_find

local SLOTS = 4 -- in a bucket
local MOST = 2^20 -- entries

local Fdb = {}
local fdb_t = ffi.metatype(ffi.typeof([[struct {
  int32_t buckets, mask, seed;
  int32_t count, capacity;
  int32_t swept;
  struct vtep_entry slot[?];
}]]), {__index = Fdb})

--- Added to the remote of an entry that doesn't age and isn't learned over.
local STATIC = 0x10000

--- The number of the slot with this key (`t.slot[number]`), or -1.
function Fdb.find(t, a, b)
  return (fdb_find(t.slot, t.mask, t.seed, a, b))
end

-- What follows is for the slow path, and shares no function with find().

local function homes(t, a, b)
  local h = C.pg_fdb_hash(t.seed, a, b)
  return band(h, t.mask) * SLOTS, band(rol(h, 16), t.mask) * SLOTS
end

local function slot_of(t, i, a, b)
  for k = i, i + SLOTS - 1 do
    local s = t.slot[k]
    if s.remote ~= 0 and s.a == a and s.b == b then return k end
  end
end

local function free_slot(t, i)
  for k = i, i + SLOTS - 1 do
    if t.slot[k].remote == 0 then return k end
  end
end

local function locate(t, a, b)
  local first, second = homes(t, a, b)
  return slot_of(t, first, a, b) or slot_of(t, second, a, b)
end

-- Make room in the full bucket at `i`: an entry moves to its other bucket.
local function make_room(t, i)
  for k = i, i + SLOTS - 1 do
    local s = t.slot[k]
    local one, other = homes(t, s.a, s.b)
    local to = free_slot(t, one == i and other or one)
    if to then
      ffi.copy(t.slot + to, s, ffi.sizeof("struct vtep_entry"))
      s.remote = 0
      return k
    end
  end
end

--- Set the remote (from 1) of a key, as of `now` (seconds). Returns "new", "moved" (it
--- had another remote), "known" or "static" (it stays as it was); or nil when
--- the table is full. The second value is the remote it had.
function Fdb.insert(t, a, b, remote, now, static)
  local k = locate(t, a, b)
  if k then
    local s = t.slot[k]
    local had = s.remote % STATIC
    if s.remote >= STATIC and not static then return "static", had end
    s.remote, s.seen = remote + (static and STATIC or 0), now
    return had == remote and "known" or "moved", had
  end
  if t.count >= t.capacity then return nil end
  local first, second = homes(t, a, b)
  k = free_slot(t, first) or free_slot(t, second) or make_room(t, first)
    or make_room(t, second)
  if not k then return nil end
  local s = t.slot[k]
  s.a, s.b, s.seen = a, b, now
  s.remote = remote + (static and STATIC or 0)
  t.count = t.count + 1
  return "new"
end

--- Forget the key's entry, static or not; the remote it had, or nil.
function Fdb.remove(t, a, b)
  local k = locate(t, a, b)
  if not k then return nil end
  local had = t.slot[k].remote % STATIC
  t.slot[k].a, t.slot[k].b, t.slot[k].remote = 0, 0, 0
  t.count = t.count - 1
  return had
end

--- Look at the next `n` slots, and around at the end: forget learned entries last
--- seen before `oldest` and call gone(remote) for each. With `n` = the number
--- of slots (`t:slots()`) that is all.
function Fdb.sweep(t, n, oldest, gone)
  local slots = t:slots()
  for _ = 1, math.min(n, slots) do
    local s = t.slot[t.swept]
    t.swept = (t.swept + 1) % slots
    local remote = s.remote
    if remote > 0 and remote < STATIC and s.seen < oldest then
      s.a, s.b, s.remote = 0, 0, 0
      t.count = t.count - 1
      if gone then gone(remote) end
    end
  end
end

--- Forget the entries whose slot `which` says yes to; call gone(remote) for each that
--- was learned.
function Fdb.forget(t, which, gone)
  for i = 0, t:slots() - 1 do
    local s = t.slot[i]
    local remote = s.remote
    if remote > 0 and which(s) then
      s.a, s.b, s.remote = 0, 0, 0
      t.count = t.count - 1
      if remote < STATIC then gone(remote) end
    end
  end
end

--- Slots in all, at least twice the capacity.
function Fdb.slots(t) return t.buckets * SLOTS end

--- An empty table of up to `capacity` entries (1 to 2^20). `seed` (random) keeps others
--- from making keys that collide.
local function new(capacity, seed)
  assert(capacity >= 1 and capacity <= MOST, "capacity of a forwarding table")
  local buckets = 2
  while buckets * SLOTS < 2 * capacity do buckets = buckets * 2 end
  local t = fdb_t(buckets * SLOTS)
  t.buckets, t.mask, t.capacity = buckets, buckets - 1, capacity
  t.seed = tobit(seed or math.random(0, 2^31 - 1))
  return t
end

return {new = new, STATIC = STATIC, MOST = MOST}
