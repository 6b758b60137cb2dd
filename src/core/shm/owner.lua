-- SPDX-License-Identifier: Apache-2.0
-- Whose a process's folder is. A process id means nothing outside its pid namespace,
-- and comes again: a mark in the folder, a symbolic link .owner ->
-- NAMESPACE/PID/START, says which process it is. That holds a lock on the folder for
-- as long as it lives, which other namespaces can see.

local errno = require("posix.errno")
local posix_signal = require("posix.signal")
local unistd = require("posix.unistd")
local file_lock = require("core.lib.file_lock")

local owner = {}

local MARK = "/.owner"
-- Fields of /proc/PID/stat (proc(5)) behind the command's name: 3, 9 and 22.
local STATE, FLAGS, START = 1, 7, 20
local EXITING = 4 -- PF_EXITING, <linux/sched.h>
local ENDED = {Z = true, X = true}

-- When the process began, in ticks since the machine did, as text; nil if /proc doesn't
-- tell; "" if it has ended, but its parent has not asked how, or if it is ending: the
-- kernel closes what it had open. Its name may have spaces and parentheses.
local function start_of(pid)
  local file = io.open(("/proc/%s/stat"):format(pid))
  local text = file and file:read("*a")
  if file then file:close() end
  local words = {}
  for word in ((text or ""):match("^.*%)(.*)$") or ""):gmatch("%S+") do
    table.insert(words, word)
  end
  local ended = ENDED[words[STATE]]
    or bit.band(tonumber(words[FLAGS]) or 0, EXITING) ~= 0
  return ended and "" or words[START]
end

local myself -- of this process; a fork has its own

--- What this process is known by: {pid = a number, namespace = the inode of its pid
--- namespace, start = when it began}, the last two as text, "0" where /proc is missing.
function owner.myself()
  local pid = unistd.getpid()
  if not myself or myself.pid ~= pid then
    myself = {pid = pid, start = start_of("self") or "0",
      namespace = (unistd.readlink("/proc/self/ns/pid") or ""):match("%d+") or "0"}
  end
  return myself
end

-- What a mark, or what name_of() returned, says; nil if it is none.
local function parsed(text)
  local namespace, pid, start = (text or ""):match("^(%d+)/(%d+)/(%d+)$")
  return pid and {pid = tonumber(pid), namespace = namespace, start = start}
end

--- The like of the process whose folder it is; nil if it says nothing (Snabb's don't).
function owner.of(folder) return parsed(unistd.readlink(folder .. MARK)) end

--- Is the folder this process's?
function owner.is_mine(folder)
  local mark, me = owner.of(folder), owner.myself()
  return mark ~= nil and mark.pid == me.pid and mark.namespace == me.namespace
    and mark.start == me.start
end

--- Mark the folder, in place of who had it, and lock it. Returns a descriptor that
--- holds the lock; nil if this process has it already.
function owner.mark(folder)
  local me = owner.myself()
  if not owner.is_mine(folder) then
    unistd.unlink(folder .. MARK)
    local mark = ("%s/%d/%s"):format(me.namespace, me.pid, me.start)
    unistd.link(mark, folder .. MARK, true)
  end
  local fd = file_lock.open(folder)
  if fd and file_lock.try(fd) then return fd end
  if fd then unistd.close(fd) end
end

--- Is there no process of that number in this pid namespace?
function owner.no_process(pid)
  local ok, _, code = posix_signal.kill(pid, 0)
  return not ok and code == errno.ESRCH
end

--- Is the process of a folder in this pid namespace (or, as it doesn't say, Snabb's)?
function owner.is_near(folder)
  local mark = owner.of(folder)
  return mark == nil or mark.namespace == owner.myself().namespace
end

-- When the process began, if /proc is that of this pid namespace; else nil.
local function start_here(pid)
  local same = unistd.readlink("/proc/self") == tostring(unistd.getpid())
  return same and start_of(pid) or nil
end

--- The process `pid` of this pid namespace as a text, NAMESPACE/PID/START, which no
--- other process has later; nil if it has ended or is ending, or /proc doesn't tell.
function owner.name_of(pid)
  local start = start_here(pid)
  if not start or start == "" then return nil end
  return ("%s/%d/%s"):format(owner.myself().namespace, pid, start)
end

--- The process of which name_of() gave that text, a number, if it runs, in this pid
--- namespace; else nil.
function owner.named(text)
  local pid = text:match("^%d+/(%d+)/%d+$")
  return pid and owner.name_of(tonumber(pid)) == text and tonumber(pid) or nil
end

--- The process of which name_of() gave that text, a number, as long as the kernel
--- hasn't closed all that it had: also one that is ending; nil if it isn't there, or of
--- another pid namespace.
function owner.left(text)
  local mark = parsed(text)
  if not mark or mark.namespace ~= owner.myself().namespace
    or owner.no_process(mark.pid) then return nil end
  local start = start_here(mark.pid)
  return (start == mark.start or start == "") and mark.pid or nil
end

--- Has the process of the folder ended, which is `pid` unless the folder says so? Its
--- own namespace knows; to others its lock tells it.
function owner.is_gone(folder, pid)
  local mark = owner.of(folder)
  if not mark then return owner.no_process(pid) end
  local near = mark.namespace == owner.myself().namespace
  if near and owner.no_process(mark.pid) then return true end
  local start = near and start_here(mark.pid)
  if start == "" then return true end -- though the kernel may not have closed all yet
  if file_lock.is_held(folder) then return false end
  if not near then return true end
  return start ~= nil and start ~= mark.start
end

return owner
