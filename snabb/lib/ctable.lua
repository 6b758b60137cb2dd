-- SPDX-License-Identifier: Apache-2.0
-- Hash tables whose keys and values are C data, which Snabb's apps keep flows,
-- fragments and softwires in. snabb/native/ctable.c says how; hashes are SipHash-1-2.
--
-- An entry is {hash, key, value}. Pointers to entries are good until the table changes.
-- A table that grows or shrinks gets other memory, and a new random seed.

local ffi = require("ffi")
local C = require("core.declare")("native/snabb.h")
local arguments = require("core.lib.arguments")
local lib = require("core.lib")
local siphash = require("lib.hash.siphash")
local check = require("lib.ctable.check")
local layout = require("lib.ctable.layout")
local streamer = require("lib.ctable.streamer")
local tables = require("core.lib.tables")

local NO_HASH = 0xffffffff
local MOST_ENTRIES = 2^31
local MOST_KEYS = 262144 -- of a streamer

local CTable = {}
local ctable = {CTable = CTable}

local OPTIONS = {
  key_type = {required = true}, value_type = {required = true}, -- C types
  hash_seed = {default = false}, -- 16 bytes; default: random ones
  hash_fn = {default = false}, -- of releases before v2018; entries have SipHashes
  initial_size = {default = 8}, -- entries
  max_occupancy_rate = {default = 0.9}, -- above it, the table grows
  min_occupancy_rate = {default = 0.0}, -- below it, it shrinks
  resize_callback = {default = false}, -- called with the table and its old size
  max_displacement_limit = {default = 1/0}, -- less takes less memory; 30 always does
}

