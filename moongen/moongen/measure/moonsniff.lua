-- SPDX-License-Identifier: Apache-2.0
-- What MoonSniff's scripts call by MoonGen's names in ffi.C: latencies of packets that
-- tasks see at two points, by numbers in the packets; a histogram of the Lua state; and
-- a log of all packets of a queue. Times are nanoseconds.

local bit = require("bit")
local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local ends = require("moongen.tasks.ends")
local failure = require("core.failure")
local files = require("moongen.packets.moonsniff_io")
local locks = require("moongen.locks")
local moments = require("moongen.measure.moments")
local native = require("moongen.devices.native")
local names = require("moongen.packets.script_ffi").C
local tables = require("core.lib.tables")

local RECEIVE_US = 1000

-- What was to be written to a file is lost: the script's exit status tells.
local function lose(why)
  ends.fail(failure.is(why) and why.sentence or tostring(why))
end

-- Latencies, which all tasks share ---------------------------------------------------

ffi.cdef[[
struct ms_stats {
  int64_t average_latency, variance_latency;
  uint32_t hits, misses; /* packets seen at both points, at the second alone */
  uint32_t inval_ts;     /* latencies below the threshold: not counted otherwise */
};
struct mg_seen { uint64_t time; int32_t number; }; /* time 0: none */
struct mg_sniffed {
  int32_t lock[1];
  uint32_t hits, misses, inval_ts;
  int64_t least;
  double count, mean, squares;     /* as of moments.lua */
  struct mg_seen packets[1 << 20]; /* at the first point, by their numbers' low bits */
};
]]

local LOW_BITS = 2 ^ 20 - 1
local shared, sniffed = C.mg_shared(), nil

local function all()
  if sniffed then return sniffed end
  shared.lock:lock()
  if shared.sniffed == nil then shared.sniffed = locks.memory("struct mg_sniffed") end
  sniffed = ffi.cast("struct mg_sniffed *", shared.sniffed)
  shared.lock:unlock()
  return sniffed
end

--- Latencies below it (0) don't count.
function names.ms_set_thresh(least) all().least = least end

--- The packet of this number (32 bits) is at the first point.
function names.ms_add_entry(number, time)
  local s = all()
  number = bit.tobit(number)
  local seen = s.packets + bit.band(number, LOW_BITS)
  C.pg_lock(s.lock)
  seen.time, seen.number = time, number
  C.pg_unlock(s.lock)
end

--- It is at the second.
function names.ms_test_for(number, time)
  local s = all()
  number = bit.tobit(number)
  local seen = s.packets + bit.band(number, LOW_BITS)
  C.pg_lock(s.lock)
  if seen.time == 0 or seen.number ~= number then
    s.misses = s.misses + 1
  else
    local latency = ffi.cast("int64_t", time - seen.time)
    seen.time, s.hits = 0, s.hits + 1
    if latency < s.least then
      s.inval_ts = s.inval_ts + 1
    else
      moments.add(s, tonumber(latency))
    end
  end
  C.pg_unlock(s.lock)
end

--- What was found so far (struct ms_stats).
function names.ms_fetch_stats()
  local s = all()
  return ffi.new("struct ms_stats", s.mean, moments.variance(s), s.hits, s.misses,
    s.inval_ts)
end

-- The histogram ----------------------------------------------------------------------

local width, found, seen = 1, {}, moments.new() -- values in each bucket, by its middle

function names.hs_initialize(bucket_size)
  width, found, seen = math.max(tonumber(bucket_size), 1), {}, moments.new()
end

function names.hs_destroy() found, seen = {}, moments.new() end

-- As integers are divided in C: towards 0.
local function middle(value)
  local half = math.floor(width / 2)
  local buckets = (value + (value > 0 and half or -half)) / width
  return (buckets < 0 and math.ceil(buckets) or math.floor(buckets)) * width
end

--- Is it from 0 on?
function names.hs_update(value)
  value = tonumber(ffi.cast("int64_t", value))
  local at = middle(value)
  found[at] = (found[at] or 0) + 1
  seen:add(value)
  return value >= 0
end

function names.hs_finalize() end

local function write_histogram(file)
  local middles = tables.sorted_keys(found)
  for _, at in ipairs(middles) do
    local written, why = file:write(("%d,%d\n"):format(at, found[at]))
    if not written then return written, why end
  end
  return file:flush()
end

--- Write a line "middle,values" for each bucket that has any.
function names.hs_write(filename)
  filename = type(filename) == "string" and filename or ffi.string(filename)
  local file, why = io.open(filename, "w")
  if not file then return lose("can't write " .. why) end
  local written, problem = write_histogram(file)
  file:close()
  if not written then lose(("can't write %s: %s"):format(filename, problem)) end
end

function names.hs_getCount() return ffi.new("uint64_t", seen.count) end
function names.hs_getMean() return seen.mean end
function names.hs_getVariance() return seen:variance() end

-- The log ----------------------------------------------------------------------------

local number_t = ffi.typeof("const uint32_t *")

local function log(writer, queue, bufs, room, offset)
  local ns = 1e9 / C.pg_tsc_hz_measured()
  while C.mg_running(0) ~= 0 do
    local n = C.mg_receive_wait(queue, bufs, room, RECEIVE_US, 0)
    for i = 0, n - 1 do
      local p = bufs[i]
      if offset + 4 <= p.length then
        local number = ffi.cast(number_t, p.buf_addr + p.data_off + offset)[0]
        writer:write(number, tonumber(p.note64[1]) * ns)
      end
    end
    C.mg_free(bufs, n)
  end
  writer:close()
end

--- Append the numbers (at byte `offset` of packets) and times of all packets of a queue
--- to a file, until the script ends: 12 bytes each, the time before the number.
function names.ms_log_pkts(id, qid, bufs, room, offset, filename)
  local d = native.get(id)
  if d == nil or qid >= d.nrx then
    failure.raise("ms_log_pkts: device %d has no queue %d to receive from", id, qid)
  end
  local ok, why = pcall(function ()
    log(files.newAppender(filename), d.rx + qid, bufs, room, offset)
  end)
  if not ok then lose(why) end
end
