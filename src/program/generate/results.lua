-- SPDX-License-Identifier: Apache-2.0
-- What the apps of a run have counted, for program.generate.report.

local engine = require("core.app")
local link = require("core.link")
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
  if d.receive or not stream.payload then f.records = generator.maker:records() end
  f.header = generator.maker.record_at
  f.unsent = link.nreadable(generator.sink)
  return f
end

local function received_of(d, lane, sent)
  local meter = engine.app_table[lane.meter]
  local numbered = sent and sent.numbered
  if sent and sent.records == "all" then numbered = numbered - sent.unsent end
  local got = meter:figures(numbered)
  if sent and sent.records == "none" then
    got.lost = math.max(0, sent.packets - sent.unsent - got.packets)
    got.distinct = got.packets
  end
  return with_rates(got, d.receive)
end

local SUMS = {"packets", "bytes", "bits", "numbered", "unsent", "lost", "distinct",
              "duplicates", "reordered", "too_late", "other", "unclear"}

-- The sums over the streams; the time is that of the longest.
local function total(list, kind, port)
  local t = {seconds = 0, total = true}
  for _, item in ipairs(list) do
    local f = item[kind]
    for _, key in ipairs(SUMS) do
      if f[key] then t[key] = (t[key] or 0) + f[key] end
    end
    t.seconds = math.max(t.seconds, f.seconds)
  end
  return with_rates(t, port)
end

local function streams_of(d)
  local list = {}
  for i, lane in ipairs(d.lanes) do
    list[i] = {name = lane.name}
    if d.port then list[i].sent = sent_of(d, lane) end
    if d.receive then list[i].received = received_of(d, lane, list[i].sent) end
  end
  return list
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
  if #list > 1 then
    r = {streams = list}
    if d.port then
      r.sent = total(list, "sent", d.port)
      r.sent.unsent = r.sent.unsent
        + link.nreadable(engine.app_table[d.join].output.output)
    end
    if d.receive then
      r.received = total(list, "received", d.receive)
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
