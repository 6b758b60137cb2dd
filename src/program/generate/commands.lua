-- SPDX-License-Identifier: Apache-2.0
-- What a running generate accepts on its control socket (doc/control.md): to hold
-- and to go on, another rate, and to say what was sent and received so far.

local arguments = require("lib.control.arguments")
local control = require("lib.control.server")
local engine = require("core.app")
local finish = require("lib.control.finish")
local graph = require("program.generate.graph")
local live = require("program.generate.live")
local near = require("lib.stack.nearest")
local rate = require("lib.traffic.rate")

local M = {}

-- The lanes of the stream of that name, in all directions; without a name all lanes.
local function lanes_of(directions, name)
  local found, names = {}, {}
  for _, d in ipairs(directions) do
    for _, lane in ipairs(d.lanes) do
      if not name or lane.name == name then found[#found + 1] = lane end
      names[#names + 1] = lane.name
    end
  end
  if #found > 0 then return found end
  error(("there is no stream '%s'%s"):format(name, #names == 0
    and "; the only one has no name" or near.hint(name, names)), 0)
end

local function generators(directions, request)
  local list = {}
  for i, lane in ipairs(lanes_of(directions, arguments.text(request, "stream"))) do
    list[i] = engine.app_table[lane.generator]
  end
  return list
end

-- What is changed is what a new configuration says; the generators keep the rest.
local function change_rate(directions, course, request)
  local text = arguments.text(request, "rate")
  if not text then error("rate says which, such as \"500kpps\" or \"1Gbit\"", 0) end
  local wanted, problem = rate.parse(text)
  if not wanted then error(problem, 0) end
  for _, lane in ipairs(lanes_of(directions, arguments.text(request, "stream"))) do
    lane.stream.rate = wanted
  end
  engine.configure(graph.make(directions))
  course:reconfigured()
end

-- A command with these arguments that changes what is sent; answer(request) as long as
-- something is.
local function command(course, arguments_, answer)
  return {arguments = arguments_, run = function (_, request)
    if course.over then
      error("all has been sent; what is still under way is received", 0)
    end
    return answer(request)
  end}
end

--- Let the control socket of this process take what generate can be told: about the
--- directions (program.generate.graph) of the `course` (program.generate.course).
function M.let_in(directions, course)
  if not directions[1].port then return end
  local commands, follow = control.commands, live.new(directions)
  finish.let_in()
  commands.statistics = {arguments = {}, run = function () return follow:progress() end}
  commands.hold = command(course, {stream = true}, function (request)
    for _, generator in ipairs(generators(directions, request)) do generator:hold() end
    return {held = true}
  end)
  commands.go = command(course, {stream = true}, function (request)
    for _, generator in ipairs(generators(directions, request)) do generator:go() end
    return {held = false}
  end)
  commands.rate = command(course, {rate = true, stream = true}, function (request)
    change_rate(directions, course, request)
    return {rate = request.rate}
  end)
end

return M
