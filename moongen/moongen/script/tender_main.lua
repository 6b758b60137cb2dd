-- SPDX-License-Identifier: Apache-2.0
-- What runs in the tender's thread and Lua state: the packet pools that ports receive
-- into grow in time, what was sent into files gets there, a file that can't be written
-- ends the script, interfaces that have gone are waited for, who watches the script
-- sees its counts, and warnings are printed.

require("core.luajit")
local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
require("core.declare")("native/log.h")
require("core.declare")("native/threads.h")
local counts = require("moongen.watch.counts")
local ends = require("moongen.tasks.ends")
local failure = require("core.failure")
local native = require("moongen.devices.native")
local statistics = require("moongen.devices.statistics")
local warnings = require("moongen.script.warnings")

ffi.cdef[[
int mg_name_thread(uintptr_t thread, const char *name) __asm__("pthread_setname_np");
]]

local SECONDS_BETWEEN_LOOKS = 0.1

local stats = ffi.new("struct port_stats")

-- Pools -----------------------------------------------------------------------------

local function look_after_pool(pool)
  local room = C.pg_pool_room(pool)
  if C.pg_pool_left(pool) * 4 <= room then C.pg_pool_grow(pool, room) end
end

-- Ports -----------------------------------------------------------------------------

-- Reading its statistics writes what a file port has buffered.
local function look_after_file(kind, port)
  C.pg_port_stats(port, stats)
  local ok, why = pcall(kind.tend, port)
  if ok then return end
  ends.fail(failure.is(why) and why.sentence or tostring(why))
  ends.stop()
end

-- Its interface may have gone, or be back.
local function look_after_interface(kind, port, d)
  local was_away, away = port.gone ~= 0, kind.tend(port) < 0
  if d.wake_fd > 0 then d.wake_fd = kind.wake_fds(port)[1] end -- another, perhaps
  if away and not was_away then
    C.pg_log(C.LOG_WARNING, ("device %d (%s): its interface is gone; waiting for it, "
      .. "and dropping what is sent to it"):format(d.id, ffi.string(d.text)))
  elseif was_away and not away then
    C.pg_log(C.LOG_INFO, ("device %d (%s): its interface is back"):format(d.id,
      ffi.string(d.text)))
  end
end

local function look_after_port(d)
  local kind = require(("port.%s.kind"):format(ffi.string(d.tended)))
  local look = kind.rejoins and look_after_interface or look_after_file
  native.hold(d, false, true)
  local ok, why = pcall(look, kind, d.ports[0], d)
  native.release(d, false, true)
  if not ok then error(why, 0) end
end

local function look_after_all()
  for id = 0, native.count() - 1 do
    local d = native.get(id)
    if d ~= nil and d.configured ~= 0 then
      look_after_pool(d.account.pool)
      if d.tended[0] ~= 0 then look_after_port(d) end
    end
  end
end

-- The thread ------------------------------------------------------------------------

local function wait_for_message(worker, seconds)
  C.pg_worker_wait(worker, C.TO_WORKER, seconds)
  local size = tonumber(C.pg_worker_next(worker, C.TO_WORKER))
  if size < 0 then return false end
  C.pg_worker_take(worker, C.TO_WORKER, ffi.new("char[?]", size + 1))
  return true
end

return function (handle)
  local worker = ffi.cast("struct worker *", handle)
  repeat until wait_for_message(worker, 1) -- it is named behind that, and begins
  C.mg_name_thread(C.mg_this_thread(), "tender")
  C.pg_helper_thread()
  repeat
    C.mg_running(0) -- notes a signal's time
    look_after_all()
    counts.copy(statistics.read)
    warnings.look()
  until wait_for_message(worker, SECONDS_BETWEEN_LOOKS)
  warnings.look()
end
