-- SPDX-License-Identifier: Apache-2.0
-- Objects of other processes in shared memory, read as files: nothing is mapped, so an
-- object may vanish or be cut short at any moment. A file's extension is its type; how
-- its bytes are read, the module knows that has registered the type (core.shm).

local C = require("core.native")
local fcntl = require("posix.fcntl")
local sysfs = require("lib.hardware.sysfs")
local shm = require("core.shm")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

local objects = {}

local FILES_AT_ONCE = 20   -- read before a pause
local SLOW_NS, TRIES = 20000, 3 -- a file, before a folder is read again
local MOST_BYTES = 4096 -- that a view reads: of longer types the head says enough
local LINE = 256           -- bytes of a line, at most

local function mode(path)
  local found = stat.lstat(path)
  return found and found.st_mode or 0
end

-- (A pipe may make who opens or reads it wait, and a device has no end; either may have
-- taken the file's place since it was looked at.)
local function head_of(path)
  local fd = stat.S_ISREG(mode(path)) ~= 0
    and fcntl.open(path, fcntl.O_RDONLY + fcntl.O_NONBLOCK)
  local text = fd and unistd.read(fd, MOST_BYTES)
  if fd then unistd.close(fd) end
  return text
end

--- The first line of the file, of up to 256 bytes, with "?" for control characters; nil
--- if it isn't a file, or has none.
function objects.line(path)
  local line = (head_of(path) or ""):sub(1, LINE):match("^[^\n]+")
  return line and (line:gsub("%c", "?"))
end

--- The names in the directory, sorted, but those that have control characters.
function objects.entries(directory)
  local names = {}
  for _, name in ipairs(sysfs.entries(directory)) do
    if not name:find("%c") then names[#names + 1] = name end
  end
  return names
end

--- The object in the file `path`: its value and its type ("counter": a uint64_t,
--- "gauge": a number, "histogram": a core.histogram; others: text that describes it).
--- Nil if it is gone, too short, not what it says, or of a type that isn't known
--- (then the type too).
function objects.read(path)
  local kind = path:match("%.([%w_]+)$")
  local view = kind and shm.view(kind)
  if not view then return nil, kind end
  local bytes = head_of(path)
  if not bytes or #bytes < view.bytes then return nil end
  return view.read(bytes), kind
end

--- A value of `objects.read` as text: counters with commas.
function objects.text(value, kind)
  local text = shm.view(kind).text
  return text and text(value) or value
end

local function walk(directory, prefix, visit)
  for _, name in ipairs(objects.entries(directory)) do
    local path, bits = directory .. "/" .. name, mode(directory .. "/" .. name)
    if stat.S_ISDIR(bits) ~= 0 then
      walk(path, prefix .. name .. "/", visit)
    elseif stat.S_ISREG(bits) ~= 0 and name:sub(1, 1) ~= "." then
      visit(prefix .. name, path)
    end
  end
end

--- Call visit(name, path) for each object file in `directory` and below, in the order
--- of their names, which are relative to it. Symbolic links aren't followed.
function objects.each(directory, visit)
  walk(directory, "", visit)
end

-- The objects of one folder, whose files `paths` are a list of {name, path}.
local function read_folder(paths)
  local began, values = C.pg_monotonic_ns(), {}
  for i, file in ipairs(paths) do
    local value, kind = objects.read(file[2])
    if value ~= nil then values[i] = {value = value, kind = kind} end
  end
  return values, tonumber(C.pg_monotonic_ns() - began)
end

-- The same, as nearly at one time as a few tries give: what an app or a link has
-- belongs together, and this process may lose the CPU in between.
local function read_at_once(paths)
  local values, took = read_folder(paths)
  for _ = 2, TRIES do
    if took <= #paths * SLOW_NS then break end
    local again, time = read_folder(paths)
    if time < took then values, took = again, time end
  end
  return values
end

--- All objects below `directory` that can be read: {[name without extension] =
--- {value =, kind =}}. `pause`, if given, is called now and then, but not between the
--- objects of one folder.
function objects.all(directory, pause)
  local found, files, folder, read = {}, {}, nil, 0
  local function take()
    for i, object in pairs(read_at_once(files)) do
      found[files[i][1]:match("^(.*)%.")] = object
    end
    read, files = read + #files, {}
    if pause and read >= FILES_AT_ONCE then
      read = 0
      pause()
    end
  end
  objects.each(directory, function (name, path)
    local of = name:match("^(.*)/") or ""
    if of ~= folder then take() end
    folder = of
    files[#files + 1] = {name, path}
  end)
  take()
  return found
end

return objects
