-- SPDX-License-Identifier: Apache-2.0
-- What an expression of a push function stands for. `s` is what is known of the
-- function (core.lift.shape).

local syntax = require("core.lift.syntax")

local expressions = {}

-- Raised for what isn't of the shape.
local Other = {}

--- Raise that the function isn't of the shape: the reason, in the line of `node`.
function expressions.other(node, fmt, ...)
  error(setmetatable({why = fmt:format(...), line = node.line}, Other), 0)
end

-- Of `self.input.a or self.input.b` the one that is linked.
local function either(s, node)
  local direction, name = expressions.end_of_link(s, node[2])
  if direction and s.linked[direction][name] then return direction, name end
  local second, other_name = expressions.end_of_link(s, node[3])
  if direction and second then return second, other_name end
end

--- The direction ("input" or "output") and name of self.input.NAME, or of two of them
--- with `or`; nil if it isn't that.
function expressions.end_of_link(s, node)
  if node.tag == "Paren" then return expressions.end_of_link(s, node[1]) end
  if node.tag == "Op" and node[1] == "or" then return either(s, node) end
  if node.tag == "Id" then
    local known = s.ends[node[1]]
    if known then return known.direction, known.name end
  end
  if node.tag ~= "Index" or node[1].tag ~= "Index" then return nil end
  local base, field, name = node[1][1], node[1][2], node[2]
  if base.tag == "Id" and base[1] == s.self and field.tag == "String"
      and (field[1] == "input" or field[1] == "output") and name.tag == "String" then
    return field[1], name[1]
  end
end

local function root_of(node)
  return node.tag == "Index" and root_of(node[1]) or node
end

--- Is it a call of the function, known by its value?
function expressions.calls(s, node, func)
  if node.tag ~= "Call" or syntax.value(s.push, node[1], s.locals) ~= func then
    return false
  end
  s.names[root_of(node[1])[1]] = true
  return true
end

--- The name of the input that it calls func(INPUT) with, or nil.
function expressions.of_input(s, node, func)
  if not expressions.calls(s, node, func) or #node ~= 2 then return nil end
  local direction, name = expressions.end_of_link(s, node[2])
  return direction == "input" and name or nil
end

--- What analyze(s) returns; or nil, the reason that expressions.other raised in it, and
--- the line.
function expressions.try(analyze, s)
  local ok, result = pcall(analyze, s)
  if ok then return result end
  if getmetatable(result) ~= Other then error(result, 0) end
  return nil, result.why, result.line
end

return expressions
