-- SPDX-License-Identifier: Apache-2.0
-- For who watches a script: counts that queues and threads have anyway, and where in
-- shared memory the tender copies them to, some times a second. Nobody who moves
-- packets does anything for it.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local locks = require("moongen.locks")

local counts = {}

ffi.cdef[[
struct mg_watched {
  struct mg_watched *next;
  int32_t what;
  int32_t clock;     /* of a thread (clockid_t) */
  const void *of;
  uint64_t *to;      /* in shared memory */
};
int mg_clock_of(uintptr_t thread, int32_t *clock) __asm__("pthread_getcpuclockid");
uintptr_t mg_this_thread(void) __asm__("pthread_self");
int mg_clock_time(int32_t clock, struct mg_time *t) __asm__("clock_gettime");
]]

local COUNT, MISSED, LIMIT, THREAD = 1, 2, 3, 4
local watched_t = ffi.typeof("struct mg_watched *")
local count_t, queue_t = ffi.typeof("const uint64_t *"), ffi.typeof("struct mg_queue *")
local device_t = ffi.typeof("struct mg_device *")

local shared = C.mg_shared()

local function first() return ffi.cast(watched_t, shared.watched) end

local function add(what, of, to)
  local w = locks.memory("struct mg_watched")
  w.what, w.of, w.to = what, of, to
  if what == THREAD then
    local clock = ffi.new("int32_t[1]")
    C.mg_clock_of(C.mg_this_thread(), clock)
    w.clock = clock[0]
  end
  shared.lock:lock()
  w.next = first()
  shared.watched = w
  shared.lock:unlock()
end

--- Copy the count (uint64_t) at `of`, which stays, to `to` (uint64_t *) from now on.
function counts.watch(of, to) add(COUNT, of, to) end

--- The same with the packets that came to device `d` and that no queue got.
function counts.watch_missed(d, to) add(MISSED, d, to) end

--- The same with the rate that the queue to send to is limited to in software, bit/s
--- with 4 bytes of CRC a packet, 0 if it isn't.
function counts.watch_limit(queue, to) add(LIMIT, queue, to) end

--- The same with the CPU time of the thread that calls this, ns.
function counts.watch_thread(to) add(THREAD, nil, to) end

--- No more to `to`, which may be unmapped then.
function counts.unwatch(to)
  shared.lock:lock()
  local before, w = nil, first()
  while w ~= nil and w.to ~= to do before, w = w, w.next end
  if w ~= nil and before then before.next = w.next end
  if w ~= nil and not before then shared.watched = w.next end
  shared.lock:unlock()
  if w ~= nil then locks.free(w) end
end

-- The lower of the queue's rate and its device's.
local function limit_of(queue)
  local own, all = C.pg_pacer_rate(queue.pacer), C.pg_pacer_rate(queue.device.pacer)
  return (own == 0 or (all > 0 and all < own)) and all or own
end

local stats, time = ffi.new("struct port_stats"), ffi.new("struct mg_time")

local copy = {
  [COUNT] = function (w) w.to[0] = ffi.cast(count_t, w.of)[0] end,
  [MISSED] = function (w, read)
    local d = ffi.cast(device_t, w.of)
    if d.opened == 0 then return end
    read(d, stats)
    w.to[0] = stats.imissed + stats.rx_nombuf
  end,
  [LIMIT] = function (w)
    w.to[0] = math.floor(limit_of(ffi.cast(queue_t, w.of)) + 0.5)
  end,
  [THREAD] = function (w) -- fails when it has ended
    if C.mg_clock_time(w.clock, time) ~= 0 then return end
    w.to[0] = time.seconds * 1000000000LL + time.nanoseconds
  end,
}

--- Copy all that is watched. `read`: moongen.devices.statistics.read.
function counts.copy(read)
  shared.lock(function ()
    local w = first()
    while w ~= nil do
      copy[w.what](w, read)
      w = w.next
    end
  end)
end

return counts
