-- SPDX-License-Identifier: Apache-2.0
-- Objects of other processes in shared memory, read as files: nothing is mapped, so an
-- object may vanish or be cut short at any moment. A file's extension is its type; how
-- its bytes are read, the module knows that has registered the type (core.shm).

local sysfs = require("lib.hardware.sysfs")
local shm = require("core.shm")
local stat = require("posix.sys.stat")

local objects = {}

local MOST_BYTES = 4096 -- that a view reads: of longer types the head says enough

local function head_of(path)
  local file = io.open(path, "rb")
  local text = file and file:read(MOST_BYTES)
  if file then file:close() end
  return text
end

--- The object in the file `path`: its value and its type ("counter": a uint64_t,
--- "gauge": a number, "histogram": a core.histogram; others: text that describes it).
--- Nil if it is gone, too short, or of a type that isn't known (then the type too).
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

local function mode(path)
  local found = stat.lstat(path)
  return found and found.st_mode or 0
end

local function walk(directory, prefix, visit)
  for _, name in ipairs(sysfs.entries(directory)) do
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

--- All objects below `directory` that can be read: {[name without extension] =
--- {value =, kind =}}.
function objects.all(directory)
  local found = {}
  objects.each(directory, function (name, path)
    local value, kind = objects.read(path)
    if value ~= nil then
      found[name:match("^(.*)%.")] = {value = value, kind = kind}
    end
  end)
  return found
end

return objects
