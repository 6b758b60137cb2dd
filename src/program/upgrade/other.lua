-- SPDX-License-Identifier: Apache-2.0
-- Other processes' commands, and starting them where another process runs: with its
-- environment, folder, network namespace and output. A command is {exe, cwd, words},
-- the first of the words being the name that it was called by.

local errno = require("posix.errno")
local failure = require("core.failure")
local fcntl = require("posix.fcntl")
local ffi = require("ffi")
local new_pipe = require("program.upgrade.pipe").new
local owner = require("core.shm.owner")
local process = require("core.lib.process")
local stdlib = require("posix.stdlib")
local unistd = require("posix.unistd")
local wait = require("posix.sys.wait")

local other = {}

ffi.cdef "int setns(int fd, int kind);"
local NEW_NET = 0x40000000 -- CLONE_NEWNET, <linux/sched.h>

local GONE = " %(deleted%)$" -- behind a program's path, in /proc

local function proc(pid, name) return ("/proc/%s/%s"):format(pid, name) end

local function strings(path)
  local file, list = io.open(path, "rb"), {}
  local text = file and file:read("*a") or ""
  if file then file:close() end
  for word in text:gmatch("([^%z]*)%z") do list[#list + 1] = word end
  return list
end

local function link(pid, name)
  local target, reason = unistd.readlink(proc(pid, name))
  if not target then
    failure.raise("can't see what process %d is: %s; try as its user, or as root", pid,
      reason)
  end
  return target
end

-- The path of a process's program, which was called as `name`. In a chroot the kernel
-- shows a path outside of it if the process has mounts of its own (as by ip-netns(8)).
local function program_of(pid, name)
  local path = link(pid, "exe")
  if name and name:sub(1, 1) == "/" and unistd.access(path) ~= 0
    and not path:find(GONE) and unistd.access(name, "x") == 0 then
    return name
  end
  return path
end

--- The command of a process that runs.
function other.command_of(pid)
  local words = strings(proc(pid, "cmdline"))
  return {exe = program_of(pid, words[1]), cwd = link(pid, "cwd"), words = words}
end

--- The command `before` as this program would run it; with the options and program of
--- the list `words`, if there are some.
function other.with_words(before, name, words)
  if #words > 0 then
    return other.with_arguments(before, {"--keep", name, unpack(words)})
  end
  return {exe = link("self", "exe"), cwd = before.cwd, words = before.words}
end

--- The command `before` as this program would run it, with these arguments.
function other.with_arguments(before, arguments)
  return {exe = link("self", "exe"), cwd = before.cwd,
    words = {before.words[1], unpack(arguments)}}
end

--- The command with a program that is there: a newer version of the old one's, if that
--- was replaced or removed since it was started; else this one.
function other.still_there(command)
  local exe = command.exe:gsub(GONE, "")
  if exe == command.exe then return command end
  if unistd.access(exe, "x") ~= 0 then exe = link("self", "exe") end
  return {exe = exe, cwd = command.cwd, words = command.words}
end

--- The same command with --standby.
function other.standing_by(command)
  local words = {}
  for i, word in ipairs(command.words) do words[i] = word end
  if words[2] ~= "--standby" then table.insert(words, 2, "--standby") end
  return {exe = command.exe, cwd = command.cwd, words = words}
end

-- Descriptor `fd` as the process has it; nil where it can't be opened again.
local function output_of(pid, fd)
  return fcntl.open(proc(pid, "fd/" .. fd), fcntl.O_WRONLY + fcntl.O_APPEND
    + fcntl.O_CLOEXEC)
end

-- The network namespace of the process, if it is another one.
local function network_of(pid)
  local path = proc(pid, "ns/net")
  if unistd.readlink(path) == unistd.readlink("/proc/self/ns/net") then return nil end
  local fd, reason = fcntl.open(path, fcntl.O_RDONLY + fcntl.O_CLOEXEC)
  if not fd then
    failure.raise("can't see the network namespace of process %d: %s", pid, reason)
  end
  return fd
end

--- Where a process runs, for start(), also when that one has ended.
function other.place_of(pid)
  return {environment = strings(proc(pid, "environ")), network = network_of(pid),
    output = output_of(pid, 1), errors = output_of(pid, 2)}
end

local function take_environment(list)
  for name in pairs(stdlib.getenv()) do stdlib.setenv(name, nil) end
  for _, each in ipairs(list) do
    local name, value = each:match("^([^=]+)=(.*)$")
    if name == "WATCHDOG_PID" then value = tostring(unistd.getpid()) end
    if name then stdlib.setenv(name, value) end
  end
end

local function run(command, place)
  unistd.setpid("s")
  if place.network and ffi.C.setns(place.network, NEW_NET) ~= 0 then
    failure.raise("can't enter the network namespace: %s", errno.errno(ffi.errno()))
  end
  take_environment(place.environment)
  local null = fcntl.open("/dev/null", fcntl.O_RDONLY)
  if null then unistd.dup2(null, 0) end
  if place.output then unistd.dup2(place.output, 1) end
  if place.errors then unistd.dup2(place.errors, 2) end
  unistd.chdir(command.cwd)
  local _, reason = process.execv(command.exe, command.words)
  failure.raise("can't run %s: %s", command.exe, reason)
end

-- The other end has said "go" (true), or was closed without: its process has ended.
local function is_to_go(pipe)
  local said, _, code
  repeat
    said, _, code = unistd.read(pipe, 1)
  until said or code ~= errno.EINTR
  unistd.close(pipe)
  return said == "g"
end

--- Start the command in a session of its own, in the place of another one. Its process
--- id, of which note(pid), optional, is called before the command runs: if this process
--- is killed before that is done, it never does.
function other.start(command, place, note)
  io.stdout:flush()
  local from, to = new_pipe("no process can be started")
  local pid, reason = unistd.fork()
  if not pid then failure.raise("no process can be started: %s", reason) end
  if pid > 0 then
    unistd.close(from)
    if note then note(pid) end
    unistd.write(to, "g")
    unistd.close(to)
    return pid
  end
  unistd.close(to)
  if not is_to_go(from) then unistd._exit(127) end
  local ok, err = pcall(run, command, place)
  if not ok then io.stderr:write("perigee: ", tostring(err), "\n") end
  unistd._exit(127)
end

-- Is there no process of that number, or has it ended, and nobody has asked how?
local function is_gone(pid)
  local stat = io.open(proc(pid, "stat"))
  local state = stat and stat:read("*a"):match("^.*%) (%a)")
  if stat then stat:close() end
  return owner.no_process(pid) or state == "Z" or state == "X"
end

--- How a process that start() has started has ended, for a sentence; nil: it runs. Also
--- in a fork of the one that has started it, which sees only that it has ended.
function other.ended(pid)
  local found, how, status = wait.wait(pid, wait.WNOHANG)
  if found == pid then
    return how == "exited" and "it ended with the status " .. status
      or ("it was killed by the signal %d"):format(status)
  end
  return not found and is_gone(pid) and "it has ended" or nil
end

return other
