-- SPDX-License-Identifier: Apache-2.0
-- Says, once each, if there is no room for more kept records, and if the kernel makes
-- no large pages for them (net/flow/ahead.c).

local errno = require("posix.errno")
local F = require("core.declare")("net/flow/flow.h")
local log = require("core.lib.log")
local outside = require("core.outside.visitors")

local memory = {}

local watches = false

--- Tell, for the name under which state is kept.
function memory.watch(name)
  if watches then return end
  watches = true
  local told_room, told_pages = false, false
  outside.let_in{tend = function ()
    local fills = F.pg_flow_fills()
    if fills.no_room ~= 0 and not told_room then
      told_room = true
      log.warning("--keep %s: there is no room for more records (%s): new ones are "
        .. "refused, as by a full table", name, errno.errno(fills.no_room))
    end
    if fills.failed > 0 and not told_pages then
      told_pages = true
      log.info("--keep %s: the kernel makes no large pages for what is kept (%s): "
        .. "look-ups in many records take longer", name, errno.errno(fills.error))
    end
  end}
end

return memory
