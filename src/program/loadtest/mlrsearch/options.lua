-- SPDX-License-Identifier: Apache-2.0
-- The command line of `perigee loadtest mlrsearch`.

local cli = require("lib.cli")
local failure = require("core.failure")
local loadtest = require("program.loadtest.options")
local plot_file = require("lib.picture.plot_file")
local streams = require("program.loadtest.streams")

local M = {}

local NAMES = {[0] = "NDR", [0.005] = "PDR"} -- as FD.io CSIT calls them

-- "0,0.5%": the goals' loss ratios.
local function loss_ratios(text)
  local list = {}
  for word in (text .. ","):gmatch("([^,]*),") do
    local ratio, problem = loadtest.percent(word)
    if not ratio then return nil, problem end
    if ratio >= 1 then
      return nil, ("'%s' lets everything be lost: any rate would do"):format(word)
    end
    list[#list + 1] = ratio
  end
  return list
end

local function parser()
  local p = cli.parser("loadtest mlrsearch", "Find the highest rates at which no more "
    .. "than given shares of the packets are lost, by Multiple Loss Ratio search "
    .. "(draft-ietf-bmwg-mlrsearch). Rates are in bits a second on the wire.")
  loadtest.usage(p, "mlrsearch")
  p:argument("streams", "As for find-limit."):args("*")
  p:option("-b --bitrate", "The highest rate (default 10e9)."):argname("RATE")
    :convert(cli.rate)
  p:option("--min", "The lowest rate (default: a millionth of the highest)."):argname(
    "RATE"):convert(cli.rate)
  p:option("--loss", "The goals' loss ratios in percent (default 0,0.5%: NDR and PDR).")
    :argname("LIST"):convert(loss_ratios)
  p:option("-D --duration", "Length of a full trial (default 1)."):argname("TIME")
    :convert(cli.duration)
  p:option("--duration-sum", "Of the trials that decide on a rate (default 21, or 21 "
    .. "trials)."):argname("TIME"):convert(cli.duration)
  p:option("--exceed", "Percentage of that time in which more may be lost (default "
    .. "50).")
    :argname("PERCENT"):convert(loadtest.percent)
  p:option("--width", "How near the bounds are in the end, in percent (default 0.5).")
    :argname("PERCENT"):convert(loadtest.percent)
  loadtest.of_search(p)
  loadtest.cpu(p)
  cli.json_option(p)
  plot_file.option(p, "what was lost by rate")
  return p
end

local function check(options)
  loadtest.takes_time("duration", options.duration)
  loadtest.takes_time("duration-sum", options.duration_sum)
  if options.exceed >= 1 then
    failure.usage("--exceed 100: it must be less, or any rate would do")
  elseif options.width == 0 then
    failure.usage("--width 0: the bounds would never be so near")
  elseif options.min <= 0 or options.min >= options.max then
    failure.usage("--min %g: it must be above 0 and below the highest rate, %g",
      options.min, options.max)
  end
end

--- The options in `args`, with their defaults; `list` are the streams, `goals` those of
--- program.loadtest.mlrsearch.classify, with a `name`.
function M.parse(args)
  local o = cli.parse(parser(), args)
  o.list = streams.parse(o.streams, o.sizes == nil)
  o.max, o.duration = o.bitrate or 10e9, o.duration or 1
  o.min, o.wait, o.warm_up = o.min or o.max / 1e6, o.wait or 0.2, o.warm_up or 1
  o.duration_sum, o.exceed = o.duration_sum or 21 * o.duration, o.exceed or 0.5
  o.width = o.width or 0.005
  check(o)
  o.goals, o.worst = {}, 0
  for i, ratio in ipairs(o.loss or {0, 0.005}) do
    o.worst = math.max(o.worst, ratio)
    o.goals[i] = {name = NAMES[ratio] or ("loss %g %%"):format(100 * ratio),
                  loss_ratio = ratio, duration = o.duration, width = o.width,
                  duration_sum = o.duration_sum, exceed_ratio = o.exceed}
  end
  return o
end

return M
