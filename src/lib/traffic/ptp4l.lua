-- SPDX-License-Identifier: Apache-2.0
-- How far ptp4l (linuxptp) says this machine's clock is from its master's, asked over
-- its management socket. ptp4l gives no bound. Taken as one is the largest offset of
-- the last looks and the mean path delay: a path may take all of a round trip's time,
-- which is twice that delay, one way.

local clock = require("core.lib.clock")
local errno = require("posix.errno")
local fcntl = require("posix.fcntl")
local management = require("lib.traffic.ptp_management")
local poll = require("posix.poll").rpoll
local shm = require("core.shm")
local socket = require("posix.sys.socket")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

local ptp4l = {}

--- Where its socket is, unless its configuration has another uds_address.
ptp4l.PATH = "/var/run/ptp4l"

local OWN = "ptp.socket"       -- in this instance's directory
local ANSWER_MS = 300
local MOST_BYTES = 1500
local MOST_ANSWERS = 256       -- read at once: no flood keeps a look going
local LONGEST_PATH = 107       -- <linux/un.h>
local MOST_UNHEARD = 2         -- looks in a row
local LOOKS = 8                -- whose largest offset counts
local SLAVE, MASTER = 9, 6     -- IEEE 1588-2008, table 8
local SOFTWARE = 0             -- linuxptp's time_stamping
local LONGEST_S = 3600         -- an offset or a path delay longer than that is none
local STALE_S, STALE_SYNCS = 2, 8
local ASKED = {"PORT_PROPERTIES_NP", "PORT_DATA_SET", "TIME_STATUS_NP",
               "CURRENT_DATA_SET"}

--- Converter of a command line: PATH[,domain=N] of the socket: {path =, domain =}.
function ptp4l.parse(text)
  local path, domain = text:match("^([^,]+),domain=(%d+)$")
  path, domain = path or text:match("^[^,]+$"), tonumber(domain or 0)
  if path and domain <= 255 then return {path = path, domain = domain} end
  return nil, ("'%s' is no socket of ptp4l: %s, or with its domain, %s,domain=24")
    :format(text, ptp4l.PATH, ptp4l.PATH)
end

-- What was said ---------------------------------------------------------------------

-- Of what all ports said, the state that counts: of a slave, or else of a master.
local function port_of(answers)
  local found
  for _, a in ipairs(answers) do
    if a.name == "PORT_DATA_SET" and (a.state == SLAVE or not found
        or a.state == MASTER and found.state ~= SLAVE) then
      found = a
    end
  end
  return found
end

local function of_name(answers, name, port)
  for _, a in ipairs(answers) do
    if a.name == name and (not port or a.port == port) then return a end
  end
end

local function seconds_text(seconds) return ("%.0f s"):format(seconds) end

-- Of a slave: the offset and delay in seconds; or nil and why there are none.
local function of_slave(time, current, port, now)
  local syncs = STALE_SYNCS * 2 ^ math.max(-7, math.min(7, port.log_sync))
  local age = now - time.ingress / 1e9
  local offset = math.max(math.abs(time.offset), math.abs(current.offset)) / 1e9
  local delay = current.delay / 1e9
  if not time.present or current.steps == 0 then
    return nil, "what ptp4l says can't be: it is a slave, and has no master"
  elseif offset > LONGEST_S or delay <= 0 or delay > LONGEST_S then
    return nil, ("what ptp4l says can't be: an offset of %.9g s over a path of %.9g s")
      :format(offset, delay)
  elseif age < -STALE_S or age > STALE_S + syncs then
    return nil, "ptp4l has heard nothing of its master for "
      .. seconds_text(math.abs(age))
  end
  return {offset = offset, delay = delay, steps = current.steps}
end

--- What its answers (lib.traffic.ptp_management, a list) say at the time `now` (seconds
--- since 1970): {offset =, delay = (seconds, neither negative), steps = clocks up to
--- the grandmaster}; all 0 if it is that itself. Nil and a sentence: they say nothing
--- that can be used; and true, if they are just of another clock.
function ptp4l.judge(answers, now)
  for _, a in ipairs(answers) do
    if a.error then
      return nil, ("ptp4l answers with an error: managementErrorId 0x%04x"):format(
        a.error)
    end
  end
  local port = port_of(answers)
  local properties = port and of_name(answers, "PORT_PROPERTIES_NP", port.port)
  local time, current = of_name(answers, "TIME_STATUS_NP"),
    of_name(answers, "CURRENT_DATA_SET")
  if not (properties and time and current) then
    return nil, "ptp4l leaves out part of what it is asked for"
  elseif port.state ~= SLAVE and port.state ~= MASTER then
    return nil, ("ptp4l isn't joined to a master: its port is %s"):format(
      management.STATES[port.state] or "in state " .. port.state)
  elseif properties.timestamping ~= SOFTWARE then
    return nil, "ptp4l keeps a card's clock, not this machine's (which phc2sys keeps): "
      .. "say by --clock-error how far that is", true
  elseif port.state == SLAVE then
    return of_slave(time, current, port, now)
  elseif time.present or current.steps ~= 0 then
    return nil, "what ptp4l says can't be: it is a master, and has one"
  end
  return {offset = 0, delay = 0, steps = 0}
end

-- The socket ------------------------------------------------------------------------

