-- SPDX-License-Identifier: Apache-2.0
-- `perigee spread`: what each of 2 to 64 CPUs would have to do of a capture, or of
-- flows that are made, with flows that stay on their CPUs and with --balance.

local cli = require("lib.cli")
local failure = require("core.failure")
local files = require("program.spread.plot")
local simulation = require("program.spread.simulation")
local traffic = require("program.spread.traffic")

local M = {summary = "simulate how flows spread over CPUs, and --balance"}

local MOST_CPUS = 128 -- a bucket each

local function cpus_of(text)
  local list = {}
  for word in (text .. ","):gmatch("(.-),") do
    local n = tonumber(word)
    if not n or n % 1 ~= 0 or n < 2 or n > MOST_CPUS then
      return nil, ("'%s' isn't a number of CPUs from 2 to %d"):format(word, MOST_CPUS)
    end
    list[#list + 1] = n
  end
  return list
end

local function parse(args)
  local p = cli.parser("spread", "Show what each of N CPUs would have to do with "
    .. "packets that are handed out by their flows, as --cpus does it: with flows that "
    .. "stay where they are, and with --balance.")
  p:argument("file", "A capture (pcap or pcapng); without it flows are made."):args("?")
  p:option("--on", "Numbers of CPUs, with commas between."):argname("N,N")
    :convert(cpus_of):default("2,4,8,16,32,64")
  p:option("--every", "Packets from one look at the loads to the next.")
    :argname("PACKETS"):convert(cli.integer(512, 1e9)):default("20000")
  p:option("--zipf", "Flows that are made: the exponent of their frequencies.")
    :argname("S"):convert(cli.number(0, 10)):default("1.1")
  p:option("--flows", "How many."):argname("N"):convert(cli.integer(1, 1e6))
    :default("10000")
  p:option("--elephant", "One more flow's share of all packets.")
    :argname("SHARE"):convert(cli.number(0, 0.99)):default("0")
  p:option("--packets", "How many packets (of a capture: at most).")
    :argname("N"):convert(cli.integer(512, 1e9)):default("1000000")
  p:option("--seed", "Another seed makes other flows."):argname("N")
    :convert(cli.integer(0, 2 ^ 31 - 1)):default("1")
  p:option("--plot", "Draw the busiest CPU's load over time: an SVG.")
    :argname("FILE"):convert(cli.result_file)
  p:flag("--json", "Print JSON.")
  return cli.parse(p, args)
end

local HEAD = "%4s  %5s  %23s  %31s  %s"

local function print_table(counted, results)
  print(("%d packets, %d flows; of others: %d"):format(counted.packets, counted.flows,
    counted.others))
  print(HEAD:format("CPUs", "bound", "flows stay: busiest",
    "--balance: busiest   moved", "flows of a CPU"))
  print(HEAD:format("", "", "all       at worst", "all   at worst   buckets flows",
    "least  most"))
  for _, r in ipairs(results) do
    local b = r.balance
    print(("%4d  %5.2f  %10.2f   %10.2f  %9.2f %10.2f %9d %6d  %5d %5d"):format(r.cpus,
      r.bound, r.stay.all, r.stay.worst, b.all, b.worst, b.buckets, b.flows,
      b.least_flows, b.most_flows))
  end
  print(("busiest: its packets by the mean of all CPUs; at worst: in one of %d "
    .. "periods, but the first"):format(counted.periods))
  print("bound: what the largest bucket leaves possible")
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local o = parse(args)
  local periods, counted
  if o.file then
    periods, counted = traffic.of_capture(o.file, o.every, o.packets)
  else
    periods, counted = traffic.made(o)
  end
  if #periods == 0 then
    failure.raise("there are fewer than %d packets: choose a smaller --every", o.every)
  end
  local results = {}
  for i, n in ipairs(o.on) do results[i] = simulation.run(periods, n) end
  if o.plot then files.write(o.plot, results, o.every) end
  if o.json then
    local cjson = require("cjson")
    print(cjson.encode{traffic = counted, results = results})
  else
    print_table(counted, results)
  end
end

return M
