-- SPDX-License-Identifier: Apache-2.0
-- A standby (core.outside.standby) has read configuration files before it takes over:
-- the process before it may have read them again since, or have saved changes there.

local document = require("lib.document.document")
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
--- by, and they have changed when it has taken over, call f() then. (Once its ports are
--- open nobody else is told of changes.)
function until_turn.watch(paths, f)
  if not standby.waits() then return end
  local before = until_turn.content(paths)
  standby.at_takeover(function ()
    if until_turn.content(paths) ~= before then f() end
  end)
end

return until_turn
