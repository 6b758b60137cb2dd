-- SPDX-License-Identifier: Apache-2.0
-- Perigee: any app of Perigee's, or Snabb's, as an element. Its inputs and outputs are
-- the app's, in the order in which its class lists them; an app that lists none has
-- input, input1, ... and output, output1, ...

local config = require("core.config")
local element = require("click.element")
local failure = require("core.failure")
local note = require("click.note")
local text_of = require("click.language.text")

local Perigee = element.define{
  name = "Perigee", summary = "an app of Perigee's as an element", ports = "-/-",
  processing = "h/h", usage = "apps.MODULE.CLASS [, ARGUMENT in Lua]",
  handlers = {
    app = element.data("class_name"), argument = element.data("argument_text"),
  },
}

-- The class that "apps.a.b.Class" names, or nil and what is wrong.
local function find_class(name)
  local module, class_name = name:match("^([%w_.]+)%.([%w_]+)$")
  if not module then return nil, "expected 'apps.MODULE.CLASS'" end
  local ok, loaded = pcall(require, module)
  if not ok then
    local absent = tostring(loaded):find("module '" .. module .. "' not found", 1, true)
    return nil, absent and ("there is no module '%s'"):format(module)
      or tostring(loaded)
  end
  local class = type(loaded) == "table" and loaded[class_name]
  if type(class) == "table" and class.new then return class end
  return nil, ("the module '%s' has no class '%s'"):format(module, class_name)
end

-- The canonical names of links that the class allows (class.link_names), sorted but for
-- `first`, which is the first.
local function canonical(allowed, first)
  local seen, names = {}, {}
  for name, same in pairs(allowed) do
    local known = type(same) == "string" and same or name
    if not seen[known] and known ~= first then names[#names + 1] = known end
    seen[known] = true
  end
  table.sort(names)
  if seen[first] then table.insert(names, 1, first) end
  return names
end

-- The names of the first `n` links, or nil if the class has not as many.
local function link_names(class, direction, n)
  local list = class[direction .. "s"]
  local allowed = class.link_names and class.link_names[direction]
  if type(list) ~= "table" then list = allowed and canonical(allowed, direction) end
  local names = {}
  for i = 1, n do
    names[i] = list and list[i] or not list and direction .. (i > 1 and i - 1 or "")
    if not names[i] then return nil, #list end
  end
  return names
end

-- The names of the element's ports for the engine's links; false if there are too many.
local function name_ports(self, class)
  self.port_names = {}
  for direction, n in pairs{input = self.ninputs, output = self.noutputs} do
    local names, most = link_names(class, direction, n)
    if not names then
      self:error("%s has %d %s%s, not %d", self.class_name, most, direction,
        most == 1 and "" or "s", n)
      return false
    end
    self.port_names[direction] = names
  end
  return true
end

-- The argument of the app, checked as config.app does.
local function read_argument(self, class)
  local arg = self.argument_text ~= "" and self.argument_text or nil
  local c = config.new()
  if arg then
    local chunk, problem = loadstring("return " .. arg, "=argument")
    if not chunk then return nil, problem end
    arg = setfenv(chunk, {})()
  end
  config.app(c, "app", class, arg)
  if class.check_arg then class.check_arg(c.apps.app.arg) end
  return c.apps.app
end

function Perigee:configure_raw(list, text)
  self.class_name = list[1] or ""
  self.argument_text = text_of.uncomment(text):match("^[^,]*,%s*(.-)%s*$") or ""
  local class, problem = find_class(self.class_name)
  if not class then return self:error("%s", problem) end
  if self.router.options.direct then
    return self:error("apps need the engine")
  end
  if not name_ports(self, class) then return end
  local ok, app, why = pcall(read_argument, self, class)
  if not ok and not failure.is(app) then
    app = tostring(app)
  elseif ok and not app then
    ok, app = false, why
  end
  if not ok then return self:error("%s", (tostring(app):gsub("^app 'app': ", ""))) end
  self.app = app
end

-- A source's packets have no annotations yet.
local Fresh = {process = function (_, p)
  note.clear(p)
  p.note16[note.MAC_HEADER] = p.data_off
  return p
end}
Fresh.__index = Fresh
function Fresh:new() return setmetatable({}, self) end

function Perigee:wire(c)
  if self.ninputs > 0 then return end
  for _, spec in ipairs(config.sorted_keys(c.links)) do
    local from, output, to, input = config.parse_link(spec)
    if from == self.name then
      local fresh = ("%s@%s"):format(self.name, output)
      config.app(c, fresh, Fresh)
      c.links[spec] = nil
      config.link(c, ("%s.%s -> %s.input"):format(from, output, fresh))
      config.link(c, ("%s.output -> %s.%s"):format(fresh, to, input))
    end
  end
end

return {Perigee}
