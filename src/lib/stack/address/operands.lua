-- SPDX-License-Identifier: Apache-2.0
-- What is said of operands that an address can't be added to or compared with.

local operands = {}

local function text(value)
  return type(value) == "string" and "'" .. value .. "'" or "a " .. type(value)
end

--- The number to add to an address of `kind` ("IPv4"); it isn't of Lua's type number.
function operands.amount(value, kind)
  if type(value) == "cdata" and tonumber(value) then return value end
  error(("a number can be added to an %s address, not %s"):format(kind, text(value)), 3)
end

--- Raise the sentence for a method that was called without its address.
function operands.without(self, kind)
  error(("an %s address's method is called with it, by a colon, not with %s"):format(
    kind, text(self)), 3)
end

--- Raise the sentence for a comparison.
function operands.incomparable(a, b, kind)
  local other = type(a) == "cdata" and b or a
  error(("an %s address is compared with another, not with %s"):format(kind,
    text(other)), 3)
end

return operands
