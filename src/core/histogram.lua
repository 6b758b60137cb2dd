-- SPDX-License-Identifier: Apache-2.0
-- Histograms whose buckets grow by a constant factor, each exactly one page of shared
-- memory: tools of Snabb read them, so the layout can't change.

local ffi = require("ffi")
local C = require("core.native")
local arguments = require("core.lib.arguments")
local bytes_of = require("core.lib.bytes")
local shm = require("core.shm")
local double, exp, log = bytes_of.double, math.exp, math.log

-- The first bucket is for what is below the minimum, the last for what is above the
-- maximum; those between have the same width on a logarithmic scale.
local BUCKETS = C.HISTOGRAM_BUCKETS
local LAST = BUCKETS - 1

local histogram_t = ffi.typeof("struct histogram")
local double_p = ffi.typeof("double *") -- its first fields: minimum, growth_factor_log
assert(ffi.sizeof(histogram_t) == 4096)

local histogram = {}

histogram.type = shm.register("histogram", histogram)

local function growth_factor_log(minimum, maximum)
  if not (minimum > 0 and maximum > minimum) then
    error(("a histogram needs 0 < minimum < maximum, not %s and %s")
      :format(tostring(minimum), tostring(maximum)), 3)
  end
  return log(maximum / minimum) / (BUCKETS - 2)
end

--- A histogram in private memory for values between `minimum` (above 0) and `maximum`.
function histogram.new(minimum, maximum)
  return histogram_t(minimum, growth_factor_log(minimum, maximum))
end

--- The same in shared memory, empty, as the object `name`.
function histogram.create(name, minimum, maximum)
  local growth = growth_factor_log(minimum, maximum)
  local h = shm.create(name, histogram_t)
  h.minimum, h.growth_factor_log = minimum, growth
  histogram.clear(h)
  return h
end

--- Map the existing histogram `name`, to read it only if `readonly`.
function histogram.open(name, readonly)
  return shm.open(name, histogram_t, readonly)
end

local istype, type = ffi.istype, type

local function no_histogram(name, value)
  arguments.refuse("histogram." .. name, 1, value, "a histogram", 4)
end

local function check_value(name, value)
  if type(value) ~= "cdata" or not tonumber(value) then
    arguments.refuse("histogram." .. name, 2, value, "a number", 4)
  end
end

--- Count `value`. What isn't a number goes into the first bucket, as what is below the
--- minimum does.
function histogram.add(h, value)
  if not istype(histogram_t, h) then no_histogram("add", h) end
  if type(value) ~= "number" then check_value("add", value) end
  C.pg_histogram_add(h, value)
end

--- The same `n` times.
function histogram.add_many(h, value, n)
  if not istype(histogram_t, h) then no_histogram("add_many", h) end
  if type(value) ~= "number" then check_value("add_many", value) end
  if value < h.minimum then
    h.total, h.buckets[0] = h.total + n, h.buckets[0] + n
  else
    for _ = 1, n do C.pg_histogram_add(h, value) end
  end
end

-- (They may be another process's.)
local function bounds(h, bucket)
  local minimum, growth = double(h), double(ffi.cast(double_p, h) + 1)
  if bucket == 0 then return 0, minimum end
  local low = minimum * exp(growth * (bucket - 1))
  if bucket == LAST then return low, math.huge end
  return low, minimum * exp(growth * bucket)
end

--- Iterate over all buckets, from low to high: the count (uint64_t), and the bounds.
--- With a snapshot `previous`, counts are those since it was taken.
function histogram.iterate(h, previous)
  if not istype(histogram_t, h) then no_histogram("iterate", h) end
  local bucket = -1
  return function()
    bucket = bucket + 1
    if bucket > LAST then return nil end
    local count = h.buckets[bucket]
    if previous then count = count - previous.buckets[bucket] end
    return count, bounds(h, bucket)
  end
end

--- Copy `h` into the histogram `destination` (a new one) and return that.
function histogram.snapshot(h, destination)
  if not istype(histogram_t, h) then no_histogram("snapshot", h) end
  destination = destination or histogram_t()
  ffi.copy(destination, h, ffi.sizeof(histogram_t))
  return destination
end

--- Forget all that was counted.
function histogram.clear(h)
  if not istype(histogram_t, h) then no_histogram("clear", h) end
  h.total = 0
  ffi.fill(h.buckets, ffi.sizeof(h.buckets))
end

--- A function that calls `thunk` and counts the time it takes by the clock `now`.
function histogram.wrap_thunk(h, thunk, now)
  return function()
    local start = now()
    thunk()
    h:add(now() - start)
  end
end

--- The least, the average and the greatest value counted (since the snapshot
--- `previous`), as near as the buckets tell; 0, 0, 0 if there is none. What is above
--- the maximum counts as that.
function histogram.summarize(h, previous)
  local least, greatest, sum, total = nil, 0, 0, 0
  for count, low, high in histogram.iterate(h, previous) do
    if count ~= 0 then
      local n = tonumber(count)
      if high == math.huge then high = low end -- numbers of reports are finite
      least, greatest = least or low, high
      sum, total = sum + n * (low + high) / 2, total + n
    end
  end
  if total == 0 then return 0, 0, 0 end
  return least, sum / total, greatest
end

local function text_of(h)
  return ("min: %f / avg: %f / max: %f"):format(histogram.summarize(h))
end

--- For core.shm.view: a histogram in private memory; nil if the bounds can't be.
histogram.view = {
  bytes = ffi.sizeof(histogram_t),
  read = function (bytes)
    local minimum = bytes_of.finite_double(bytes, 0)
    local growth = bytes_of.finite_double(bytes, 8)
    local is_one = minimum and growth and minimum >= 0 and growth >= 0
      and minimum * exp(growth * LAST) < math.huge
    if not is_one then return nil end
    local h = histogram_t()
    ffi.copy(h, bytes, ffi.sizeof(histogram_t))
    return h
  end,
  text = text_of,
}

ffi.metatype(histogram_t, {
  __index = {
    add = histogram.add, add_many = histogram.add_many,
    iterate = histogram.iterate, clear = histogram.clear,
    snapshot = histogram.snapshot, summarize = histogram.summarize,
    wrap_thunk = histogram.wrap_thunk,
  },
  __tostring = text_of,
})

return arguments.guard(histogram, "histogram", {
  new = "number, number", create = "string, number, number", open = "string",
})
