-- SPDX-License-Identifier: Apache-2.0
-- The socket at which programs hear of alarms as they are raised and cleared: a line of
-- JSON each, as upstream's `snabb alarms listen` reads them.

local cjson = require("cjson")
local alarm_schema = require("program.lwaftr.leader.alarm_schema")
local shm = require("core.shm")
local sockets = require("lib.sockets")

local notices = {}

--- The socket's name in a process's directory in shared memory.
notices.SOCKET = "notifications"

local MOST_WAITING = 1048576 -- bytes that a listener leaves waiting before it is left

local time_text = alarm_schema.time.write

-- A listener: all that it says is overheard.
local Listener = {}
Listener.__index = Listener

function Listener:receive(bytes) if not bytes then self.at_end = true end end

function Listener:work() self.done = self.at_end or self.outgoing > MOST_WAITING end

local function notification(alarm)
  local last = alarm.status_change[#alarm.status_change]
  return {time = time_text(last.time), perceived_severity = last.perceived_severity,
    alarm_text = alarm.alarm_text}
end

local function action(alarm)
  local last = alarm.operator_state_change[#alarm.operator_state_change]
  return {time = time_text(last.time), operator = last.operator, state = last.state,
    text = last.text}
end

local ABOUT = {["alarm-notification"] = notification, ["operator-action"] = action}

local Notices = {}
Notices.__index = Notices

--- Listen for listeners; nil and a message if that can't be.
function notices.start()
  local fd, problem = sockets.listen_unix(shm.path(notices.SOCKET))
  if not fd then return nil, problem end
  local o = setmetatable({listeners = setmetatable({}, {__mode = "k"})}, Notices)
  o.server = sockets.server(fd, function ()
    local listener = setmetatable({output = {}, outgoing = 0}, Listener)
    o.listeners[listener] = true
    return listener
  end)
  return o
end

--- Tell all of an event, as lib.alarms calls it.
function Notices:tell(event, alarm)
  if not next(self.listeners) then return end
  local about = ABOUT[event]
  local object = about and about(alarm) or {}
  object.event = event
  for _, name in ipairs(alarm and {"resource", "alarm_type_id",
    "alarm_type_qualifier"} or {}) do
    object[name] = alarm[name]
  end
  local line = cjson.encode(object) .. "\n"
  for listener in pairs(self.listeners) do
    table.insert(listener.output, line)
    listener.outgoing = listener.outgoing + #line
  end
end

--- Take new listeners, and send what there is.
function Notices:tend()
  self.server:poll()
  if self.server:busy() then self.server:work() end
end

function Notices:leave() self.server:close() end

return notices
