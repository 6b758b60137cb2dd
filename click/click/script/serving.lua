-- SPDX-License-Identifier: Apache-2.0
-- What elements have in common that others connect to (click.elements.control.sockets):
-- a class of theirs has listen(self), which returns a socket or nil and a message, and
-- session(self).

local C = require("core.native")
local element = require("click.element")
local errors = require("click.errors")
local keep = require("net.keep.keep")
local patience = require("core.lib.patience")
local peer = require("lib.peer")
local sockets = require("lib.sockets")
local standby = require("core.outside.standby")
local trust = require("click.script.trust")

local LOCAL, RETRY_SECONDS = "127.0.0.1", 1
local TAKEOVER_SECONDS, LOOK_SECONDS = 5, 0.01

local Serving = element.define{name = "(server)", ports = "0/0", division = "whole"}

--- This machine's own address.
Serving.LOCAL = LOCAL

-- A connection of another user's is refused, which is told once.
local function admit(self)
  if self.path or self.address ~= LOCAL then return nil end
  return function (address)
    if peer.is_trusted(address) then return true end
    if not self.has_refused then
      self.has_refused = true
      self:remark("refused a connection of another user, or one that was "
        .. "closed at once; LOCALHOST false lets all connect")
    end
    return false
  end
end

--- Serve who connects to the socket that listens; nil: nobody connects.
function Serving:start(fd)
  self.server = sockets.server(fd, function (address)
    return self:session(self.address == LOCAL or trust.is_own(address))
  end,
    self.verbose and function (line)
      self:remark("%s", line)
    end, admit(self))
  self.router:serve(self, self.server)
end

-- Try to listen. True, or false after it has been said why not.
local function try(self, reporter)
  self.retries = self.retries - 1
  local fd, problem = self:listen()
  if fd then
    self:start(fd)
    return true
  elseif self.retries < 0 then
    reporter:error("%s", problem)
  elseif self.retry_warnings then
    reporter:warning("%s (%d %s left)", problem, self.retries + 1,
      self.retries == 0 and "try" or "tries")
  end
  return false
end

-- Try again every second, and stop the router when that was for nothing.
local function keep_trying(self)
  local timer
  timer = self.router:timer(function ()
    if self.server or try(self, errors.to_stderr()) then return end
    if self.retries >= 0 then timer:after(RETRY_SECONDS) else self.router:stop() end
  end)
  timer:after(RETRY_SECONDS)
  self.timer = timer
end

-- Does the other one listen where this one wants to?
local function same_place(self, old)
  return old.class == self.class and old.kind == self.kind and old.path == self.path
    and (old.port == self.port or self.next_free and old.wanted_port == self.port)
end

-- Listen, as the element is asked to.
local function begin(self, reporter)
  if not try(self, reporter) and self.retries >= 0 then keep_trying(self) end
end

-- The same where the process that had the name before may still listen: one that is
-- killed lets go of the name first of all. Where somebody else listens, one that has
-- taken over goes on without the socket, for its packets' sake; another one ends.
local function begin_behind(self, reporter)
  local has_taken_over = standby.waits()
  local now = self:listen()
  if now then return self:start(now) end
  local limit, timer = patience.new(TAKEOVER_SECONDS), nil
  timer = self.router:timer(function ()
    local fd = self:listen()
    if fd then return self:start(fd) end
    if not limit:over() then return timer:after(LOOK_SECONDS) end
    begin(self, reporter)
    if not self.server and self.retries < 0 and not has_taken_over then
      C.pg_note_failure()
      self.router:stop()
    end
  end)
  timer:after(LOOK_SECONDS)
  self.timer = timer
end

function Serving:initialize()
  local old = self.router.old and self.router.old.by_name[self.name]
  if old and old.server and same_place(self, old) then return end
  local reporter = {error = function (_, ...) self:error(...) end,
    warning = function (_, ...) self:warning(...) end}
  local begins = (standby.waits() or keep.name()) and begin_behind or begin
  standby.after(function () begins(self, reporter) end)
end

function Serving:cleanup()
  if self.timer then self.timer:unschedule() end
  if not self.server then return end
  self.router:poll(self, nil)
  -- (Before it is closed: then another process may listen there.)
  if self.path then os.remove(self.path) end
  self.server:close()
end

--- Go on with the sockets of `old`, whose clients notice nothing.
function Serving:take_state(old)
  if self.server or not old.server or not same_place(self, old) then return end
  local server = old.server
  old.router:poll(old, nil)
  old.server = nil
  self:start(server.fd)
  self.port = old.port
  for _, session in pairs(server.connections) do
    session.router = self.router
    session.proxy = self.proxy
  end
  self.server:take_over(server.connections)
end

return Serving
