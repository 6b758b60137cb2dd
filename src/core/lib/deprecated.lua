-- SPDX-License-Identifier: Apache-2.0
-- What is deprecated still works, and warns once a process (doc/promises.md).

local log = require("core.lib.log")

local M = {}
local told = {}

--- Warn, once a process, that `old` is deprecated: `new` takes its place, and the
--- version `gone` takes it away.
function M.warn(old, new, gone)
  if told[old] then return end
  told[old] = true
  log.warning("%s is deprecated, use %s instead; it goes with %s", old, new, gone)
end

--- A function that warns and then calls `f`, for an API's table.
function M.wrap(f, old, new, gone)
  return function (...)
    M.warn(old, new, gone)
    return f(...)
  end
end

return M
