-- SPDX-License-Identifier: Apache-2.0
-- What documents are made of: nodes that know the line they begin in. A node is
-- {line =, value = a string, number, boolean or nil, word = of the latter two, as it is
-- written}, {line =, map = {[KEY] = node},
-- keys = a list of {key =, line =} in the document's order}, or {line =, list = nodes}.

local quantity = require("lib.quantity")

local node = {}

local MOST_DEPTH = 40
local MOST_SHOWN = 40 -- bytes of a value in a sentence

--- `text` on one line, with nothing that a terminal would obey.
function node.plain(text)
  return (text:gsub("[%c\127]", "?"))
end

--- A value as a sentence shows it: short, in quotes, on one line.
function node.shown(value)
  local text = tostring(value)
  if #text > MOST_SHOWN then text = text:sub(1, MOST_SHOWN) .. "..." end
  return "'" .. node.plain(text) .. "'"
end

--- Raise {line =, problem =}; lib.document makes a failure of it that names the file.
function node.refuse(line, fmt, ...)
  error({line = line, problem = fmt:format(...)}, 0)
end

local function check_depth(line, depth)
  if depth > MOST_DEPTH then
    node.refuse(line, "this is nested more than %d deep", MOST_DEPTH)
  end
end

--- A node with keys, yet empty; `depth` is 1 for the outermost.
function node.map(line, depth)
  check_depth(line, depth)
  return {line = line, map = {}, keys = {}}
end

--- A node of a list, yet empty.
function node.list(line, depth)
  check_depth(line, depth)
  return {line = line, list = {}}
end

--- A node of a string.
function node.scalar(line, value)
  if type(value) == "string" and value:find("\0", 1, true) then
    node.refuse(line, "%s has a NUL in it", node.shown(value))
  end
  return {line = line, value = value}
end

--- A node of a boolean or nothing, which `word` writes.
function node.constant(line, value, word)
  return {line = line, value = value, word = word}
end

--- A node of the number that `text` writes.
function node.number(line, text)
  local value = tonumber(text)
  if not value or value ~= value or math.abs(value) == math.huge
    or quantity.underflows(text, value) then
    node.refuse(line, "%s is no number that there can be here", node.shown(text))
  end
  return {line = line, value = value}
end

--- Put the node `child` under `key`, which is written in that line.
function node.add(map, key, child, line)
  if map.map[key] then
    for _, before in ipairs(map.keys) do
      if before.key == key then
        node.refuse(line, "the key %s is here twice; first in line %d", node.shown(key),
          before.line)
      end
    end
  end
  map.map[key] = child
  map.keys[#map.keys + 1] = {key = key, line = line}
end

--- Put the node `child` behind the others of the list.
function node.append(list, child)
  list.list[#list.list + 1] = child
end

--- What the node is, in a sentence: "a list", "the number 7", "nothing".
function node.kind(n)
  if n.map then return "a map" end
  if n.list then return "a list" end
  if n.value == nil then return "nothing" end
  return ("the %s %s"):format(type(n.value), node.shown(n.value))
end

return node
