-- SPDX-License-Identifier: Apache-2.0
-- Paths into configurations and state, the part of XPath that `snabb config` has:
-- /softwire-config/instance[device=test]/queue[id=0]. A schema is made of nodes as
-- apps.lwaftr.conf_schema's are. Pure.

local failure = require("core.failure")
local spelling = require("core.lib.spelling")

local path = {}

-- NAME[KEY=VALUE][...] from `at` on: the step, and what is behind it.
local function step_at(text, at)
  local name, behind = text:match("^([^/%[%]=]+)()", at)
  if not name then failure.usage("'%s' isn't a path such as /a/b[c=d]/e", text) end
  local keys
  while text:sub(behind, behind) == "[" do
    local key, value, after = text:match("^%[([^%[%]=]+)=([^%[%]]*)%]()", behind)
    if not key then
      failure.usage("'%s': a list's entry is written [KEY=VALUE]", text)
    end
    keys = keys or {}
    keys[key], behind = value, after
  end
  return {name = name, keys = keys}, behind
end

--- The steps of a path: a list of {name =, keys = a table of texts by name, or nil}.
function path.parse(text)
  local steps, at = {}, text:match("^/*()")
  while at <= #text do
    local step
    step, at = step_at(text, at)
    at = text:match("^/*()", at)
    steps[#steps + 1] = step
  end
  return steps
end

--- The text of what a leaf's value would be as a list's key: values in C memory are
--- compared by what they look like.
function path.key(field, value)
  return type(value) == "cdata" and field.type.write(value) or value
end

local function read_key(node, name, text)
  local field = node.by_name[name]
  local value = field.type.read(text)
  if value == nil then
    failure.usage("%s is %s, not '%s'", name, field.type.what, text)
  end
  return value
end

-- The key of a list's entry: its value, or a table of values for a list with several.
local function key_of(node, keys)
  local names = node.keys or {node.key}
  for name in pairs(keys) do
    local known = false
    for _, wanted in ipairs(names) do known = known or wanted == name end
    if not known then
      failure.usage("%s has the key %s, not '%s'", node.name,
        table.concat(names, " and "), name)
    end
  end
  local values = {}
  for _, name in ipairs(names) do
    if not keys[name] then
      failure.usage("%s needs the key %s too: [%s=...]", node.name, name, name)
    end
    values[name:gsub("-", "_")] = read_key(node, name, keys[name])
  end
  if node.keys then return values end
  return path.key(node.by_name[node.key], values[node.key:gsub("-", "_")])
end

--- What the path `text` means in the `schema`: {text =, steps = a list of {node =, key
--- = of a list's entry, or nil, name =, keys =}, node = that of the last step (the
--- schema, if there is none), is_list = true if that is a whole list}. Raises a
--- failure.
function path.find(schema, text)
  local steps, node, name = path.parse(text), schema, nil
  local within_list
  for _, step in ipairs(steps) do
    local found = node.by_name and node.by_name[step.name]
    if not found or within_list then
      failure.usage("path %s: %s", text, within_list
        and ("which %s? Add [%s=...]"):format(name,
          table.concat(node.keys or {node.key}, "=...]["))
        or ("there is no '%s' %s%s"):format(step.name, name and "in " .. name or "here",
          spelling.hint(step.name, node.names or {})))
    end
    node, name, step.node = found, step.name, found
    local has_key = found.is_list or found.is_softwires
    if step.keys and not has_key then
      failure.usage("path %s: %s is no list, and has no entries", text, name)
    end
    if step.keys then
      local ok, key = pcall(key_of, found, step.keys)
      if not ok then failure.usage("path %s: %s", text, tostring(key)) end
      step.key = key
    end
    within_list = has_key and not step.keys
  end
  return {text = text, steps = steps, node = node, is_list = within_list or false}
end

return path
