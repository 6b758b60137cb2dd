-- SPDX-License-Identifier: Apache-2.0
-- `perigee doctor PROGRAM ARGS`: runs a program for a while and says whether its
-- packets are moved by compiled code, and if not, which line is to blame. First it
-- only listens; the profiler, which changes what is compiled, comes after that.

local C = require("core.native")
local cjson = require("cjson")
local cli = require("lib.cli")
local diagnosis = require("program.doctor.diagnosis")
local engine = require("core.app")
local failure = require("core.failure")
local files = require("core.lib.files")
local jit_health = require("core.watch.health")
local jit_profile = require("core.watch.profile")
local main = require("core.main")
local tasks = require("core.watch.examination")

local M = {summary = "run a program, and show what LuaJIT doesn't compile, and why"}

--- Why --cpus is refused.
M.one_cpu = "it examines what LuaJIT makes of the apps in one thread"

local DURATION_S = 5
local LISTENING = 0.6 -- of the duration; the profiler has the rest
local WARM_UP = 0.2
local INTERRUPTED = 130 -- the exit status, as a shell has it after SIGINT

local function parser()
  local p = cli.parser("doctor", "Run PROGRAM for some seconds, and say whether its "
    .. "packet path is compiled: traces, aborts and what LuaJIT has given up on, with "
    .. "file, line and remedy, and where CPU time goes. The exit status is 0 if the "
    .. "packet path is clean, and 1 if it isn't, or if the program ended too early to "
    .. "tell.")
  p:usage("Usage: perigee doctor [--duration TIME] [--json FILE] PROGRAM [ARGS]...")
  p:option("-D --duration", "End after this time: seconds, or 500ms, 2m, 1h "
    .. "(default 5); earlier if the program does, and later where others have the CPU "
    .. "meanwhile."):argname("TIME")
    :convert(cli.duration):default(tostring(DURATION_S))
  cli.json_option(p, "what is found")
  p:argument("program", "the program and its arguments"):args("?")
  return p
end

-- One examination: `listened`, what jit_health found, and the profile. Time in which it
-- had to wait for a CPU doesn't count.
local Examination = {}
Examination.__index = Examination

function Examination:listened_enough()
  self.listened = tasks.listened(jit_health)
end

-- Take over what was found in tasks; false if there were none.
function Examination:take_tasks()
  local found = tasks.found()
  for key, value in pairs(found or {}) do self[key] = value end
  return found ~= nil
end

function Examination:note_interruption(by, seconds)
  self.interrupted = by and seconds < self.duration
    and ("%s after %.1f of %g seconds"):format(by, seconds, self.duration)
end

-- Tell what was found; the exit status.
function Examination:finish()
  if self:take_tasks() then
    self:note_interruption(main.SIGNALS[C.pg_signal()], self.duration - tasks.left)
  elseif not self.began then
    failure.raise("%s ended without starting the engine: there is nothing to examine",
      main.program_name)
  else
    self:note_interruption(engine.interrupted, self:seconds())
  end
  if not self.listened then self:listened_enough() end
  if self.profiling then
    self.profiling = false
    self.samples, self.rows = jit_profile.stop()
  end
  local out = cli.text_stream(self.json)
  out:write(diagnosis.text(self))
  local found = diagnosis.report(self)
  if self.json then files.save(self.json, cjson.encode(found) .. "\n") end
  if self.interrupted and not (found.causes or found.unknown) then
    return INTERRUPTED
  end
  return found.clean and 0 or 1
end

function Examination:begin()
  if self.began then return end
  self.began, self.delay, self.waited = C.pg_monotonic(), C.pg_run_delay(), 0
end

-- For how many seconds it has gone on.
function Examination:seconds()
  self.waited = C.pg_run_delay() - self.delay
  return C.pg_monotonic() - self.began - self.waited
end

-- Has it gone on for so many? The kernel is asked only if it may have.
function Examination:past(seconds)
  if C.pg_monotonic() < self.began + self.waited + seconds then return false end
  return self:seconds() >= seconds
end

-- To be asked after each breath: is the examination over?
function Examination:over()
  if not self.listened and self:past(LISTENING * self.duration) then
    self:listened_enough()
    self.profiling = true
    jit_profile.start()
  end
  return self:past(self.duration)
end

-- engine.main's options, ending when the program or the examination wants it.
function Examination:options(options)
  local mine, now = {}, C.pg_monotonic()
  for key, value in pairs(options) do mine[key] = value end
  local done = options.done
  local ends = options.duration and now + options.duration or math.huge
  mine.duration, mine.no_report = nil, true
  function mine.done()
    return self:over() or C.pg_monotonic() >= ends or (done and done())
  end
  return mine
end

-- Put the examination between the program and the engine.
local function attend(examination)
  local exit = main.exit
  local function finish()
    main.exit = exit
    exit(examination:finish())
  end
  engine.intercept{main = function (options, run)
    examination:begin()
    run(examination:options(options))
    if examination:over() or engine.interrupted then finish() end
  end}
  function main.exit(status)
    if status and status ~= 0 then exit(status) end
    finish()
  end
  return finish
end

--- Run with the command line's arguments (a list of strings).
function M.run(args)
  local own, rest = cli.split(args, {["-D"] = true, ["--duration"] = true,
    ["--json"] = true})
  local options = cli.parse(parser(), own)
  local program = table.remove(rest, 1)
  if not program then
    failure.usage("doctor runs a program and examines it, so name one: perigee "
      .. "doctor PROGRAM ARGUMENTS, such as perigee doctor echo null 10")
  end
  jit_health.warm_up = math.min(jit_health.warm_up, WARM_UP * options.duration)
  local examination = setmetatable({duration = options.duration,
    json = options.json}, Examination)
  local finish = attend(examination)
  tasks.wanted = {duration = options.duration, warm_up = jit_health.warm_up,
    conclude = function () return examination:finish() end}
  main.launch(program, rest)
  finish()
end

return M
