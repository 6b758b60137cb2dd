-- SPDX-License-Identifier: Apache-2.0
-- `perigee model`: measures what ports, work and memory cost on this machine, fits
-- F_CPU = T * (C_IO + C_task + C_busy), and predicts throughput with it.

local cli = require("lib.cli")
local failure = require("core.failure")
local plot_file = require("lib.picture.plot_file")

local M = {summary = "measure what ports and memory cost, and predict throughput"}

--- Why --sandbox is refused.
M.no_sandbox = "it handles no packets"

local DIRECTORY = "perigee-model"

-- A rate such as 10G: bit/s.
local function line_rate(text) return cli.rate(text) end

local function size_of(text)
  return cli.integer(64, 10244)(text)
end

-- A finite number of at least `least`, or above 0 without.
local function finite(least)
  local parse = least and cli.number(least) or cli.positive_number
  return function (text)
    local n, problem = parse(text)
    if n == math.huge then return nil, ("'%s' isn't a number"):format(text) end
    return n, problem
  end
end

local function parse_all(args)
  local p = cli.parser("model", "Measure what every kind of port costs on this machine "
    .. "(C_IO), by burst and frame size, and memory by working set. Fit F_CPU = T * "
    .. "(C_IO + C_task + C_busy), and write tables, charts and a report. This takes up "
    .. "to 3 minutes. See also `perigee model predict --help` and `perigee model check "
    .. "--help`.")
  p:usage("Usage: perigee model [OPTIONS] [PCI]...\n"
    .. "       perigee model predict --task CYCLES [OPTIONS]\n"
    .. "       perigee model check [OPTIONS] PROGRAM [ARGS]...")
  p:option("--ports", "Measure only these kinds of port (null,ring,...).")
    :argname("KINDS")
  p:option("--out", "Write to this folder."):argname("DIR"):default(DIRECTORY)
  p:flag("--quick", "Fewer bursts, sizes and rounds: 20 seconds.")
  p:flag("--no-memory", "Don't measure memory.")
  p:option("--vs", "Also run DPDK's testpmd on the same ports."):argname("testpmd")
    :choices{"testpmd"}
  p:argument("pci", "PCI devices to measure; packets must come in there. "
    .. "ONE=OTHER: two with a cable between them"):args("*")
  return cli.parse(p, args)
end

local function parse_predict(args)
  local p = cli.parser("model predict", "Predict throughput: F_CPU = T * (C_IO + "
    .. "C_task), or what the line carries, and which of the two is the limit. Cycles "
    .. "are the core's.")
  p:option("--task", "C_task, cycles a packet."):argname("CYCLES"):count("1")
    :convert(finite(0))
  p:option("--ghz", "The core's frequency (default: as measured)."):argname("GHZ")
    :convert(finite())
  p:option("--line", "The line's rate in bit/s, such as 10G (default: none)")
    :argname("RATE"):convert(line_rate)
  p:option("--size", "Bytes of a frame with its CRC."):argname("BYTES")
    :convert(size_of):default("64")
  p:option("--burst", "Packets in a burst."):argname("N")
    :convert(cli.integer(1, 256)):default("32")
  p:option("--port", "The kind of port measured."):argname("KIND")
    :default("null")
  p:flag("--json", "Print JSON.")
  p:option("--io", "C_IO, cycles a packet, instead of what was measured.")
    :argname("CYCLES"):convert(finite(0))
  p:option("--model", "What `perigee model` wrote.")
    :argname("FILE"):default(DIRECTORY .. "/model.json")
  plot_file.option(p, "the rate by C_task")
  return cli.parse(p, args)
end

local VALUED = {["-D"] = true, ["--duration"] = true, ["--rounds"] = true,
                ["--size"] = true, ["--limit"] = true, ["--model"] = true,
                ["--json"] = true}

local function parse_check(args)
  local own, rest = cli.split(args, VALUED)
  local p = cli.parser("model check", "Run PROGRAM for some seconds, measure what a "
    .. "packet takes, predict its throughput at other frequencies and line rates, and "
    .. "test the prediction by putting known work behind each port. The exit status "
    .. "is 0 if the median error is within the limit, and 1 if it isn't. If `perigee "
    .. "model` has been run, also predict from its table of ports, and from the tasks "
    .. "measured apart from the ports.")
  p:usage("Usage: perigee model check [OPTIONS] PROGRAM [ARGS]...")
  cli.duration_option(p, "Length of each run."):default("1")
  p:option("--rounds", "Runs of each kind; the median counts."):argname("N")
    :convert(cli.integer(1, 100)):default("3")
  p:option("--size", "Bytes of a frame with its CRC, for line rates.")
    :argname("BYTES"):convert(size_of):default("64")
  p:option("--limit", "Largest median error, in percent."):argname("PERCENT")
    :convert(cli.positive_number):default("10")
  p:option("--model", "What `perigee model` wrote.")
    :argname("FILE"):default(DIRECTORY .. "/model.json")
  cli.json_option(p)
  p:argument("program", "the program and its arguments"):args("?")
  local options = cli.parse(p, own)
  options.program, options.args = table.remove(rest, 1), rest
  if not options.program then
    failure.usage("model check needs a program: perigee model check PROGRAM ARGS")
  end
  return options
end

local commands = {}

function commands.predict(args)
  require("program.model.predict").run(parse_predict(args))
end

function commands.check(args)
  local options = parse_check(args)
  local off = require("program.model.check").run(options)
  if 100 * off > options.limit then
    failure.raise("the prediction is off by more than %g %%", options.limit)
  end
end

-- What follows is for the processes that the commands above start.

function commands.measure(args)
  local kind = require("program.model.laboratory.kinds").find(args[1] or "")
  if not kind or not args[2] then failure.usage("model measure KIND FOLDER [quick]") end
  require("program.model.laboratory.measure").run(kind, args[2],
    {quick = args[3] == "quick"})
end

function commands.memory(args)
  require("program.model.laboratory.memory").run{quick = args[1] == "quick"}
end

function commands.watch(args)
  local cycles, seconds = tonumber(args[1]), tonumber(args[2])
  if not cycles or not seconds or not args[3] then
    failure.usage("model watch CYCLES SECONDS PROGRAM [ARGS]...")
  end
  require("program.model.watch").run(cycles, seconds, args[3], {unpack(args, 4)})
end

function commands.record(args)
  if not args[2] then failure.usage("model record FOLDER PROGRAM [ARGS]...") end
  require("program.model.task_replay").record(args[1], args[2], {unpack(args, 3)})
end

function commands.tasks(args)
  local seconds = tonumber(args[2])
  if not seconds or not args[3] then
    failure.usage("model tasks FOLDER SECONDS PROGRAM [ARGS]...")
  end
  require("program.model.task_replay").tasks(args[1], seconds, args[3],
    {unpack(args, 4)})
end

--- Run with the command line's arguments (a list of strings).
function M.run(args)
  local command = commands[args[1]]
  if command then return command({unpack(args, 2)}) end
  require("program.model.laboratory.all").run(parse_all(args))
end

return M
