-- SPDX-License-Identifier: Apache-2.0
-- Load each module in a process of its own, without the others:
-- perigee run test/load_alone.lua MODULE ...

local unistd = require("posix.unistd")
local wait = require("posix.sys.wait").wait

for _, name in ipairs{...} do
  local child = unistd.fork()
  if child == 0 then
    local good, problem = pcall(require, name)
    if not good then io.stderr:write(name, ": ", tostring(problem), "\n") end
    unistd._exit(good and 0 or 1)
  end
  local _, how, status = wait(child)
  if how ~= "exited" or status ~= 0 then print(name, how, status) end
end
