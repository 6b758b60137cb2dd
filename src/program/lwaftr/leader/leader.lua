-- SPDX-License-Identifier: Apache-2.0
-- The socket by which a running lwAFTR is asked and changed, as upstream's are: looked
-- at between breaths, and for a limited time, as packets may be waiting.

local C = require("core.native")
local alarms = require("program.lwaftr.leader.alarms")
local calls = require("lib.leader.calls")
local engine = require("core.app")
local notices = require("program.lwaftr.leader.notices")
local outside = require("core.outside.visitors")
local requests = require("program.lwaftr.leader.requests")
local shm = require("core.shm")
local sockets = require("lib.sockets")

local leader = {}

-- At a time, if calls are short: where packets wait meanwhile, and where all apps are
-- on other CPUs.
local MOST_SECONDS, MOST_WITHOUT_APPS = 0.002, 0.05
local MUCH_OUTPUT = 1048576 -- bytes that a client leaves waiting
local MUCH_GARBAGE = 16777216 -- bytes of calls and answers

-- A connection ----------------------------------------------------------------------

local Connection = {}
Connection.__index = Connection

local function connection(of)
  return setmetatable({leader = of, frames = calls.frames(), output = {}, outgoing = 0,
    garbage = 0}, Connection)
end

function Connection:receive(bytes)
  if bytes then self.frames:add(bytes) else self.at_end = true end
end

local function answer(self, text)
  local parts, size = {""}, 0
  for _, call in ipairs(calls.read(text)) do
    local fields = requests.answer(self.leader, call, self)
    for _, piece in ipairs(calls.pieces(call.name, fields)) do
      parts[#parts + 1], size = piece, size + #piece
    end
  end
  parts[1] = calls.head(size)
  size = size + #parts[1]
  for _, part in ipairs(parts) do self.output[#self.output + 1] = part end
  self.outgoing = self.outgoing + size
  self.garbage = self.garbage + #text + size
end

-- Go on with the frame that is being answered, or begin with the next one: true if
-- there was one, and it is answered. A large table takes its time: that is nothing for
-- the watchdog.
local function go_on(self)
  if not self.answering then
    local text = self.frames:next()
    if not text then return false end
    self.asked = true
    self.answering = coroutine.create(function () answer(self, text) end)
  end
  local watched = C.pg_watch(false)
  local ok, err = coroutine.resume(self.answering)
  C.pg_watch(watched)
  if coroutine.status(self.answering) ~= "dead" then return false end
  self.answering = nil
  if not ok then error(err, 0) end
  return true
end

--- Answer what has come, until its time is up. What is no call ends the connection.
function Connection:work()
  self.full = true -- until all that has come is answered
  if self.outgoing >= MUCH_OUTPUT then return end
  repeat
    local ok, more = pcall(go_on, self)
    if not ok then
      io.stderr:write(("perigee: a connection for `config` is closed: %s\n"):format(
        tostring(more)))
    end
    if ok and self.answering then return end
    if not ok or not more then
      self.full = false
      self.done = self.done or not ok or self.at_end or self.leader.over
      return
    end
  until C.pg_monotonic() >= self.leader.until_time
end

--- Has the client not sent a whole call yet? It makes room for others.
function Connection:is_idle() return not self.asked end

function Connection:ended()
  if self.leader.listener == self then self.leader.listener = nil end
  if self.garbage >= MUCH_GARBAGE then collectgarbage() end -- else it stays for hours
end

-- The socket --------------------------------------------------------------------------

local Leader = {}
Leader.__index = Leader

function Leader:tend()
  self.until_time = C.pg_monotonic()
    + (next(engine.app_table) and MOST_SECONDS or MOST_WITHOUT_APPS)
  repeat until not self.server:poll() or C.pg_monotonic() >= self.until_time
  if self.server:busy() then self.server:work() end
  if self.saving then self.saving:work(self.until_time) end
  if self.notices then self.notices:tend() end
end

function Leader:leave()
  self.server:close()
  if self.notices then self.notices:leave() end
end

local function warn(what, problem)
  io.stderr:write(("perigee: %s: %s\n"):format(what, problem))
end

--- Let the `router` (program.lwaftr.router) be asked and changed from outside from now
--- on; `readiness` is what can be drained, `saving` (program.lwaftr.saving, or nil)
--- what is told of changes.
function leader.start(router, readiness, saving)
  local o = setmetatable({router = router, readiness = readiness, saving = saving,
    over = false, until_time = 0}, Leader)
  shm.mkdir(shm.resolve("engine"))
  o.alarms = alarms.of(router, function (event, alarm)
    if o.notices then o.notices:tell(event, alarm) end
  end).list
  local fd, problem = sockets.listen_unix(shm.path(calls.SOCKET))
  if not fd then
    warn("this lwAFTR can't be configured while it runs", problem)
    return o
  end
  o.server = sockets.server(fd, function () return connection(o) end)
  o.notices, problem = notices.start()
  if not o.notices then warn("nobody can listen to alarms", problem) end
  outside.let_in{tend = function () o:tend() end, leave = function () o:leave() end}
  return o
end

--- For `done` of engine.main: have `duration` seconds (nil: any number) passed, or was
--- it called to end?
function Leader:ending(duration)
  local ends = duration and engine.now() + duration or math.huge
  return function () return self.over or engine.now() >= ends, ends end
end

-- It isn't part of the packet path.
for _, f in pairs(Leader) do
  if type(f) == "function" then jit.off(f, true) end
end

return leader
