-- SPDX-License-Identifier: Apache-2.0
-- Lookups of many keys at once in a hash table: what one misses in the caches is
-- fetched while the others are.

local ffi = require("ffi")
local C = require("core.declare")("native/snabb.h")

local bytes_t = ffi.typeof("uint8_t *")
local NO_HASH, KEY_AT = 0xffffffff, 4 -- an entry's key is behind its hash

local streamer = {}

local Streamer = {}
Streamer.__index = Streamer

--- For up to `width` keys a lookup in `table`. Write them to `entries[i].key`, with i
--- from 0 to width - 1; after stream(), `entries[i].value` is what was found.
function streamer.new(table, width)
  return setmetatable({
    table = table, width = width, entries = table.type(width),
  }, Streamer)
end

--- Look up all keys.
function Streamer:stream()
  local table = self.table
  if table.padding then
    C.pg_ctable_blank(ffi.cast(bytes_t, self.entries) + KEY_AT, self.width,
      ffi.sizeof(table.entry_type), table.padding, table.padding_bytes)
  end
  C.pg_ctable_stream(table.native, self.entries, self.width)
end

--- Whether there was no entry of the key `i`.
function Streamer:is_empty(i)
  assert(i >= 0 and i < self.width, "no such key")
  return self.entries[i].hash == NO_HASH
end

--- Whether there was one.
function Streamer:is_found(i)
  return not self:is_empty(i)
end

return streamer
