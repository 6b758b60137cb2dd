-- SPDX-License-Identifier: Apache-2.0
-- The master's side of replication: sweeps over the files that are kept under a name,
-- and sends what the other host hasn't. A connection begins with all records; what has
-- been sent is taken for what the other host has.

local C = require("core.declare")("net/replica/replica.h")
local cjson = require("cjson")
local errno = require("posix.errno")
local fcntl = require("posix.fcntl")
local ffi = require("ffi")
local keep = require("net.keep.keep")
local log = require("core.lib.log")
local main = require("core.main")
local stat = require("posix.sys.stat")
local stream = require("lib.replica.stream")
local tree = require("core.shm.tree")
local unistd = require("posix.unistd")

local send = {}

--- The version of what is said. Another one isn't understood.
send.VERSION = 1

local Sender = {}
Sender.__index = Sender

local HEARTBEAT_S = 0.5 -- between two SWEPTs at most
local SILENCE_S = 5     -- of the other host, after which it is gone
local DUTY = 4          -- a sweep's time is a fourth of all at most
local BATCH = ffi.sizeof("struct replica_batch")

--- Send what is kept under the name on the connection (lib.replica.tls), whose other
--- end is called `peer`, beginning a sweep each `interval` seconds at most.
function send.new(connection, name, peer, interval)
  local now = C.pg_monotonic()
  return setmetatable({stream = stream.new(connection), connection = connection,
    name = name, peer = peer, interval = interval, state = "handshake", heard = now,
    opened = now, sources = {}, next_id = 1, queue = {}, sweep = 0, seen = 0,
    swept = {}, due = now, told_at = now, spent = 0, lag = 0, refused = {}, entries = 0,
    arrived = 0, entries_at = {}}, Sender)
end

local function hello(self)
  return cjson.encode({perigee = send.VERSION, release = main.release or "",
    name = self.name, role = "master"})
end

-- Files -----------------------------------------------------------------------------

local function drop(source)
  C.pg_replica_close(source.native)
end

-- Where in records the keys are by which hints say where they are; nil: there are none.
local function keys_of(path)
  local fd = fcntl.open(path, fcntl.O_RDONLY + fcntl.O_CLOEXEC + fcntl.O_NONBLOCK)
  if not fd then return nil end
  local keys = C.pg_replica_keys(fd)
  unistd.close(fd)
  return keys.n > 0 and {at = keys.at, size = keys.size, n = keys.n} or nil
end

local function file_json(file, of, per_second, keys)
  local h = file.header
  return cjson.encode({of = of, layout = ffi.string(h.layout),
    size = h.record_size, age_at = h.age_at, most = tonumber(h.most),
    per_second = per_second, keys = keys})
end

-- A source for the file that is there now under that name; nil: it can't be sent.
local function open(self, path, inode)
  local file, fd = keep.look(path)
  if not file then return nil, fd end
  local notes = keep.notes(fd, file)
  local per_second = keep.per_second(file)
  local native = ffi.gc(ffi.new("struct replica_source"), C.pg_replica_close)
  local good = notes and C.pg_replica_open(native, fd, file, per_second)
  local problem = not notes and "has notes that can't be read"
    or not good and "can't be compared: " .. errno.errno(ffi.errno()) or nil
  unistd.close(fd)
  if problem then return nil, problem end
  local of = keep.owner(file, path:match("[^/]*$"))
  local hints = keep.hints_of(self.name, of)
  local keys = keys_of(hints)
  local source = {native = native, inode = inode, id = self.next_id, notes = notes,
    json = file_json(file, of, per_second, keys), per_second = per_second,
    first = true, awaits = not keys and not tree.exists(hints) and hints or nil}
  self.next_id = self.next_id + 1
  return source
end

local function complain(self, file, problem)
  if problem and self.refused[file] ~= problem then
    log.warning("%s: the file %s isn't sent: it %s", self.name, file, problem)
  end
  self.refused[file] = problem
end

-- Is the source of the file with that inode? Hints come behind their file.
local function is_of(source, inode)
  return source.inode == inode and not (source.awaits and tree.exists(source.awaits))
