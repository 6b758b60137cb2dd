-- SPDX-License-Identifier: Apache-2.0
-- Snabb's core.lib: one table with the functions of the small modules in core/lib/,
-- where they are written and documented. New code may require those directly.

local lib = {}

for _, part in ipairs {
  "values", "text", "bits", "bytes", "files", "conf", "wait", "random", "process",
} do
  for name, func in pairs(require("core.lib." .. part)) do
    assert(lib[name] == nil, name)
    lib[name] = func
  end
end

return lib
