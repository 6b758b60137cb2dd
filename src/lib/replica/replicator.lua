-- SPDX-License-Identifier: Apache-2.0
-- A host's replicator of a name: sends what is kept while the host is master, and takes
-- what another one sends while it is backup.

local C = require("core.native")
local counter = require("core.counter")
local failure = require("core.failure")
local fcntl = require("posix.fcntl")
local folder = require("lib.replica.folder")
local keep = require("net.keep.keep")
local log = require("core.lib.log")
local once = require("lib.replica.once")
local poll = require("posix.poll").poll
local receive = require("lib.replica.receive")
local send = require("lib.replica.send")
local socket = require("posix.sys.socket")
local sockets = require("lib.sockets")
local tls = require("lib.replica.tls")
local tree = require("core.shm.tree")
local turn = require("lib.replica.turn")
local unistd = require("posix.unistd")
local errno = require("posix.errno")

local Replicator = {}
Replicator.__index = Replicator

local AGAIN_S = 0.2   -- between two attempts to connect
local LONGEST_PAUSE_S = 10
local TELL_S = 0.5    -- between two status lines
local LONGEST_S = 0.2 -- that nothing is looked at
local MOST_PEERS = 8  -- connections at a time whose token isn't known yet
local COUNTERS = {"records_sent", "ages_sent", "removed_sent", "entries_taken",
  "records_gone", "connections", "refused", "split_brains", "records", "behind_us",
  "is_master"}

--- For the name `name`. `o`: to and listen ({address, port}, either may be nil), token,
--- role, interval (seconds), memory (bytes).
local function new(name, o)
  local self = setmetatable({name = name, o = o, context = tls.context(o.token),
    role = o.role, taking = {}, next_try = 0, told_at = 0, counters = {},
    once = once.new(name), sent = {records = 0, ages = 0, removed = 0}}, Replicator)
  for _, each in ipairs(COUNTERS) do
    self.counters[each] = counter.create(("apps/replica/%s.counter"):format(each))
  end
  return self
end

local function add(self, name, n)
  counter.add(self.counters[name], n or 1)
end

-- The name's lock ---------------------------------------------------------------------

local function release(self)
  if self.holds then keep.give_up() end
  self.holds = false
end

-- Nobody else writes its files while this host is backup.
local function hold(self)
  if self.holds and tree.exists(keep.folder(self.name)) then return true end
  release(self)
  if tree.exists(keep.folder(self.name)) and keep.is_used(self.name) then
    return false
  end
  keep.use(self.name)
  self.holds = true
  return true
end

-- Why nothing can be written here, and whether two hosts are master.
local function may_not_write(self)
  if self.role == "master" then
    return "this host is master, too", true
  elseif self.role ~= "backup" then
    return ("this host has the role '%s'"):format(self.role)
  elseif not hold(self) then
    return "a process of this host still keeps its state under the name"
  end
end

-- Receiving ---------------------------------------------------------------------------

local function note_split(self)
  if self.is_split then return end
  self.is_split = true
  add(self, "split_brains")
  log.warning("%s: two hosts are master: what the one that gives way has alone will "
    .. "be gone", self.name)
end

