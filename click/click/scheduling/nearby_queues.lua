-- SPDX-License-Identifier: Apache-2.0
-- The queues that RED, CoDel and Unqueue2 look at: those that the argument QUEUES
-- names, or the nearest ones on packets' way.

local text_of = require("click.language.text")
local tables = require("core.lib.tables")

local nearby_queues = {}

local function is_queue(e) return e.head ~= nil and e.tail ~= nil end

-- Those that `text` names, or nil after an error.
local function named(e, text)
  local list = {}
  for _, name in ipairs(text_of.words(text)) do
    local other = e.router:find(name, e)
    if not other then return e:error("no element named '%s'", name) end
    if not is_queue(other) then
      return e:error("'%s' is not a Storage element", name)
    end
    list[#list + 1] = other
  end
  return list
end

--- The queues of element `e`, a list: those that the text `wanted` names, or, if it is
--- nil, the nearest behind the first output (`behind`) or in front of the first input.
--- Nil after an error.
function nearby_queues.any(e, wanted, behind)
  if wanted then return named(e, wanted) end
  return e.router:nearest(e, behind, is_queue, 1)
end

--- The same; that there are none is an error, too.
function nearby_queues.find(e, wanted, behind)
  local found = nearby_queues.any(e, wanted, behind)
  if not found then return nil end
  if #found == 0 then return e:error("no nearby Queues") end
  return found
end

--- How many packets are in them.
function nearby_queues.length(queues)
  local sum = 0
  for i = 1, #queues do sum = sum + (queues[i].tail - queues[i].head) end
  return sum
end

--- Their names, a line each.
function nearby_queues.names(queues)
  return tables.field(queues, "name")
end

return nearby_queues