local Ptp4l = {}
Ptp4l.__index = Ptp4l

local function reason(problem) return ((problem or ""):gsub("^.*: ", "")) end

-- Only root's, or this user's: any other could say what it likes.
local function trusted(path)
  local found = stat.stat(path)
  if not found then return nil, "there is no " .. path end
  if stat.S_ISSOCK(found.st_mode) == 0 then return nil, path .. " is no socket" end
  if found.st_uid ~= 0 and found.st_uid ~= unistd.geteuid() then
    return nil, ("%s belongs to another user (%d)"):format(path, found.st_uid)
  end
  return true
end

-- ptp4l answers at a path only, which any network namespace shares.
local function open(path)
  local ok, problem = trusted(path)
  if not ok then return nil, problem end
  local own = shm.path(OWN)
  if #path > LONGEST_PATH or #own > LONGEST_PATH then
    return nil, ("%s is longer than %d bytes"):format(#path > #own and path or own,
      LONGEST_PATH)
  end
  local fd = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM, 0)
  fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.O_NONBLOCK)
  fcntl.fcntl(fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
  shm.mkdir(shm.resolve("engine"))
  unistd.unlink(own)
  ok, problem = socket.bind(fd, {family = socket.AF_UNIX, path = own})
  if ok then
    stat.chmod(own, tonumber("600", 8))
    ok, problem = socket.connect(fd, {family = socket.AF_UNIX, path = path})
  end
  if ok then return fd end
  unistd.close(fd)
  return nil, ("%s: %s"):format(path, reason(problem))
end

--- ptp4l at the socket `path`, in that domain. Nil and why: nobody is there.
function ptp4l.new(path, domain)
  local fd, problem = open(path)
  if not fd then return nil, problem end
  return setmetatable({fd = fd, path = path, domain = domain, specific = 0,
    sequence = 0, answers = {}, offsets = {}, unheard = 0}, Ptp4l)
end

local function send(self)
  self.answers, self.first = {}, self.sequence + 1
  for i, name in ipairs(ASKED) do
    self.sequence = self.sequence % 0xffff + 1
    if i == 1 then self.first = self.sequence end
    local ok, _, number = socket.send(self.fd, management.get(name, self.sequence,
      self.domain, self.specific))
    if not ok and number ~= errno.EAGAIN then -- EAGAIN: it reads nothing
      return nil, "ptp4l at " .. self.path .. " has ended"
    end
  end
  return true
end

-- Take what has come: true once all of it has; nil and why it is no answer.
local function receive(self)
  for _ = 1, MOST_ANSWERS do
    local bytes = socket.recv(self.fd, MOST_BYTES)
    if not bytes then return self.complete end
    local said, problem = management.read(bytes)
    if not said then
      return nil, ("what answers at %s isn't ptp4l: %s"):format(self.path, problem)
    end
    local number = (said.sequence - self.first) % 0xffff
    if number < #ASKED then -- else of a former look
      table.insert(self.answers, said)
      self.complete = self.complete or number == #ASKED - 1
    end
  end
  return nil, ("%s floods who asks"):format(self.path)
end

-- Ask, and wait for the answers: true, or nil and why there are none.
local function exchange(self)
  self.complete = false
  local ok, problem = send(self)
  if not ok then return nil, problem end
  local ends = clock.seconds() + ANSWER_MS / 1e3
  repeat
    local left = math.max(0, math.ceil(1e3 * (ends - clock.seconds())))
    if poll(self.fd, left) == 1 then
      ok, problem = receive(self)
      if ok or problem then return ok, problem end
    end
  until clock.seconds() >= ends
  return false
end

-- The largest offset of the last looks is part of the bound.
local function take(self)
  local said, problem, other = ptp4l.judge(self.answers,
    tonumber(clock.unix_nanoseconds()) / 1e9)
  if not said then
    self.bound = nil
    return nil, problem, other
  end
  table.insert(self.offsets, 1, said.offset)
  self.offsets[LOOKS + 1] = nil
  self.bound, self.steps = math.max(unpack(self.offsets)) + said.delay, said.steps
  return self.bound
end

--- Ask, and wait for 0.6 seconds at most: the bound in seconds; or nil, a sentence, and
--- true if it keeps another clock. transportSpecific is 1 in profiles such as gPTP's:
--- who is asked with another doesn't answer.
function Ptp4l:ask()
  local ok, problem = exchange(self)
  if ok == false then
    self.specific = 1 - self.specific
    ok, problem = exchange(self)
  end
  if ok then return take(self) end
  self.bound = nil
  return nil, problem or ("ptp4l doesn't answer at %s in domain %d (another "
    .. "domainNumber is written behind it: --ptp %s,domain=24)"):format(self.path,
    self.domain, self.path)
end

--- The same without waiting: by the answers to the look before.
function Ptp4l:look()
  local ok, problem = receive(self)
  if ok then
    self.unheard = 0
    problem = select(2, take(self))
  elseif not problem then
    self.unheard = self.unheard + 1
    problem = self.unheard > MOST_UNHEARD and "ptp4l doesn't answer any more at "
      .. self.path
  end
  if not problem then
    self.complete = false
    problem = select(2, send(self))
  end
  if problem then
    self.bound = nil
    return nil, problem
  end
  return self.bound
end

return ptp4l
