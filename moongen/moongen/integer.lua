-- SPDX-License-Identifier: Apache-2.0
-- Whole numbers among what scripts give.

local arguments = require("core.lib.arguments")

--- `value`, which may be a text, as a number. A usage failure that begins with `what`
--- if it isn't a whole number from `least` to `most`.
return function (what, value, least, most)
  return arguments.whole(what, tonumber(value) or value, least, most)
end
