-- SPDX-License-Identifier: Apache-2.0
-- A stack of headers as text: eth,ip4,udp.

local failure = require("core.failure")
local stack = require("lib.stack")

local M = {}

local function item_of(text, whole)
  local label, rest = text:match("^%s*(%a%w*)=(.*)$")
  local name, subtype = (rest or text):match("^%s*(%w+):?(%w*)%s*$")
  if not name then
    failure.usage("'%s' isn't a stack such as eth,ip4,udp or eth:vlan,ip4,udp,vxlan,"
      .. "innerEth=eth ([NAME=]PROTOCOL[:SUBTYPE], outermost first)", whole)
  end
  return {name, name = label, subType = subtype ~= "" and subtype or nil}
end

--- The stack (lib.stack) that `description` is: text ("eth,ip4,udp"; with a subtype,
--- "eth:vlan,ip4"; with a name, "eth,ip4,udp,vxlan,innerEth=eth"), or an array of
--- what createStack takes. Raises a sentence.
function M.parse(description)
  local items = description
  if type(description) == "string" then
    items = {}
    for text in (description .. ","):gmatch("([^,]*),") do
      items[#items + 1] = item_of(text, description)
    end
  elseif type(description) ~= "table" then
    failure.usage("a stack is text such as eth,ip4,udp or an array, not a %s",
      type(description))
  end
  local ok, result = pcall(stack.createStack, unpack(items))
  if not ok then
    failure.usage("the stack '%s' can't be made: %s",
      type(description) == "string" and description or "of the script",
      (tostring(result):gsub("^createStack: ", "")))
  end
  return result
end

return M
