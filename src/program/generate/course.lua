-- SPDX-License-Identifier: Apache-2.0
-- The course of a run of generate: waiting for the ports, sending, and receiving what
-- is still under way.

local C = require("core.native")
local ffi = require("ffi")
local engine = require("core.app")
local link = require("core.link")
local patience = require("core.lib.patience")
local progress = require("lib.progress")
local quiet = require("lib.quiet")

local M = {}

local Course = {}
Course.__index = Course

local LINK_UP_S = 5   -- a peer may take so long to be there
local SETTLE_S = 0.01 -- between two looks at a link's state
local IDLE_S = 0.5    -- without a packet: no more will come
local STUCK_S = 3     -- without a packet taken by the port: it takes no more
local LIVE_S = 1      -- between lines of progress
local LOOK_S = 0.02   -- between looks whether no more comes, where the engine sleeps

local port_link = ffi.new("struct port_link")

local function link_is_down(app)
  return app ~= nil and C.pg_port_link(app.port, port_link) >= 0 and port_link.up == 0
end

local function wait_for_links(apps)
  local ends = C.pg_now() + LINK_UP_S
  while (link_is_down(apps.to) or link_is_down(apps.from)) and C.pg_now() < ends
    and C.pg_signal() == 0 do
    engine.breathe()
    C.pg_sleep(SETTLE_S)
  end
end

-- pcall(f, ...) that the first signal doesn't end: f looks for it.
local function catching_signals(f, ...)
  C.pg_catch_signals()
  local ok, err = pcall(f, ...)
  C.pg_release_signals()
  return ok, err
end

--- Wait until both ports are up: a sender's first packets would be lost, or late. A
--- signal ends that; engine.main() sees that it came.
function M.wait_for_links(apps)
  local ok, err = catching_signals(wait_for_links, apps)
  if not ok then error(err, 0) end
end

