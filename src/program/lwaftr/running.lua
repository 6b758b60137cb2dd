-- SPDX-License-Identifier: Apache-2.0
-- The lwAFTRs that run on this machine, Perigee's and Snabb's, found by what users call
-- them.

local failure = require("core.failure")
local instances = require("lib.observe.instances")

local running = {}

-- Of Snabb's managers nothing tells what they manage: any process of Snabb's will do.
local function is_lwaftr(instance)
  return instance.program:match("^lwaftr") ~= nil and not instance.leader
end

--- The instance (lib.observe.instances) that `text` means, a process id or a name; the
--- only lwAFTR if it is nil. `all`, the second result, has all instances. Raises a
--- failure if there is none.
function running.find(text)
  local list, found = instances.list(), {}
  if text then return instances.find(list, text), list end
  for _, instance in ipairs(list) do
    if is_lwaftr(instance) then found[#found + 1] = instance end
  end
  if #found == 1 then return found[1], list end
  if #found == 0 then
    failure.raise("no lwAFTR is running; `perigee ps` lists what is")
  end
  local names = {}
  for i, instance in ipairs(found) do names[i] = instance.name or instance.pid end
  failure.usage("several lwAFTRs are running; say which: %s", table.concat(names, ", "))
end

return running
