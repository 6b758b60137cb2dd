-- SPDX-License-Identifier: Apache-2.0
-- Who passes ports to whom in an upgrade: the process that has a name (--keep) to the
-- standby that is to have it next (net.keep.standby), once it receives nothing more.
-- The main thread does so, and lets workers do so; each passes and takes its own ports.
-- What is passed of a port its kind knows (pass, take and forget: README.md).

local keep = require("net.keep.keep")
local kinds = require("lib.port.kinds")
local opened = require("lib.port.opened")
local outside = require("core.outside.visitors")
local turn = require("core.outside.standby")
local standby = require("net.keep.standby")
local unistd = require("posix.unistd")
local workers = require("core.cpus.workers")

local C = require("core.declare")("native/passed.h")

local passing = {}

local function path_of(pid)
  return standby.passing_path(keep.folder(), keep.name(), pid)
end

-- Call each kind's `what`, if it has one.
local function each_kind(what)
  for _, kind in ipairs(kinds.list) do
    if kind[what] then kind[what]() end
  end
end

-- This process stands by: it takes what the other one passes.
local function expect()
  if not keep.name() then return end
  local path = path_of(unistd.getpid())
  local fd = C.pg_passed_listen(path)
  if fd < 0 then return end
  turn.at_turn(function () -- workers open ports, too
    C.pg_passed_accept(fd)
    each_kind("take")
  end)
  turn.at_takeover(function ()
    unistd.close(fd)
    os.remove(path)
    each_kind("forget")
    C.pg_passed_forget()
  end)
end

--- Pass on this Lua state's ports by the connection, a descriptor.
function passing.pass_here(connection)
  for port, device_port in opened.each() do
    local pass = device_port ~= true and not port.gone and kinds.of(port).pass
    if pass then pass(device_port, port, connection) end
  end
end

local function pass_on()
  local name = keep.name()
  local pid = name and standby.next(standby.next_path(keep.folder(), name))
  local connection = pid and C.pg_passed_connect(path_of(pid), pid) or -1
  if connection < 0 then return end
  passing.pass_here(connection)
  for _, cpu in ipairs(workers.places()) do -- one that is given up passes nothing
    pcall(workers.call, cpu, "lib.port.passing", "pass_here", connection)
  end
  unistd.close(connection)
end

turn.before_waiting(expect)
outside.let_in{pass_on = pass_on}

return passing
