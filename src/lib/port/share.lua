-- SPDX-License-Identifier: Apache-2.0
-- Ports that each copy of a program has for itself, to receive what is for that copy
-- alone: a kind says in `divides` which it can be (README.md).

local distribute = require("core.cpus.distribute")

local share = {}

--- Note in the parsed port that it receives for number `copy` (from 0) of so many what
--- has to come to it (core.cpus.dividable).
function share.note(port, copies, copy, meets)
  port.share = {copies = copies, copy = copy, meets = meets}
end

--- For C: how many copies (0: the port isn't divided), which one, and enum flows_by.
function share.numbers(port)
  local part = port.share
  if not part then return 0, 0, 0 end
  return part.copies, part.copy, distribute.by(part.meets)
end

return share