end

-- Look which files there are: self.queue has those to sweep, and what else to say.
local function look(self)
  local there, queue = {}, {}
  for _, file in ipairs(tree.names(keep.folder(self.name))) do
    local path = ("%s/%s"):format(keep.folder(self.name), file)
    local found = stat.lstat(path)
    local source = self.sources[file]
    if found and not (source and is_of(source, found.st_ino)) then
      local new, problem = open(self, path, found.st_ino)
      complain(self, file, problem)
      if new then
        if source then
          queue[#queue + 1] = {gone = source.id, replaced = true}
          drop(source)
        end
        self.sources[file], source = new, new
      end
    end
    if found and source then
      there[file] = true
      if C.pg_replica_begin(source.native) then queue[#queue + 1] = source end
    end
  end
  for file, source in pairs(self.sources) do
    if not there[file] then
      queue[#queue + 1] = {gone = source.id}
      drop(source)
      self.sources[file] = nil
    end
  end
  self.queue = queue
end

-- Sweeps ----------------------------------------------------------------------------

local function put_file(self, source)
  source.told = true
  return self.stream:put(stream.FILE, stream.bytes32(source.id)
    .. stream.bytes32(#source.json) .. source.json .. source.notes)
end

local function entries_of(source)
  local native = source.native
  return tonumber(native.records + native.ages + native.removed)
end

-- A frame of what has changed in the source, if anything has. False: the connection is
-- over. source.native.at tells how far it is.
local function put_records(self, source)
  local at, room = self.stream:room()
  local ns = C.pg_monotonic_ns()
  local now = tonumber(ns) / 1e9 * source.per_second
  local before = entries_of(source)
  local n = tonumber(C.pg_replica_sweep(source.native, now, at + BATCH, room - BATCH))
  if n < 0 then -- cut off meanwhile: another process has it
    log.warning("%s: a file can't be read: %s", self.name, errno.errno(ffi.errno()))
    source.native.at = source.native.top
    return true
  end
  if n == 0 then return true end
  self.changed = true
  self.entries = self.entries + entries_of(source) - before
  local batch = ffi.cast("struct replica_batch *", at)
  batch.file, batch.none, batch.clock_ns = source.id, 0, ns
  return self.stream:put_frame(stream.RECORDS, BATCH + n)
end

local function end_sweep(self, now)
  self.sweeping = false
  local spent = self.spent + now - self.turn -- this turn's time isn't in it yet
  self.due = math.max(self.began + self.interval, now + (DUTY - 1) * spent)
  if not self.changed and now < self.told_at + HEARTBEAT_S then return true end
  self.told_at = now
  self.sweep = self.sweep + 1
  self.swept[self.sweep], self.entries_at[self.sweep] = self.began, self.entries
  return self.stream:put(stream.SWEPT, stream.bytes64(self.sweep))
end

-- One step of the sweep: a frame at most. False if the connection is over.
local function step(self)
  local first = self.queue[1]
  if not first then return end_sweep(self, C.pg_monotonic()) end
  if first.gone then
    table.remove(self.queue, 1)
    self.changed = true
    return self.stream:put(stream.GONE, stream.bytes32(first.gone)
      .. stream.bytes32(first.replaced and 1 or 0))
  elseif not first.told then
    self.changed = true
    return put_file(self, first)
  elseif first.native.at < first.native.top then
    return put_records(self, first)
  end
  table.remove(self.queue, 1)
  if not first.first then return true end
  first.first, self.changed = false, true
  return self.stream:put(stream.COMPLETE, stream.bytes32(first.id))
end

local MOST_STEPS = 64 -- before others get their turn

local function work(self)
  local now = C.pg_monotonic()
  if not self.sweeping then
    if now < self.due then return true end
    self.sweeping, self.changed, self.began, self.spent = true, false, now, 0
    look(self)
  end
  local good, steps = true, 0
  self.turn = now
  while good and self.sweeping and self.stream:is_sent() and steps < MOST_STEPS do
    good, steps = step(self), steps + 1
  end
  self.spent = self.spent + C.pg_monotonic() - self.turn
  return good
end

-- What the other host says ------------------------------------------------------------

local function greet(self, bytes, n)
  local ok, said = pcall(cjson.decode, ffi.string(bytes, n))
  if not ok or type(said) ~= "table" or said.perigee ~= send.VERSION
    or said.name ~= self.name then
    return ("speaks another version, or has another name than '%s'"):format(self.name)
  end
  self.state = "sending"
  self.due = C.pg_monotonic()
end

local function note_seen(self, number)
  local began = self.swept[number]
  if not began then
    return ("has seen the sweep %d of %d"):format(number, self.sweep)
  end
  self.arrived = self.entries_at[number]
  for i = self.seen + 1, number do self.swept[i], self.entries_at[i] = nil, nil end
  self.seen, self.seen_at = number, C.pg_monotonic()
  self.lag = self.seen_at - began
end

-- Why the connection is to be cut, behind "it".
local function hear(self, type, bytes, n)
  self.heard = C.pg_monotonic()
  if type == stream.REFUSE then
    self.refusal = ffi.string(bytes, math.min(n, 200)):gsub("%c", "?")
    return "refuses: " .. self.refusal
  elseif type == stream.HELLO and self.state == "greeting" then
    return greet(self, bytes, n)
  elseif type == stream.SEEN and n == 8 and self.state == "sending" then
    return note_seen(self, tonumber(stream.uint64(bytes)))
  end
  return ("has a frame of type %d with %d bytes"):format(type, n)
end

local function listen(self)
  while true do
    local type, bytes, n = self.stream:frame()
    if type == nil then return bytes or "closed the connection" end
    if type == false then return nil end
    local problem = hear(self, type, bytes, n)
    if problem then return problem end
  end
end

--- Do what there is to do: nil, or why the connection is over, behind "it".
function Sender:work()
  if C.pg_monotonic() > self.heard + SILENCE_S then
    return ("has said nothing for %d seconds"):format(SILENCE_S)
  end
  if self.state == "handshake" then
    local done = self.connection:handshake()
    if done == nil then
      local reason = self.connection.reason
      return reason and "can't be reached: " .. reason
        or self.connection.closed and "closed the connection"
        or "has another token, or isn't a replica"
    end
    if not done then return nil end
    self.state = "greeting"
    self.stream:put(stream.HELLO, hello(self))
  end
  local problem = listen(self)
  if problem then return problem end
  if not self.stream:flush() then return "closed the connection" end
  if self.state == "sending" and self.stream:is_sent() and not work(self) then
    return "closed the connection"
  end
end

--- When work() is to be called again even if nothing comes, in seconds from now.
function Sender:wait()
  if self.state ~= "sending" or not self.stream:is_sent() then return 1 end
  if self.sweeping then return 0 end
  return math.max(self.due - C.pg_monotonic(), 0)
end

--- Seconds that the other host is behind: those of the last sweep that it has seen, or
--- since one began that it hasn't.
function Sender:behind()
  local oldest = self.swept[self.seen + 1]
  local since = oldest and C.pg_monotonic() - oldest or 0
  return math.max(self.lag, since)
end

--- Changes (new records, ages, records that went) that were sent and of which the other
--- host hasn't said that it has them.
function Sender:changes() return self.entries - self.arrived end

--- When the other host last said that it has a sweep: C.pg_monotonic(), or nil.
function Sender:last() return self.seen_at end

--- Does the other host have all records, and only changes follow?
function Sender:is_whole() return self.seen > 0 end

--- The records that the other host has, and entries sent of each kind.
function Sender:counts()
  local sum = {there = 0, records = 0, ages = 0, removed = 0}
  for _, source in pairs(self.sources) do
    for key in pairs(sum) do sum[key] = sum[key] + tonumber(source.native[key]) end
  end
  return sum
end

function Sender:close()
  for _, source in pairs(self.sources) do drop(source) end
  self.sources = {}
  self.connection:close()
end

return send
