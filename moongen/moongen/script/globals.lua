-- SPDX-License-Identifier: Apache-2.0
-- Scripts' Lua is LuaJIT's own, but for ipairs() of tables that say how (__ipairs), as
-- in its 5.2 mode. libmoon's functions are in moongen.packets.utils.

local buffers = require("moongen.memory.buffers")
local luajit = require("core.luajit")

local globals = {}

local plain_ipairs

--- ipairs, which asks the metatable first. Loops over arrays of buffers are packets'
--- way: they are compiled only without the pcall.
function globals.ipairs(...)
  local list = ...
  if buffers.is(list) then return buffers.next, list, 0 end
  if type(list) ~= "table" then
    local ok, next_one, state, first = pcall(plain_ipairs, ...)
    if not ok then luajit.fail(next_one) end
    return next_one, state, first
  end
  local meta = debug.getmetatable(list)
  local own = type(meta) == "table" and rawget(meta, "__ipairs") or plain_ipairs
  local next_one, state, first = own(list)
  return next_one, state, first
end

--- Set them in this Lua state, whose functions may have been another family's.
function globals.set()
  luajit.restore()
  plain_ipairs = ipairs
  rawset(_G, "ipairs", globals.ipairs)
end

return globals
