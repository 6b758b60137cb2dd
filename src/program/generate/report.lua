-- SPDX-License-Identifier: Apache-2.0
-- What generate says at its end, as text and as JSON.

local cjson = require("cjson")
local core_lib = require("core.lib")
local drops = require("lib.traffic.drops")
local latency = require("lib.traffic.latency")
local one_way = require("program.generate.one_way")
local rate = require("lib.traffic.rate")
local nanoseconds = latency.text
local si = require("core.engine.report").si

local M = {}

--- The share of a rate that counts as having kept it.
M.KEPT = 0.99

local function commas(n)
  return core_lib.comma_value(("%.0f"):format(n))
end

local function share(n, of)
  return of > 0 and (" (%.3g %%)"):format(100 * n / of) or ""
end

--- Per second, of an amount that `packets` packets carried in the `seconds` from the
--- first to the last: one interval less than packets.
function M.per_second(amount, packets, seconds)
  if packets < 2 or seconds <= 0 then return 0 end
  return amount * (packets - 1) / packets / seconds
end

--- The share of its rate that the generator kept, by its figures: the time that the
--- packets should have taken by the time they took; nil without a rate.
function M.kept(sent)
  if not sent.rate then return nil end
  if sent.seconds <= 0 or sent.packets < 2 then return 1 end
  return math.min(1, sent.scheduled / sent.seconds)
end

local function rate_line(sent)
  local kept = M.kept(sent)
  if not kept then return nil end
  if kept >= M.KEPT then return "the rate was kept" end
  return ("the rate was not kept: %.1f %% of it; a packet was up to %s late")
    :format(100 * kept, nanoseconds(1e9 * sent.latest))
end

local RECORDS = {
  some = "packets of less than %d bytes have no room for a number and a time: of those"
    .. " only the count is measured",
  none = "packets of less than %d bytes have no room for a number and a time: loss is"
    .. " measured by the count alone, order and latency aren't",
  changed = "the script has changed numbers or times, or cut them off: of those packets"
    .. " only the count is measured",
}

-- Rates of what was sent or received: a packet, or a single burst, has none.
local function rates(figures)
  if figures.packets > 0 and figures.pps == 0 then
    return "no rate, since " .. (figures.packets == 1 and "it was one packet"
      or "all were in one burst")
  end
  return ("%s, %s on the wire"):format(si(figures.pps, "pps"),
    si(figures.bit_rate, "bit/s"))
end

