-- SPDX-License-Identifier: Apache-2.0
-- Handlers that every element has: its name, class, configuration and ports; those with
-- a task can be asked for it.

local numbers = require("click.script.numbers")
local ports = require("click.router.ports")

local defaults = {}

-- The letters of an element's ports as its class has them, before they were settled.
local function declared(element)
  local code = element.class.processing
  if type(code) == "function" then code = code(element) end
  return ports.processing(code, element.ninputs, element.noutputs)
end

-- What the port is joined to, as configurations write it. `here` and `there` are names
-- of a connection's fields: {element =, port =}.
local function joined(element, port, here, there, form)
  local flat, list = element.router.flat, {}
  for _, c in ipairs(flat.connections) do
    if c[here.element] == element.index and c[here.port] == port then
      list[#list + 1] = form(flat.elements[c[there.element]].name, c[there.port])
    end
  end
  return table.concat(list, ", ")
end

local INTO = {element = "to", port = "input"}
local OUT_OF = {element = "from", port = "output"}

local function source(name, port) return ("%s [%d]"):format(name, port) end
local function target(name, port) return ("[%d] %s"):format(port, name) end

-- One line a port: how it is used ("~": it would work the other way too), how many
-- packets passed (which isn't counted), and what it is joined to.
local function port_lines(side, letters, codes, join)
  local n = #letters
  local lines = {("%d %s%s\n"):format(n, side, n == 1 and "" or "s")}
  for i = 1, n do
    local way = letters:sub(i, i) == "l" and "pull" or "push"
    local other = codes:sub(i, i) == "a" and "~" or ""
    lines[i + 1] = ("%s%s\t-\t%s\n"):format(way, other, join(i - 1))
  end
  return table.concat(lines)
end

local function ports_text(element)
  local inputs, outputs = declared(element)
  local settled = element.processing
  return port_lines("input", settled.inputs, inputs, function (port)
    return joined(element, port, INTO, OUT_OF, source)
  end) .. port_lines("output", settled.outputs, outputs, function (port)
    return joined(element, port, OUT_OF, INTO, target)
  end)
end

local ALWAYS = {
  name = {read = function (self) return self.name end},
  class = {read = function (self) return self.class.name end},
  config = {read = function (self) return self.config end},
  ports = {read = function (self) return ports_text(self) end},
  home_thread = {read = function (self)
    return tostring(self.router:home_thread(self))
  end},
}

local TASKS = {
  scheduled = {
    read = function (self) return tostring(self:scheduled()) end,
    write = function (self, text)
      local on = numbers.bool(text)
      if on == nil then return "expected boolean" end
      if on then self:schedule() else self:unschedule() end
    end,
  },
  tickets = {
    read = function (self) return tostring(self.tickets or 1024) end,
    write = function (self, text)
      local tickets = numbers.small(text, 1, 32768)
      if not tickets then return "'tickets' takes tickets between 1 and 32768" end
      self.tickets = tickets
    end,
  },
}

local NAMES = {"name", "class", "config", "ports", "home_thread"}
local TASK_NAMES = {"scheduled", "tickets"}

--- The handler of that name which all such elements have, or nil.
function defaults.find(element, name)
  return ALWAYS[name] or element.task and TASKS[name]
end

--- Their names, a new list.
function defaults.names(element)
  local names = {}
  for _, name in ipairs(NAMES) do names[#names + 1] = name end
  for _, name in ipairs(element.task and TASK_NAMES or {}) do
    names[#names + 1] = name
  end
  return names
end

return defaults
