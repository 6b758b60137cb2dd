-- SPDX-License-Identifier: Apache-2.0
-- Locks, barriers and plain memory that all tasks see: the C library's mutexes and
-- conditions, in memory that is never freed, since other tasks may have pointers to it.

local arguments = require("moongen.arguments")
local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")

local locks = {}

-- POSIX, under names that scripts can't mean. A struct lock is a pthread_mutex_t.
ffi.cdef[[
struct mg_time { int64_t seconds, nanoseconds; };
struct barrier {
  struct lock mutex;
  uint64_t opens[8]; /* a pthread_cond_t */
  double missing;    /* tasks that haven't come yet */
};

int mg_posix_attributes(int32_t *attributes) __asm__("pthread_mutexattr_init");
int mg_posix_set_type(int32_t *attributes, int type)
  __asm__("pthread_mutexattr_settype");
int mg_posix_init(struct lock *l, const int32_t *attributes)
  __asm__("pthread_mutex_init");
int mg_posix_lock(struct lock *l) __asm__("pthread_mutex_lock");
int mg_posix_try(struct lock *l) __asm__("pthread_mutex_trylock");
int mg_posix_timed(struct lock *l, const struct mg_time *until)
  __asm__("pthread_mutex_timedlock");
int mg_posix_unlock(struct lock *l) __asm__("pthread_mutex_unlock");
int mg_posix_condition(void *condition, const void *attributes)
  __asm__("pthread_cond_init");
int mg_posix_wait(void *condition, struct lock *l, const struct mg_time *until)
  __asm__("pthread_cond_timedwait");
int mg_posix_broadcast(void *condition) __asm__("pthread_cond_broadcast");
void *mg_posix_calloc(size_t n, size_t size) __asm__("calloc");
void mg_posix_free(void *memory) __asm__("free");
]]

local RECURSIVE = 1 -- PTHREAD_MUTEX_RECURSIVE
local attributes = ffi.new("int32_t[2]")
C.mg_posix_attributes(attributes)
C.mg_posix_set_type(attributes, RECURSIVE)

--- `n` zeroed structures of a C type (text), a pointer to the first; they are there
--- until free().
function locks.memory(ctype, n)
  local memory = C.mg_posix_calloc(n or 1, ffi.sizeof(ctype))
  if memory == nil then error("no memory for what tasks share", 0) end
  return ffi.cast(ctype .. " *", memory)
end

locks.free = C.mg_posix_free

--- Make the structure a lock that is free.
function locks.prepare(lock) C.mg_posix_init(lock, attributes) end

local until_time = ffi.new("struct mg_time")

-- The time of day in so many microseconds.
local function in_a_while(microseconds)
  local ns = tonumber(C.pg_real_ns() % 1000000000LL) + microseconds * 1000
  until_time.seconds = C.pg_real_ns() / 1000000000LL + math.floor(ns / 1e9)
  until_time.nanoseconds = ns % 1e9
  return until_time
end

-- Locks ---------------------------------------------------------------------------

local Lock = {}
Lock.__index = Lock

--- A lock; who has it may take it again.
function locks.new()
  local lock = locks.memory("struct lock")
  locks.prepare(lock)
  return lock
end

function Lock:lock()
  if C.mg_posix_try(self) == 0 then return end
  C.mg_give_caches() -- others may want them before it is this one's
  C.mg_posix_lock(self)
end

function Lock:unlock() C.mg_posix_unlock(self) end

--- Take it within so many microseconds (default 0): true or false.
function Lock:tryLock(microseconds)
  if C.mg_posix_try(self) == 0 then return true end
  if (microseconds or 0) <= 0 then return false end
  C.mg_give_caches()
  return C.mg_posix_timed(self, in_a_while(microseconds)) == 0
end

--- Call f(...) while it is held. An error of f's is raised when it has been released.
function Lock:__call(f, ...)
  self:lock()
  local ok, err = xpcall(f, debug.traceback, ...)
  self:unlock()
  if not ok then error(err, 2) end
end

arguments.methods(Lock, "a lock", ffi.typeof("struct lock"), {lock = "", unlock = "",
  tryLock = "number?"})
ffi.metatype("struct lock", Lock)

-- Barriers ------------------------------------------------------------------------

local LOOK_US, PATIENCE_MS = 1e5, 1000

local Barrier = {}
Barrier.__index = Barrier

--- A barrier that opens when `n` tasks wait at it (0: it is open until reinit).
function locks.barrier(first, n)
  n = tonumber(first) or tonumber(n)
  if not n or n ~= n or n < 0 then
    error("a barrier is for a number of tasks from 0 on", 2)
  end
  local barrier = locks.memory("struct barrier")
  locks.prepare(barrier.mutex)
  C.mg_posix_condition(barrier.opens, nil)
  barrier.missing = n
  return barrier
end

--- Wait until all have come, or until the script is to end: one of them may have.
function Barrier:wait()
  self.mutex:lock()
  if self.missing > 0 then
    self.missing = self.missing - 1
    if self.missing == 0 then C.mg_posix_broadcast(self.opens) end
  end
  while self.missing > 0 and C.mg_running(PATIENCE_MS) ~= 0 do
    C.mg_posix_wait(self.opens, self.mutex, in_a_while(LOOK_US))
  end
  self.mutex:unlock()
end

--- Let it close again, for `n` tasks. None may be waiting.
function Barrier:reinit(n)
  if type(n) ~= "number" or n ~= n or n < 0 then
    error(("a barrier is for a number of tasks from 0 on, not %s"):format(
      arguments.shown(n)), 2)
  end
  self.mutex:lock()
  self.missing = n
  self.mutex:unlock()
end

arguments.methods(Barrier, "a barrier", ffi.typeof("struct barrier"), {wait = "",
  reinit = "any?"})
ffi.metatype("struct barrier", Barrier)

return locks
