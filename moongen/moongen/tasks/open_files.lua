-- SPDX-License-Identifier: Apache-2.0
-- The writers of files that a script hasn't closed. What they hold is written while the
-- script waits for packets, so that little is lost when it is killed, and when its Lua
-- state ends, however it ends.

local open_files = {}

--- Does a writer hold something? Who writes sets it.
open_files.pending = false

local open = {}

--- `writer`, which has the methods flush() and close(), is open.
function open_files.add(writer) open[writer] = true end

--- It is closed.
function open_files.remove(writer) open[writer] = nil end

--- Write what all hold.
function open_files.flush()
  open_files.pending = false
  for writer in pairs(open) do writer:flush() end
end

--- Close all. Raises what the first of them raised that failed.
function open_files.close_all()
  local problem
  for writer in pairs(open) do
    open[writer] = nil
    local ok, err = pcall(writer.close, writer)
    if not ok then problem = problem or err end
  end
  if problem then error(problem, 0) end
end

return open_files
