-- SPDX-License-Identifier: Apache-2.0
-- Lookups of many keys at once in a hash table: what one misses in the caches is
-- fetched while the others are.

local C = require("core.declare")("native/snabb.h")

local NO_HASH = 0xffffffff

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
  C.pg_ctable_stream(self.table.native, self.entries, self.width)
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
