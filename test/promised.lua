-- SPDX-License-Identifier: Apache-2.0
-- perigee run test/promised.lua: the public functions of the modules that
-- doc/promises.md names, a line each (test_promises.py).

local MODULES = {config = config, engine = engine, link = link, packet = packet}
for _, name in ipairs{"counter", "timer", "lib", "shm"} do
  MODULES[name] = require("core." .. name)
end

for name, module in pairs(MODULES) do
  for key, value in pairs(module) do
    local public = type(value) == "function" and not key:find("^_")
    if public then print(name .. "." .. key) end
  end
end
