-- SPDX-License-Identifier: Apache-2.0
-- The backup's side of replication: writes the files of a name as a master on another
-- host says. None of its bytes is believed. A file takes the place of the one that was
-- there once it is complete.

local C = require("core.declare")("net/replica/replica.h")
local cjson = require("cjson")
local errno = require("posix.errno")
local fcntl = require("posix.fcntl")
local ffi = require("ffi")
local gone = require("lib.replica.gone")
local keep = require("net.keep.keep")
local log = require("core.lib.log")
local main = require("core.main")
local said = require("lib.replica.said")
local send = require("lib.replica.send")
local stat = require("posix.sys.stat")
local stream = require("lib.replica.stream")
local unistd = require("posix.unistd")

local receive = {}

local Receiver = {}
Receiver.__index = Receiver

local SILENCE_S = 5
local MOST_FILES = 1024
local FARTHEST_NS = 1e18           -- of another host's clock
local DRIFT = 1e-4                 -- by which two clocks part at most
local OWN_FILE, OWN_FOLDER = 384, 448 -- rw-------, rwx------
local BATCH = ffi.sizeof("struct replica_batch")

--- Write what the other end of the connection, called `peer`, says of the name.
--- `limit`: bytes of its records at most, in all. `may_write()` says why nothing can be
--- written here now, a sentence, or nil.
function receive.new(connection, name, peer, limit, may_write)
  return setmetatable({stream = stream.new(connection), connection = connection,
    name = name, folder = name, peer = peer, limit = limit, may_write = may_write,
    state = "handshake", heard = C.pg_monotonic(), files = {}, n = 0, batches = 0,
    applied = 0, gone = 0}, Receiver)
end

local function path_of(self, of, hidden)
  return ("%s/%s%s"):format(keep.folder(self.folder), hidden and "." or "",
    keep.file_of(of))
end

-- Hints about the file (net.flow), until it is whole hidden ones.
local function hints_of(self, of, hidden)
  local path, folder = keep.hints_of(self.folder, of)
  return hidden and ("%s/.%s"):format(folder, keep.file_of(of)) or path, folder
end

local function remove(self, of, hidden)
  unistd.unlink(path_of(self, of, hidden))
  unistd.unlink((hints_of(self, of, hidden)))
end

-- Files -------------------------------------------------------------------------------

-- Why what is said of a file can't be, behind "it".
local function problem_of(self, about)
  local problem = said.problem(about)
  for _, file in pairs(self.files) do
    if not problem and file.of == about.of then
      problem = ("has '%s' twice"):format(file.of)
    end
  end
  return problem
end

-- Hints about where records are, for the process that goes on with them. It can do
-- without.
local function begin_hints(self, about, native, inode)
  local path, folder = hints_of(self, about.of, true)
  stat.mkdir(folder, OWN_FOLDER)
  unistd.unlink(path)
  local fd = about.keys and fcntl.open(path, keep.WRITE, OWN_FILE)
  if not fd then return end
  local keys = ffi.new("struct replica_keys", about.keys)
  if not C.pg_replica_target_hints(native, fd, inode, keys) then unistd.unlink(path) end
  unistd.close(fd)
end

