-- SPDX-License-Identifier: Apache-2.0
-- What connect says at its end, as text and as JSON.

local cjson = require("cjson")
local core_lib = require("core.lib")
local latency = require("lib.traffic.latency")
local si = require("core.engine.report").si

local M = {}

local ENDS = {"closed", "reset", "refused", "timed_out", "aborted", "open"}

local COUNTS = {"started", "established", "closed", "reset", "refused", "timed_out",
  "aborted", "open", "requests", "answers", "failed_answers", "unreadable", "cut_short",
  "bytes_sent", "bytes_received", "bytes_resent", "packets_sent", "packets_received",
  "timeouts", "fast_retransmits", "retransmits", "probes", "out_of_order", "duplicates",
  "resets_sent", "bad_checksum", "malformed", "fragments", "not_ours", "no_room",
  "no_tuple", "no_buffer"}

local function commas(n) return core_lib.comma_value(("%.0f"):format(n)) end

--- The results of the sides: {sides = a list of {name, port, counts, connect,
--- first_byte (lib.traffic.latency's summaries; nil: none), seconds, time_wait},
--- cpu_seconds}.
function M.results(sides, seconds, cpu)
  local list = {}
  for i, side in ipairs(sides) do
    local f, counts = side.app:figures(), {}
    for _, name in ipairs(COUNTS) do counts[name] = tonumber(f.counts[name]) end
    list[i] = {name = side.name, port = side.port, counts = counts, seconds = seconds,
               time_wait = side.app.state.time_wait * 2^20 / 1e9,
               connect = latency.summary(f.connect),
               first_byte = latency.summary(f.first_byte)}
  end
  return {sides = list, cpu_seconds = cpu}
end

--- What has ended, and is open, of a side's counts.
function M.ends(counts)
  local sum = 0
  for _, name in ipairs(ENDS) do sum = sum + counts[name] end
  return sum
end

local function latency_line(what, l)
  if not l then return nil end
  return ("%s: min %s, median %s, p90 %s, p99 %s, p99.9 %s, max %s"):format(what,
    latency.text(l.min), latency.text(l.median), latency.text(l.p90),
    latency.text(l.p99), latency.text(l.p999), latency.text(l.max))
end

local function ends_line(c)
  local parts, sum = {}, M.ends(c)
  for i, name in ipairs(ENDS) do
    parts[i] = commas(c[name]) .. " " .. name:gsub("_", " ")
  end
  return ("ended: %s; together %s, %s"):format(table.concat(parts, ", "), commas(sum),
    sum == c.started and "as many as were started"
      or "but " .. commas(c.started) .. " were started")
end

-- Counts that are told where there are any: what should be none.
local UNUSUAL = {
  {"failed_answers", "answers that say an error"},
  {"unreadable", "not readable as HTTP"},
  {"cut_short", "closed by the server before all was answered"},
  {"bad_checksum", "packets with a wrong checksum"}, {"malformed", "malformed packets"},
  {"fragments", "fragments, which aren't taken"}, {"not_ours", "packets for others"},
  {"no_room", "connections that there was no room for"},
  {"no_tuple", "times without addresses and ports that weren't in use"},
  {"no_buffer", "times without a packet to send"},
}

local function side_lines(side)
  local c = side.counts
  local lines = {
    ("%s%s:"):format(side.name, side.port and " at " .. side.port or ""),
    ("  started: %s connections in %.3f s (%s), %s established"):format(
      commas(c.started), side.seconds,
      si(side.seconds > 0 and c.started / side.seconds or 0, "/s"),
      commas(c.established)),
    "  " .. ends_line(c),
    ("  requests: %s, answers: %s"):format(commas(c.requests), commas(c.answers)),
    ("  data: %s bytes sent, %s received; packets: %s sent, %s received"):format(
      commas(c.bytes_sent), commas(c.bytes_received), commas(c.packets_sent),
      commas(c.packets_received)),
    ("  sent again: %s segments, %s bytes (%s timeouts, %s fast retransmits)"):format(
      commas(c.retransmits), commas(c.bytes_resent), commas(c.timeouts),
      commas(c.fast_retransmits)),
    ("  received: %s segments out of order, %s again"):format(commas(c.out_of_order),
      commas(c.duplicates)),
  }
  local function add(line) lines[#lines + 1] = line and "  " .. line end
  add(latency_line("connect", side.connect))
  add(latency_line("first byte", side.first_byte))
  for _, of in ipairs(UNUSUAL) do
    if c[of[1]] > 0 then add(commas(c[of[1]]) .. " " .. of[2]) end
  end
  return lines
end

--- The report of results().
function M.text(results)
  local lines = {}
  for _, side in ipairs(results.sides) do
    for _, line in ipairs(side_lines(side)) do lines[#lines + 1] = line end
  end
  lines[#lines + 1] = ("CPU time: %.3f s; TIME-WAIT lasts %.0f ms"):format(
    results.cpu_seconds, 1e3 * results.sides[1].time_wait)
  return table.concat(lines, "\n") .. "\n"
end

--- The same as one line of JSON.
function M.json(results)
  local object = {cpu_seconds = results.cpu_seconds}
  for _, side in ipairs(results.sides) do
    local c = side.counts
    object[side.name] = {
      port = side.port, seconds = side.seconds, counts = c,
      balanced = M.ends(c) == c.started, connect_ns = side.connect,
      first_byte_ns = side.first_byte, time_wait_seconds = side.time_wait,
    }
  end
  return cjson.encode(object) .. "\n"
end

return M
