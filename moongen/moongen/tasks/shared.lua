-- SPDX-License-Identifier: Apache-2.0
-- libmoon's modules `lock`, `barrier` and `namespaces`: what tasks share. The objects
-- are pointers, so they go to other tasks as such.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local serialize = require("moongen.tasks.serialize")

local shared = {lock = {}, barrier = {}, namespaces = {}}

-- Locks ---------------------------------------------------------------------------

local Lock = {}
Lock.__index = Lock

--- A lock; who has it may take it again.
function shared.lock.new() return C.mg_lock_new() end

function Lock:lock() C.mg_lock(self) end
function Lock:unlock() C.mg_unlock(self) end

--- Take it within so many microseconds (default 0): true or false.
function Lock:tryLock(microseconds)
  return C.mg_try_lock(self, microseconds or 0) ~= 0
end

--- Call f(...) while it is held. An error of f's is raised when it has been released.
function Lock:__call(f, ...)
  C.mg_lock(self)
  local ok, err = xpcall(f, debug.traceback, ...)
  C.mg_unlock(self)
  if not ok then error(err, 2) end
end

ffi.metatype("struct lock", Lock)

-- Barriers ------------------------------------------------------------------------

local Barrier = {}
Barrier.__index = Barrier

--- A barrier that opens when `n` tasks wait at it (0: it is open until reinit).
function shared.barrier.new(first, n)
  n = tonumber(first) or tonumber(n)
  if not n or n < 0 then error("a barrier is for a number of tasks from 0 on", 2) end
  return C.mg_barrier_new(n)
end

function Barrier:wait() C.mg_barrier_wait(self) end

--- Let it close again, for `n` tasks. None may be waiting.
function Barrier:reinit(n) C.mg_barrier_again(self, n) end

ffi.metatype("struct barrier", Barrier)

-- Namespaces ----------------------------------------------------------------------

local namespaces = shared.namespaces

--- The namespace of that name, which is the same in all tasks; without a name, that of
--- the line this is called in.
function namespaces.get(first, name)
  if type(first) == "string" then name = first end
  if not name then
    local at = debug.getinfo(2, "Sl")
    name = ("%s:%d"):format(at.source, at.currentline)
  end
  return C.mg_namespace(name)
end

local size = ffi.new("uint64_t[1]")

local function read(ns, key)
  local value = C.mg_namespace_get(ns, key, size)
  return value ~= nil and ffi.string(value, size[0]) or nil
end

-- In the order in which they were stored. Others wait meanwhile.
local function for_each(ns, f)
  local lock = C.mg_namespace_lock(ns)
  lock(function ()
    local keys, key = {}, C.mg_namespace_next(ns, nil)
    while key ~= nil do
      keys[#keys + 1] = ffi.string(key)
      key = C.mg_namespace_next(ns, key)
    end
    for _, name in ipairs(keys) do
      local text = read(ns, name)
      if text then f(name, (serialize.decode(text))) end
    end
  end)
end

local Namespace = {}

local function check_key(key)
  if type(key) ~= "string" then error("a namespace's keys are strings, not a "
    .. type(key), 3) end
end

--- A copy of what is stored under the key; nil if there is nothing.
function Namespace:__index(key)
  check_key(key)
  if key == "forEach" then return for_each end
  if key == "lock" then return C.mg_namespace_lock(self) end
  local lock = C.mg_namespace_lock(self)
  C.mg_lock(lock)
  local text = read(self, key)
  C.mg_unlock(lock)
  if text then return (serialize.decode(text)) end
  return nil
end

function Namespace:__newindex(key, value)
  check_key(key)
  if key == "forEach" or key == "lock" then error(key .. " is reserved", 2) end
  if value == nil then return C.mg_namespace_delete(self, key) end
  local text = serialize.encode(value)
  C.mg_namespace_store(self, key, text, #text)
end

ffi.metatype("struct namespace", Namespace)

return shared
