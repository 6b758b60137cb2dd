-- SPDX-License-Identifier: Apache-2.0
-- Copies from many addresses at once: their cache misses overlap instead of following
-- one another. Streaming lookups in hash tables are fast by it.

local C = require("core.declare")("native/snabb.h")

local multi_copy = {}

--- A function (to, from) that copies `size` bytes from each of the `count`
--- pointers in `from` (void *[count]), one after the other, to `to`.
function multi_copy.gen(count, size)
  return function (to, from) C.pg_multi_copy(to, from, count, size) end
end

return multi_copy