local function begin(self, about, notes)
  local hidden = path_of(self, about.of, true)
  remove(self, about.of, true)
  local fd, reason = fcntl.open(hidden, keep.WRITE, OWN_FILE)
  if not fd then return nil, reason end
  local native = ffi.gc(ffi.new("struct replica_target"), C.pg_replica_target_close)
  native.limit = self.limit
  local h = keep.new_header(about.of, about.layout, about.per_second)
  local done = C.pg_replica_target_open(native, fd, h, about.size, about.age_at,
    about.most, notes, #notes)
  reason = not done and errno.errno(ffi.errno()) or nil
  unistd.close(fd)
  if done then
    local inode = stat.lstat(hidden).st_ino
    begin_hints(self, about, native, inode)
    return native
  end
  unistd.unlink(hidden)
  return nil, reason
end

local function on_file(self, bytes, n)
  if n < 8 then return "has a file without a text" end
  local id, length = stream.uint32(bytes), stream.uint32(bytes + 4)
  if length > n - 8 or n - 8 - length > C.KEEP_NOTES then
    return ("has a text of %d bytes, of %d"):format(length, n - 8)
  end
  local ok, about = pcall(cjson.decode, ffi.string(bytes + 8, length))
  local problem = not ok and "has a file whose text is no JSON"
    or problem_of(self, about)
    or self.files[id] and ("has two files %d"):format(id)
    or self.n >= MOST_FILES and ("has over %d files"):format(MOST_FILES)
  if problem then return problem end
  local native, reason = begin(self, about,
    ffi.string(bytes + 8 + length, n - 8 - length))
  if not native then
    return ("can't be taken: '%s' can't be written: %s"):format(about.of, reason)
  end
  self.files[id] = {of = about.of, native = native, per_second = about.per_second}
  self.n = self.n + 1
end

-- How much later the other host's times are here, in nanoseconds: by what the fastest
-- batch of late took, so that one that was held up makes nothing younger.
local function shift_of(self, clock_ns)
  local now = tonumber(C.pg_monotonic_ns())
  local shift = now - clock_ns
  if self.shift then
    shift = math.min(shift, self.shift + (now - self.shift_at) * DRIFT)
  end
  self.shift, self.shift_at = shift, now
  return shift
end

-- Bytes of the records and hints of other files than that one.
local function others_bytes(self, but)
  local sum = 0
  for _, file in pairs(self.files) do
    if file ~= but then
      sum = sum + tonumber(C.pg_replica_target_bytes(file.native))
    end
  end
  return sum
end

local function on_records(self, bytes, n)
  if n < BATCH then return "has a batch without a head" end
  local batch = ffi.cast("const struct replica_batch *", bytes)
  local file, clock = self.files[batch.file], tonumber(batch.clock_ns)
  if not file then return ("has records of a file %d"):format(batch.file) end
  if math.abs(clock) > FARTHEST_NS then
    return ("has a clock at %.0f ns"):format(clock)
  end
  local shift = math.floor(shift_of(self, clock) / 1e9 * file.per_second)
  file.native.limit = math.max(self.limit - others_bytes(self, file), 0)
  if not C.pg_replica_apply(file.native, bytes + BATCH, n - BATCH, shift) then
    return ffi.string(file.native.problem)
  end
  self.batches = self.batches + 1
end

local function of_number(self, bytes, n, size)
  local id = n == size and stream.uint32(bytes) or 0
  local file = self.files[id]
  if file then return file, nil, id end
  return nil, ("speaks of a file %d"):format(id)
end

local function on_complete(self, bytes, n)
  local file, problem = of_number(self, bytes, n, 4)
  if not file then return problem end
  if file.whole then return ("completes '%s' twice"):format(file.of) end
  local path = path_of(self, file.of)
  if not self.is_current then file.before = gone.note(path, keep.file_of(file.of)) end
  local ok, reason = os.rename(path_of(self, file.of, true), path)
  if not ok then return "can't be taken: " .. reason end
  unistd.unlink((hints_of(self, file.of)))
  os.rename((hints_of(self, file.of, true)), (hints_of(self, file.of)))
  file.whole = true
  log.info("%s: %s has all %d records of %s", self.name, file.of,
    tonumber(file.native.there), self.peer)
end

local function on_gone(self, bytes, n)
  local file, problem, id = of_number(self, bytes, n, 8)
  if not file then return problem end
  local replaced = stream.uint32(bytes + 4) ~= 0
  C.pg_replica_target_close(file.native)
  if not file.whole then
    remove(self, file.of, true)
  elseif not replaced then
    remove(self, file.of)
  end
  self.files[id], self.n = nil, self.n - 1
end

local function on_hello(self, bytes, n)
  local ok, about = pcall(cjson.decode, ffi.string(bytes, n))
  if not ok or type(about) ~= "table" or about.perigee ~= send.VERSION then
    return ("speaks another version than %d"):format(send.VERSION)
  elseif about.name ~= self.name then
    return ("has another name than '%s'"):format(self.name)
  end
  local busy, split = self.may_write()
  if busy then
    self.split = split
    return busy, "no lie"
  end
  self.state = "receiving"
  self.answer = {stream.HELLO, cjson.encode({perigee = send.VERSION,
    release = main.release or "", name = self.name, role = "backup"})}
end

local function on_swept(self, bytes, n)
  if n ~= 8 then return "has a sweep without a number" end
  if not self.is_current then
    self.gone = gone.tell(self, self.files, select(2, hints_of(self, "")))
  end
  self.answer = {stream.SEEN, ffi.string(bytes, n)}
  self.is_current, self.swept_at = true, C.pg_monotonic()
end

local HANDLERS = {[stream.FILE] = on_file, [stream.RECORDS] = on_records,
  [stream.COMPLETE] = on_complete, [stream.GONE] = on_gone, [stream.SWEPT] = on_swept}

local function handle(self, type, bytes, n)
  self.heard = C.pg_monotonic()
  local handler
  if self.state == "receiving" then
    handler = HANDLERS[type]
  elseif type == stream.HELLO then
    handler = on_hello
  end
  if not handler then
    return ("has a frame of type %d with %d bytes"):format(type, n)
  end
  return handler(self, bytes, n)
end

local MOST_FRAMES = 64 -- before others get their turn

-- Why the connection is over, behind "it".
local function listen(self)
  for _ = 1, MOST_FRAMES do
    if not self.stream:is_sent() then return nil end -- it doesn't listen
    local type, bytes, n = self.stream:frame()
    if type == nil then return bytes or "closed the connection" end
    self.more = type ~= false
    if type == false then return nil end
    local problem, no_lie = handle(self, type, bytes, n)
    if problem then
      self.stream:put(stream.REFUSE, problem)
      self.lied = not no_lie
      return problem
    end
    local answer = self.answer
    self.answer = nil
    if answer and not self.stream:put(answer[1], answer[2]) then
      return "closed the connection"
    end
  end
end

--- Do what there is to do: nil, or why the connection is over, behind "it".
function Receiver:work()
  if C.pg_monotonic() > self.heard + SILENCE_S then
    return ("has said nothing for %d seconds"):format(SILENCE_S)
  end
  if self.state == "handshake" then
    local done = self.connection:handshake()
    if done == nil then
      return self.connection.closed and "closed the connection"
        or "it has another token, or speaks no TLS"
    end
    if not done then return nil end
    self.state = "greeting"
  end
  if not self.stream:flush() then return "closed the connection" end
  return listen(self)
end

--- When work() is to be called again even if nothing comes, in seconds from now.
function Receiver:wait()
  return (self.more or self.connection:pending()) and self.stream:is_sent() and 0 or 1
end

--- The records that are here of the other host, and how many entries came.
function Receiver:counts()
  local sum = {there = 0, applied = 0}
  for _, file in pairs(self.files) do
    sum.there = sum.there + tonumber(file.native.there)
    sum.applied = sum.applied + tonumber(file.native.applied)
  end
  return sum
end

--- When the last sweep ended here: C.pg_monotonic(), or nil.
function Receiver:last() return self.swept_at end

--- Is each file that the master has here, whole?
function Receiver:is_whole()
  for _, file in pairs(self.files) do
    if not file.whole then return false end
  end
  return self.is_current or false
end

--- End it; files that aren't whole go.
function Receiver:close()
  for _, file in pairs(self.files) do
    C.pg_replica_target_close(file.native)
    if not file.whole then remove(self, file.of, true) end
  end
  self.files, self.n = {}, 0
  self.connection:close()
end

return receive
