-- SPDX-License-Identifier: Apache-2.0
-- Handlers of a router of which there are copies on several CPUs: what is read is
-- joined.
--
-- A handler may have `join`: "sum", "most" (the largest one), "all" (one text after
-- the other) or "first". Without, the router's own handlers and those that can be
-- written, too, are the same in all copies, numbers are summed (not if the handler
-- takes arguments), and other texts follow each other, unless they are all the same.

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

local function add(a, b) return a + b end

-- What the numbers are together; nil if one isn't a number.
local function number_of(texts, together)
  local result
  for _, text in ipairs(texts) do
    local number = tonumber(text)
    if not number then return nil end
    result = result and together(result, number) or number
  end
  return handlers.as_text(result)
end

local function one_after_the_other(texts)
  local list = {}
  for i, text in ipairs(texts) do list[i] = text:gsub("[^\n]$", "%0\n") end
  return table.concat(list)
end

--- The text of the handler `h` called `name`, of what copies say.
function joined.text(h, name, texts)
  local how = h.join
  if ALIKE[name] or how == "first" or not how and h.write then return texts[1] end
  if how == "all" then return one_after_the_other(texts) end
  local number = not h.param and number_of(texts, how == "most" and math.max or add)
  if number then return number end
  return all_the_same(texts) and texts[1] or one_after_the_other(texts)
end

--- Let the router's handlers be those of copies, the apps app_of(i), one on each of the
--- CPUs.
function joined.handlers(router, cpus, app_of)
  function router:handler_read(full)
    local e, name = handlers.resolve(self, (handlers.split(full)))
    if not e then return nil, name end
    local h = handlers.find(self, e, name)
    local texts = {}
    for i, cpu in ipairs(cpus) do
      local answer = workers.call(cpu, "apps.click.click", "read",
        {app = app_of(i), handler = full})
      if not answer.text then return nil, answer.problem end
      if e == self.root then return answer.text end
      texts[i] = answer.text
    end
    return joined.text(h, name, texts)
  end
end

return joined
