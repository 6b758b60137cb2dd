-- SPDX-License-Identifier: Apache-2.0
-- `perigee lwaftr query`: the counters of a running lwAFTR, and whether it is ready.

local C = require("core.native")
local cjson = require("cjson")
local cli = require("lib.cli")
local config = require("core.config")
local failure = require("core.failure")
local lib = require("core.lib")
local readiness = require("program.lwaftr.readiness")
local running = require("program.lwaftr.running")
local state = require("program.lwaftr.leader.state")
local totals = require("apps.lwaftr.totals")

local M = {}

local INTERVAL = 0.05 -- seconds between looks

local function parse(args)
  local p = cli.parser("lwaftr query", "Print the counters of a running lwAFTR that "
    .. "aren't 0; or, with --ready, say by the exit status (0 or 1) whether it is "
    .. "ready for packets.")
  p:argument("instance", "its process id or name (needed if there are several)")
    :args("?")
  p:argument("counter", "only counters whose names have this in them"):args("?")
  p:option("-n --name", "its name; then the first argument is COUNTER")
  p:flag("-l --list-all", "print the names of all counters")
  p:flag("--queues", "print its queues, DEVICE/NUMBER")
  p:flag("--ready", "is it ready for packets?")
  p:option("--wait", "with --ready: wait so long until it is"):convert(cli.duration)
  p:flag("--json", "print JSON")
  return cli.parse(p, args)
end

-- Counters are few: `query in-ipv4` means one of them if there is one lwAFTR.
local function complete(options)
  if options.name then
    options.instance, options.counter = options.name, options.instance
  end
  return options
end

local function counters(instance, list)
  local sums = totals.add({}, instance.directory)
  for _, other in ipairs(list) do
    if other.leader == instance.pid then totals.add(sums, other.directory) end
  end
  return sums
end

local function chosen(sums, part)
  local names = {}
  for _, name in ipairs(config.sorted_keys(sums)) do
    if sums[name] ~= 0 and (not part or name:find(part, 1, true)) then
      names[#names + 1] = name
    end
  end
  return names
end

local function print_counters(sums, part, json)
  local names, width = chosen(sums, part), 0
  if json then
    local parts = {}
    for i, name in ipairs(names) do
      parts[i] = ('"%s":%.0f'):format(name, sums[name])
    end
    return print("{" .. table.concat(parts, ",") .. "}")
  end
  for _, name in ipairs(names) do width = math.max(width, #name) end
  print("lwAFTR operational counters (non-zero)")
  for _, name in ipairs(names) do
    print(("%s:%s %s"):format(name, (" "):rep(width - #name),
      lib.comma_value(("%.0f"):format(sums[name]))))
  end
end

-- What an lwAFTR says of itself, a list of lines; nil if it says nothing.
local function lines_of(instance)
  local file = io.open(instance.directory .. "/" .. readiness.NAME)
  if not file then return nil end
  local lines = {}
  for line in file:lines() do lines[#lines + 1] = line end
  file:close()
  return lines
end

local SILENT = "this process says nothing of its state"

local function said(text)
  local ok, instance = pcall(running.find, text)
  if not ok then return tostring(instance) end
  local lines = lines_of(instance)
  return lines and lines[1] or SILENT
end

local function print_queues(text)
  local lines = lines_of((running.find(text))) or failure.raise("%s", SILENT)
  for i = 2, #lines do print(lines[i]) end
end

local function ready(options)
  local ends = C.pg_monotonic() + (options.wait or 0)
  local now = said(options.instance)
  while now ~= readiness.READY and C.pg_monotonic() < ends do
    C.pg_sleep(INTERVAL)
    now = said(options.instance)
  end
  if options.json then
    print(cjson.encode{ready = now == readiness.READY, state = now})
  end
  if now ~= readiness.READY then failure.raise("not ready: %s", now) end
  if not options.json then print(now) end
end

--- Run the command.
function M.run(args)
  local options = complete(parse(args))
  if options.list_all then
    for _, name in ipairs(state.counters) do print(name) end
  elseif options.ready then
    ready(options)
  elseif options.queues then
    print_queues(options.instance)
  else
    local instance, list = running.find(options.instance)
    print_counters(counters(instance, list), options.counter, options.json)
  end
end

return M
