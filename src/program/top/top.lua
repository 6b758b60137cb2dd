-- SPDX-License-Identifier: Apache-2.0
-- `perigee top`: what other processes of Perigee and Snabb do, as it happens.

local C = require("core.native")
local cjson = require("cjson")
local cli = require("lib.cli")
local failure = require("core.failure")
local instances = require("lib.observe.instances")
local sample = require("lib.observe.sample")
local screen = require("program.top.screen")
local terminal = require("program.top.terminal")
local view = require("program.top.view")

local M = {summary = "show live what other processes of Perigee and Snabb are doing"}

--- Why --sandbox is refused.
M.no_sandbox = "it handles no packets"

local function parser()
  local p = cli.parser("top", "Show what a running process of Perigee or Snabb is "
    .. "doing: rates of links and apps, drops by name, load, cycles and LuaJIT's "
    .. "health, read from shared memory. If several run, list them to choose from.")
  p:argument("instance", "Process id, name or program; `perigee ps` lists them.")
    :args("?")
  p:option("-i --interval", "Time between updates: seconds, or 500ms (default 1).")
    :argname("TIME"):convert(cli.duration)
  p:option("-f --filter", "Only rows that have this in their name, in either case.")
    :argname("TEXT")
  p:option("-s --sort", "Order of rows: rate, name or drops (default rate).")
    :argname("ORDER"):choices(view.orders):default("rate")
  p:flag("-1 --once", "Print once, after one interval, and end; always so if the "
    .. "output isn't a terminal.")
  p:flag("--json", "With --once: print JSON.")
  return p
end

-- The instances that are wanted: those the argument means, or all.
local function chosen(options)
  local list = instances.list()
  if options.instance then return {instances.find(list, options.instance)} end
  if #list == 0 then
    failure.raise("no instance of Perigee or Snabb is running")
  end
  return list
end

-- Samples of all instances, by process id.
local function take(list)
  local samples = {}
  for _, instance in ipairs(list) do samples[instance.pid] = sample.take(instance) end
  return samples
end

--- A list of {instance, figures} for those of `list` that both samples have.
function M.figures(list, before, now)
  local result = {}
  for _, instance in ipairs(list) do
    local first, last = before[instance.pid], now[instance.pid]
    if first and last then
      result[#result + 1] = {instance, sample.difference(first, last)}
    end
  end
  return result
end

local function json(figures)
  local texts = {}
  for i, pair in ipairs(figures) do
    local instance, f = pair[1], pair[2]
    local object = {pid = instance.pid, name = instance.name,
                    program = instance.program}
    for key, value in pairs(f) do
      if type(value) ~= "table" or next(value) then object[key] = value end
    end
    texts[i] = cjson.encode(object)
  end
  return "[" .. table.concat(texts, ",") .. "]\n"
end

local function once(options, list)
  local before = take(list)
  C.pg_sleep(options.interval)
  local figures = M.figures(list, before, take(list))
  if #figures == 0 then failure.raise("the process has ended meanwhile") end
  if options.json then return io.write(json(figures)) end
  local instance, f = unpack(figures[1])
  local shown = {filter = options.filter}
  local lines = #figures == 1 and view.lines(instance, f, options.sort, shown)
    or view.list(figures, options.sort, shown)
  for _, line in ipairs(lines) do print((line:gsub("%s+$", ""))) end
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local options = cli.parse(parser(), args)
  options.interval = math.max(options.interval or 1, 0.01)
  local list = chosen(options)
  if options.once or options.json or not terminal.is_one() then
    return once(options, list)
  end
  screen.run(options, function () return chosen(options) end)
end

return M
