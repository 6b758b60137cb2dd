-- SPDX-License-Identifier: Apache-2.0
-- What Linux knows about another process, from /proc (proc(5)).

local main = require("core.main")
local objects = require("lib.observe.objects")
local sysfs = require("lib.hardware.sysfs")
local unistd = require("posix.unistd")

local process = {}

local TICKS = unistd.sysconf(unistd._SC_CLK_TCK) -- a second

local function file(pid, name, proc)
  return ("%s/%d/%s"):format(proc or sysfs.roots.proc, pid, name)
end

-- The fields of /proc/PID/stat behind the command's name, which may have spaces and
-- parentheses: the first is field 3, the state.
local function fields(pid, proc)
  local rest = (sysfs.line(file(pid, "stat", proc)) or ""):match("^.*%)%s+(.*)$")
  if not rest then return nil end
  local list = {}
  for word in rest:gmatch("%S+") do list[#list + 1] = word end
  return list
end

--- Does the process run? A zombie doesn't.
function process.exists(pid, proc)
  local f = fields(pid, proc)
  return f ~= nil and f[1] ~= "Z" and f[1] ~= "X"
end

--- The words of its command line, the command first; empty if they can't be read.
function process.words(pid, proc)
  local handle = io.open(file(pid, "cmdline", proc), "rb")
  local text = handle and handle:read("*a") or ""
  if handle then handle:close() end
  local words = {}
  for word in text:gmatch("([^%z]*)%z") do words[#words + 1] = word end
  return words
end

--- The program that it runs: what it says in `directory`, its own in shared memory,
--- such as "echo", or "run graph.lua". Snabb's processes say nothing: then what the
--- command line says ("echo" of `snabb echo` and `snabb-echo`), or else "worker".
function process.program(pid, directory, proc)
  local said = objects.line(directory .. "/program")
  if said then return said end
  local words = process.words(pid, proc)
  local command = main.programname(words[1] or "?")
  if command ~= "perigee" and command ~= "snabb" then return command end
  return words[2] or "worker"
end

--- Seconds: the CPU time that it has used, and the time since it began; nil if it is
--- gone. `proc` is for tests.
function process.times(pid, proc)
  local f = fields(pid, proc)
  local uptime = sysfs.line((proc or sysfs.roots.proc) .. "/uptime")
  if not f or not f[20] or not uptime then return nil end
  local cpu = (tonumber(f[12]) + tonumber(f[13])) / TICKS -- fields 14 and 15
  local began = tonumber(f[20]) / TICKS -- field 22
  return cpu, math.max(0, tonumber(uptime:match("^%S+")) - began)
end

return process
