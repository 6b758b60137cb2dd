-- SPDX-License-Identifier: Apache-2.0
-- The command line of generate, and the script that may stand in for parts of it.

local cli = require("lib.cli")
local failure = require("core.failure")
local payload = require("lib.traffic.payload")
local rate = require("lib.traffic.rate")
local ptp4l = require("lib.traffic.ptp4l")
local real_clock = require("lib.traffic.real_clock")
local streams = require("program.generate.streams")

local M = {}

local function parser()
  local p = cli.parser("generate",
    "Send generated packets to a port at a rate, and measure what comes back or"
    .. " arrives at another port: loss, reordering, duplicates and latency. With"
    .. " --receive alone, measure what another `perigee generate` sends.")
  p:option("--port", "Send to this port."):argname("PORT")
  p:option("--receive", "Receive from this port; it may be the same.")
    :argname("PORT")
  p:option("--stack", "The headers, outermost first: "
           .. "[NAME=]PROTOCOL[:SUBTYPE][+FIELD[=VALUE]],..."
           .. " (default eth,ip4,udp)."):argname("STACK")
  p:option("--set", "Set a field: to one value, LOW..HIGH (in turn), a list a,b,c,"
           .. " random or random:LOW..HIGH. May be repeated.")
    :argname("LABEL=VALUE"):count("*")
  p:option("--flows", "Repeat the values after N packets.")
    :argname("N"):convert(cli.integer(1))
  p:option("--size", "Bytes of a packet, without the frame check: 60, 64..1514,"
           .. " 64..1514/50, imix, imix:aaaddg, or 60:7,590:4 (weights).")
    :argname("SIZE")
  p:option("--payload", "The bytes after the headers: text, hex:CAFE01, or file:NAME"
           .. " (default: zeros)."):argname("PAYLOAD"):convert(payload.parse)
  p:option("--rate", "500kpps, 1.5Mpps, or 10Gbit (on the wire); default: as fast as"
           .. " possible."):argname("RATE"):convert(rate.parse)
  p:option("--arrivals", "constant or poisson gaps (default constant).")
    :argname("KIND"):choices{"constant", "poisson"}
  cli.count_option(p, "Send (or with --receive alone, receive) N packets.")
    :convert(streams.count)
  p:option("--stream", "Send a stream of its own: a stack and what differs from the"
           .. " other options, such as \"eth,ip4,udp;rate=1Mpps;size=imix;udpDst=53\"."
           .. " May be given again.")
    :argname("STREAM"):count("*")
  p:flag("--interactive", "Send the streams of --stream, none if there are none, and go"
         .. " on when they have been sent: streams are added, changed and removed over"
         .. " the control socket.")
  p:flag("--both", "Send in both directions, from --port to --receive and back, and"
         .. " measure each.")
  p:option("--resolve", "Find the Ethernet address of this next hop, by ARP or"
           .. " neighbour discovery, and send to that."):argname("ADDRESS")
  cli.duration_option(p)
  p:option("--idle", "Receive until nothing has come for this time (default: 500ms"
           .. " after the last packet was sent)."):argname("TIME"):convert(cli.duration)
  p:option("--clock", "The clock of packets' times: tsc (default), which all processes"
           .. " of a machine share; or real, this machine's time, which one on another"
           .. " machine measures by. real+1.5ms: with an offset that is known.")
    :argname("CLOCK"):convert(real_clock.parse)
  p:option("--clock-error", "This machine's time is wrong by at most TIME (default:"
           .. " what ptp4l, chrony or the kernel says)."):argname("TIME")
    :convert(cli.duration)
  p:option("--ptp", "The management socket of the ptp4l that keeps this machine's time,"
           .. " and its domain: PATH or PATH,domain=N (default: " .. ptp4l.PATH
           .. ", if it is there)."):argname("SOCKET"):convert(ptp4l.parse)
  p:flag("--round-trip", "Packets come back from another machine: report half of the"
         .. " time, too.")
  p:option("--seed", "Seed of random values and gaps (default 1).")
    :argname("N"):convert(cli.integer(0, 2^32))
  p:option("--script", "A Lua file with a function for each packet."):argname("FILE")
  cli.json_option(p)
  p:option("--json-lines", "Write a line of JSON to FILE each second, and the results"
           .. " as the last one; -: to standard output."):argname("FILE")
    :convert(cli.result)
  p:option("--histogram", "Write the latencies to FILE, as a log of HdrHistogram.")
    :argname("FILE"):convert(cli.result)
  p:flag("--strict", "Exit with status 1 if the rate was not kept.")
  return p
