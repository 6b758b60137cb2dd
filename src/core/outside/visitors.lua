-- SPDX-License-Identifier: Apache-2.0
-- Whoever looks into this engine from outside while it runs, by whatever way
-- (lib.control): asked now and then, between breaths, whether there is something to do.

jit.off(true, true) -- runs seldom: compiling it would only make packets wait

local outside = {}

local visitors = {}

--- Let the visitor take part: its begin() is called as engine.main begins, begun()
--- after those of all, tend(now) a hundred times a second while packets come (20
--- times where the engine sleeps between them), reload(done) before and after the
--- program reads its configuration again, standing_by(whom) again and again while the
--- process waits for its turn (core.outside.standby), stopping() when a signal has
--- come and packets run out, pass_on() when they have, ran_out() then, and leave() when
--- the process ends, before its apps are stopped. While no packet comes, what
--- descriptor() returns (any number of them) tells of something to do. Where the engine
--- sleeps, tend() is called every `patience` seconds at least. Each may be left out;
--- none but begun() may raise errors.
function outside.let_in(visitor)
  visitors[#visitors + 1] = visitor
end

local function tell(what, argument)
  local i = 1
  while visitors[i] do -- begin() may let one more in
    local f = visitors[i][what]
    if f then f(argument) end
    i = i + 1
  end
end

--- The descriptors that tell that a visitor has something to do, an array: what their
--- descriptor(), if they have one, returns.
function outside.descriptors()
  local fds = {}
  for i = 1, #visitors do
    local f = visitors[i].descriptor
    for _, fd in ipairs(f and {f()} or {}) do fds[#fds + 1] = fd end
  end
  return fds
end

--- For how many seconds visitors can be left alone while no packet comes, unless their
--- descriptors tell of something: the least of their `patience`, where they have one,
--- and of `most`.
function outside.patience(most)
  for i = 1, #visitors do
    most = math.min(most, visitors[i].patience or most)
  end
  return most
end
jit.on(outside.patience) -- called for each packet where these come far apart

--- The engine's main loop begins.
function outside.begin()
  tell("begin")
  tell("begun")
end

--- Between two breaths, at the time `now`.
function outside.tend(now) tell("tend", now) end

--- The program is going to read its configuration again, or has done so (`done`).
function outside.reload(done) tell("reload", done) end

--- The process waits for its turn to begin; `whom` it stands by for, as a text.
function outside.standing_by(whom) tell("standing_by", whom) end

--- The engine stops: what is on its way runs out.
function outside.stopping() tell("stopping") end

--- Packets have run out: none is received or sent any more.
function outside.ran_out()
  tell("pass_on") -- before another process may begin
  tell("ran_out")
end

--- What visitors' lines() have to say in the report at the end: an array of lines.
function outside.lines()
  local lines = {}
  for i = 1, #visitors do
    local f = visitors[i].lines
    for _, line in ipairs(f and f() or {}) do lines[#lines + 1] = line end
  end
  return lines
end

--- The process ends.
function outside.leave() tell("leave") end

return outside
