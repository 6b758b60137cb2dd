-- SPDX-License-Identifier: Apache-2.0
-- ChangeUID: the process goes on as the user who started it, where a set-uid bit had
-- made it root.

local element = require("click.element")
local unistd = require("posix.unistd")

local ChangeUID = element.define{
  name = "ChangeUID", summary = "gives up the privileges of a set-uid program",
  ports = "0/0", division = "whole", phase = 51,
  notes = "The process's effective user and group become those that started it. They "
    .. "differ only where the program has a set-uid bit.",
}

function ChangeUID:initialize()
  local done, problem = unistd.setpid("g", unistd.getgid())
  if done then done, problem = unistd.setpid("u", unistd.getuid()) end
  if not done then return self:error("could not drop privilege: %s", problem) end
end

return {ChangeUID}
