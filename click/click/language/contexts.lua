-- SPDX-License-Identifier: Apache-2.0
-- FastClick's context links (MiddleClick): `a ~> b` sends what b's path takes. All
-- those of an output become one FlowContextDispatcher behind it, which looks what that
-- is. `a ~tcp> b` has a TCPIn on the way, `a ~/tcp> b` a TCPOut.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local scanner = require("click.language.scanner")

local contexts = {}

local DISPATCHER = "FlowContextDispatcher"

-- The class of the element that stands on the link, or nil.
local function class_of(link)
  local slash, name = link:match("^~(/?)([%w]+)>$")
  return name and name:upper() .. (slash == "/" and "Out" or "In") or nil
end

--- Report the context link `token` if it can't be one.
function contexts.check(p, token)
  local class = class_of(token.text)
  if token.text ~= "~>" and not (class and p:find_class(class)) then
    p.errors:at(scanner.landmark(token)):error("unknown context link '%s'%s",
      token.text, class and (": there is no element class '%s'"):format(class) or "")
  end
end

local function add_element(flat, name, class, config, landmark)
  table.insert(flat.elements,
    {name = name, class = class, config = config, landmark = landmark})
  return #flat.elements
end

local function connect(flat, from, output, to, input, landmark)
  table.insert(flat.connections,
    {from = from, output = output, to = to, input = input, landmark = landmark})
end

-- An element's name as FastClick has it: `i` counts elements from 1.
local function name_of(kind, i, output)
  return ("context_%s_%d%s"):format(kind, i - 1, output > 0 and "_" .. output or "")
end

-- What comes from the dispatcher's output `rule` goes where link `c` went.
local function lead(flat, c, dispatcher, rule, name)
  local class = class_of(c.context)
  c.from, c.output, c.context = dispatcher, rule, nil
  if not class then return end
  local on_way = add_element(flat, name, class, "", c.landmark)
  connect(flat, on_way, 0, c.to, c.input, c.landmark)
  c.to, c.input = on_way, 0
end

-- The context links of each output: a list of {element, output, links}, in order.
local function outputs_of(flat)
  local list, known = {}, {}
  for _, c in ipairs(flat.connections) do
    if c.context then
      local key = ("%d %d"):format(c.from, c.output)
      if not known[key] then
        known[key] = {element = c.from, output = c.output, links = {}}
        list[#list + 1] = known[key]
      end
      table.insert(known[key].links, c)
    end
  end
  table.sort(list, function (a, b)
    if a.element ~= b.element then return a.element < b.element end
    return a.output < b.output
  end)
  return list
end

--- Put dispatchers into the flat configuration in the place of context links.
function contexts.open(flat)
  for _, at in ipairs(outputs_of(flat)) do
    local rules = {}
    for i = 1, #at.links do rules[i] = ("- %d"):format(i - 1) end
    local landmark = at.links[1].landmark
    local dispatcher = add_element(flat,
      name_of("flowcontextdispatcher", at.element, at.output), DISPATCHER,
      table.concat(rules, ", "), landmark)
    for i, c in ipairs(at.links) do
      local suffix = #at.links > 1 and "_" .. i - 1 or ""
      lead(flat, c, dispatcher, i - 1,
        name_of("stack", at.element, at.output) .. suffix)
    end
    connect(flat, at.element, at.output, dispatcher, 0, landmark)
  end
end

return contexts
