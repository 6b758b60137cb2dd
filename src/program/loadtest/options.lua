-- SPDX-License-Identifier: Apache-2.0
-- Options that several of the load tests have, and what follows from them as one
-- begins.

local cli = require("lib.cli")
local failure = require("core.failure")
local numa = require("lib.numa")
local streams = require("program.loadtest.streams")

local options = {}

--- Converter: 0.5 or 0.5%, as a share (0.005).
function options.percent(text)
  local value, problem = cli.number(0, 100)(text:gsub("%%$", ""))
  return value and value / 100, problem
end

--- The usage of `perigee loadtest NAME`, whose streams are files or frames of sizes.
function options.usage(p, name)
  local lines = {}
  for i, streams_of in ipairs{"FILE PORT", "(FILE TX-NAME RX-NAME PORT)...",
                              "--sizes SIZES PORT",
                              "--sizes SIZES (TX-NAME RX-NAME PORT)..."} do
    lines[i] = ("%s perigee loadtest %s [OPTIONS] %s"):format(
      i == 1 and "Usage:" or "      ", name, streams_of)
  end
  p:usage(table.concat(lines, "\n"))
end

--- What a search has: how its trials are made.
function options.of_search(p)
  p:option("--wait", "Wait for packets on their way after a trial (default 200ms).")
    :argname("TIME"):convert(cli.duration)
  p:option("--warm-up", "Send for this time before the first trial (default 1).")
    :argname("TIME"):convert(cli.duration)
  p:option("--sizes", "Send UDP frames of each of these sizes in bytes, without the "
    .. "frame check, instead of files: 60,1514, or rfc2544."):argname("SIZES")
    :convert(streams.sizes)
  p:option("--burst", "Packets that may be sent at once after this machine was late, "
    .. "or those of 1 ms if they are more (default 128): the device holds so many.")
    :argname("N")
    :convert(cli.integer(0, 100000))
end

--- The CPU to run on.
function options.cpu(p)
  p:option("--cpu", "Run on this CPU."):argname("CPU"):convert(cli.integer(0, 4095))
end

--- The option `name` of a trial's length, in seconds, may not be 0.
function options.takes_time(name, seconds)
  if seconds == 0 then failure.usage("--%s 0: a trial takes some time", name) end
end

--- Go to the CPU that the options say. Returns a function that prints a text, line by
--- line.
function options.begin(o)
  if o.cpu then numa.bind_to_cpu(o.cpu) end
  local out = cli.text_stream(o.json)
  out:setvbuf("line")
  return function (text) out:write(text) end
end

return options
