-- SPDX-License-Identifier: Apache-2.0
-- Objects of other processes in shared memory, read as files: nothing is mapped, so an
-- object may vanish or be cut short at any moment. A file's extension is its type.

local ffi = require("ffi")
local sysfs = require("lib.hardware.sysfs")
local histogram = require("core.histogram")
local stat = require("posix.sys.stat")
local values = require("core.lib.values")

local objects = {}

local MOST_BYTES = 4096 -- of a histogram; of longer types the head says enough
local CHUNK_PACKETS = 2048 -- in a chunk of a group free list
local u64, number = ffi.typeof("uint64_t *"), ffi.typeof("double *")
local i32, u32 = ffi.typeof("int32_t *"), ffi.typeof("uint32_t *")

local function field(ctype, text, index)
  return ffi.cast(ctype, ffi.cast("const char *", text))[index or 0]
end

local INTERLINK_STATES = {[0] = "being initialized", "being configured",
  "free to attach", "waiting for its transmitter", "waiting for its receiver",
  "in use", "being removed"}

local function interlink(text)
  local read, write = field(u32, text, 0), field(u32, text, 1)
  local size = field(u32, text, 2)
  local fill = write >= read and write - read or write + size - read
  local state = INTERLINK_STATES[field(u32, text, 3)] or "in an unknown state"
  return ("%d/%d (%s)"):format(fill, size, state)
end

local function read_histogram(text)
  local h = histogram.new(1, 2)
  ffi.copy(h, text, ffi.sizeof(h))
  return h
end

-- By extension: the least bytes of such an object, and its value from them.
local types = {
  counter = {8, function (text) return field(u64, text) end},
  gauge = {8, function (text) return field(number, text) end},
  histogram = {4096, read_histogram},
  freelist = {8, function (text)
    return ("%d/%d"):format(field(i32, text, 0), field(i32, text, 1))
  end},
  group_freelist = {136, function (text)
    local chunks = tonumber(field(u64, text, 0) - field(u64, text, 8))
    return ("%d/%d"):format(chunks * CHUNK_PACKETS,
      field(u32, text, 32) * CHUNK_PACKETS)
  end},
  interlink = {16, interlink},
}

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
  local known = types[kind]
  if not known then return nil, kind end
  local text = head_of(path)
  if not text or #text < known[1] then return nil end
  return known[2](text), kind
end

--- A value of `objects.read` as text: counters with commas.
function objects.text(value, kind)
  if kind == "counter" then return values.comma_value(value) end
  if kind == "gauge" then return ("%f"):format(value) end
  if kind == "histogram" then
    return ("min: %f / avg: %f / max: %f"):format(value:summarize())
  end
  return value
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
