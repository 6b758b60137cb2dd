-- SPDX-License-Identifier: Apache-2.0
-- The apps of a run of generate. A *direction* is from one port to another (or from a
-- port alone, or to one): {to, from = names of port apps, port, receive = as the user
-- wrote them, lanes (program.generate.lanes), slots (how many there have been), joined
-- (are several sent, or may they be?), gone (sums of lanes that are no more), clock
-- (lib.traffic.real_clock; nil: none is needed), stamp (packets' times; nil: ticks)}.
--
--   generator... -> (join) -> to                from -> (sorter) -> meter...

local config = require("core.config")
local failure = require("core.failure")
local headers = require("lib.traffic.headers")
local kinds = require("lib.port.kinds")
local real_clock = require("lib.traffic.real_clock")
local spec = require("lib.port.spec")
local lanes = require("program.generate.lanes")
local streams = require("program.generate.streams")
local Generator = require("apps.generate.generator").Generator
local Joiner = require("apps.generate.joiner").Joiner
local Meter = require("apps.generate.meter").Meter
local Port = require("apps.port.port").Port
local Sorter = require("apps.generate.sorter").Sorter
local tables = require("core.lib.tables")

local M = {}

-- Do both ends share a port? Two apps with the same ring are its two ends.
local function shared(options)
  return options.receive == options.port
    and not kinds.of(spec.parse(options.port)).two_ends
end

local function add_lanes(d, list, given)
  for slot, stream in ipairs(list) do
    d.lanes[slot] = lanes.new(slot, stream, given[slot], d)
  end
  d.slots = #list
  return d
end

-- The clock that both machines are measured by, if it is needed, and what gives
-- packets their time (nil: ticks). Asked for now: that takes a while, and a sandbox
-- forbids it later.
local function clock_of(options)
  if not options.clock and options.port then return nil end
  local clock = real_clock.new(options.clock or 0, options.clock_error,
    options.ptp)
  return clock, options.clock and function () return clock:stamp() end or nil
end

--- The directions of a run: one, or two with `options.both`.
function M.directions(options)
  local list, given = streams.list(options)
  local clock, stamp = clock_of(options)
  local one = {port = options.port, receive = options.receive, to = "to",
               from = options.port and options.receive and shared(options) and "to"
                 or "from",
               lanes = {}, suffix = "", gone = {},
               joined = options.interactive or #list > 1,
               clock = clock, stamp = stamp, round_trip = options.round_trip}
  add_lanes(one, list, given)
  if not options.both then return {one} end
  if one.from == "to" then
    failure.usage("--both is for two ports, and %s is one", options.port)
  end
  local two = {port = options.receive, receive = options.port, to = "from", from = "to",
               lanes = {}, suffix = "_back", back = true, gone = {},
               joined = one.joined, clock = clock, stamp = stamp,
               round_trip = options.round_trip}
  return {one, add_lanes(two, streams.back(list), given)}
end

-- make(...), whose failure is told by the stream's name.
local function of_stream(lane, d, make, ...)
  local ok, result = pcall(make, ...)
  if ok then return result end
  if not failure.is(result) then error(result, 0) end
  local name = (lane.name or d.joined) and lanes.called(lane)
  failure.usage("%s%s", name and ("stream %s: "):format(name) or "", tostring(result))
end

-- Several streams that come back are told apart by the records of their packets. What
-- isn't measured here ends where its payload does.
local function generator_argument(lane, d)
  local s = lane.stream
  local size, record = s.size, d.receive and "any" or nil
  if not size and s.payload and not d.receive and s.latency ~= "on" then
    size = headers.parse(s.stack or "eth,ip4,udp").size + #s.payload
    record = false
  end
  if s.latency then record = s.latency == "on" and "any" end
  return {
    stack = s.stack, set = s.set, flows = s.flows, size = size, rate = s.rate,
    payload = s.payload, record = record,
    arrivals = s.arrivals, seed = s.seed, count = s.count, packet = s.packet,
    stream = lane.number, held = true, clock = d.stamp,
  }
end

-- The argument of the lane's Generator, which is looked at once.
local function checked_argument(lane, d)
  local argument = of_stream(lane, d, generator_argument, lane, d)
  local told_apart = d.receive ~= nil and d.joined and lanes.is_measured(lane)
  local check = told_apart and "told apart" or "alone"
  if lane.checked == check or lane.removed then return argument end
  local copy = tables.copy({told_apart = told_apart}, argument)
  of_stream(lane, d, Generator.new, Generator, copy)
  lane.checked = check
  return argument
end

local function add_senders(c, d)
  local join = d.joined and "join" .. d.suffix
  if join then
    config.app(c, join, Joiner)
    config.link(c, ("%s.output -> %s.input"):format(join, d.to))
  end
  for _, lane in ipairs(d.lanes) do
    config.app(c, lane.generator, Generator, checked_argument(lane, d))
    config.link(c, ("%s.output -> %s"):format(lane.generator,
      join and join .. ".input" .. lane.slot or d.to .. ".input"))
  end
  d.join = join or nil
end

local function add_receivers(c, d)
  for _, lane in ipairs(d.lanes) do
    config.app(c, lane.meter, Meter, {places = lane.places, stream = lane.number,
      clock = d.clock})
  end
  if not d.joined then
    config.link(c, ("%s.output -> %s.input"):format(d.from, d.lanes[1].meter))
    return
  end
  d.sorter = "sorter" .. d.suffix
  local sorted = {}
  for i, lane in ipairs(d.lanes) do
    sorted[i] = {number = lane.number, link = "output" .. lane.slot,
                 places = lane.places}
    config.link(c, ("%s.output%d -> %s.input"):format(d.sorter, lane.slot, lane.meter))
  end
  config.app(c, d.sorter, Sorter, {streams = sorted})
  config.link(c, ("%s.output -> %s.input"):format(d.from, d.sorter))
end

--- The configuration of a run in these directions.
function M.make(directions)
  local c, first = config.new(), directions[1]
  if first.port then config.app(c, "to", Port, first.port) end
  if first.receive and first.from == "from" then
    config.app(c, "from", Port, first.receive)
  end
  for _, d in ipairs(directions) do
    if d.port then add_senders(c, d) end
    if d.receive then add_receivers(c, d) end
  end
  return c
end

return M
