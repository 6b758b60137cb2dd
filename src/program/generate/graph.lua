-- SPDX-License-Identifier: Apache-2.0
-- The apps of a run of generate. A *direction* is from one port to another (or from a
-- port alone, or to one): {to, from = names of port apps, port, receive = as the user
-- wrote them, lanes}; a lane is a stream with its Generator and Meter (names of apps).
--
--   generator... -> (join) -> to                from -> (sorter) -> meter...

local config = require("core.config")
local failure = require("core.failure")
local headers = require("lib.traffic.headers")
local kinds = require("lib.port.kinds")
local spec = require("lib.port.spec")
local streams = require("program.generate.streams")
local Generator = require("apps.generate.generator").Generator
local Joiner = require("apps.generate.joiner").Joiner
local Meter = require("apps.generate.meter").Meter
local Port = require("apps.port.port").Port
local Sorter = require("apps.generate.sorter").Sorter

local M = {}

-- Do both ends share a port? Two apps with the same ring are its two ends.
local function shared(options)
  return options.receive == options.port
    and not kinds.of(spec.parse(options.port)).two_ends
end

-- The lanes of a direction; `back`: the second one, whose streams have other numbers.
local function lanes(list, suffix, back)
  local all = {}
  for i, stream in ipairs(list) do
    local tail = (#list > 1 and "_" .. i or "") .. suffix
    all[i] = {stream = stream, name = stream.name, generator = "generator" .. tail,
              meter = "meter" .. tail, number = i - 1 + (back and streams.MOST or 0)}
  end
  return all
end

--- The directions of a run: one, or two with `options.both`.
function M.directions(options)
  local list = streams.list(options)
  local one = {port = options.port, receive = options.receive, to = "to",
               from = options.port and options.receive and shared(options) and "to"
                 or "from",
               lanes = lanes(list, ""), suffix = ""}
  if not options.both then return {one} end
  if one.from == "to" then
    failure.usage("--both is for two ports, and %s is one", options.port)
  end
  local two = {port = options.receive, receive = options.port, to = "from", from = "to",
               lanes = lanes(streams.back(list), "_back", true), suffix = "_back"}
  return {one, two}
end

-- make(...), whose failure is told by the stream's name.
local function of_stream(lane, make, ...)
  local ok, result = pcall(make, ...)
  if ok then return result end
  if not failure.is(result) then error(result, 0) end
  failure.usage("%s%s", lane.name and ("stream %s: "):format(lane.name) or "",
    tostring(result))
end

-- An app of the lane, whose argument is looked at first.
local function add_app(c, lane, name, class, argument)
  of_stream(lane, class.new, class, argument)
  config.app(c, name, class, argument)
end

-- Several streams that come back are told apart by the records of their packets. What
-- isn't measured here ends where its payload does.
local function generator_argument(lane, d)
  local s = lane.stream
  local size = s.size
  if not size and s.payload and not d.receive then
    size = headers.parse(s.stack or "eth,ip4,udp").size + #s.payload
  end
  return {
    stack = s.stack, set = s.set, flows = s.flows, size = size, rate = s.rate,
    payload = s.payload,
    arrivals = s.arrivals, seed = s.seed, count = s.count, packet = s.packet,
    stream = lane.number, held = true,
    told_apart = d.receive ~= nil and #d.lanes > 1,
  }
end

local function add_senders(c, d)
  local join = #d.lanes > 1 and "join" .. d.suffix
  if join then
    config.app(c, join, Joiner)
    config.link(c, ("%s.output -> %s.input"):format(join, d.to))
  end
  for i, lane in ipairs(d.lanes) do
    add_app(c, lane, lane.generator, Generator,
      of_stream(lane, generator_argument, lane, d))
    config.link(c, ("%s.output -> %s"):format(lane.generator,
      join and join .. ".input" .. i or d.to .. ".input"))
  end
  d.join = join or nil
end

local function add_receivers(c, d)
  for _, lane in ipairs(d.lanes) do
    add_app(c, lane, lane.meter, Meter, {stack = lane.stream.stack,
      payload = lane.stream.payload, stream = lane.number})
  end
  if #d.lanes == 1 then
    config.link(c, ("%s.output -> %s.input"):format(d.from, d.lanes[1].meter))
    return
  end
  d.sorter = "sorter" .. d.suffix
  local sorted = {}
  for i, lane in ipairs(d.lanes) do
    local stack = headers.parse(lane.stream.stack or "eth,ip4,udp")
    sorted[i] = {number = lane.number, link = "output" .. i,
      offset = stack.size + #(lane.stream.payload or "")}
    config.link(c, ("%s.output%d -> %s.input"):format(d.sorter, i, lane.meter))
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
