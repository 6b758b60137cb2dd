-- SPDX-License-Identifier: Apache-2.0
-- A router's push side as a configuration of Perigee's engine: an element with push
-- ports is an app of the same name, and a push connection a link. Ports are called by
-- their numbers, as in Click from 0.
--
-- The element itself is the app. What the engine would take for its own methods is
-- hidden from it: an element's pull() is for pull connections (click.router.pulls), and
-- where it is on the pull side, so is its process().
--
-- An element may be another app of Perigee's: then its field `app` is {class =, arg =},
-- and port_names {input = {...}, output = {...}}, the names of the app's links.
--
-- An element may have a method wire(c), which adds apps and links of its own to the
-- configuration (devices). For those links it may name further ports, behind those of
-- Click: class.more_inputs, class.more_outputs.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local config = require("core.config")
local element = require("click.element")
local meanwhile = require("core.lib.meanwhile")

local graph = {}

local function names_of(n, more)
  local names = {}
  for i = 1, n do names[i] = tostring(i - 1) end
  for _, name in ipairs(more or {}) do names[#names + 1] = name end
  return names
end

local function has_push(letters) return letters:find("[^l]") ~= nil end

-- Prepare the element for the engine; its class there, or nil if it is of no concern.
local function class_of(e)
  local pushed = has_push(e.processing.inputs) or e.class.more_inputs ~= nil
  local pushes = has_push(e.processing.outputs) or e.class.more_outputs ~= nil
  if e.ninputs + e.noutputs == 0 and not (pushed or pushes) then return nil end
  e.pull = false
  if pushed then e.process, e.bound = element.processor(e) else e.process = false end
  local lengthens = e.class.lengthens
  if type(lengthens) == "function" then lengthens = lengthens(e) end
  e.lengthens = lengthens or false
  e.emits = pushes and (e.class.emits or not pushed) or false
  e.inputs = names_of(e.ninputs, e.class.more_inputs)
  e.outputs = names_of(e.noutputs, e.class.more_outputs)
  return {
    new = function () return e end, made = e,
    process = e.process or nil, emits = e.emits or nil, bound = e.bound,
    lengthens = e.lengthens, inputs = e.inputs, outputs = e.outputs,
    drops = e.class.drops,
  }
end

local function is_push(from, c)
  return from.processing.outputs:sub(c.output + 1, c.output + 1) ~= "l"
end

-- The port of that number, as the engine's links call it.
local function port_name(e, direction, number)
  local names = e.port_names
  return names and names[direction][number + 1] or tostring(number)
end

--- The configuration of the router.
function graph.configuration(router)
  local c = config.new()
  for _, e in ipairs(router.elements) do
    meanwhile.pause()
    local class = not e.app and class_of(e)
    if class then config.app(c, e.name, class)
    elseif e.app then c.apps[e.name] = e.app end
  end
  for _, joint in ipairs(router.connections) do
    local from, to = router.elements[joint.from], router.elements[joint.to]
    if is_push(from, joint) then
      config.link(c, ("%s.%s -> %s.%s"):format(
        from.name, port_name(from, "output", joint.output),
        to.name, port_name(to, "input", joint.input)))
    end
  end
  for _, e in ipairs(router.elements) do
    if e.wire then e:wire(c) end
  end
  return c
end

return graph
