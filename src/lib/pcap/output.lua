-- SPDX-License-Identifier: Apache-2.0
-- A file written through a buffer of whole records. When a write fails (a full
-- disk), the file is cut back to its last complete record, so that it stays readable,
-- and the number of records in it is known.

local ffi = require("ffi")
local fcntl = require("posix.fcntl")
local unistd = require("posix.unistd")
local native = require("core.native")
local failure = require("core.failure")

ffi.cdef[[
ssize_t write(int fd, const void *buffer, size_t count);
int ftruncate(int fd, long length);
char *strerror(int number);
]]

local C = ffi.C

local BUFFER_SIZE = 512 * 1024
local EINTR = 4

local M = {}

local Output = {}
Output.__index = Output

local guard_t = ffi.typeof("struct { int fd; }")

local function close_guard(guard)
  if guard.fd >= 0 then
    local fd = guard.fd
    guard.fd = -1
    return unistd.close(fd)
  end
  return 0
end

--- Open `path` to write it from its start, or to `append` to it. Raises a failure
--- when it can't be opened, when this process reads it or another uses it, and when
--- this one writes it, unless that ends now: `anew`.
function M.open(path, append, anew)
  local flags = append and fcntl.O_APPEND or 0
  local fd = native.pg_file_create(path, flags, anew == true)
  if fd < 0 then
    failure.raise("%s", ffi.string(native.pg_error()))
  end
  return setmetatable({
    path = path,
    guard = ffi.gc(guard_t(fd), close_guard),
    buffer = ffi.new("uint8_t[?]", BUFFER_SIZE),
    used = 0,         -- bytes in the buffer
    ends = {},        -- where each record ends in the buffer
    buffered = 0,     -- records in the buffer
    written = 0,      -- records in the file
    lost = 0,         -- records that couldn't be written
    failed = nil,     -- the sentence of the failure that ended the writing
    on_failure = nil, -- called when it comes to that, before the failure is raised
  }, Output)
end

-- The file got `done` bytes of the buffer: cut off what isn't a whole record. (A
-- pipe can't be cut; its reader sees the partial record.)
local function keep_whole_records(self, done)
  local kept = 0
  while kept < self.buffered and self.ends[kept + 1] <= done do
    kept = kept + 1
  end
  local excess = done - (kept > 0 and self.ends[kept] or 0)
  local length = unistd.lseek(self.guard.fd, 0, unistd.SEEK_END)
  if excess > 0 and length then
    C.ftruncate(self.guard.fd, length - excess)
  end
  return kept
end

local function fail(self, reason, done)
  local kept = keep_whole_records(self, done)
  self.written = self.written + kept
  self.lost = self.lost + self.buffered - kept
  self.used, self.buffered = 0, 0
  self.failed = ("can't write %s: %s"):format(self.path, reason)
  if self.on_failure then self.on_failure() end
  failure.raise("%s", self.failed)
end

local function check_usable(self)
  if self.failed then
    failure.raise("%s", self.failed)
  elseif self.guard.fd < 0 then
    failure.raise("can't write %s: it is closed", self.path)
  end
end

--- Write what is buffered to the file. Raises a failure when that isn't possible
--- (disk full, say), at this call and at each later one.
function Output:flush()
  check_usable(self)
  local done = 0
  while done < self.used do
    local n = tonumber(C.write(self.guard.fd, self.buffer + done, self.used - done))
    if n >= 0 then
      done = done + n
    elseif ffi.errno() ~= EINTR then
      fail(self, ffi.string(C.strerror(ffi.errno())), done)
    end
  end
  self.written = self.written + self.buffered
  self.used, self.buffered = 0, 0
end

--- A pointer to room for a record of `length` bytes (at most 512 KiB). Fill it, then
--- `commit` it. Raises a failure as `flush` does.
function Output:reserve(length)
  assert(length <= BUFFER_SIZE)
  if self.failed or self.used + length > BUFFER_SIZE then
    self:flush()
  end
  return self.buffer + self.used
end

--- The `length` bytes reserved last are a record.
function Output:commit(length)
  self.used = self.used + length
  self.buffered = self.buffered + 1
  self.ends[self.buffered] = self.used
end

--- Write what is buffered and close the file. Raises a failure when that isn't
--- possible; the file is closed nevertheless. After a failure, and the second time,
--- it does nothing more than close.
function Output:close()
  if self.guard.fd < 0 then
    return
  end
  local ok, err = true, nil
  if not self.failed then
    ok, err = pcall(self.flush, self)
  end
  local closed, reason = close_guard(self.guard)
  if not ok then
    error(err, 0)
  elseif not closed and not self.failed then
    self.failed = ("can't write %s: %s"):format(self.path, reason)
    failure.raise("%s", self.failed)
  end
end

return M
