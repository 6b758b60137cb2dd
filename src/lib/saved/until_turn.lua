-- SPDX-License-Identifier: Apache-2.0
-- A standby (core.outside.standby) has read configuration files before it takes over:
-- the process before it may have read them again since, or have saved changes there.

local document = require("lib.document.document")
local sandbox = require("lib.sandbox.sandbox")
local standby = require("core.outside.standby")

local until_turn = {}

--- What the files of these paths have, as one string.
function until_turn.content(paths)
  local parts = {}
  for i, path in ipairs(paths) do
    local ok, text = pcall(document.text, path)
    parts[i] = ("%s %s %s\n"):format(path, ok and "has" or "can't be read",
      ok and text or "")
  end
  return table.concat(parts)
end

--- Files of these paths are about to be read, or were just read: if this process stands
--- by, and they have changed when it takes over, call f() then. They are compared once
--- more when it has opened its ports: until then the other process may be told of a
--- change that it doesn't live to read.
function until_turn.watch(paths, f)
  if not standby.waits() then return end
  local before, changed = until_turn.content(paths), false
  local function is_different() return until_turn.content(paths) ~= before end
  standby.at_turn(function () changed = is_different() end)
  standby.at_takeover(function ()
    if changed or not sandbox.entered() and is_different() then f() end
  end)
end

return until_turn
