-- SPDX-License-Identifier: Apache-2.0
-- Handlers that show an argument of an element's configuration, and configure the
-- element anew with another one in its place.

local configure = require("click.router.configure")
local text_of = require("click.language.text")

local keywords = {}

local function without_keyword(argument, name)
  return argument:match("^" .. name .. "%s+(.*)$")
end

-- Where the argument is in the list: by its keyword, or by its position unless there
-- is a keyword.
local function place_of(list, name, position)
  for i = #list, 1, -1 do
    if without_keyword(list[i], name) then return i end
  end
  if position and list[position] and not list[position]:match("^[%u_]+%s+%S") then
    return position
  end
end

local function read(e, name, position)
  local list = text_of.arguments(e.config)
  local i = place_of(list, name, position)
  return i and (without_keyword(list[i], name) or list[i]) or ""
end

--- Configure the element anew, from text. Returns nil, or what is wrong; then the
--- element is as it was.
function keywords.reconfigure(e, text)
  local problems = {}
  local own = rawget(e, "error")
  e.error = function (_, fmt, ...)
    problems[#problems + 1] = select("#", ...) > 0 and fmt:format(...) or fmt
  end
  configure.element(e, text)
  e.error = own
  if #problems > 0 then return table.concat(problems, "\n") end
  e.config = text
end

local function write(e, name, position, value)
  local list = text_of.arguments(e.config)
  local i = place_of(list, name, position)
  list[i or #list + 1] = (i and i == position and not without_keyword(list[i], name))
    and value or name .. " " .. value
  return keywords.reconfigure(e, table.concat(list, ", "))
end

--- A handler for the argument `name`, which has that `position` (from 1) if it isn't
--- one by keyword only. `shown(e)`: what it reads, if that isn't the argument's text.
function keywords.handler(name, position, shown)
  return {
    read = shown or function (e) return read(e, name, position) end,
    write = function (e, text) return write(e, name, position, text) end,
  }
end

return keywords