local function accept_all(self)
  while true do
    local fd, address = socket.accept(self.listening)
    if not fd then return end
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.O_NONBLOCK)
    fcntl.fcntl(fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    local peer = address.addr or "?"
    if #self.taking >= MOST_PEERS then -- the oldest without a token makes room
      for i, one in ipairs(self.taking) do
        if one.state ~= "receiving" then
          one:close()
          table.remove(self.taking, i)
          break
        end
      end
    end
    self.taking[#self.taking + 1] = receive.new(tls.connection(self.context, fd, true),
      self.name, peer, self.o.memory, function () return may_not_write(self) end)
  end
end

local function end_receiver(self, i, problem)
  local one = self.taking[i]
  table.remove(self.taking, i)
  add(self, "records_gone", one.gone)
  add(self, "entries_taken", one:counts().applied)
  if one.split then note_split(self) end
  if one.lied then
    add(self, "refused")
    self.once:warning("%s is refused: it %s", one.peer, problem)
  elseif one.state == "receiving" then
    log.info("%s: the connection of %s is over: it %s", self.name, one.peer, problem)
  elseif problem ~= "closed the connection" and not one.split then
    add(self, "refused")
    self.once:info("%s isn't let in: %s", one.peer, problem)
  end
  one:close()
end

-- The one that writes: a new connection with the token takes the place of an old one.
local function only_newest(self)
  local found
  for i = #self.taking, 1, -1 do
    if self.taking[i].state == "receiving" then
      if found then
        end_receiver(self, i, "has made a new one")
      else
        found = self.taking[i]
      end
    end
  end
  if found and self.writer ~= found then
    add(self, "connections")
    self.once:info("%s sends its records", found.peer)
  end
  if found and found:is_whole() then self.once:forget() end
  self.writer = found
end

-- Sending -----------------------------------------------------------------------------

local function connect(self)
  local now, to = C.pg_monotonic(), self.o.to
  if now < self.next_try then return end
  self.next_try = now + AGAIN_S
  local list, problem = socket.getaddrinfo(to.address, tostring(to.port),
    {socktype = socket.SOCK_STREAM})
  local address = list and list[1]
  if not address then return self.once:info("%s: %s", to.address, tostring(problem)) end
  local fd = socket.socket(address.family, socket.SOCK_STREAM, 0)
  if not fd then return end
  fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.O_NONBLOCK)
  fcntl.fcntl(fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
  local ok, reason, code = socket.connect(fd, address)
  if not ok and code ~= errno.EINPROGRESS then
    unistd.close(fd)
    return self.once:info("%s: %s", to.address, reason)
  end
  self.sender = send.new(tls.connection(self.context, fd, false), self.name, to.address,
    self.o.interval)
end

local function end_sender(self, problem)
  local sender = self.sender
  self.sender, self.whole = nil, false
  if sender.refusal and not sender:is_whole() then -- all that was sent was for nothing
    local now = C.pg_monotonic()
    self.next_try = now + math.min(3 * (now - sender.opened), LONGEST_PAUSE_S)
  end
  if sender.refusal and sender.refusal:find("is master, too", 1, true) then
    note_split(self)
  end
  for key, n in pairs(sender:counts()) do
    if self.sent[key] then self.sent[key] = self.sent[key] + n end
  end
  self.once:info("%s %s", sender.peer, problem)
  sender:close()
end

-- Roles -------------------------------------------------------------------------------

--- The host has that role from now on; what of others was written is whole at once, and
--- the name free for another process, if it isn't backup.
function Replicator:set_role(role)
  if role == self.role then return end
  log.info("%s: %s, was %s", self.name, role, self.role)
  self.role, self.is_split, self.next_try = role, false, 0
  self.once:forget()
  if role ~= "master" and self.sender then end_sender(self, "is sent no more") end
  if role ~= "backup" then
    for i = #self.taking, 1, -1 do end_receiver(self, i, "is listened to no more") end
    self.writer = nil
    release(self)
  end
end

-- A session of lib.sockets: a line with a role, answered once the role is taken.
local function told(self)
  local session = {output = {}, outgoing = 0}
  function session.receive(_, bytes)
    local role = (bytes or ""):match("^(%l+)\n$")
    if folder.ROLES[role or ""] then
      self:set_role(role)
      local noted, problem = pcall(folder.set_role, self.name, role)
      if noted and role ~= "master" then turn.end_runner(self.name) end
      session.output[1] = noted and "done\n" or tostring(problem)
      session.outgoing = #session.output[1]
    end
    session.done = true
  end
  function session.work() end
  return session
end

-- What is said ------------------------------------------------------------------------

local function sent_counts(self)
  local sum = {there = 0}
  for key, n in pairs(self.sent) do sum[key] = n end
  for key, n in pairs(self.sender and self.sender:counts() or {}) do
    sum[key] = (sum[key] or 0) + n
  end
  return sum
end

local function state_of(self)
  local sender, writer = self.sender, self.writer
  if self.role == "master" and self.o.to then
    if not sender or sender.state ~= "sending" then
      return ("no connection to %s"):format(self.o.to.address)
    end
    return (sender:is_whole() and "%s has all" or "%s gets all"):format(sender.peer)
  elseif self.role == "backup" and writer then
    return (writer:is_whole() and "has all of %s" or "gets all of %s"):format(
      writer.peer)
  end
  return self.role == "backup" and "nobody sends" or "nothing is sent"
end

local function publish(self)
  local now = C.pg_monotonic()
  local state = state_of(self)
  if state == self.told_state and now < self.told_at + TELL_S then return end
  self.told_at, self.told_state = now, state
  local c, sent = self.counters, sent_counts(self)
  local writer = self.writer and self.writer:counts()
  local sender = self.sender and self.sender.state == "sending" and self.sender or nil
  local behind, other = sender and sender:behind(), sender or self.writer
  self.last = other and other:last() or self.last
  counter.set(c.records_sent, sent.records)
  counter.set(c.ages_sent, sent.ages)
  counter.set(c.removed_sent, sent.removed)
  counter.set(c.records, writer and writer.there or sent.there)
  counter.set(c.behind_us, behind and math.floor(behind * 1e6) or 0)
  counter.set(c.is_master, self.role == "master" and 1 or 0)
  counter.commit()
  local problem = folder.tell(self.name, {role = self.role, state = state,
    records = writer and writer.there or sent.there, behind = behind,
    pid = unistd.getpid(), connected = other ~= nil, last = self.last,
    changes = sender and sender:changes()})
  if problem and not self.untold then
    log.warning("%s: what is shown of it isn't up to date: can't write %s", self.name,
      problem)
  end
  self.untold = problem
end

-- Running -----------------------------------------------------------------------------

local function work(self, sockets_server)
  sockets_server:poll()
  if self.listening then accept_all(self) end
  for i = #self.taking, 1, -1 do
    local problem = self.taking[i]:work()
    if problem then end_receiver(self, i, problem) end
  end
  only_newest(self)
  if self.role == "master" and self.o.to then
    if not self.sender then connect(self) end
    local problem = self.sender and self.sender:work()
    if problem then end_sender(self, problem) end
    if self.sender and self.sender:is_whole() and not self.whole then
      self.whole, self.is_split = true, false
      self.once:forget()
      add(self, "connections")
      log.info("%s: %s has all %d records", self.name, self.sender.peer,
        self.sender:counts().there)
    end
  end
  publish(self)
end

local function wait(self, server)
  local fds, longest = {}, LONGEST_S
  local function ask(one)
    fds[one.connection.fd] = {events = one.stream:events()}
    longest = math.min(longest, one:wait())
  end
  for _, fd in ipairs(server:descriptors()) do fds[fd] = {events = {IN = true}} end
  if self.listening then fds[self.listening] = {events = {IN = true}} end
  for _, one in ipairs(self.taking) do ask(one) end
  if self.sender then ask(self.sender) end
  if longest > 0 then poll(fds, math.ceil(longest * 1000)) end
end

local function listen(o)
  if not o.listen then return nil end
  local fd, problem = sockets.listen_tcp(o.listen.address, o.listen.port)
  if not fd then
    failure.raise("--listen %s:%d: %s", o.listen.address, o.listen.port, problem)
  end
  return fd
end

--- Take the name's lock, if this host is backup, and listen.
function Replicator:begin()
  self.listening = listen(self.o)
  local fd, problem = sockets.listen_unix(folder.socket(self.name))
  if not fd then failure.raise("can't listen for roles: %s", problem) end
  self.server = sockets.server(fd, function () return told(self) end)
  if self.role == "backup" then hold(self) end
end

--- After begin(): replicate until a signal ends the process, or `ended()`, if given, is
--- true.
function Replicator:run(ended)
  local server = self.server
  while C.pg_signal() == 0 and not (ended and ended()) do
    work(self, server)
    wait(self, server)
  end
  if self.sender then end_sender(self, "is sent no more") end
  for i = #self.taking, 1, -1 do end_receiver(self, i, "is listened to no more") end
  release(self)
  server:close()
  unistd.unlink(folder.socket(self.name))
end

return {new = new}