-- A key that isn't C data, of a table whose keys are structs or arrays: only a string
-- that has all its bytes will do. (Snabb's tables take C data alone.)
local function in_full(self, key)
  local size = ffi.sizeof(self.key_type)
  if type(key) == "string" and #key >= size then return key end
  error(("a key of this hash table is C data of %d bytes (%s), not %s"):format(size,
    tostring(self.key_type), type(key) == "string" and #key .. " bytes of a string"
    or "the " .. type(key) .. " " .. tostring(key)), 0)
end

-- What C functions take for the key: numbers are kept in memory for them, and so are
-- keys with padding, which is 0 there.
local function location(self, key)
  local box = self.box
  if type(key) ~= "cdata" and (self.padding or not box) then
    key = in_full(self, key)
  end
  if not box then return key end
  if self.padding then
    ffi.copy(box, key, ffi.sizeof(self.key_type))
    C.pg_ctable_blank(box, 1, 0, self.padding, self.padding_bytes)
  else
    box[0] = key
  end
  return box
end

--- A table. `params`: a table of OPTIONS above.
function ctable.new(params)
  local o = lib.parse(params, OPTIONS)
  if o.hash_fn and type(o.hash_fn) ~= "function" then
    error(("ctable.new: hash_fn is a function of a key, not %s"):format(
      tostring(o.hash_fn)), 2)
  end
  for _, name in ipairs{"key_type", "value_type"} do
    local problem = arguments.problem("ctable.new: " .. name, "declaration", o[name])
    if problem then error(problem, 2) end
    if type(o[name]) == "string" then o[name] = ffi.typeof(o[name]) end
  end
  local padding = layout.padding(o.key_type)
  local self = setmetatable({
    entry_type = layout.entry_type(o.key_type, o.value_type),
    key_type = o.key_type,
    value_bytes = ffi.sizeof(o.value_type),
    kind = layout.key_kind(o.key_type),
    size = 0, occupancy = 0, max_displacement = 0,
    max_occupancy_rate = o.max_occupancy_rate,
    min_occupancy_rate = o.min_occupancy_rate,
    resize_callback = o.resize_callback,
    max_displacement_limit = o.max_displacement_limit,
  }, {__index = CTable})
  self.pointer_type = ffi.typeof("$ *", self.entry_type)
  self.type = ffi.typeof("$[?]", self.entry_type)
  if self.kind ~= "CTABLE_BYTES" then
    self.box = ffi.typeof("$[1]", o.key_type)()
  elseif #padding > 0 then
    self.box = ffi.new("uint8_t[?]", ffi.sizeof(o.key_type))
    self.padding = ffi.new("uint32_t[?]", #padding, padding)
    self.padding_bytes = #padding
  end
  function self.hash_fn(key)
    return C.pg_ctable_hash(self.native, location(self, key))
  end
  self:reseed_hash_function(o.hash_seed)
  self:resize(o.initial_size)
  return self
end

--- Take the 16 bytes at `seed` for the hash function, by default those that
--- SNABB_RANDOM_SEED stands for, or random ones. Only for tables without entries.
function CTable:reseed_hash_function(seed)
  local fixed = lib.getenv("SNABB_RANDOM_SEED")
  self.hash_seed = seed or fixed and siphash.sip_hash_key_from_seed(fixed)
    or siphash.random_sip_hash_key()
  if self.native then self.native.hash = self:hash_parameters() end
end

function CTable:hash_parameters()
  local size = self.kind == "CTABLE_BYTES" and ffi.sizeof(self.key_type) or 8
  return siphash.parameters{c = 1, d = 2, stride = ffi.sizeof(self.entry_type),
    size = size, key = self.hash_seed}
end

-- Memory for `size` entries, some of which may be displaced by `max_displacement`.
local function allocate(self, size, max_displacement)
  local native = ffi.new("struct ctable", {
    size = size, scale = size / NO_HASH, max_displacement = max_displacement,
    displacement_limit = math.min(self.max_displacement_limit, NO_HASH),
    entry_size = ffi.sizeof(self.entry_type), key_size = ffi.sizeof(self.key_type),
    value_size = self.value_bytes, key_kind = ffi.C[self.kind],
    hash = self:hash_parameters(),
  })
  if not C.pg_ctable_open(native) then
    error(("there is no memory for a hash table of %d entries of %d bytes"):format(
      size, ffi.sizeof(self.entry_type)))
  end
  return ffi.gc(native, C.pg_ctable_close)
end

local function use(self, native)
  local size = native.size
  self.native = native
  self.size, self.scale = size, native.scale
  self.entries = ffi.cast(self.pointer_type, native.entries)
  self.byte_size = ffi.sizeof(self.entry_type)
    * math.min(size * 2, size + 2 * self.max_displacement_limit)
  self.occupancy, self.max_displacement = native.occupancy, native.max_displacement
  self.occupancy_hi = math.ceil(size * self.max_occupancy_rate)
  self.occupancy_lo = math.floor(size * self.min_occupancy_rate)
end

local PROBLEMS = {
  [tonumber(C.CTABLE_PRESENT)] = "the key is already present in the hash table",
  [tonumber(C.CTABLE_ABSENT)] = "the key isn't in the hash table",
  [tonumber(C.CTABLE_DISPLACED)] =
    "the hash table is too full for its max_displacement_limit",
}

--- Make place for `size` entries.
function CTable:resize(size)
  if size ~= math.floor(size) or size > MOST_ENTRIES
    or size < self.occupancy / self.max_occupancy_rate then
    error(("a hash table with %d entries can't have a size of %s"):format(
      self.occupancy, tostring(size)), 2)
  end
  local old, old_seed = self.native, self.hash_seed
  self.native = nil
  if old and old.size > 0 then self:reseed_hash_function() end
  local native = allocate(self, size, 0)
  if old and not C.pg_ctable_refill(native, old) then
    self.native = old
    self:reseed_hash_function(old_seed)
    error(PROBLEMS[native.problem], 2)
  end
  use(self, native)
  if self.resize_callback then self.resize_callback(self, old and old.size or 0) end
end

--- Bytes of the table's entries.
function CTable:get_backing_size()
  return self.byte_size
end

-- The size, or if that's too small for what is in the table, the smallest there can be.
local function least(self, size)
  return math.max(size, math.ceil(self.occupancy / self.max_occupancy_rate), 1)
end

--- Add an entry; returns a pointer to it. If there is one of the key, it's an error,
--- or with `updates_allowed` its value is replaced. With "required" it must be there.
function CTable:add(key, value, updates_allowed)
  if self.occupancy + 1 > self.occupancy_hi then
    self:resize(least(self, self.size * 2))
  end
  local native = self.native
  local mode = not updates_allowed and C.CTABLE_ADD
    or updates_allowed == "required" and C.CTABLE_UPDATE or C.CTABLE_SET
  local entry = ffi.cast(self.pointer_type,
    C.pg_ctable_add(native, location(self, key), mode))
  if entry == nil then error(PROBLEMS[native.problem], 2) end
  self.occupancy, self.max_displacement = native.occupancy, native.max_displacement
  entry.value = value
  return entry
end

--- Replace the value of a key that is there; returns a pointer to the entry.
function CTable:update(key, value)
  return self:add(key, value, "required")
end

--- A pointer to the entry of the key, or nil.
function CTable:lookup_ptr(key)
  local entry = ffi.cast(self.pointer_type,
    C.pg_ctable_lookup(self.native, location(self, key)))
  if entry == nil then return nil end
  return entry
end

--- Copy the entry of the key, if it is there, to `entry`; whether it is.
function CTable:lookup_and_copy(key, entry)
  local found = self:lookup_ptr(key)
  if not found then return false end
  ffi.copy(entry, found, ffi.sizeof(self.entry_type))
  return true
end

--- Remove the entry at the pointer. The table may shrink.
function CTable:remove_ptr(entry)
  local native = self.native
  if not C.pg_ctable_remove(native, entry) then
    error("the pointer isn't to an entry of this hash table", 2)
  end
  self.occupancy = native.occupancy
  if self.occupancy < self.occupancy_lo then
    local size = least(self, math.ceil(self.size / 2))
    if size < self.size then self:resize(size) end
  end
end

--- Remove the entry of the key; whether there was one, which is an error unless
--- `missing_allowed`.
function CTable:remove(key, missing_allowed)
  local entry = self:lookup_ptr(key)
  if entry then
    self:remove_ptr(entry)
    return true
  end
  if not missing_allowed then error("the key isn't in the hash table", 2) end
  return false
end

local function next_of(last, entry)
  repeat
    entry = entry + 1
    if entry >= last then return nil end
  until entry.hash ~= NO_HASH
  return entry
end

--- For `for entry in table:iterate() do`. The table must not change meanwhile.
function CTable:iterate()
  return next_of, self.entries + self.size + self.max_displacement, self.entries - 1
end

--- The first entry at the place `offset` (0 is the first) or after it, but before
--- `limit`: its place and a pointer. Without one, `limit` and nil; at the end 0, nil.
function CTable:next_entry(offset, limit)
  local last = self.size + self.max_displacement
  if offset >= last then return 0, nil end
  last = math.min(limit or last, last)
  local place = tonumber(C.pg_ctable_next(self.native, offset, last))
  if place >= last then return last, nil end
  return place, self.entries + place
end

--- For lookups of `width` keys at once (lib.ctable.streamer).
function CTable:make_lookup_streamer(width)
  if not (width > 0 and width <= MOST_KEYS) then
    error(("can't look up %s keys at once; 1 to %d can be"):format(tostring(width),
      MOST_KEYS), 2)
  end
  return streamer.new(self, width)
end

CTable.selfcheck = check.run
CTable.dump = check.dump

-- What a saved table begins with; then come its entries, size + max_displacement.
local header_t = ffi.typeof[[struct {
  uint32_t size, occupancy, max_displacement;
  uint8_t hash_seed[16];
  double max_occupancy_rate, min_occupancy_rate;
}]]

--- Write the table to a stream (lib.stream).
function CTable:save(stream)
  local header = header_t(self.size, self.occupancy, self.max_displacement)
  ffi.copy(header.hash_seed, self.hash_seed, 16)
  header.max_occupancy_rate = self.max_occupancy_rate
  header.min_occupancy_rate = self.min_occupancy_rate
  stream:write_struct(header_t, header)
  stream:write_array(self.entry_type, self.entries, self.size + self.max_displacement)
end

-- The rate is looked at before LuaJIT makes a number of it: to LuaJIT bits of some NaNs
-- are no number, but a pointer or a value of another type.
local function rate_of(header, name)
  local at = ffi.cast("char *", header) + ffi.offsetof(header_t, name)
  local high = ffi.cast("uint32_t *", at)[1]
  if bit.band(high, 0x7ff00000) == 0x7ff00000 then
    error(("this is no saved hash table: its %s is no number"):format(name))
  end
  return header[name]
end

--- A table as saved in the stream, of the C types in `params` (as for new).
function ctable.load(stream, params)
  if type(stream) ~= "table" or not stream.read_struct then
    arguments.refuse("ctable.load", 1, stream, "a stream (lib.stream)")
  end
  local header = stream:read_struct(nil, header_t)
  local options = tables.copy(params)
  options.initial_size = 0
  options.hash_seed = ffi.new("uint8_t[16]")
  ffi.copy(options.hash_seed, header.hash_seed, 16)
  options.max_occupancy_rate = rate_of(header, "max_occupancy_rate")
  options.min_occupancy_rate = rate_of(header, "min_occupancy_rate")
  local self = ctable.new(options)
  local size, displacement = header.size, header.max_displacement
  if size > MOST_ENTRIES or displacement >= math.max(size, 1)
    or displacement > self.max_displacement_limit or header.occupancy > size then
    error(("this is no saved hash table: size %d, %d entries, displacement %d"):format(
      size, header.occupancy, displacement))
  end
  local native = allocate(self, size, displacement)
  native.occupancy = header.occupancy
  use(self, native)
  stream:read_array(self.entries, self.entry_type, size + displacement)
  return self
end

return ctable
