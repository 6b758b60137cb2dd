-- SPDX-License-Identifier: Apache-2.0
-- What scripts' Lua has more than Debian's: ipairs() of objects that say how
-- (__ipairs), as in LuaJIT's 5.2 mode, and of arrays of buffers. libmoon's functions
-- are in moongen.packets.utils.

local buffers = require("moongen.memory.buffers")

local globals = {}

local plain_ipairs = ipairs

--- ipairs, also of arrays of buffers.
function globals.ipairs(list)
  if type(list) == "cdata" then return buffers.next, list, 0 end
  local meta = getmetatable(list)
  if type(meta) == "table" and rawget(meta, "__ipairs") then
    return meta.__ipairs(list)
  end
  return plain_ipairs(list)
end

--- Set them in this Lua state.
function globals.set()
  rawset(_G, "ipairs", globals.ipairs)
end

return globals
