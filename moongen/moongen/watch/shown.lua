-- SPDX-License-Identifier: Apache-2.0
-- What a script shows in shared memory, for `perigee top` (doc/moongen.md): its tasks,
-- and its devices' queues. The tender (script/tender_main.lua) keeps the counts up to
-- date.

local ffi = require("ffi")
local counter = require("core.counter")
local counts = require("moongen.watch.counts")
local failure = require("core.failure")
local shm = require("core.shm")
local tree = require("core.shm.tree")

local shown = {}

local counter_t = ffi.typeof("struct counter")

local told = false

-- The address of the new counter `name` in shared memory (uint64_t *); nil where there
-- is no room: the script goes on all the same, and others don't see it.
local function address(name)
  local ok, made = pcall(shm.create, ("%s.%s"):format(name, counter.type), counter_t)
  if ok then return ffi.cast("uint64_t *", ffi.cast("void *", made)) end
  if not failure.is(made) then error(made, 0) end
  if not told then
    told = true
    io.stderr:write(("perigee: other programs won't see all of this script: %s\n")
      :format(made.sentence))
  end
end

local function show_count(name, from)
  local to = address(name)
  if to then counts.watch(from, to) end
end

local function write(name, text) tree.tell(shm.path(name), text) end

-- Devices ---------------------------------------------------------------------------

local function at(field) return ffi.offsetof("struct mg_queue", field) end
local PACKETS, BYTES, DROPPED = at("packets"), at("bytes"), at("dropped")
local MISSED = at("soft") + ffi.offsetof("struct pg_soft_queue", "missed")

local function show_queue(path, queue, dropped)
  local base = ffi.cast("char *", queue)
  for name, offset in pairs{packets = PACKETS, bytes = BYTES, dropped = dropped} do
    show_count(path .. name, ffi.cast("const uint64_t *", base + offset))
  end
end

--- Show the queues of a device (struct mg_device) that has been configured.
function shown.device(d)
  local path = ("devices/%d/"):format(d.id)
  local missed = address(path .. "missed")
  if not missed then return end
  counts.watch_missed(d, missed)
  write(path .. "port", ffi.string(d.text))
  for q = 0, d.nrx - 1 do
    show_queue(("%srx/%d/"):format(path, q), d.rx + q, MISSED)
  end
  for q = 0, d.ntx - 1 do
    local below = ("%stx/%d/"):format(path, q)
    show_queue(below, d.tx + q, DROPPED)
    local limit = address(below .. "limit")
    if limit then counts.watch_limit(d.tx + q, limit) end
  end
end

-- Tasks -----------------------------------------------------------------------------

local function folder(id, name) return ("tasks/%d %s"):format(id, shm.part(name)) end

--- Show the task of that number and name. What its thread is to call shown.this_task
--- with, a number; nil if there is no room.
function shown.task(id, name)
  local to = address(folder(id, name) .. "/cpu_ns")
  return to and shm.pointer_to_number(to)
end

--- This thread is the task for which shown.task gave that.
function shown.this_task(number)
  if number then
    counts.watch_thread(ffi.cast("uint64_t *", number))
  end
end

--- The task has ended.
function shown.no_task(id, name, number)
  if not number then return end
  local to = ffi.cast("uint64_t *", number)
  counts.unwatch(to)
  shm.unmap(to)
  shm.unlink(folder(id, name))
end

return shown
