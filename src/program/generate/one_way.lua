-- SPDX-License-Identifier: Apache-2.0
-- Latencies between two machines, as generate reports them: how far they may be wrong,
-- by whose word; or half of the round trip.

local nanoseconds = require("lib.traffic.latency").text
local commas = require("core.lib").comma_value
local tables = require("core.lib.tables")

local M = {}

local SOURCES = {given = "as given", ptp4l = "says ptp4l", chrony = "says chrony",
  kernel = "says the kernel", nobody = "as nobody keeps it"}

-- A clock that may be wrong by so many ns (nil: unknown).
local function error_text(whose, ns, source)
  return ("%s by %s%s"):format(whose, ns and nanoseconds(ns) or "an unknown time",
    source and ", " .. SOURCES[source] or "")
end

--- A sender's line about the clock of its packets: {error_ns (nil: unknown), source}.
function M.sent_line(clock)
  return "packets have this machine's time, "
    .. error_text("which may be wrong", clock.error_ns, clock.source)
end

--- One way by the time of both (lib.traffic.latency's summary, or nil). The other may
--- have taken nothing, or all: so far it may be wrong.
function M.half(latency)
  if not latency then return nil end
  local halves = {}
  for key, value in pairs(latency) do halves[key] = value / 2 end
  halves.count = nil
  return {halves = halves, error_ns = latency.max / 2}
end

local function add_half(lines, one_way)
  local l = one_way.halves
  lines[#lines + 1] = ("one way, half of the round trip: min %s, median %s, p99 %s, "
    .. "max %s"):format(nanoseconds(l.min), nanoseconds(l.median), nanoseconds(l.p99),
    nanoseconds(l.max))
  lines[#lines + 1] = ("wrong by up to %s, if one way takes longer than the other")
    :format(nanoseconds(one_way.error_ns))
end

--- Add lines about `o` to the list: what M.half returns, or a Meter's `one_way`; nil:
--- none.
function M.add_lines(lines, o)
  if not o then return end
  if o.halves then return add_half(lines, o) end
  local of = ("(%s; %s)"):format(error_text("the sender's clock", o.sender_error_ns),
    error_text("this one's", o.receiver_error_ns, o.receiver_source))
  if o.error_ns then
    lines[#lines + 1] = ("one way, by both machines' clocks: wrong by up to %s %s")
      :format(nanoseconds(o.error_ns), of)
  else
    lines[#lines + 1] = "one way, by both machines' clocks, whose difference is "
      .. "unknown " .. of .. ": give --clock-error, or measure with --round-trip"
  end
  if o.early > 0 then
    lines[#lines + 1] = ("came before they were sent: %s, by up to %s: the clocks "
      .. "differ by that at least"):format(commas(("%.0f"):format(o.early)),
      nanoseconds(o.earliest_ns))
  end
end

--- The same as a table for JSON.
function M.json(o)
  if not o then return nil end
  local copy = tables.copy(o)
  copy.method = o.halves and "half of the round trip" or "clocks"
  copy.latency_ns, copy.halves = o.halves, nil
  return copy
end

return M
