-- SPDX-License-Identifier: Apache-2.0
-- Says, once, if the kernel makes no large pages for kept records (net/flow/ahead.c).

local errno = require("posix.errno")
local F = require("core.declare")("net/flow/flow.h")
local log = require("core.lib.log")
local outside = require("core.outside.visitors")

local pages = {}

local watches = false

--- Tell, for the name under which state is kept.
function pages.watch(name)
  if watches then return end
  watches = true
  local visitor = {}
  function visitor.tend()
    local fills = F.pg_flow_fills()
    if fills.failed == 0 then return end
    visitor.tend = nil
    log.info("--keep %s: the kernel makes no large pages for what is kept (%s): "
      .. "look-ups in many records take longer", name, errno.errno(fills.error))
  end
  outside.let_in(visitor)
end

return pages
