-- SPDX-License-Identifier: Apache-2.0
-- What classes of per-packet and bulk apps promise: the names of their outputs and
-- drops. Other apps name no outputs; they may have links of any name. Pure.

local failure = require("core.failure")

local contract = {}

local ONE_OUTPUT = {"output"}
local MOST = 255 -- outputs and drops of a bulk app: each needs a code in a byte

local function check_list(name, field, list)
  if list == nil then return 0 end
  if type(list) ~= "table" then
    failure.usage("app '%s': its class's %s is a %s; it must be a list of names", name,
      field, type(list))
  end
  for i, text in ipairs(list) do
    if type(text) ~= "string" then
      failure.usage("app '%s': its class's %s[%d] is a %s; it must be a name", name,
        field, i, type(text))
    end
  end
  return #list
end

--- The names of the outputs that links can leave an app of the class by, a list; or
--- nil if its methods may send packets to any.
function contract.outputs(class)
  local listed = class.process or class.process_burst or type(class.outputs) == "table"
  if not listed or class.push or class.pull or class.push_link then return nil end
  return class.outputs or ONE_OUTPUT
end

--- Check the class of the app `name`; raises a failure.
function contract.check(name, class)
  if not contract.outputs(class) then return end
  local outputs = check_list(name, "outputs", class.outputs)
  local drops = check_list(name, "drops", class.drops)
  if class.process_burst and outputs + drops > MOST then
    failure.usage("app '%s': a bulk app has up to %d outputs and drops, not %d and %d",
      name, MOST, outputs, drops)
  end
end

--- Check that a link may leave the app `name` of the class by `output`; raises a
--- failure, which begins with the link's text.
function contract.check_output(spec, name, class, output)
  local outputs = contract.outputs(class)
  if not outputs then return end
  for _, known in ipairs(outputs) do
    if known == output then return end
  end
  failure.usage("link '%s': app '%s' has no output '%s'; it has %s", spec, name, output,
    #outputs == 0 and "none" or table.concat(outputs, ", "))
end

return contract
