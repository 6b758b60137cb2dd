-- SPDX-License-Identifier: Apache-2.0
-- A file that is replaced all at once, piece by piece: whoever reads it, or is killed
-- while it is written, finds the old text or the new one. It keeps its mode and, where
-- that is allowed, its owner; a link to it stays one.

local errno = require("posix.errno")
local failure = require("core.lib.failure")
local fcntl = require("posix.fcntl")
local stat = require("posix.sys.stat")
local stdlib = require("posix.stdlib")
local unistd = require("posix.unistd")

local atomic_file = {}

local PERMISSIONS, OWN = 438, 384 -- rw-rw-rw-, less the umask; rw-------
local MODE = 4095 -- the bits of st_mode that chmod(2) sets

local Output = {}
Output.__index = Output

-- Is nobody writing the file any more? Who does has a lock on it.
local function is_left(path)
  local fd = fcntl.open(path, fcntl.O_WRONLY)
  if not fd then return true end
  local free = fcntl.fcntl(fd, fcntl.F_SETLK, {l_type = fcntl.F_WRLCK,
    l_whence = unistd.SEEK_SET, l_start = 0, l_len = 0})
  unistd.close(fd)
  return free ~= nil
end

-- The file next to `wanted` that takes its place.
local function create(path, mode, wanted)
  local flags = fcntl.O_WRONLY + fcntl.O_CREAT + fcntl.O_EXCL
  local fd, problem, code = fcntl.open(path, flags, mode)
  if code == errno.EEXIST then
    if not is_left(path) then
      failure.raise("can't write %s: another process is writing it", path)
    end
    unistd.unlink(path)
    fd, problem = fcntl.open(path, flags, mode)
  end
  if not fd then
    failure.raise("can't write %s: %s", wanted, (problem:gsub("^.*: ", "")))
  end
  fcntl.fcntl(fd, fcntl.F_SETLK, {l_type = fcntl.F_WRLCK,
    l_whence = unistd.SEEK_SET, l_start = 0, l_len = 0})
  return fd
end

--- Begin to replace the file `path`, or to make it; devices and pipes are written as
--- they are. `private`: a new file is for this user alone. Raises a failure if that
--- can't be, as do put() and finish(): the file then keeps what it has.
function atomic_file.open(path, private)
  path = stdlib.realpath(path) or path
  local found = stat.stat(path)
  if found and stat.S_ISREG(found.st_mode) == 0 then
    local fd, problem = fcntl.open(path, fcntl.O_WRONLY)
    if not fd then failure.raise("can't write %s", problem) end
    return setmetatable({path = path, fd = fd}, Output)
  end
  local new = path .. ".new"
  local o = setmetatable({path = path, new = new,
    fd = create(new, (found or private) and OWN or PERMISSIONS, path)}, Output)
  if found then
    unistd.chown(new, found.st_uid, found.st_gid)
    stat.chmod(new, found.st_mode % (MODE + 1))
  end
  return o
end

local function wrong(self, problem)
  self:abandon()
  failure.raise("can't write %s: %s", self.path, problem)
end

--- Write a piece of the text.
function Output:put(text)
  local at = 1
  while at <= #text do
    local n, _, code = unistd.write(self.fd, at == 1 and text or text:sub(at))
    if not n and code ~= errno.EINTR then wrong(self, (errno.errno(code))) end
    at = at + (n or 0)
  end
end

--- That was all. `durable`: wait until it is on the disk, however long that takes.
function Output:finish(durable)
  if durable and self.new then
    local ok, _, code = unistd.fsync(self.fd)
    if not ok then wrong(self, (errno.errno(code))) end
  end
  if self.new then
    local ok, problem = os.rename(self.new, self.path)
    if not ok then wrong(self, (problem:gsub("^.*: ", ""))) end
    self.new = nil
  end
  local fd = self.fd
  self.fd = nil -- not before it has its name: until then its lock keeps others away
  local ok, _, code = unistd.close(fd)
  if not ok then wrong(self, (errno.errno(code))) end
end

--- Leave the file as it was.
function Output:abandon()
  if self.fd then unistd.close(self.fd) end
  if self.new then unistd.unlink(self.new) end
  self.fd, self.new = nil, nil
end

--- Replace the file by the `text`; `durable`: and wait until that is on the disk.
function atomic_file.write(path, text, durable)
  local o = atomic_file.open(path)
  o:put(text)
  o:finish(durable)
end

return atomic_file