local function sent_lines(sent)
  local lines = {
    ("sent: %s packets, %s bytes in %.3f s to %s"):format(commas(sent.packets),
      commas(sent.bytes), sent.seconds, sent.port),
    "achieved: " .. rates(sent),
  }
  if not sent.total then
    table.insert(lines, 2, ("requested: %s%s"):format(rate.text(sent.rate),
      sent.rate and ", " .. sent.arrivals .. " gaps" or ""))
  end
  if sent.cpu and not sent.rate and sent.packets > 0 then
    lines[#lines + 1] = ("CPU time: %.1f ns a packet"):format(
      1e9 * sent.cpu / sent.packets)
  end
  lines[#lines + 1] = rate_line(sent)
  if sent.drops then
    lines[#lines + 1] = ("dropped by %s, queue %d: %s"):format(sent.port,
      sent.queue or 0, (drops(sent.drops)))
  end
  if sent.unsent > 0 then
    lines[#lines + 1] = ("not sent: %s, which the port didn't take")
      :format(commas(sent.unsent))
  end
  if sent.clock then
    lines[#lines + 1] = one_way.sent_line(sent.clock)
  end
  if RECORDS[sent.records] then
    lines[#lines + 1] = RECORDS[sent.records]:format(sent.least or 0)
  end
  return lines
end

local function latency_lines(lines, l)
  if not l then return end
  lines[#lines + 1] = ("latency: min %s, median %s, p90 %s, p99 %s, p99.9 %s, max %s")
    :format(nanoseconds(l.min), nanoseconds(l.median), nanoseconds(l.p90),
      nanoseconds(l.p99), nanoseconds(l.p999), nanoseconds(l.max))
  lines[#lines + 1] = ("of %s packets; the percentiles are within %.1f %%")
    :format(commas(l.count), 100 * latency.ERROR)
end

-- Where packets were lost: in the port that receives; and what neither port knows of.
-- (What a port missed can have come from others.)
local function loss_lines(lines, got, sent)
  local text, missed = drops(got.missed or {})
  if missed > 0 then
    lines[#lines + 1] = ("lost in %s, queue %d: %s"):format(got.port, got.queue or 0,
      text)
  end
  local known = missed + select(2, drops(sent and sent.drops or {}))
  if got.missed and got.lost > known then
    lines[#lines + 1] = ("lost elsewhere: %s, which %s counted"):format(
      commas(got.lost - known), sent and "neither port" or "this port hasn't")
  end
end

local function received_lines(got, sent)
  local lines = {
    ("received: %s packets, %s bytes in %.3f s from %s"):format(commas(got.packets),
      commas(got.bytes), got.seconds, got.port),
    "rate: " .. rates(got),
    ("lost: %s%s"):format(commas(got.lost), share(got.lost, got.lost + got.distinct)),
    ("duplicates: %s, reordered: %s%s"):format(commas(got.duplicates),
      commas(got.reordered), share(got.reordered, got.distinct)),
  }
  loss_lines(lines, got, sent)
  if got.too_late > 0 then
    lines[#lines + 1] = ("too late to know whether reordered or doubled: %s")
      :format(commas(got.too_late))
  end
  if got.other > 0 then
    lines[#lines + 1] = ("without a number: %s"):format(commas(got.other))
  end
  if got.unclear > 0 then
    lines[#lines + 1] = ("without a latency, as sent by another clock: %s")
      :format(commas(got.unclear))
  end
  latency_lines(lines, got.latency)
  one_way.add_lines(lines, got.one_way)
  return lines
end

local function add(lines, more, indent)
  for _, line in ipairs(more) do lines[#lines + 1] = indent .. line end
end

local function add_both(lines, r, indent)
  if r.sent then add(lines, sent_lines(r.sent), indent) end
  if r.received then add(lines, received_lines(r.received, r.sent), indent) end
end

--- The report of a direction's results: a table of `sent` and `received`, each of them
--- nil or the app's figures with `port`, `pps` and `bit_rate`; `sent` also with `rate`,
--- `arrivals`, `unsent`, `records`, `least` (bytes of a packet with one), and for all
--- that was sent `drops` and `cpu` (seconds); `received` with `missed`, likewise.
--- `streams`: a list of such tables with `name`, if there are several; `sent` and
--- `received` are the sums then, with `total` set.
function M.text(results)
  local lines = {}
  for _, stream in ipairs(results.streams or {}) do
    lines[#lines + 1] = ("stream %s%s:"):format(stream.name,
      stream.removed and ", removed" or "")
    add_both(lines, stream, "  ")
  end
  if results.streams and (results.sent or results.received) then
    lines[#lines + 1] = "all streams:"
  end
  add_both(lines, results, results.streams and "  " or "")
  return table.concat(lines, "\n") .. "\n"
end

--- The report of a list of directions.
function M.all_text(list)
  if #list == 1 then return M.text(list[1]) end
  local parts = {}
  for i, r in ipairs(list) do
    parts[i] = ("from %s to %s:\n"):format(r.sent.port, r.received.port)
      .. M.text(r):gsub("[^\n]+", "  %0")
  end
  return table.concat(parts)
end

local function sent_json(sent)
  local dropped = sent.drops and 0
  for _, drop in ipairs(sent.drops or {}) do dropped = dropped + drop.count end
  return {
    port = sent.port, packets = sent.packets, bytes = sent.bytes,
    seconds = sent.seconds, pps = sent.pps, bit_rate = sent.bit_rate,
    cpu_seconds = sent.cpu,
    requested_pps = sent.rate and sent.rate.packets,
    requested_bit_rate = sent.rate and sent.rate.bits, kept = M.kept(sent),
    latest_ns = sent.rate and 1e9 * sent.latest, dropped = dropped,
    unsent = sent.unsent, numbered = sent.numbered, clock = sent.clock,
  }
end

local RECEIVED = {"port", "packets", "bytes", "seconds", "pps", "bit_rate", "numbered",
  "lost", "duplicates", "reordered", "too_late", "other", "unclear"}

local function received_json(got)
  local copy = {one_way = one_way.json(got.one_way)}
  for _, key in ipairs(RECEIVED) do copy[key] = got[key] end
  if got.missed then copy.missed = select(2, drops(got.missed)) end
  if got.latency then
    copy.latency_ns = {}
    for key, value in pairs(got.latency) do copy.latency_ns[key] = value end
    copy.latency_ns.count = nil
    copy.latency_count = got.latency.count
  end
  return copy
end

local function as_json(r)
  local object = {
    name = r.name, removed = r.removed, sent = r.sent and sent_json(r.sent),
    received = r.received and received_json(r.received),
  }
  if r.streams and #r.streams > 0 then
    object.streams = {}
    for i, stream in ipairs(r.streams) do object.streams[i] = as_json(stream) end
  end
  return object
end

--- The same as one line of JSON.
function M.json(results)
  return cjson.encode(as_json(results)) .. "\n"
end

--- The directions as one line of JSON: the object of the only one, or one with a list
--- `directions`.
function M.all_json(list)
  if #list == 1 then return M.json(list[1]) end
  local directions = {}
  for i, r in ipairs(list) do directions[i] = as_json(r) end
  return cjson.encode{directions = directions} .. "\n"
end

return M
