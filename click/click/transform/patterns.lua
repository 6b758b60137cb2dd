-- SPDX-License-Identifier: Apache-2.0
-- Files of patterns for click-xform: a compound class NAME is a pattern, and a class
-- NAME_Replacement what goes in its place.

local edit = require("click.language.edit")
local language = require("click.language")
local parser = require("click.language.parser")

local patterns = {}

-- An element of the class, and elements that stand for what is around it. The names are
-- such as no file has: Click makes names with @ itself.
local OBJECT, INPUT, OUTPUT = "object@perigee", "input@perigee", "output@perigee"

local function instance_of(name, class)
  local formals, lines = {}, {}
  for i, formal in ipairs(class.formals) do
    formals[i] = (formal.keyword and formal.keyword .. " " or "") .. "$" .. formal.name
  end
  local function line(...) lines[#lines + 1] = string.format(...) end
  line("\n%s :: %s(%s);", OBJECT, name, table.concat(formals, ", "))
  if class.ninputs > 0 then line("%s :: Input@perigee;", INPUT) end
  if class.noutputs > 0 then line("%s :: Output@perigee;", OUTPUT) end
  for i = 0, class.ninputs - 1 do line("%s [%d] -> [%d] %s;", INPUT, i, i, OBJECT) end
  for i = 0, class.noutputs - 1 do line("%s [%d] -> [%d] %s;", OBJECT, i, i, OUTPUT) end
  return table.concat(lines, "\n")
end

-- What the class is made of: {graph =, input =, output =}, a graph of
-- click.language.edit and the numbers of the two elements that stand for what is around
-- it (nil: there are no such ports). Parameters stay as they are.
local function read_class(o, name, class)
  local flat = language.read{text = o.text .. instance_of(name, class), file = o.file,
    errors = o.errors, any_class = true, in_place = true, keep_variables = true}
  if not flat then return nil end
  local part = {graph = edit.new(flat)}
  for i, e in part.graph:each() do
    if e.name == INPUT then
      part.input = i
    elseif e.name == OUTPUT then
      part.output = i
    elseif e.name:sub(1, #OBJECT + 1) == OBJECT .. "/" then
      part.graph.elements[i] = {name = e.name:sub(#OBJECT + 2), class = e.class,
        config = e.config, landmark = e.landmark}
    else
      part.graph:remove(i)
    end
  end
  return part
end

--- The patterns in the text of a file: a list of {name =, pattern =, replacement =},
--- each as read_class says; nil if the text is wrong. `o`: text, file (its name),
--- errors.
function patterns.read(o)
  local before = o.errors.count
  local tree = parser.read{text = o.text, file = o.file, errors = o.errors,
    any_class = true}
  if o.errors.count > before then return nil end
  local list = {}
  for _, name in ipairs(tree.declared) do
    local of = name:match("^(.+)_Replacement$")
    local class, other = tree.classes[name], of and tree.classes[of]
    if other and class.kind == "compound" and other.kind == "compound" then
      local pattern, replacement = read_class(o, of, other), read_class(o, name, class)
      if not (pattern and replacement) then return nil end
      list[#list + 1] = {name = of, pattern = pattern, replacement = replacement}
    end
  end
  return list
end

return patterns
