-- SPDX-License-Identifier: Apache-2.0
-- A Lua state under `perigee doctor`: what LuaJIT makes of the task in it, by the JIT's
-- events alone, since LuaJIT's profiler is one of a process. The task's loop is what
-- comes after it first asks whether to go on.

local ends = require("moongen.tasks.ends")
local examination = require("core.watch.examination")
local health = require("core.watch.health")
local libmoon = require("moongen.tasks.libmoon")
local main = require("core.main")
local running_app = require("core.watch.running_app")

local examined = {}

local has_loop = false

-- What comes before a task's loop is forgotten. (Looked up in the module by all who
-- ask: modules/moongen.lua.)
local function notice_the_loop()
  local running = libmoon.running
  function libmoon.running(extra, extra_behind_colon)
    if not has_loop then
      has_loop = true
      ends.examination_begins()
      health.clear()
      health.rearranged() -- it warms up from here on
    end
    return running(extra, extra_behind_colon)
  end
end

--- Examine the task `name`, which this Lua state is for. `what`: `warm_up` as in
--- examination.wanted.
function examined.prepare(name, what)
  health.warm_up = what.warm_up
  running_app.libraries{main.root .. "/src", main.root .. "/moongen/modules",
    main.root .. "/moongen/moongen"}
  notice_the_loop()
  examined.name = name
end

local function results(...) return ... end

-- No tail call: it is to be found on the stack.
local function called(f, ...) return results(f(...)) end

--- Call the task's function `f` with those arguments; what it returns.
function examined.call(f, ...)
  running_app.method(called, examined.name)
  health.attach(called, {})
  return called(f, ...)
end

--- What was found: plain data, for examination.add. Of a task without a loop, what was
--- done, but nothing to blame.
function examined.found()
  local listened = examination.listened(health)
  if not has_loop then listened.causes = {} end
  return listened
end

return examined
