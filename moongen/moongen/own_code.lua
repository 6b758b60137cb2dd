-- SPDX-License-Identifier: Apache-2.0
-- Whose code a position in an error or a traceback is.

local main = require("core.main")

local own_code = {}

--- Does the line (of a traceback, or the path of a file) name Perigee's own Lua, rather
--- than the script or its modules?
function own_code.is_own(line)
  return (line:find(main.root .. "/src/", 1, true)
    or line:find(main.root .. "/moongen/", 1, true)) ~= nil
end

return own_code
