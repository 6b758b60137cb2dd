-- SPDX-License-Identifier: Apache-2.0
-- Configurations and state as trees of tables: what is at a path, and a copy with
-- something else there. Nothing is changed in place. Softwires, which are in a table of
-- their own (binding_table.softwires), are read here, and changed elsewhere.

local config = require("core.config")
local failure = require("core.failure")
local softwire = require("program.lwaftr.leader.softwire")
local tables = require("core.lib.tables")

local tree = {}

local function absent(target, what)
  failure.raise("path %s: there is no such %s", target.text, what)
end

local function softwire_at(target, table, key)
  local found = table and table:get(key.ipv4, key.psid)
  if not found then absent(target, "softwire") end
  return softwire.table(found)
end

-- Of a list with several keys, which is an array of entries.
local function entry_at(node, entries, key)
  for _, entry in ipairs(entries) do
    local is_it = true
    for _, name in ipairs(node.keys) do
      local field = node.by_name[name]
      local value = entry[field.key_in_memory]
      is_it = is_it and field.type.write(value) == field.type.write(
        key[field.key_in_memory])
    end
    if is_it then return entry end
  end
end

--- What is at the `target` (program.lwaftr.leader.path) of the tree: a leaf's value, a
--- table, or the softwires. Raises a failure if there is nothing.
function tree.get(root, target)
  local value = root
  for _, step in ipairs(target.steps) do
    local node = step.node
    if node.is_softwires then
      value = value.softwires
      if step.key then value = softwire_at(target, value, step.key) end
    else
      value = value[node.key_in_memory]
      if value == nil and (node.is_list or node.fields) then value = {} end
      if step.key ~= nil then
        if node.keys then
          value = entry_at(node, value, step.key)
        else
          value = value[step.key]
        end
        if value == nil then absent(target, step.name) end
      elseif value == nil then
        failure.raise("path %s: %s isn't set", target.text, step.name)
      end
    end
  end
  return value
end

-- Of a choice, such as a next hop's ip and mac, there is one.
local function choose(node, copy, name)
  for _, field in ipairs(node.fields) do
    if field.key_in_memory ~= name then copy[field.key_in_memory] = nil end
  end
end

local function with(value, target, i, parent, change)
  local step = target.steps[i]
  if not step then return change(value) end
  local copy, name = tables.copy(value), step.node.key_in_memory
  if parent.one_of then choose(parent, copy, name) end
  if step.key == nil then
    copy[name] = with(copy[name], target, i + 1, step.node, change)
    return copy
  end
  local entries = tables.copy(copy[name])
  local last = i == #target.steps
  if entries[step.key] == nil and not last then absent(target, step.name) end
  entries[step.key] = with(entries[step.key], target, i + 1, step.node, change)
  copy[name] = entries
  return copy
end

--- A copy of the tree, of which all but the way to the target is shared, with
--- change(VALUE) there in the place of VALUE; nil removes it.
function tree.with(root, target, schema, change)
  return with(root, target, 1, schema, change)
end

--- The entries of a list in the order of their keys: a function for `for key, entry`.
function tree.entries(list)
  local keys, i = config.sorted_keys(list), 0
  return function ()
    i = i + 1
    if keys[i] ~= nil then return keys[i], list[keys[i]] end
  end
end

return tree
