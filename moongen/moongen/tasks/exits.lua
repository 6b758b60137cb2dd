-- SPDX-License-Identifier: Apache-2.0
-- os.exit in a script: the process ends in order, with files written and devices
-- closed, whichever task calls it.

local C = require("core.declare")("native/moongen.h")
local ends = require("moongen.tasks.ends")

local exits = {}

local Exit = {} -- what is raised to leave the script

--- Is `err` the wish to end with a status? Then that, a number.
function exits.status(err)
  return getmetatable(err) == Exit and err.status or nil
end

local function raise(status) error(setmetatable({status = status}, Exit), 0) end

local in_master = false

--- In the main thread: leave the script if a task has called os.exit.
function exits.check()
  if in_master and C.mg_exit_wanted() >= 0 then raise(C.mg_exit_wanted()) end
end

local function exit(status)
  if status == true or status == nil then status = 0 end
  if status == false then status = 1 end
  status = tonumber(status) or 1
  io.stdout:flush()
  ends.want_exit(status % 256)
  raise(status % 256)
end

local plain_exit = os.exit

--- The script is over: os.exit is what it was.
function exits.remove()
  os.exit = plain_exit -- luacheck: ignore 122
end

--- Put it in the place of os.exit. `master`: is this the main thread?
function exits.install(master)
  in_master = master
  os.exit = exit -- luacheck: ignore 122
end

return exits
