-- SPDX-License-Identifier: Apache-2.0
-- Atomic operations on memory that several processes or threads share.

local C = require("core.declare")("native/snabb.h")
local threads = require("core.declare")("native/threads.h")

return {
  --- The uint32_t, or uint64_t, at the pointer; what follows isn't done before.
  load = C.pg_atomic_load32,
  load64 = C.pg_atomic_load64,

  --- cas(pointer, old, new): make the int (uint64_t) at `pointer` `new` if it is
  --- `old`; whether it was.
  cas = C.pg_atomic_cas32,
  cas64 = C.pg_atomic_cas64,

  --- Spin until the lock (an int, 0 at first) is free, and take it.
  lock = threads.pg_lock,
  unlock = threads.pg_unlock,
}