end

local SCRIPT = {stack = true, set = true, flows = true, size = true, rate = true,
                payload = true,
                arrivals = true, count = true, seed = true, setup = true, packet = true,
                streams = true}

local function check_script(script, file)
  if type(script) ~= "table" then
    failure.usage("%s must return a table, not a %s", file, type(script))
  end
  for key, value in pairs(script) do
    if not SCRIPT[key] then
      failure.usage("%s: a script has no '%s'; it has stack, set, flows, size, payload,"
        .. " rate, arrivals, count, seed, streams, setup and packet", file,
        tostring(key))
    elseif (key == "streams" or key == "set") and type(value) ~= "table" then
      failure.usage("%s: `%s` must be a list, not a %s", file, key, type(value))
    elseif key == "count" and (type(value) ~= "number" or value < 1 or value % 1 ~= 0)
    then
      failure.usage("%s: `count` must be a whole number of 1 or more, not %s", file,
        tostring(value))
    elseif (key == "setup" or key == "packet") and type(value) ~= "function" then
      failure.usage("%s: `%s` must be a function, not a %s", file, key, type(value))
    end
  end
end

local function convert(script, key, parse, file)
  if type(script[key]) ~= "string" then return end
  local value, wrong = parse(script[key])
  if not value then failure.usage("%s: %s", file, wrong) end
  script[key] = value
end

--- The table that the Lua file returns, checked.
function M.load_script(file)
  local chunk, problem = loadfile(file)
  if not chunk then failure.usage("can't load the script: %s", problem) end
  local script = chunk()
  check_script(script, file)
  convert(script, "rate", rate.parse, file)
  convert(script, "payload", payload.parse, file)
  return script
end

-- The script's fields where the command line says nothing; its --set come last.
local function merge(options, script)
  for key, value in pairs(script) do
    if key == "set" then
      for i, text in ipairs(value) do table.insert(options.set, i, text) end
    elseif options[key] == nil then
      options[key] = value
    end
  end
end

local FOR_SENDING = {"rate", "set", "size", "flows", "arrivals", "seed", "script",
                     "strict", "both", "resolve", "interactive"}

local OUTPUTS = {"json", "json-lines", "histogram"}

local function check(options)
  if not options.port and not options.receive then
    failure.usage("give --port PORT to send, --receive PORT to measure, or both; see"
      .. " `perigee generate --help`")
  end
  if options.histogram and not options.receive then
    failure.usage("--histogram is of what comes back: give --receive PORT too")
  end
  local printed = {}
  for _, name in ipairs(OUTPUTS) do
    if options[name:gsub("-", "_")] == "-" then printed[#printed + 1] = "--" .. name end
  end
  if #printed > 1 then
    failure.usage("%s can't all go to standard output", table.concat(printed, " and "))
  end
  if options.round_trip and not (options.port and options.receive) then
    failure.usage("--round-trip needs --port and --receive: packets come back")
  elseif options.round_trip and options.clock then
    failure.usage("--round-trip is by one clock, this machine's counter: leave out"
      .. " --clock")
  end
  local of_clock = options.clock_error and "--clock-error" or options.ptp and "--ptp"
  if of_clock and options.port and not options.clock then
    failure.usage("%s is of --clock real: give both", of_clock)
  elseif options.clock_error and options.ptp then
    failure.usage("--clock-error says what --ptp asks for: leave one out")
  end
  local given = {}
  for _, name in ipairs(FOR_SENDING) do
    if options[name] and (name ~= "set" or #options.set > 0) then
      given[#given + 1] = "--" .. name
    end
  end
  if options.both and not (options.port and options.receive) then
    failure.usage("--both needs --port and --receive: the two ports")
  elseif options.both and options.resolve then
    failure.usage("--resolve finds the next hop of one direction, so it doesn't go with"
      .. " --both; set ethDst")
  elseif not options.port and #given > 0 then
    failure.usage("%s %s for sending: give --port PORT too",
      table.concat(given, " and "), #given > 1 and "are" or "is")
  end
end

--- The parsed command line (an array of strings): a table as argparse makes it, with
--- the script's fields.
function M.parse(args)
  local options = cli.parse(parser(), args)
  check(options)
  if options.script then merge(options, M.load_script(options.script)) end
  streams.list(options) -- raises what is wrong with them
  return options
end

return M
