-- SPDX-License-Identifier: Apache-2.0
-- Where require() looks for modules.

local stdlib = require("posix.stdlib")

local module_path = {}

--- Find modules in the folder of `file` (a path), too, behind all others. It stays that
--- folder when the working directory changes.
function module_path.add_folder_of(file)
  local folder = stdlib.realpath(file:match("^.*/") or ".")
  if not folder or folder:find("[;?]") then return end -- no place in package.path
  local pattern = (folder == "/" and "" or folder) .. "/?.lua"
  if not (";" .. package.path .. ";"):find(";" .. pattern .. ";", 1, true) then
    package.path = package.path .. ";" .. pattern
  end
end

return module_path
