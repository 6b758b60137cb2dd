-- SPDX-License-Identifier: Apache-2.0
-- device.config: what a script asks of a device, checked, and the device started so.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local failure = require("core.failure")
local kinds = require("lib.port.kinds")
local whole_number = require("moongen.integer")
local native = require("moongen.devices.native")
local ports = require("moongen.devices.ports")
local shown = require("moongen.watch.shown")

local config = {}

local DESCRIPTORS = {rx = 1024, tx = 1024}

local function known_ids()
  local ids = {}
  for id = 0, C.MG_MOST_DEVICES - 1 do
    if native.get(id) ~= nil then ids[#ids + 1] = id end
  end
  return ids
end

--- The device of that number. A usage failure if there is none.
function config.device(id)
  local number = tonumber(id)
  local d = number and number % 1 == 0 and native.get(number) or nil
  if d ~= nil then return d end
  local ids = known_ids()
  if #ids == 0 then
    failure.usage("there is no device %s: no device was given; say what it is with "
      .. "--port %s=PORT, such as --port %s=null (`perigee ports --kinds` lists what "
      .. "a port can be)", tostring(id), number or 0, number or 0)
  end
  failure.usage("there is no device %s; there is %s; say what it is with --port "
    .. "%s=PORT", tostring(id), table.concat(ids, ", "), number or 0)
end

-- The names and order of 2015 and 2016.
local POSITIONS = {"port", "rxQueues", "txQueues", "rxDescs", "txDescs", "speed",
  "dropEnable"}

local function by_position(...)
  local args = {}
  for i, name in ipairs(POSITIONS) do args[name] = (select(i, ...)) end
  if type(args.rxQueues) == "cdata" then -- a pool came second then
    args = {port = args.port}
    for i = 2, #POSITIONS do args[POSITIONS[i]] = (select(i + 1, ...)) end
  end
  return args
end

--- The arguments of device.config as a new table, in either form.
function config.arguments(first, ...)
  if type(first) == "table" and first.port == nil and first.id == nil
      and type((...)) == "table" then
    first = (...) -- called with a colon
  end
  local args = {}
  if type(first) == "table" then
    for key, value in pairs(first) do args[key] = value end
  else
    args = by_position(first, ...)
  end
  if type(args.port) == "table" and args.port.id then args.port = args.port.id end
  if args.port == nil then failure.usage("usage: device.config{port = x, ...}") end
  return args
end

local function whole(args, name, default, least, most)
  return whole_number("device.config: " .. name, args[name] or default, least, most)
end

--- What is asked for, {nrx, ntx, rxd, txd, rss, base}, by `args` (from arguments()). A
--- usage failure if it can't be.
function config.checked(args)
  local most = C.MG_MOST_QUEUES
  local want = {
    nrx = whole(args, "rxQueues", 1, 1, most),
    ntx = whole(args, "txQueues", 1, 1, most),
    rxd = whole(args, "rxDescs", DESCRIPTORS.rx, 1, 65535),
    txd = whole(args, "txDescs", DESCRIPTORS.tx, 1, 65535),
    rss = whole(args, "rssQueues", args.rssNQueues or 0, 0, most),
    base = whole(args, "rssBaseQueue", 0, 0, most - 1),
  }
  if want.rss > 0 and want.base + want.rss > want.nrx then
    failure.usage("device.config: rssQueues %d from queue %d on need %d rxQueues, "
      .. "not %d", want.rss, want.base, want.base + want.rss, want.nrx)
  end
  return want
end

-- How many queues the port has itself for that: as many as it can to send; to receive
-- one, unless the card spreads flows over them.
local function own_queues(d, port, kind, want)
  local most = ffi.new("struct port_limits")
  C.pg_port_limits(d.ports[0], most)
  if not kinds.has_queues(port) then return 1, 1 end
  local sinks = most.tx >= want.ntx and want.ntx or 1
  local endless = kind.name == "null" and most.rx >= want.nrx -- each has packets
  local spreads = want.rss > 1 and most.reta > 0 and most.rx >= want.nrx
  return (endless or spreads) and want.nrx or 1, sinks
end

-- The descriptor that tells that something has come; 0 if the kind has none that does
-- so by itself.
local function wake_fd(d, port, kind)
  local fds = kind.wake_fds and kind.wake_fds(d.ports[0], port)
  return fds and #fds == 1 and not fds.counts and fds[1] or 0
end

--- Start device number `id` as wanted (from checked()).
function config.start(id, want)
  local d = config.device(id)
  local port, kind = ports.of(d.id)
  local sources, sinks = own_queues(d, port, kind, want)
  local rss = sources > 1 and want.rss > 1 and kind.name ~= "null" and want.rss or 0
  local setup = ffi.new("struct port_setup", {mtu = kind.mtu or 0, rx = sources,
    tx = sinks, rxd = want.rxd, txd = want.txd, spread = rss, first = want.base,
    promiscuous = true, offload = true})
  d.ports[0].interrupts = kind.rx_interrupts and 1 or 0
  if C.pg_port_start_as(d.ports[0], setup) < 0 then
    local reason = ffi.string(C.pg_error())
    failure.raise("device %d (%s): %s", d.id, port.text,
      kind.not_started and kind.not_started(port, reason) or reason)
  end
  d.soft.rss_queues = want.rss
  d.soft.rss_base = want.rss > 0 and want.base or 0
  native.set_up(d, want.nrx, want.ntx, sources, sinks)
  if kind.begin then kind.begin(d.ports[0], port) end
  d.wake_fd = wake_fd(d, port, kind)
  shown.device(d)
  return d
end

return config
