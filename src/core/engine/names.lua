-- SPDX-License-Identifier: Apache-2.0
-- Names of running programs: links by-name/NAME in shared memory, each to the
-- directory of the process that claimed it. What a process leaves behind is
-- swept when the next one starts, or claims.

local failure = require("core.failure")
local log = require("core.lib.log")
local outside = require("core.outside.visitors")
local shm = require("core.shm")
local folders = require("core.shm.process_folders")
local owner = require("core.shm.owner")
local standby = require("core.outside.standby")

local names = {}

local BACK = "name" -- in the process's own directory
local LOOK_SECONDS = 0.2 -- between looks at who has the name

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

-- Who has the name, if it runs: its process id, and whether that means something in
-- this pid namespace.
local function holder(name)
  local folder = folders.led_to(shm.path(link_of(name)))
  local pid = folder and folders.pid_of(folder)
  local path = folder and shm.root .. "/" .. folder
  if pid and not owner.is_gone(path, pid) then return pid, owner.is_near(path) end
end

--- The running programs that have names, {NAME = process id}, but for those of other
--- pid namespaces, whose numbers mean nothing here.
function names.list()
  local found = {}
  for _, name in ipairs(shm.children("/by-name")) do
    local pid, near = holder(name)
    if near then found[name] = pid end
  end
  return found
end

--- Claim `name` for this process, which gives up the name `before` (or false).
function names.claim(name, before)
  names.check(name)
  if name == before then return end
  shm.sweep()
  local pid, near = holder(name)
  if pid then
    failure.usage("the name '%s' is taken by process %d%s; choose another", name, pid,
      near and "" or " of another pid namespace")
  end
  shm.unlink(link_of(name)) -- a link that leads nowhere
  shm.mkdir(shm.resolve("engine")) -- so that no sweep finds it leading nowhere
  -- As Snabb's programs read them: it ends with the number, and there is one back.
  shm.alias(link_of(name), "/" .. folders.own_name(shm.root))
  if before then names.release(before) end
  shm.alias(BACK, link_of(name))
end

--- Give up `name`, unless the process that took over has claimed it meanwhile.
function names.release(name)
  if not name then error("this process has claimed no name", 3) end
  if folders.led_to(shm.path(link_of(name))) == folders.own_name(shm.root) then
    shm.unlink(link_of(name))
  end
  shm.unlink(BACK)
end

-- A visitor (core.outside.visitors) that claims for `engine` the name that it calls
-- `wanted`, once nobody has it any more: the process that was taken over from may take
-- its time to end.
local function heir(engine)
  local visitor, next_look = {wanted = nil}, 0
  function visitor.wait_for(name, pid)
    if visitor.wanted == name then return end
    log.warning("the name '%s' is still process %d's; this process has it once that "
      .. "ends", name, pid)
    visitor.wanted, visitor.patience = name, LOOK_SECONDS
  end
  function visitor.forget()
    local name = visitor.wanted
    visitor.wanted, visitor.patience = nil, nil
    return name
  end
  function visitor.tend(now)
    if not visitor.wanted or now < next_look then return end
    next_look = now + LOOK_SECONDS
    if holder(visitor.wanted) then return end
    local name = visitor.forget()
    local ok, err = pcall(names.claim, name, engine.program_name)
    if ok then
      engine.program_name = name
      log.info("this process has the name '%s' now", name)
    else
      log.warning("%s", tostring(err))
    end
  end
  outside.let_in(visitor)
  return visitor
end

--- Give `engine` its fields about names.
function names.attach(engine)
  local succeeds = heir(engine)

  --- This process's name, or false.
  engine.program_name = false

  --- Claim a name for this process; raises a failure if another one has it. It
  --- gives up the one it had. One that stands by claims it once it takes over, and the
  --- other process, if it hasn't ended by then, has.
  function engine.claim_name(name)
    names.check(name)
    local stands_by = standby.waits()
    standby.after(function ()
      if holder(name) then standby.await_end() end
      local pid = (stands_by or succeeds.wanted == name) and holder(name)
      if pid then return succeeds.wait_for(name, pid) end
      names.claim(name, engine.program_name)
      engine.program_name = name
    end)
  end

  --- Give up this process's name.
  function engine.unclaim_name()
    if succeeds.forget() and not engine.program_name then return end
    names.release(engine.program_name)
    engine.program_name = false
  end

  --- The running programs that have names, {NAME = process id}.
  engine.enumerate_named_programs = names.list
end

return names
