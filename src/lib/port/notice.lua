-- SPDX-License-Identifier: Apache-2.0
-- Tells, once, that an argument of a driver app has no effect on a DPDK port. Only for
-- those that would change which packets an app sees or sends; sizes of rings and
-- waiting times are ignored silently.

local M = {}

local told = {}

local function is_off(value)
  return value == nil or value == false or value == 0
    or (type(value) == "table" and next(value) == nil)
end

--- Write a line to stderr for each of `keys` that is set in `conf` (a table), once
--- per app class, port and key.
function M.without_effect(class, port, conf, keys)
  for _, key in ipairs(keys) do
    local line = ("%s on %s: '%s' has no effect; see the README of the app\n")
      :format(class, port, key)
    if not is_off(conf[key]) and not told[line] then
      told[line] = true
      io.stderr:write(line)
    end
  end
end

return M
