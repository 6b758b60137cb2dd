-- SPDX-License-Identifier: Apache-2.0
-- Gives elements their configurations: the text in parentheses, split at commas, and
-- parsed as the class says.

local arguments = require("click.arguments")
local strings = require("click.language.strings")

local configure = {}

--- Configure the element from the text of its configuration. What is wrong with it goes
--- to the element's errors (element:error).
function configure.element(e, text)
  local list = strings.split(text)
  if e.configure_raw then return e:configure_raw(list, text) end
  local values = arguments.parse(e.class.arguments, list, e)
  if values then e:configure(values) end
end

return configure
