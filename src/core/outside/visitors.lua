-- SPDX-License-Identifier: Apache-2.0
-- Whoever looks into this engine from outside while it runs, by whatever way
-- (lib.control): asked now and then, between breaths, whether there is something to do.

jit.off(true, true) -- runs seldom: compiling it would only make packets wait

local outside = {}

local visitors = {}

--- Let the visitor take part: its begin() is called as engine.main begins, tend(now) a
--- hundred times a second while the engine runs, reload(done) before and after the
--- program reads its configuration again, stopping() when a signal has come and packets
--- run out, and leave() when the process ends, before its apps are stopped. Each may be
--- left out; none may raise errors.
function outside.let_in(visitor)
  visitors[#visitors + 1] = visitor
end

local function tell(what, argument)
  for i = 1, #visitors do
    local f = visitors[i][what]
    if f then f(argument) end
  end
end

--- The engine's main loop begins.
function outside.begin() tell("begin") end

--- Between two breaths, at the time `now`.
function outside.tend(now) tell("tend", now) end

--- The program is going to read its configuration again, or has done so (`done`).
function outside.reload(done) tell("reload", done) end

--- The engine stops: what is on its way runs out.
function outside.stopping() tell("stopping") end

--- The process ends.
function outside.leave() tell("leave") end

return outside