-- The apps of the directions: lists of Generators and Meters (either may be empty), of
-- the links into sending ports, of Sorters, and of receiving ports.
local function parts_of(directions)
  local apps = engine.app_table
  local parts = {generators = {}, meters = {}, sinks = {}, sorters = {}, sources = {}}
  local function add(list, item) list[#list + 1] = item end
  for _, d in ipairs(directions) do
    for _, lane in ipairs(d.lanes) do
      add(parts.generators, apps[lane.generator])
      add(parts.meters, apps[lane.meter])
      if d.port and d.receive then apps[lane.meter].sender = apps[lane.generator] end
      if d.port then add(parts.sinks, apps[lane.generator].sink) end
    end
    if d.join then add(parts.sinks, apps[d.join].output.output) end
    add(parts.sorters, d.sorter and apps[d.sorter] or nil)
    add(parts.sources, d.receive and apps[d.from] or nil)
  end
  parts.files = #parts.sources > 0
  for _, port in ipairs(parts.sources) do parts.files = parts.files and port:ends() end
  return parts
end

-- What follows is asked in every breath: it makes no closures, which LuaJIT doesn't
-- compile.

local function all_done(generators)
  for i = 1, #generators do
    if not generators[i]:done() then return false end
  end
  return true
end

local function received(parts)
  local total, meters, sorters = 0, parts.meters, parts.sorters
  for i = 1, #meters do total = total + meters[i].tally.packets end
  for i = 1, #sorters do total = total + sorters[i].packets end
  return total
end

-- The same without duplicates: how many of those that were sent have come.
local function arrived(parts)
  local total, meters = received(parts), parts.meters
  for i = 1, #meters do total = total - meters[i].sequence.duplicates end
  return total
end

-- Have the files been read that are received from, wholly, and looked at?
local function files_ended(parts)
  if not parts.files then return false end
  local sources, meters = parts.sources, parts.meters
  for i = 1, #sources do
    if not (sources[i]:ended() and link.empty(sources[i].output.output)) then
      return false
    end
  end
  for i = 1, #meters do
    if not link.empty(meters[i].source) then return false end
  end
  return true
end

-- Whether sending is over, or receiving, where nothing is sent.
local function ending(parts, options)
  local ends = options.duration and C.pg_now() + options.duration or math.huge
  if options.port then
    local stays = options.interactive
    return function ()
      return not stays and all_done(parts.generators) or engine.now() >= ends, ends
    end
  end
  local count, wait = options.count or math.huge, nil
  return function ()
    local came, now = received(parts), engine.now()
    if came > 0 and options.idle then
      wait = wait or quiet.since_last(options.idle, nil, patience.MOST_OF_A_LOOK)
    end
    return came >= count or now >= ends or files_ended(parts)
      or wait ~= nil and wait:over(came), math.min(ends, wait and now + LOOK_S or ends)
  end
end

local function sum(list, value)
  local total = 0
  for _, item in ipairs(list) do total = total + value(item) end
  return total
end

local function waiting(sinks) return sum(sinks, link.nreadable) end

-- Let the ports take what is left in the links, unless they take no more.
local function flush(sinks, asked)
  local stuck, left = quiet.since_last(STUCK_S), waiting(sinks)
  while left > 0 and not stuck:over(left) and C.pg_signal() == asked do
    engine.breathe()
    left = waiting(sinks)
  end
end

-- Receive what is still under way. The first signal, if it comes now, ends that.
local function drain(parts, options)
  local asked = C.pg_signal()
  for _, generator in ipairs(parts.generators) do generator:hold() end
  flush(parts.sinks, asked)
  if #parts.meters == 0 then return engine.breathe() end
  local wait = quiet.since_last(options.idle or IDLE_S)
  local sent = sum(parts.generators, function (g) return g.state.sent end)
  while arrived(parts) < sent and not files_ended(parts) and C.pg_signal() == asked
    and not wait:over(received(parts)) do
    engine.breathe()
  end
  engine.breathe() -- duplicates that came with the last
end

-- Sums of what progress() of each app returns.
local function totals(list)
  local packets, bits, lost = 0, 0, 0
  for _, app in ipairs(list) do
    local p, b, l = app:progress()
    packets, bits, lost = packets + p, bits + b, lost + (l or 0)
  end
  return packets, bits, lost
end

-- The same of what was sent (or received) in all directions; `kind` says which. It is
-- the apps', and that of lanes that are no more.
local function counted(directions, list, kind)
  local packets, bits, lost = totals(list)
  for _, d in ipairs(directions) do
    local gone = d.gone[kind]
    if gone then
      packets, bits, lost = packets + gone.packets, bits + gone.bits, lost + gone.lost
    end
  end
  return packets, bits, lost
end

local function sample(directions, parts)
  local sends = directions[1].port ~= nil
  return function ()
    local now = {}
    now.packets, now.bits = counted(directions, sends and parts.generators
      or parts.meters, sends and "sent" or "received")
    if directions[1].receive then
      local packets, _, lost = counted(directions, parts.meters, "received")
      now.received, now.lost = sends and packets or nil, lost
      if not sends then now.note = ("lost %.0f"):format(lost) end
    end
    return now
  end
end

-- The packets after which it ends; nil: it doesn't end so.
local function limit(directions, options)
  if not options.port then return options.count end
  if options.interactive then return nil end
  local total = 0
  for _, d in ipairs(directions) do
    for _, lane in ipairs(d.lanes) do
      if not lane.stream.count then return nil end
      total = total + lane.stream.count
    end
  end
  return total
end

--- A run of the directions, whose apps are configured. `over`: nothing more is sent.
function M.new(directions)
  return setmetatable({directions = directions, parts = parts_of(directions),
    over = false}, Course)
end

--- The graph has been configured again, for the same directions: its apps may be new.
function Course:reconfigured()
  for key, value in pairs(parts_of(self.directions)) do self.parts[key] = value end
end

--- Send and receive until it is over, with a line of progress on `stream` each second.
--- True, or false and the error that ended it; and the seconds of CPU time it took.
function Course:run(options, stream)
  local directions, parts = self.directions, self.parts
  M.wait_for_links(engine.app_table)
  local line = progress.start{
    label = "generate", limit = limit(directions, options), duration = options.duration,
    sample = sample(directions, parts), stream = stream, interval_s = LIVE_S,
  }
  for _, generator in ipairs(parts.generators) do generator:go() end
  local before = C.pg_cpu_seconds()
  local ok, err = pcall(engine.main, {done = ending(parts, options), no_report = true})
  local cpu = C.pg_cpu_seconds() - before
  self.over = true
  if ok and options.port then
    ok, err = catching_signals(drain, parts, options)
  end
  line:finish("quiet")
  return ok, err, cpu
end

return M
