-- SPDX-License-Identifier: Apache-2.0
-- The command line of `perigee record`.

local cli = require("lib.cli")
local collector = require("apps.record.collector")
local failure = require("core.failure")
local files = require("core.lib.files")
local filter = require("lib.filter")
local format = require("lib.pcap.format")
local named = require("lib.sandbox.named")
local run_report = require("lib.observe.run_report")
local stat = require("posix.sys.stat")

local M = {}

local MOST_PORTS = 16
local DEFAULT_MEMORY = 64 * 1024 * 1024
-- The most that a byte on the wire takes in the ring: 60 bytes of data, with 24 more on
-- the wire (preamble, frame check, gap), are 92 there.
local RING_PER_WIRE = 92 / 84

local function add_ring(p)
  p:option("--memory", "Keep so many bytes of packets, with 32 more for each (default "
    .. "64MiB)."):argname("BYTES"):convert(cli.bytes)
  p:option("--last", "Keep this time's packets: with --rate, so many bytes of memory.")
    :argname("TIME"):convert(cli.duration)
  p:option("--rate", "The highest rate that --last is for, of all ports together: "
    .. "10Gbit."):argname("RATE"):convert(cli.rate)
  p:option("--snaplen", "Keep at most this many bytes of a packet.")
    :argname("BYTES"):convert(cli.integer(1, format.MAX_CAPTURED))
end

local function add_triggers(p)
  p:option("--when", "Write a file when a packet comes that this expression accepts "
    .. "(pcap-filter(7))."):argname("FILTER")
  p:option("--before", "Of the time before a trigger (default: all that the ring has).")
    :argname("TIME"):convert(cli.duration)
  p:option("--after", "And of the time behind it (default 0).")
    :argname("TIME"):convert(cli.duration):default("0")
  p:option("--folder", "Where files are written (default: here).")
    :argname("FOLDER"):default(".")
  p:option("--name", "What their names begin with (default record).")
    :argname("NAME"):default("record")
  p:option("--files", "Write at most N files."):argname("N")
    :convert(cli.integer(1, 2 ^ 31))
end

local function add_flows(p)
  p:option("--flows", "Write a line of JSON to FILE for each flow that has ended.")
    :argname("FILE"):convert(cli.output_file)
  p:option("--ipfix", "Send each flow that has ended to this collector, as IPFIX over "
    .. "UDP: HOST:PORT (default port 4739)."):argname("HOST:PORT")
    :convert(collector.address)
  p:option("--flow-idle", "A flow has ended when no packet comes for TIME (default "
    .. "15s)."):argname("TIME"):convert(cli.duration)
  p:option("--flow-active", "Report a flow that goes on after TIME (default 60s).")
    :argname("TIME"):convert(cli.duration)
  p:option("--flow-limit", "Know at most N flows at once (default 262144).")
    :argname("N"):convert(cli.integer(1, 2^27))
  p:option("--flow-full", "As one more comes: evict the flow that would end first "
    .. "(default), or refuse the new one."):argname("POLICY")
    :convert(cli.one_of("evict", "refuse"))
end

local function parser()
  local p = cli.parser("record",
    "Keep the last packets that ports receive in memory, and write them to a pcapng "
    .. "file when a packet, SIGUSR1 or the control socket says so. Ctrl-C ends it.")
  p:argument("ports", "Ports, such as packet:veth0; `perigee ports` lists them.")
    :args("1-" .. MOST_PORTS):argname("PORT")
  add_ring(p)
  add_triggers(p)
  add_flows(p)
  cli.duration_option(p)
  run_report.option(p)
  return p
end

-- The bytes of the ring.
local function memory_of(o)
  if (o.last == nil) ~= (o.rate == nil) then
    failure.usage("%s is given without %s: both together say how much memory is needed",
      o.last and "--last" or "--rate", o.last and "--rate" or "--last")
  elseif o.last and o.memory then
    failure.usage("--memory and --last both say how much is kept: give one")
  end
  local bytes = o.last and math.ceil(o.last * o.rate / 8 * RING_PER_WIRE) or o.memory
    or DEFAULT_MEMORY
  if bytes < 1024 * 1024 then
    if o.memory then
      failure.usage("--memory %.0f is too little: give 1MiB or more", bytes)
    end
    bytes = 1024 * 1024
  end
  return bytes
end

-- The Recorder's `flows`, or nil: nobody wants to know of them.
local function flows_of(o)
  for _, name in ipairs{"idle", "active", "limit", "full"} do
    if o["flow_" .. name] and not (o.flows or o.ipfix) then
      failure.usage("--flow-%s is given without --flows and --ipfix: nobody asks for "
        .. "flows", name)
    end
  end
  if not (o.flows or o.ipfix) then return nil end
  return {file = o.flows, ipfix = o.ipfix, idle = o.flow_idle, active = o.flow_active,
    limit = o.flow_limit, full = o.flow_full}
end

local function check_folder(o)
  if o.name:find("/") or o.name == "" then
    failure.usage("--name '%s' is no beginning of a file name; folders go into "
      .. "--folder", o.name)
  end
  local at = o.folder .. "/" .. o.name
  local found = stat.stat(o.folder)
  if not found or stat.S_ISDIR(found.st_mode) == 0 or not files.can_write(at) then
    failure.usage("--folder '%s': files can't be written there; give a folder that is "
      .. "there, and that you may write to", o.folder)
  end
  named.path(o.folder)
end

--- The options that `args` mean. `memory`: bytes of the ring; `metered`: the Recorder's
--- `flows`.
function M.parse(args)
  local o = cli.parse(parser(), args)
  o.metered = flows_of(o)
  o.memory = memory_of(o)
  if o.last and not o.before then o.before = o.last end
  if o.when and not o.when:find("%S") then
    failure.usage("--when '%s': an empty expression accepts every packet", o.when)
  end
  if o.when then filter.new(o.when) end
  check_folder(o)
  local seen = {}
  for _, port in ipairs(o.ports) do
    if seen[port] then failure.usage("the port '%s' is given twice", port) end
    seen[port] = true
  end
  return o
end

return M
