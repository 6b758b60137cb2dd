-- SPDX-License-Identifier: Apache-2.0
-- Names of running programs: links by-name/NAME in shared memory, each to the
-- directory of the process that claimed it. What a process leaves behind is
-- swept when the next one starts, or claims.

local failure = require("core.failure")
local shm = require("core.shm")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

local names = {}

local BACK = "name" -- in the process's own directory

local function link_of(name)
  return "/by-name/" .. name
end

--- Raise a failure unless `name` can name a program.
function names.check(name)
  if type(name) ~= "string" or not name:match("^[%w_%-.]+$") or name:match("^%.") then
    failure.usage("'%s' can't name a program: use letters, digits, '_', '-' and '.'",
      tostring(name))
  end
end

--- The running programs that have names, {NAME = process id}.
function names.list()
  local found = {}
  for _, name in ipairs(shm.children("/by-name")) do
    local target = unistd.readlink(shm.path(link_of(name)))
    local pid = target and tonumber(target:match("(%d+)/?$"))
    if pid and stat.stat("/proc/" .. pid) then found[name] = pid end
  end
  return found
end

--- Claim `name` for this process, which gives up the name `before` (or false).
function names.claim(name, before)
  names.check(name)
  if name == before then return end
  shm.sweep()
  local owner = names.list()[name]
  if owner then
    failure.usage("the name '%s' is taken by process %d; choose another", name, owner)
  end
  shm.unlink(link_of(name)) -- a link that leads nowhere
  shm.mkdir(shm.resolve("engine")) -- so that no sweep finds it leading nowhere
  -- As Snabb's programs read them: it ends with the number, and there is one back.
  shm.alias(link_of(name), "/" .. unistd.getpid())
  if before then names.release(before) end
  shm.alias(BACK, link_of(name))
end

--- Give up `name`.
function names.release(name)
  if not name then error("this process has claimed no name", 3) end
  shm.unlink(link_of(name))
  shm.unlink(BACK)
end

--- Give `engine` its fields about names.
function names.attach(engine)
  --- This process's name, or false.
  engine.program_name = false

  --- Claim a name for this process; raises a failure if another one has it. It
  --- gives up the one it had.
  function engine.claim_name(name)
    names.claim(name, engine.program_name)
    engine.program_name = name
  end

  --- Give up this process's name.
  function engine.unclaim_name()
    names.release(engine.program_name)
    engine.program_name = false
  end

  --- The running programs that have names, {NAME = process id}.
  engine.enumerate_named_programs = names.list
end

return names
