-- SPDX-License-Identifier: Apache-2.0
-- Gives an element its configuration: the text in parentheses, split at commas, and
-- parsed as its class says. Classes with live = true take a new one while they run.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local arguments = require("click.arguments")
local text_of = require("click.language.text")

local configure = {}

--- Configure the element from the text of its configuration. What is wrong with it goes
--- to element:error.
function configure.element(e, text)
  if e.reuse and e:reuse(text) then return end
  if e.configure_text then return e:configure_text(text) end
  local list = text_of.arguments(text)
  if e.configure_raw then return e:configure_raw(list, text) end
  local values = arguments.parse(e.class.arguments, list, e)
  if values then e:configure(values) end
end

--- Configure a running element again; nil, or what is wrong (then it is as before, if
--- its configure() takes care of that).
function configure.again(e, text)
  local problems = e.router:collect(e, function () configure.element(e, text) end)
  if problems then return problems end
  e.config = text
  e:changed()
  if e.reconfigured then e:reconfigured() end
end

--- A write handler that sets one argument of the configuration: `name` as keyword, or
--- the argument at `position` (from 1).
function configure.keyword(name, position)
  return function (e, text)
    local list, found = text_of.arguments(e.config), nil
    for i, argument in ipairs(list) do
      if argument:match("^" .. name .. "%s") then found = i end
    end
    local at = not found and position and list[position]
      and not list[position]:match("^[%u_]+%s+%S")
    if at then list[position] = text
    else list[found or #list + 1] = name .. " " .. text end
    return configure.again(e, table.concat(list, ", "))
  end
end

--- Handlers pattern0, pattern1 and so on of the element, for its first `n` arguments.
function configure.add_patterns(e, n)
  for i = 1, n do
    e:add_handler("pattern" .. i - 1, {
      read = function (self) return text_of.arguments(self.config)[i] end,
      write = function (self, text)
        local list = text_of.arguments(self.config)
        list[i] = text
        return configure.again(self, table.concat(list, ", "))
      end,
    })
  end
end

return configure
