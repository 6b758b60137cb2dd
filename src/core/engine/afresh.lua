-- SPDX-License-Identifier: Apache-2.0
-- A process that is configured again and again compiles code for each graph, and LuaJIT
-- gives code up for good that it failed to compile a few times, as the graphs before
-- were: also code that all graphs share. So a change of the configuration lets LuaJIT
-- try anew what was given up, and when there is much compiled code, throws it all away.

local health = require("core.watch.health")

local afresh = {}

--- How many traces there may be before a change of the configuration throws them away.
afresh.MOST_TRACES = 5000

-- What the packets of all graphs pass. None of it says jit.off.
local MODULES = {"core.link", "core.packet", "core.rounds", "core.engine.breath",
                 "core.engine.pace", "core.fuse.alone", "core.fuse.bulk",
                 "core.fuse.region", "core.fuse.tally"}

-- Call visit(f) for each function of the value, of this source, that can be reached
-- from it by tables and upvalues.
local function each_function(value, source, seen, visit)
  if seen[value] then return end
  if type(value) == "table" then
    seen[value] = true
    for _, item in pairs(value) do
      if type(item) == "function" then each_function(item, source, seen, visit) end
    end
  elseif type(value) == "function" then
    seen[value] = true
    local info = debug.getinfo(value, "Su")
    if info.source ~= source then return end
    visit(value)
    for i = 1, info.nups do
      local _, upvalue = debug.getupvalue(value, i)
      if type(upvalue) == "function" or type(upvalue) == "table" then
        each_function(upvalue, source, seen, visit)
      end
    end
  end
end

local function source_of(module)
  for _, f in pairs(module) do
    if type(f) == "function" then return debug.getinfo(f, "S").source end
  end
end

-- jit.on() forgets that a function, or one of those it makes, was given up.
local function compile_again(f) jit.on(f, true) end

local METHODS = {"pull", "push", "process", "process_burst"}

local function each_method(app, seen)
  for _, name in ipairs(METHODS) do
    local f = app[name]
    if type(f) == "function" then
      each_function(f, debug.getinfo(f, "S").source, seen, compile_again)
    end
  end
end

--- Let LuaJIT try anew what it has given up of the engine's code and of the `apps` (by
--- name); if there is much compiled code, throw that away. To be called between
--- breaths.
function afresh.tend(apps)
  if health.traces_alive >= afresh.MOST_TRACES then health.flush() end
  local seen = {}
  for _, name in ipairs(MODULES) do
    local module = require(name)
    each_function(module, source_of(module), seen, compile_again)
  end
  for _, app in pairs(apps) do each_method(app, seen) end
end

return afresh
