-- SPDX-License-Identifier: Apache-2.0
-- Streams that come, change and go while generate runs. All that can be wrong is found
-- before anything changes.

local cjson = require("cjson")
local engine = require("core.app")
local failure = require("core.failure")
local graph = require("program.generate.graph")
local lanes = require("program.generate.lanes")
local link = require("core.link")
local spelling = require("core.lib.spelling")
local results = require("program.generate.results")
local streams = require("program.generate.streams")
local tables = require("core.lib.tables")

local M = {}

local PAYLOAD_FILE = "^file:"

--- The live lanes, in all directions, of the stream of that name; all without a name.
--- Raises a sentence if there is none.
function M.lanes_of(directions, name)
  local found, names = {}, {}
  for _, d in ipairs(directions) do
    for _, lane in ipairs(lanes.live(d.lanes)) do
      if not name or lanes.called(lane) == name then found[#found + 1] = lane end
      names[#names + 1] = lanes.called(lane)
    end
  end
  if #found > 0 then return found end
  if #names == 0 then failure.usage("there is no stream") end
  failure.usage("there is no stream '%s'%s", name, spelling.hint(name, names))
end

-- Copies of the directions, with lists of lanes of their own, to be changed.
local function copies(directions)
  local list = {}
  for i, d in ipairs(directions) do
    list[i] = {}
    for key, value in pairs(d) do list[i][key] = value end
    list[i].lanes = {}
    for k, lane in ipairs(d.lanes) do list[i].lanes[k] = lane end
  end
  return list
end

-- The links that go when several streams are sent instead of one, and the ones that
-- come in their place: the apps from which they are.
local function replaced(old, new)
  local list = {}
  for i, d in ipairs(old) do
    if not d.joined and new[i].joined then
      list[#list + 1] = {from = d.lanes[1].generator, to = "join" .. d.suffix}
      list[#list + 1] = d.receive and {from = d.from, to = d.from} or nil
    end
  end
  return list
end

local function output(name) return engine.app_table[name].output.output end

local function take(l)
  local packets = {}
  for i = 1, link.nreadable(l) do packets[i] = link.receive(l) end
  return packets
end

local function put(l, packets)
  for _, p in ipairs(packets) do link.transmit(l, p) end
end

-- Configure the engine for `new`; packets that wait in links which go are then in those
-- that come in their place. On failure all is as it was. Packets are sent and received
-- while it is prepared.
local function configure(old, new)
  local c, moved = graph.make(new), replaced(old, new)
  local ok, err = pcall(engine.configure_meanwhile, c, function ()
    for _, move in ipairs(moved) do move.packets = take(output(move.from)) end
  end)
  for _, move in ipairs(moved) do
    put(output(ok and move.to or move.from), move.packets or {})
  end
  if not ok then error(err, 0) end
end

-- Let the run go on with `new` in the place of its directions.
local function apply(run, new)
  configure(run.directions, new)
  for i, d in ipairs(run.directions) do
    for key, value in pairs(new[i]) do d[key] = value end
    for _, lane in ipairs(d.joined and d.lanes or {}) do
      lane.name = lanes.called(lane)
    end
  end
  run.course:reconfigured()
end

-- The stream of the parts, for each direction; `where`: what problems call it.
local function streams_of(run, given, where)
  if type(given.payload) == "string" and given.payload:find(PAYLOAD_FILE) then
    failure.usage("%s: payload: no file is read for a client; give its bytes, such as "
      .. "hex:cafe01", where)
  end
  local stream = streams.from_table(given, where)
  streams.complete(stream, run.options)
  return {stream, run.directions[2] and streams.back({stream})[1]}
end

-- Adding ----------------------------------------------------------------------------

-- The name for what is added: the one given, or the first number that is free.
local function name_for(given, live)
  local taken, n = {}, 1
  for _, lane in ipairs(live) do taken[lanes.called(lane)] = true end
  if given.name == nil then
    while taken[tostring(n)] do n = n + 1 end
    return tostring(n)
  end
  local name = streams.from_table({name = given.name}, "the new stream").name
  if not taken[name] then return name end
  failure.usage("stream %s: there is one already, which can be changed or removed",
    name)
end

-- Add a lane to the direction. Its number may be that of a lane that was removed long
-- ago: that one goes, and is returned too.
local function add_lane(d, stream, given)
  local lane, at
  repeat
    d.slots = d.slots + 1
    lane, at = lanes.new(d.slots, stream, given, d), nil
    for i, other in ipairs(d.lanes) do
      if other.number == lane.number then at = i end
    end
  until not at or d.lanes[at].removed
  local gone = at and table.remove(d.lanes, at)
  d.lanes[#d.lanes + 1], d.joined = lane, true
  return lane, gone
end

--- Send another stream: `given` is a table of its parts (program.generate.streams), or
--- text. `held`: only once it is told to go. Returns its name. Raises a sentence that
--- names the stream if it can't be; all is as it was then.
function M.add(run, given, held)
  if type(given) == "string" then given = streams.read(given, run.options.stack) end
  local live, new = lanes.live(run.directions[1].lanes), copies(run.directions)
  local added = {}
  local name = name_for(given, live)
  local where = "stream " .. name
  if #live == streams.MOST then
    failure.usage("%s: %d streams are possible, and there are as many", where,
      streams.MOST)
  end
  given.name = name
  local list, gone = streams_of(run, given, where), {}
  for i, d in ipairs(new) do
    added[i], gone[i] = add_lane(d, list[i], given)
    if gone[i] then results.keep(d, gone[i]) end
  end
  apply(run, new)
  for _, lane in ipairs(added) do
    if not held then engine.app_table[lane.generator]:go() end
  end
  return name
end

-- Changing and removing ---------------------------------------------------------------

-- What was given of the lane's stream, and the changes; nil: as the options say.
local function merged(lane, changes)
  local given = tables.copy(lane.given)
  for key, value in pairs(changes) do given[key] = value end
  for key, value in pairs(given) do
    if value == cjson.null then given[key] = nil end
  end
  given.name = lane.name
  return given
end

--- Change the stream of that name (nil: all of them): `changes` has its new parts,
--- cjson.null for those that are again as the options say. Counts and packets' numbers
--- go on. Raises a sentence that names the stream if it can't be; all is as it was
--- then.
function M.change(run, name, changes)
  local new, found = copies(run.directions), M.lanes_of(run.directions, name)
  if changes.name ~= nil then
    failure.usage("stream %s: its name stays as it is", name)
  end
  local wanted = {}
  for _, lane in ipairs(found) do wanted[lane] = true end
  for i, d in ipairs(new) do
    for k, lane in ipairs(d.lanes) do
      if wanted[lane] then
        local given = merged(lane, changes)
        local list = streams_of(run, given, "stream " .. lanes.called(lane))
        d.lanes[k] = lanes.changed(lane, list[i], given)
      end
    end
  end
  apply(run, new)
end

--- Send no more of the stream of that name. What was counted stays in the results, and
--- what is under way is counted. Raises a sentence if there is no such stream.
function M.remove(run, name)
  local list = M.lanes_of(run.directions, name)
  for _, lane in ipairs(list) do
    lane.name, lane.removed = lanes.called(lane), true
    engine.app_table[lane.generator]:finish()
  end
end

--- The streams, as `add` takes them, with `held` or `removed` if they are.
function M.list(run)
  local list = {}
  for i, lane in ipairs(run.directions[1].lanes) do
    local s, generator = lane.stream, engine.app_table[lane.generator]
    local r = s.rate
    list[i] = {
      name = lanes.called(lane), set = #s.set > 0 and s.set or nil, size = s.size,
      stack = type(s.stack or "") == "string" and (s.stack or "eth,ip4,udp") or nil,
      payload = s.payload and "hex:" .. s.payload:gsub(".", function (byte)
        return ("%02x"):format(byte:byte())
      end) or nil,
      rate = r and (r.packets and "%.15gpps" or "%.15gbit"):format(r.packets or r.bits)
        or nil,
      arrivals = s.arrivals, count = s.count, flows = s.flows, seed = s.seed,
      latency = s.latency, removed = lane.removed,
      held = generator.held and not lane.removed or nil,
    }
  end
  return list
end

return M
