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

-- jit.on() forgets that a function, or one of those it makes, was given up: so for all
-- functions of the value, of this source, that tables and upvalues lead to.
local function compile_again(value, source, seen)
  if seen[value] then return end
  if type(value) == "table" then
    seen[value] = true
    for _, item in pairs(value) do
      if type(item) == "function" then compile_again(item, source, seen) end
    end
  elseif type(value) == "function" then
    seen[value] = true
    local info = debug.getinfo(value, "Su")
    if info.source ~= source then return end
    jit.on(value, true)
    for i = 1, info.nups do
      local _, upvalue = debug.getupvalue(value, i)
      compile_again(upvalue or false, source, seen)
    end
  end
end

local function source_of(module)
  for _, f in pairs(module) do
    if type(f) == "function" then return debug.getinfo(f, "S").source end
  end
end

--- Let LuaJIT try anew what it has given up: all of MODULES, and of apps what it has
--- told health; if there is much compiled code, throw that away. To be called between
--- breaths.
function afresh.tend()
  if health.traces_alive >= afresh.MOST_TRACES then health.flush() end
  local seen = {}
  for _, name in ipairs(MODULES) do
    local module = require(name)
    compile_again(module, source_of(module), seen)
  end
  health.retry()
end

return afresh
