-- SPDX-License-Identifier: Apache-2.0
-- What VNIs and remotes have carried (struct vtep_counts). Encap, Flood, Ingress and
-- Decap count; this reads.

local ffi = require("ffi")
require("core.declare")("apps/vtep/vtep.h") -- declares struct vtep_counts

local counts = {}

local NAMES = {"sent", "sent_bytes", "received", "received_bytes", "flooded",
               "flooded_bytes"}
local counts_t = ffi.typeof("struct vtep_counts")

--- Counts, all of them 0.
function counts.new() return counts_t() end

--- Add the counts `from` to those of `to`; they are 0 then.
function counts.move(to, from)
  for _, name in ipairs(NAMES) do to[name] = to[name] + from[name] end
  ffi.fill(from, ffi.sizeof(counts_t))
end

--- The counts as a table of numbers.
function counts.read(from)
  return {
    encapsulated = {packets = tonumber(from.sent), bytes = tonumber(from.sent_bytes)},
    decapsulated = {packets = tonumber(from.received),
                    bytes = tonumber(from.received_bytes)},
    flooded = {packets = tonumber(from.flooded), bytes = tonumber(from.flooded_bytes)},
  }
end

return counts
