-- SPDX-License-Identifier: Apache-2.0
-- What the apps of a run have counted, for program.generate.report.

local engine = require("core.app")
local link = require("core.link")
local one_way = require("program.generate.one_way")
local report = require("program.generate.report")

local M = {}

local function with_rates(f, port)
  f.port = port
  f.pps = report.per_second(f.packets, f.packets, f.seconds)
  f.bit_rate = report.per_second(f.bits, f.packets, f.seconds)
  return f
end

-- The number of the device's queue that the app serves.
local function queue_of(name) return engine.app_table[name].port.queue end

-- What the port of the direction has dropped.
local function drops(d)
  local stats = engine.app_table[d.to]:statistics()
  return {
    {name = "longer than it takes", count = stats.tx_oversize},
    {name = "too short", count = stats.tx_runt},
    {name = "to a card that was unplugged", count = stats.tx_unplugged},
    {name = "failed in the device", count = stats.oerrors},
  }
end

-- What the port that receives had no room for.
local function missed(d)
  local stats = engine.app_table[d.from]:statistics()
  return {
    {name = "without room in the port", count = stats.imissed},
    {name = "without a packet to receive into",
     count = stats.rx_nombuf + stats.rx_nomem},
    {name = "with errors", count = stats.ierrors},
    {name = "longer than 10,240 bytes", count = stats.rx_oversize},
  }
end

local function sent_of(d, lane)
  local generator, stream = engine.app_table[lane.generator], lane.stream
  local f = with_rates(generator:figures(), d.port)
  f.rate, f.arrivals = stream.rate, stream.arrivals or "constant"
  if d.receive or stream.latency or not stream.payload then
    f.records = generator.maker:records(f.numbered)
  end
  f.least = generator.maker.least
  f.unsent = link.nreadable(generator.sink)
  if d.stamp then
    local error, source = d.clock:bound()
    f.clock = {error_ns = error and 1e9 * error, source = source}
  end
  return f
end

-- Of those packets only the count is known.
local UNNUMBERED = {none = true, off = true}

local function received_of(d, lane, sent)
  local meter = engine.app_table[lane.meter]
  local numbered = sent and sent.numbered
  if sent and sent.records == "all" then numbered = numbered - sent.unsent end
  local got = meter:figures(numbered)
  if sent and UNNUMBERED[sent.records] and not d.joined then
    got.lost = math.max(0, sent.packets - sent.unsent - got.packets)
    got.distinct = got.packets
  end
  if d.round_trip then got.one_way = one_way.half(got.latency) end
  return with_rates(got, d.receive)
end

local SUMS = {"packets", "bytes", "bits", "numbered", "unsent", "lost", "distinct",
              "duplicates", "reordered", "too_late", "other", "unclear"}

local function add_up(t, f)
  for _, key in ipairs(SUMS) do
    if f[key] then t[key] = (t[key] or 0) + f[key] end
  end
  t.seconds = math.max(t.seconds or 0, f.seconds or 0)
end

-- The sums over the streams, and those that are no more (`gone`); the time is that of
-- the longest.
local function total(list, kind, port, gone)
  local t = {seconds = 0, total = true}
  for _, key in ipairs(SUMS) do t[key] = 0 end
  if gone[kind] then add_up(t, gone[kind]) end
  for _, item in ipairs(list) do
    if item[kind] then add_up(t, item[kind]) end
  end
  return with_rates(t, port)
end

-- (Of several streams that come back, one without records isn't told from others.)
local function stream_of(d, lane)
  local r = {name = lane.name, removed = lane.removed}
  if d.port then r.sent = sent_of(d, lane) end
  if d.receive and not (d.joined and lane.stream.latency == "off") then
    r.received = received_of(d, lane, r.sent)
  end
  return r
end

local function streams_of(d)
  local list = {}
  for i, lane in ipairs(d.lanes) do list[i] = stream_of(d, lane) end
  return list
end

--- The lane goes: what it has counted is in the sums of the direction from now on.
function M.keep(d, lane)
  local r, gone = stream_of(d, lane), {}
  for _, kind in ipairs{"sent", "received"} do
    gone[kind] = {}
    for _, key in ipairs(SUMS) do gone[kind][key] = 0 end
    if d.gone[kind] then add_up(gone[kind], d.gone[kind]) end
    if r[kind] then add_up(gone[kind], r[kind]) end
  end
  d.gone = gone
end

-- Of packets of no stream only the number is known.
local function add_others(got, d)
  local f = engine.app_table[d.sorter]:figures()
  got.other, got.packets = got.other + f.packets, got.packets + f.packets
  got.bytes, got.bits = got.bytes + f.bytes, got.bits + f.bits
end

-- The results of one direction: `sent` and `received`, either may be nil, and
-- `streams`, a list of {name, sent, received}, if there are several.
local function direction(d, cpu)
  local list = streams_of(d)
  local r = list[1]
  if d.joined then
    r = {streams = list}
    if d.port then
      r.sent = total(list, "sent", d.port, d.gone)
      r.sent.unsent = r.sent.unsent
        + link.nreadable(engine.app_table[d.join].output.output)
    end
    if d.receive then
      r.received = total(list, "received", d.receive, d.gone)
      add_others(r.received, d)
    end
  end
  if r.sent then
    r.sent.cpu, r.sent.drops, r.sent.queue = cpu, drops(d), queue_of(d.to)
  end
  if r.received then
    r.received.missed, r.received.queue = missed(d), queue_of(d.from)
  end
  return r
end

--- The results of the running apps: a list of those of each direction. `cpu` is the
--- time that all took, in seconds.
function M.all(directions, cpu)
  local list = {}
  for i, d in ipairs(directions) do list[i] = direction(d, cpu) end
  return list
end

return M
