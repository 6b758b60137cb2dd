-- SPDX-License-Identifier: Apache-2.0
-- 64-bit event counters that other processes can read. add and set touch only a private
-- copy; commit, called every so often, copies all of them to shared memory, whose
-- page-aligned addresses would otherwise fight for the same cache sets. Every counter
-- that create gives is of one C type: a second type would cost hot loops a guard each.

local ffi = require("ffi")
local arguments = require("core.lib.arguments")
local log = require("core.lib.log")
local unistd = require("posix.unistd")
local comma_value = require("core.lib.values").comma_value
local shm = require("core.shm")

local C = ffi.C
ffi.cdef "int getpid(void);"

-- The type has a name, for use in other structs: the shim's header may have defined it,
-- or this module, if it is loaded again. A metatable can be set only once.
local known, size = pcall(ffi.sizeof, "struct counter")
if not (known and size) then ffi.cdef "struct counter { uint64_t c; };" end
local counter_t = ffi.typeof("struct counter")
pcall(ffi.metatype, counter_t, {
  __tostring = function(counter) return comma_value(counter.c) end,
})

local istype, type = ffi.istype, type

local counter = {}

-- Compiled code knows the types: the tests in front of these cost it nothing.
local function no_counter(name, value)
  arguments.refuse("counter." .. name, 1, value, "a counter (counter.create)", 4)
end

local function check_value(name, value)
  if type(value) ~= "cdata" or not tonumber(value) then
    arguments.refuse("counter." .. name, 2, value, "a number", 4)
  end
end

counter.type = shm.register("counter", counter)

local by_path = {} -- shm path -> {private, public, users, index in `created`}
local created = {} -- the entries that commit copies
local owner = unistd.getpid()

-- A forked child has counters of its own: committing its parent's would undo what the
-- parent counts.
local function forget_parents()
  local pid = C.getpid()
  if pid ~= owner then
    by_path, created, owner = {}, {}, pid
  end
end

local told = false

-- The counter in shared memory; nil where there is no room for one: this process counts
-- all the same, and others don't see it.
local function publish(name)
  local ok, public = pcall(shm.create, name, counter_t)
  if ok then return public end
  local err = public
  if type(err) ~= "table" or not err.no_room then error(err, 0) end
  if not told then
    told = true
    log.warning("other programs won't see all counters: %s", tostring(err))
  end
end

--- Make the counter `name` with the value `initial` (0) and return it. A name that this
--- process has created already gives that counter, as it is. Where shared memory is
--- full the counter is this process's alone, which is told once.
function counter.create(name, initial)
  forget_parents()
  local path = shm.path(name)
  local entry = by_path[path]
  if entry then return entry.private end
  entry = {private = ffi.new(counter_t, initial or 0), public = publish(name)}
  by_path[path] = entry
  if not entry.public then return entry.private end
  entry.public.c = entry.private.c
  entry.index = #created + 1
  created[entry.index] = entry
  return entry.private
end

--- Open the counter `name` to read it (this process's own: also to write it). Each open
--- of another process's counter wants a delete.
function counter.open(name)
  forget_parents()
  local path = shm.path(name)
  local entry = by_path[path]
  if not entry then
    local public = shm.open(name, counter_t, "readonly")
    entry = {private = public, public = public, users = 0}
    by_path[path] = entry
  end
  if entry.users then entry.users = entry.users + 1 end
  return entry.private
end

--- Unmap the counter `name`, and remove it if this process created it.
function counter.delete(name)
  forget_parents()
  local path = shm.path(name)
  local entry = by_path[path]
  if not entry then error(("no counter '%s' is open"):format(name), 2) end
  if entry.users and entry.users > 1 then
    entry.users = entry.users - 1
    return
  end
  by_path[path] = nil
  if entry.public then shm.unmap(entry.public) end
  if entry.index then
    local last = table.remove(created)
    if last ~= entry then
      created[entry.index], last.index = last, entry.index
    end
    shm.unlink(name)
  end
end

--- Copy the values of this process's counters to shared memory.
function counter.commit()
  forget_parents()
  for i = 1, #created do
    local entry = created[i]
    entry.public.c = entry.private.c
  end
end

--- Set `c` to `value`.
function counter.set(c, value)
  if not istype(counter_t, c) then no_counter("set", c) end
  if type(value) ~= "number" then check_value("set", value) end
  c.c = value
end

--- Add `value` (1) to `c`.
function counter.add(c, value)
  if not istype(counter_t, c) then no_counter("add", c) end
  if value ~= nil and type(value) ~= "number" then check_value("add", value) end
  c.c = c.c + (value or 1)
end

local refreshes = {} -- by counter

--- Call refresh() before `c` is read in this process: it is counted elsewhere, and only
--- set now and then.
function counter.before_reading(c, refresh) refreshes[c] = refresh end

--- The value of `c`, a uint64_t.
function counter.read(c)
  if not istype(counter_t, c) then no_counter("read", c) end
  local refresh = refreshes[c]
  if refresh then refresh() end
  return c.c
end

local counter_p = ffi.typeof("$ *", counter_t)

--- For core.shm.view: a uint64_t.
counter.view = {
  bytes = ffi.sizeof(counter_t),
  read = function (bytes)
    return ffi.cast(counter_p, ffi.cast("const char *", bytes)).c
  end,
  text = comma_value,
}

return arguments.guard(counter, "counter", {
  create = "string, number?", open = "string", delete = "string",
})
