-- SPDX-License-Identifier: Apache-2.0
-- Whole numbers among what scripts give.

local failure = require("core.failure")

--- `value`, which may be a text, as a number. A usage failure that begins with `what`
--- if it isn't a whole number from `least` to `most`.
return function (what, value, least, most)
  local number = tonumber(value)
  if not number or number % 1 ~= 0 or number < least or number > most then
    failure.usage("%s is a whole number from %d to %d, not '%s'", what, least, most,
      tostring(value))
  end
  return number
end
