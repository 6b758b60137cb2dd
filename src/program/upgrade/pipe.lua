-- SPDX-License-Identifier: Apache-2.0
-- A pipe between a process and its forks, which programs that they run don't get: who
-- reads from it knows when the other one has ended.

local failure = require("core.failure")
local fcntl = require("posix.fcntl")
local unistd = require("posix.unistd")

local pipe = {}

--- Two descriptors: to read from, and to write to. A failure, behind the text `what`,
--- if there are none.
function pipe.new(what)
  local from, to = unistd.pipe()
  if not from then failure.raise("%s: %s", what, to) end
  for _, fd in ipairs{from, to} do fcntl.fcntl(fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC) end
  return from, to
end

return pipe
