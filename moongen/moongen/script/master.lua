-- SPDX-License-Identifier: Apache-2.0
-- A script from its start to its end: its top level, its arguments, devices, master(),
-- and then the end of all tasks and devices, however it ends.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local checked = require("moongen.checked")
local ends = require("moongen.tasks.ends")
local errors = require("moongen.tasks.errors")
local examination = require("core.watch.examination")
local exits = require("moongen.tasks.exits")
local failure = require("core.failure")
local leaks = require("moongen.memory.leaks")
local losses = require("moongen.devices.losses")
local main = require("core.main")
local open_files = require("moongen.tasks.open_files")
local paths = require("moongen.script.paths")
local pools = require("moongen.memory.pools")
local ports = require("moongen.devices.ports")
local sized_rings = require("moongen.tasks.sized_rings")
local state = require("moongen.script.state")
local tasks = require("moongen.tasks.tasks")
local tender = require("moongen.watch.tender")

local master = {}

ffi.cdef[[
int mg_posix_flush(void *file) __asm__("fflush");
void mg_posix_exit(int status) __asm__("_exit");
]]

local PATIENCE_SECONDS = 2 -- for tasks that still run when master() has returned
local examined             -- the module, if somebody examines the script

-- As libmoon has it: numbers are numbers, and its option for DPDK isn't the script's.
local function converted(args)
  local list = {}
  for _, word in ipairs(args) do
    if not word:match("^%-%-dpdk%-config=") then
      list[#list + 1] = tonumber(word) or word
    end
  end
  return list
end

-- What configure(parser) makes of the arguments: a list of values.
local function configured(words, values)
  local configure = rawget(_G, "configure")
  if type(configure) ~= "function" then return {} end
  local parser = require("argparse")()
  parser:args(unpack(words))
  local results = {configure(parser, unpack(values))}
  if #results == 0 and parser:is_used() then results = {parser:parse()} end
  return results
end

local function call_master(script, words)
  local libmoon = require("moongen.tasks.libmoon")
  rawset(_G, "LIBMOON_TASK_NAME", "master")
  local values = converted(words)
  rawset(_G, "arg", {[0] = script, unpack(values)}) -- as Lua's own interpreter has it
  state.run(script)
  local results = configured(words, values)
  local f = rawget(_G, "master")
  if type(f) ~= "function" then
    failure.usage("%s has no function master(), so it isn't a script of libmoon's",
      script)
  end
  if not libmoon.config.skipInit then require("moongen.devices.dpdk").init() end
  for _, value in ipairs(values) do results[#results + 1] = value end
  if not examined then return f(unpack(results)) end
  examined.call(f, unpack(results))
end

-- As far as plain data go to tasks, what is wanted of them; nil if nobody examines.
local function begin_examination()
  local wanted = examination.wanted
  if not wanted then return nil end
  ends.examine(wanted.duration)
  local plain = {warm_up = wanted.warm_up}
  examined = require("moongen.script.examined")
  examined.prepare("master", plain)
  return plain
end

-- What the examination found; `stuck`: tasks that couldn't say.
local function end_examination(stuck)
  if not examined then return end
  examination.left = ends.examination_begins()
  examination.add("master", examined.found())
  for _, name in ipairs(stuck) do examination.add(name, nil) end
end

-- Whatever happened: the exit status, 0 if all is well.
local function status_of(ok, err)
  if ok then return 0 end
  if err.exit then return err.exit end
  if err.trace then errors.tell("master", err) else io.stdout:flush() end
  if not err.trace then io.stderr:write("perigee: ", err.text, "\n") end
  return err.status
end

-- What went wrong beside that, or nil: it is told, and the status with it.
local function status_with(sentence)
  if not sentence then return 0 end
  io.stderr:write("perigee: ", sentence, "\n")
  return 1
end

local function finish(status)
  local stuck = tasks.end_all(PATIENCE_SECONDS)
  if C.mg_exit_wanted() > 0 then status = math.max(status, C.mg_exit_wanted()) end
  status = math.max(status, tasks.status or 0)
  status = math.max(status, status_with(ends.failure()))
  if #stuck > 0 then
    -- They may use anything; what is in files by now stays there.
    io.stdout:flush()
    require("moongen.log"):warn("still running at the end, and ended: %s",
      table.concat(stuck, ", "))
    io.stdout:flush()
  end
  end_examination(stuck)
  return status, #stuck > 0
end

--- Run the script with arguments (a list of strings), and end the process if that
--- didn't go well.
function master.run(script, words)
  C.pg_catch_signals()
  local plain = begin_examination()
  state.prepare(script, true)
  tasks.set_up{script = script, trees = paths.trees(), path = master.path,
    cpath = master.cpath, examined = plain, found = examination.add,
    ready = function () require("moongen.devices.start").now() end}
  local status, stuck = finish(status_of(xpcall(call_master, errors.explain, script,
    words)))
  status = math.max(status, status_of(xpcall(open_files.close_all, errors.explain)))
  tender.stop() -- its last warnings come before the reports
  require("moongen.pacing.rates").tell()
  exits.remove()
  package.loaded["core.engine.account"] = nil -- that of an engine, which isn't used
  status = math.max(status, status_with(ports.close_all(stuck)),
    status_with(not stuck and checked.rest(pools.all()) or nil))
  if not stuck then losses.tell(sized_rings.losses()) end
  if not stuck and status == 0 then leaks.tell() end
  if stuck then
    if examined and status == 0 then
      status = examination.wanted.conclude()
    end
    require("core.shm").cleanup()
    C.mg_posix_flush(nil)
    C.mg_posix_exit(status)
  end
  if status ~= 0 then main.exit(status) end
end

master.path, master.cpath = package.path, package.cpath

return master
