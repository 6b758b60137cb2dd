-- SPDX-License-Identifier: Apache-2.0
-- Handlers of a router of which there are copies on several CPUs: what is read is
-- joined.
--
-- A handler may have `join`: "sum", "all" (one text after the other) or "first".
-- Without, what can be written too is the same in all copies, numbers are summed, and
-- other texts follow each other, unless they are all the same.

local handlers = require("click.router.handlers")
local workers = require("core.cpus.workers")

local joined = {}

local ALIKE = {name = true, class = true, config = true, ports = true, handlers = true,
  home_thread = true}

local function all_the_same(texts)
  for i = 2, #texts do
    if texts[i] ~= texts[1] then return false end
  end
  return true
end

local function sum_of(texts)
  local sum = 0
  for _, text in ipairs(texts) do
    local number = tonumber(text)
    if not number then return nil end
    sum = sum + number
  end
  return handlers.as_text(sum)
end

--- The text of the handler `h` called `name`, of what copies say.
function joined.text(h, name, texts)
  local how = h and h.join
  if ALIKE[name] or how == "first" or not how and h and h.write then return texts[1] end
  local sum = how ~= "all" and sum_of(texts)
  if sum then return sum end
  if how ~= "all" and all_the_same(texts) then return texts[1] end
  return table.concat(texts)
end

-- The handler that "element.handler ARGUMENTS" names.
local function handler_of(router, full)
  local element, name = handlers.split(full):match("^([^.]+)%.(.+)$")
  local e = element and router:find(element)
  return e and handlers.find(router, e, name), name
end

--- Let the router's handlers be those of copies, the apps app_of(i), one on each of the
--- CPUs.
function joined.handlers(router, cpus, app_of)
  function router:handler_read(full)
    local h, name = handler_of(self, full)
    local texts = {}
    for i, cpu in ipairs(cpus) do
      local answer = workers.call(cpu, "apps.click.click", "read",
        {app = app_of(i), handler = full})
      if not answer.text then return nil, answer.problem end
      texts[i] = answer.text
    end
    return joined.text(h, name, texts)
  end
end

return joined
