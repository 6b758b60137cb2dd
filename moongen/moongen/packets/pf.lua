-- SPDX-License-Identifier: Apache-2.0
-- The part of pflua that libmoon's scripts use: filters in the language of
-- pcap-filter(7), by lib.filter.

local filter = require("lib.filter")

local pf = {}

--- The expression as a function of (bytes, length): whether it accepts the packet.
--- Raises a sentence if it isn't one. Options of pflua's are taken, and mean nothing.
function pf.compile_filter(expression)
  local ok, result = pcall(filter.compile, expression)
  if not ok then error(tostring(result), 0) end
  return result
end

return pf
