-- SPDX-License-Identifier: Apache-2.0
-- What classes of per-packet and bulk apps promise: the names of their inputs, outputs
-- and drops. Other apps name none; they may have links of any name.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local C = require("core.native")
local arguments = require("core.lib.arguments")
local failure = require("core.failure")

local contract = {}

local BURST = C.PORT_BURST
local ONE_OUTPUT = {"output"}
local MOST = 255 -- outputs and drops of a bulk app: each needs a code in a byte

-- The push functions that per-packet classes have for others to call
-- (core.fuse.unfused): the engine does better than to call them.
local standard = setmetatable({}, {__mode = "k"})

--- Let push() be none of the app's, or class's, own.
function contract.is_for_others(push) standard[push] = true end

--- The push() that the app, or class, has of its own; or nil.
function contract.own_push(app)
  local push = app.push
  return push and not standard[push] and push or nil
end

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

--- Is it a per-packet class: one that sees no links, but gets packets by process(p, i),
--- or sends them by emit(o, p)?
function contract.is_per_packet(class)
  return (class.process or class.emits) and not (contract.own_push(class)
    or class.push_link or class.process_burst
    or class.pull and not class.emits) and true or false
end

--- The names of the outputs that links can leave an app of the class by, a list; or
--- nil if its methods may send packets to any.
function contract.outputs(class)
  local listed = class.process or class.process_burst or type(class.outputs) == "table"
  local own = contract.own_push(class) or class.pull or class.push_link -- ways to send
  if not contract.is_per_packet(class) and (own or not listed) then return nil end
  return class.outputs or ONE_OUTPUT
end

--- Check the class of the app `name`; raises a failure.
function contract.check(name, class)
  if not contract.outputs(class) then return end
  if contract.is_per_packet(class) then check_list(name, "inputs", class.inputs) end
  local outputs = check_list(name, "outputs", class.outputs)
  local drops = check_list(name, "drops", class.drops)
  if class.process_burst and outputs + drops > MOST then
    failure.usage("app '%s': a bulk app has up to %d outputs and drops, not %d and %d",
      name, MOST, outputs, drops)
  end
end

--- Check the fields of a running app that need not be its class's; raises a failure.
function contract.check_app(_, app)
  local n = contract.is_per_packet(app) and app.at_once
  if n then arguments.whole("at_once", n, 1, BURST) end
end

local function check_end(spec, name, direction, list, port)
  for _, known in ipairs(list or {port}) do
    if known == port then return end
  end
  failure.usage("link '%s': app '%s' has no %s '%s'; it has %s", spec, name, direction,
    port, #list == 0 and "none" or table.concat(list, ", "))
end

--- Check that a link may leave the app `name` of the class by `output`; raises a
--- failure, which begins with the link's text.
function contract.check_output(spec, name, class, output)
  check_end(spec, name, "output", contract.outputs(class), output)
end

--- The same of a link that leads to the `input` of a per-packet class that names its
--- inputs; others may be called anything.
function contract.check_input(spec, name, class, input)
  if not contract.is_per_packet(class) then return end
  check_end(spec, name, "input", class.process and class.inputs or not class.process
    and {} or nil, input)
end

--- The number by which process(p, i) of the app, or class, knows its `input` (a name).
function contract.number_of(app, input)
  for i, name in ipairs(app.inputs or {}) do
    if name == input then return i end
  end
  return 1
end

return contract
