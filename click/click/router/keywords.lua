-- SPDX-License-Identifier: Apache-2.0
-- Handlers that show an argument of an element's configuration, and configure the
-- element again with a new one.

local configure = require("click.router.configure")
local text_of = require("click.language.text")

local keywords = {}

-- The text of the argument: the one that has its keyword, or the one at its position,
-- if that has no keyword.
local function read(e, name, position)
  local list = text_of.arguments(e.config)
  for i = #list, 1, -1 do
    local text = list[i]:match("^" .. name .. "%s+(.*)$")
    if text then return text end
  end
  local text = position and list[position]
  return text and not text:match("^[%u_]+%s+%S") and text or ""
end

--- A handler for the argument `name`, which has that `position` (from 1) if it isn't
--- one by keyword only. `shown(e)`: what it reads, if that isn't the argument's text.
function keywords.handler(name, position, shown)
  return {
    read = shown or function (e) return read(e, name, position) end,
    write = configure.keyword(name, position),
  }
end

return keywords
