-- SPDX-License-Identifier: Apache-2.0
-- A savefile's packets, kept in memory so that ports can send them again and again by
-- reference count (native/dpdk/packet_set.c). The file is read twice: to count, so that
-- no more memory is taken than needed, and to copy.

local ffi = require("ffi")
local stat = require("posix.sys.stat")
local C = require("core.native")
local eal = require("core.eal")
local failure = require("core.failure")
local packet = require("core.packet")
local pool = require("core.pool")
local reader = require("lib.pcap.reader")
local waiting = require("lib.waiting")

local packet_set = {}

local Kept = {}
Kept.__index = Kept

local counts_t = ffi.typeof("uint32_t[?]")
eal.need_plain_memory(4096) -- without hugepages

local LOOK_AT_SIGNALS = 2 ^ 16 -- packets read in between

-- Memory that may be taken for packets, in bytes.
local function free_bytes()
  local huge = C.pg_eal_hugepages() and eal.free_huge_mb() * 2 ^ 20 or 0
  return C.pg_memory_at_hand() + huge
end

-- Calls visit(data, length) for each packet of the open file, until it returns false;
-- true if it got to the end. `wait` (lib.waiting) shows how many of `total` there were.
local function each(file, wait, total, visit)
  local n = 0
  for data, length in file.next, file do
    if not visit(data, length) then return false end
    n = n + 1
    if n % LOOK_AT_SIGNALS == 0 then
      if C.pg_signal() ~= 0 then return false end
      wait:show(n, total, "packets")
    end
  end
  return true
end

-- Packets of each class, and how many they are; nil if one is too long.
local function count(file, wait)
  local counts, n = counts_t(C.PACKET_SET_CLASSES), 0
  local good = each(file, wait, nil, function (_, length)
    if length > packet.max_payload then return false end
    local class = C.pg_packet_set_class(length)
    counts[class] = counts[class] + 1
    n = n + 1
    return true
  end)
  if good then return counts, n end
end

local function too_large(path, bytes, free)
  return ("%s needs %.0f MB to be kept in memory, and there are %.0f MB"):format(path,
    bytes / 2 ^ 20, free / 2 ^ 20)
end

local function fill(set, file, wait, total)
  file:rewind()
  local all = each(file, wait, total, function (data, length)
    return C.pg_packet_set_add(set, data, length)
  end)
  return all and C.pg_packet_set_close(set)
end

local function keep(path, file, wait)
  pool.fill_up(pool.near(-1)) -- what ports and apps need goes first
  local counts, n = count(file, wait)
  if not counts or n == 0 then return nil end
  local bytes, free = C.pg_packet_set_bytes(counts), free_bytes()
  if bytes > free then return nil, too_large(path, bytes, free) end
  local set = C.pg_packet_set_new(counts)
  if set == nil then
    return nil, ("%s isn't kept in memory: %s"):format(path, ffi.string(C.pg_error()))
  end
  local ok, whole = pcall(fill, set, file, wait, n)
  if ok and whole then return set end
  C.pg_packet_set_free(set)
  return nil
end

--- Free the packets, and close the file. `set` is nil then.
function Kept:close()
  if not self.set then return end
  C.pg_packet_set_free(self.set)
  self.set = nil
  self.file:close()
end

--- The packets of the savefile `path`; `options` as lib.pcap.reader's. The result has
--- `set`, a struct packet_set, `path`, `options`, and close(), which the caller calls.
--- (Until then the file is open, so that nobody in this process takes it for one to
--- write.)
---
--- Nil if they can't be kept, and a sentence if that is for want of memory; else it is
--- better to read the file packet by packet, which tells what is wrong: it isn't
--- regular, is empty or damaged, or has too long a packet; or a signal came.
function packet_set.load(path, options)
  local status = stat.stat(path)
  if not status or stat.S_ISREG(status.st_mode) == 0 then return nil end
  local ok, file = pcall(reader.open, path, options)
  if not ok then return nil end
  pool.create()
  if status.st_size > free_bytes() then
    file:close()
    return nil, too_large(path, status.st_size, free_bytes())
  end
  local wait = waiting.start("reading " .. path)
  local good, set, why = pcall(keep, path, file, wait)
  wait:finish()
  if good and set then
    return setmetatable({set = set, path = path, options = options, file = file}, Kept)
  end
  file:close()
  if good then return nil, why end
  if not failure.is(set) then error(set, 0) end
  return nil -- it is damaged
end

return packet_set
