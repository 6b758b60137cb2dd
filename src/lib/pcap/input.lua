-- SPDX-License-Identifier: Apache-2.0
-- A file, plain or compressed (gzip, zstd), read through a window of memory: ask for N
-- bytes at the cursor, look at them in place, step over them. Bytes are moved when the
-- window is filled, so a pointer into it is valid until the next `need` or `skip`.

local ffi = require("ffi")
local fcntl = require("posix.fcntl")
local unistd = require("posix.unistd")
local failure = require("core.failure")

local native = require("core.declare")("lib/pcap/source.h")

ffi.cdef[[
ssize_t read(int fd, void *buffer, size_t count);
void *memmove(void *to, const void *from, size_t count);
char *strerror(int number);
int64_t lseek(int fd, int64_t offset, int whence);
]]

local C = ffi.C

local WINDOW = 64 * 1024  -- bytes; it grows for longer records
local EINTR = 4
local SEEK_SET = 0

local M = {}

local Input = {}
Input.__index = Input

local guard_t = ffi.typeof("struct { int fd; }")

local function close_guard(guard)
  if guard.fd >= 0 then
    unistd.close(guard.fd)
    guard.fd = -1
  end
end

--- Open the file `path` to read it; sentences call it `name` (nil: that). Raises a
--- failure when it can't be opened.
function M.open(path, name)
  local flags = fcntl.O_RDONLY + fcntl.O_CLOEXEC
  local fd, err = fcntl.open(path, flags)
  if not fd then
    failure.raise("can't read %s", err)
  end
  native.pg_file_uses(fd, false)
  local source
  if native.pg_source_is_compressed(fd) then
    unistd.close(fd)
    fd, source = -1, native.pg_source_open(path)
    if source == nil then failure.raise("%s", ffi.string(native.pg_error())) end
    source = ffi.gc(source, native.pg_source_close)
  end
  local window = ffi.new("uint8_t[?]", WINDOW)
  return setmetatable({
    path = name or path,
    source = source, -- of what is compressed
    guard = ffi.gc(guard_t(fd), close_guard),
    window = window,
    size = WINDOW,
    cursor = 0,  -- of the next byte, within the window
    limit = 0,   -- of the bytes in the window
    base = 0,    -- the window's offset in the file
    ended = false,
  }, Input)
end

local function read_raw(self)
  local to, room = self.window + self.limit, self.size - self.limit
  if self.source then return tonumber(native.pg_source_read(self.source, to, room)) end
  return tonumber(C.read(self.guard.fd, to, room))
end

local function read_some(self)
  while true do
    local n = read_raw(self)
    if n >= 0 then
      self.limit = self.limit + n
      self.ended = n == 0
      return n > 0
    elseif self.source then
      failure.raise("can't read %s: %s", self.path, ffi.string(native.pg_error()))
    elseif ffi.errno() ~= EINTR then
      failure.raise("can't read %s: %s", self.path,
                    ffi.string(C.strerror(ffi.errno())))
    end
  end
end

-- Move what is left in the window to its start.
local function make_room(self)
  local left = self.limit - self.cursor
  C.memmove(self.window, self.window + self.cursor, left)
  self.base = self.base + self.cursor
  self.cursor, self.limit = 0, left
end

-- Twice the window at most: a length claimed by a small file costs no memory.
local function grow(self, n)
  local size = math.min(n, 2 * self.size)
  local window = ffi.new("uint8_t[?]", size)
  ffi.copy(window, self.window, self.limit)
  self.window, self.size = window, size
end

local function fill(self, n)
  if self.ended then
    return false
  end
  make_room(self)
  while self.limit < n do
    if self.limit == self.size then
      grow(self, n)
    end
    if not read_some(self) then
      return false
    end
  end
  return true
end

--- Have `n` bytes at the cursor, at `self.window + self.cursor`. Returns false
--- when the file ends before; `self:available()` bytes are there then. Raises a
--- failure when the file can't be read.
function Input:need(n)
  return self.limit - self.cursor >= n or fill(self, n)
end

--- Read on into the window, once. It raises nothing, so that a loop over packets can
--- do without pcall(): what goes wrong is for `need` to tell.
function Input:refill()
  make_room(self)
  local n = read_raw(self)
  if n > 0 then self.limit = self.limit + n end
end

--- The number of bytes at the cursor that are in the window already.
function Input:available()
  return self.limit - self.cursor
end

--- The cursor's offset in the file, in bytes.
function Input:offset()
  return self.base + self.cursor
end

--- Step over `n` bytes. Returns false when the file ends before.
function Input:skip(n)
  while n > self.limit - self.cursor do
    n = n - (self.limit - self.cursor)
    self.cursor = self.limit
    if not fill(self, 1) then
      return false
    end
  end
  self.cursor = self.cursor + n
  return true
end

--- Go back to `offset`, in bytes from the file's start. Raises a failure for what
--- can't be read twice, such as a pipe.
function Input:rewind(offset)
  if offset >= self.base then
    self.cursor = offset - self.base
    return
  end
  if self.source then
    if native.pg_source_rewind(self.source) < 0 then
      failure.raise("can't read %s again from its start", self.path)
    end
    self.base, self.cursor, self.limit, self.ended = 0, 0, 0, false
    self:skip(offset)
    return
  end
  if C.lseek(self.guard.fd, offset, SEEK_SET) < 0 then
    failure.raise("can't read %s again from its start: %s: %s", self.path, self.path,
                  ffi.string(C.strerror(ffi.errno())))
  end
  self.base, self.cursor, self.limit, self.ended = offset, 0, 0, false
end

--- Close the file. What is asked for afterwards is the file's end.
function Input:close()
  close_guard(self.guard)
  if self.source then
    native.pg_source_close(ffi.gc(self.source, nil))
    self.source = nil
  end
  self.cursor, self.limit, self.ended = 0, 0, true
end

return M
