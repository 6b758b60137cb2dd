-- SPDX-License-Identifier: Apache-2.0
-- What elements print: lines on standard error, which others may listen to.

local chatter = {}

local listeners = {} -- functions by key

--- Call f(line) for each line from now on; nil: no more. `key` is whose it is.
function chatter.listen(key, f) listeners[key] = f end

--- Let the listeners have a line that was printed already.
function chatter.tell(line)
  for _, f in pairs(listeners) do f(line) end
end

--- Print a line on standard error, behind what was printed on standard output.
function chatter.say(line)
  io.stdout:flush()
  io.stderr:write(line .. "\n") -- at once: other processes may write there, too
  chatter.tell(line)
end

return chatter
