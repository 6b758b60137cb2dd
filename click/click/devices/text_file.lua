-- SPDX-License-Identifier: Apache-2.0
-- Files that elements write lines to. What can't be written (a full disk) is said once;
-- the element goes on, and the exit status reports it.

local files = require("core.lib.files")

local text_file = {}

local File = {}
File.__index = File

--- The file `name`, to be written anew by the element `e`; or nil and what is wrong.
function text_file.open(e, name)
  local file, problem = files.create(name, e.router.old ~= nil)
  if not file then return nil, problem end
  return setmetatable({file = file, element = e, name = name}, File)
end

local function complain(self, problem)
  if self.failed then return end
  self.failed = true
  self.element:failed_to(("can't write %s: %s"):format(self.name, problem))
end

--- Write these texts.
function File:write(...)
  local ok, problem = self.file:write(...)
  if not ok then complain(self, problem) end
end

--- Close it: what was written is in the file then.
function File:close()
  local ok, problem = self.file:close()
  if not ok then complain(self, problem) end
end

return text_file
