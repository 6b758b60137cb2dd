-- SPDX-License-Identifier: Apache-2.0
-- The arithmetic of the model F_CPU = T * (C_IO + C_task + C_busy): straight lines,
-- confidence, and what the model predicts. Pure; cycles are a packet's.

local fit = {}

local RESAMPLES, CONFIDENCE = 1000, 0.95
local ALIKE = 0.9 -- packets a breath
local RISING = 0.5 -- of the task added: below that, something else than the CPU binds
local WIRE_OVERHEAD = 20 -- bytes of preamble and gap a frame (IEEE 802.3, clause 4.2)

local function sorted(list)
  local copy = {unpack(list)}
  table.sort(copy)
  return copy
end

--- The median of a list of numbers.
function fit.median(list)
  local s, n = sorted(list), #list
  if n % 2 == 1 then return s[(n + 1) / 2] end
  return (s[n / 2] + s[n / 2 + 1]) / 2
end

--- A function that returns whole numbers from 1 to its argument, the same ones for each
--- that is made (Park and Miller's minimal standard).
function fit.random()
  local state = 42
  return function (n)
    state = (state * 16807) % 2147483647
    return state % n + 1
  end
end

--- The lowest and the highest of `list` without its tails: `share` (0 to 1) is between.
function fit.middle(list, share)
  local s, tail = sorted(list), (1 - share) / 2
  return s[math.max(1, math.floor(#s * tail))], s[math.ceil(#s * (1 - tail))]
end

--- The 95 % confidence interval of the median of `list`, low and high (bootstrap,
--- with a fixed seed: the same list, the same interval).
function fit.interval(list)
  local random, medians = fit.random(), {}
  for i = 1, RESAMPLES do
    local sample = {}
    for k = 1, #list do sample[k] = list[random(#list)] end
    medians[i] = fit.median(sample)
  end
  return fit.middle(medians, CONFIDENCE)
end

--- The line through `points`, a list of {x, y}, by least squares of relative errors:
--- intercept and slope.
function fit.line(points)
  local sw, sx, sy, sxx, sxy = 0, 0, 0, 0, 0
  for _, p in ipairs(points) do
    local x, y = p[1], p[2]
    local w = 1 / (y * y)
    sw, sx, sy = sw + w, sx + w * x, sy + w * y
    sxx, sxy = sxx + w * x * x, sxy + w * x * y
  end
  local d = sw * sxx - sx * sx
  if d == 0 then return sy / sw, 0 end
  local slope = (sw * sxy - sx * sy) / d
  return (sy - slope * sx) / sw, slope
end

-- The points from where the cycles rise with the task, two at least. Before, the CPU
-- had time left, also a part of that between the last point that did and the next.
-- The first is left out, which has no task: see fit.solve.
local function rising(points)
  local from = 2
  for i = 1, #points - 1 do
    local a, b = points[i], points[i + 1]
    if b[2] - a[2] < RISING * (b[1] - a[1]) then from = i + 2 end
  end
  return {unpack(points, math.min(from, math.max(1, #points - 1)))}
end

-- Was the CPU the limit without a task? Then a breath had as many packets as with the
-- largest one.
local function limited(rounds)
  local shares = {}
  for i, points in ipairs(rounds) do
    local first, last = points[1][3], points[#points][3]
    shares[i] = first and last and first / last or 0
  end
  return fit.median(shares) >= ALIKE
end

local function solve(rounds)
  local is_limited, ios = limited(rounds), {}
  local slopes, overlaps, busy = {}, {}, {}
  for i, points in ipairs(rounds) do
    local intercept, slope = fit.line(rising(points))
    local without, onward = points[1][2] / slope, intercept / slope
    ios[i], slopes[i] = is_limited and without or onward, slope
    overlaps[i] = is_limited and without - onward or 0
    busy[i] = is_limited and 0 or without - onward
  end
  return {io = fit.median(ios), slope = fit.median(slopes), limited = is_limited,
          overlap = fit.median(overlaps), busy = math.max(0, fit.median(busy))}, ios
end

--- fit.solve without the confidence interval.
function fit.point(rounds) return (solve(rounds)) end

--- Solve for C_IO by raising C_task until the throughput falls. `rounds` is a list of
--- measurements, each a list of {task, cycles, packets a breath}, tasks rising from 0.
--- Where the CPU was the limit without a task, C_IO is what a packet took then, or else
--- where the line through the points that rise begins. {io; low and high, its
--- confidence interval; slope, cycles of CPU time that one of the task took (more than
--- 1 with interrupts and a host's other guests, for C_IO too, and taken out of it);
--- limited, was the CPU the limit; overlap, cycles of C_IO that pass beside those of a
--- task; busy, what an idle CPU had left without a task}.
function fit.solve(rounds)
  local solved, ios = solve(rounds)
  solved.low, solved.high = fit.interval(ios)
  return solved
end

--- Cycles of CPU time that a packet takes with a task, as `solved` says (fit.solve).
function fit.cycles(solved, task)
  local least = solved.io + solved.busy
  if task == 0 then return solved.slope * least end
  return solved.slope * math.max(least, solved.io - solved.overlap + task)
end

--- C_IO by burst and size: `cells` is a list of {burst, size, io}; per_packet +
--- per_burst / burst + per_byte * size, and the median relative error of that.
function fit.io(cells)
  local smallest = math.huge
  for _, cell in ipairs(cells) do smallest = math.min(smallest, cell.size) end
  local bursts, sizes = {}, {}
  for _, cell in ipairs(cells) do
    if cell.size == smallest then bursts[#bursts + 1] = {1 / cell.burst, cell.io} end
  end
  local per_packet, per_burst = fit.line(bursts)
  for _, cell in ipairs(cells) do
    local base = per_packet + per_burst / cell.burst
    sizes[#sizes + 1] = {cell.size - smallest, math.max(1, cell.io - base + 1000)}
  end
  local per_byte = math.max(0, select(2, fit.line(sizes)))
  local m = {per_packet = per_packet - per_byte * smallest, per_burst = per_burst,
             per_byte = per_byte}
  local errors = {}
  for i, cell in ipairs(cells) do
    errors[i] = math.abs(fit.io_of(m, cell.burst, cell.size) / cell.io - 1)
  end
  m.error = fit.median(errors)
  return m
end

--- C_IO of the model `m` (fit.io) for a burst and a frame's size.
function fit.io_of(m, burst, size)
  return math.max(0, m.per_packet + m.per_burst / burst + m.per_byte * size)
end

--- Frames of `size` bytes (with CRC) a second on a line of so many bit/s.
function fit.line_rate(bits, size)
  return bits / (8 * (size + WIRE_OVERHEAD))
end

--- What the model says: `q` has io and task (cycles), hz (of those cycles), and perhaps
--- line (bit/s) with size (bytes with CRC). {rate, limit = "cpu" or "line", cpu_rate,
--- line_rate, busy = cycles a packet that the CPU has left}.
function fit.predict(q)
  local cycles = q.io + q.task
  local cpu_rate = cycles > 0 and q.hz / cycles or math.huge
  local line_rate = q.line and fit.line_rate(q.line, q.size) or math.huge
  local rate = math.min(cpu_rate, line_rate)
  return {rate = rate, limit = cpu_rate <= line_rate and "cpu" or "line",
          cpu_rate = cpu_rate, line_rate = line_rate, busy = q.hz / rate - cycles}
end

return fit
