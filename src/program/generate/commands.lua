-- SPDX-License-Identifier: Apache-2.0
-- What a running generate accepts on its control socket (doc/control.md): to hold
-- and to go on, another rate, other streams, and to say what was sent and received so
-- far.

local arguments = require("lib.control.arguments")
local changes = require("program.generate.changes")
local cjson = require("cjson")
local between = require("lib.control.between")
local control = require("lib.control.server")
local engine = require("core.app")
local finish = require("lib.control.finish")
local live = require("program.generate.live")
local spelling = require("core.lib.spelling")
local rate = require("lib.traffic.rate")

local M = {}

local function generators(run, request)
  local list = {}
  local name = arguments.text(request, "stream")
  for i, lane in ipairs(changes.lanes_of(run.directions, name)) do
    list[i] = engine.app_table[lane.generator]
  end
  return list
end

-- What is changed is what a new configuration says; the generators keep the rest.
local function change_rate(run, request)
  local text = arguments.text(request, "rate")
  if not text then error("rate says which, such as \"500kpps\" or \"1Gbit\"", 0) end
  local wanted, problem = rate.parse(text)
  if not wanted then error(problem, 0) end
  changes.change(run, arguments.text(request, "stream"), {rate = text})
end

local PARTS = {"name", "stack", "set", "size", "payload", "rate", "arrivals", "count",
               "flows", "seed", "latency"}

local function check_set(list, whose)
  if list == cjson.null then return end
  local right = type(list) == "table"
  for key, text in pairs(right and list or {}) do
    right = right and type(key) == "number" and type(text) == "string"
  end
  if right then return end
  error(("stream %s: set is a list of texts such as \"udpDst=53\""):format(whose), 0)
end

-- The table request[key] of a stream's parts; those of the options' kinds are checked
-- with the stream.
local function parts(request, key, whose)
  local given, known = request[key], {}
  if type(given) ~= "table" or #given > 0 then
    error(("%s of %s is an object with a stream's parts: %s"):format(key, whose,
      table.concat(PARTS, ", ")), 0)
  end
  for _, part in ipairs(PARTS) do known[part] = true end
  for part, value in pairs(given) do
    if not known[part] then
      error(("stream %s has no '%s'%s; it has %s"):format(whose, tostring(part),
        spelling.hint(tostring(part), PARTS), table.concat(PARTS, ", ")), 0)
    elseif part == "set" then
      check_set(value, whose)
    elseif part == "name" and type(value) == "number" then
      error(("a stream's name is text, such as \"dns\", not %s"):format(value), 0)
    elseif type(value) == "table" or type(value) == "boolean" then
      error(("stream %s: %s is text or a number"):format(whose, part), 0)
    end
  end
  return given
end

local function named(request)
  local name = arguments.text(request, "stream")
  if name then return name end
  error(("%s says which stream: {\"do\":\"%s\",\"stream\":\"dns\"}"):format(
    request["do"], request["do"]), 0)
end

local function add(run, request)
  local given = request.stream
  if type(given) ~= "string" then
    local name = type(given) == "table" and type(given.name) == "string" and given.name
    given = parts(request, "stream", name or "that is added")
    for part, value in pairs(given) do
      if value == cjson.null then given[part] = nil end
    end
  end
  return {stream = changes.add(run, given, arguments.boolean(request, "held"))}
end

-- A command with these arguments that changes what is sent; answer(request) as long as
-- something is.
local function command(course, arguments_, answer)
  local function check()
    if course.over then
      error("all has been sent; what is still under way is received", 0)
    end
  end
  return {arguments = arguments_, run = function (_, request)
    check()
    return between.breaths(function ()
      check()
      return answer(request)
    end)
  end}
end

--- Let the control socket of this process take what generate can be told about the
--- `run`: {options, directions (program.generate.graph), course
--- (program.generate.course)}.
function M.let_in(run)
  if not run.directions[1].port then return end
  local commands, course = control.commands, run.course
  local follow = live.new(run.directions)
  finish.let_in()
  commands.statistics = {arguments = {}, run = function () return follow:progress() end}
  commands.hold = command(course, {stream = true}, function (request)
    for _, generator in ipairs(generators(run, request)) do generator:hold() end
    return {held = true}
  end)
  commands.go = command(course, {stream = true}, function (request)
    for _, generator in ipairs(generators(run, request)) do generator:go() end
    return {held = false}
  end)
  commands.rate = command(course, {rate = true, stream = true}, function (request)
    change_rate(run, request)
    return {rate = request.rate}
  end)
  commands.streams = {arguments = {}, run = function ()
    local list = changes.list(run)
    return {streams = #list > 0 and list or nil} -- an empty one would be an object
  end}
  commands.add = command(course, {stream = true, held = true}, function (request)
    return add(run, request)
  end)
  commands.change = command(course, {stream = true, to = true}, function (request)
    local name = named(request)
    changes.change(run, name, parts(request, "to", name))
    return {stream = name}
  end)
  commands.remove = command(course, {stream = true}, function (request)
    local name = named(request)
    changes.remove(run, name)
    return {stream = name}
  end)
end

return M
