-- SPDX-License-Identifier: Apache-2.0
-- Changes of a running configuration: what is set, added or removed at a path. Each
-- works, or raises a failure and leaves everything as it was.

local failure = require("core.failure")
local loader = require("apps.lwaftr.loader")
local path = require("program.lwaftr.leader.path")
local reader = require("apps.lwaftr.conf_reader")
local schema = require("apps.lwaftr.conf_schema")
local Softwires = require("apps.lwaftr.softwires")
local softwire = require("program.lwaftr.leader.softwire")
local tree = require("program.lwaftr.leader.tree")
local values = require("apps.lwaftr.conf_values")
local tables = require("core.lib.tables")

local change = {}

local NAME = "value" -- what sentences call the text that was given: value:LINE

local function is_key(node, name)
  for _, key in ipairs(node.keys or {node.key}) do
    if key == name then return true end
  end
  return false
end

-- An entry's node without its keys, which are in the path.
local function without_keys(node)
  local left = {}
  for _, field in ipairs(node.fields) do
    if not is_key(node, field.name) then left[#left + 1] = field end
  end
  return schema.container(node.name, left)
end

local function text_of(s)
  return ("softwire %s psid %d"):format(values.ipv4.write(s.ipv4), s.psid)
end

-- Softwires -----------------------------------------------------------------------

local function put(router, s, replace)
  local ok, err = pcall(router.binding.add, router.binding, s, replace)
  if not ok then error(err, 0) end
end

-- In the place of the one that is there, which may be the only one of its address, and
-- say how that is divided.
local function replace(router, s)
  local old = router.binding:get(s.ipv4, s.psid)
  local ok, err = pcall(put, router, s, true)
  if ok then return end
  if not old then error(err, 0) end
  router.binding:remove(s.ipv4, s.psid)
  ok, err = pcall(put, router, s)
  if not ok then
    put(router, old)
    error(err, 0)
  end
end

local function add_all(router, added)
  local list, n = added:list()
  for i = 0, n - 1 do
    if router.binding:get(list[i].ipv4, list[i].psid) then
      failure.usage("%s is there already", text_of(list[i]))
    end
  end
  for i = 0, n - 1 do
    local ok, err = pcall(put, router, list[i])
    if not ok then
      for k = 0, i - 1 do router.binding:remove(list[k].ipv4, list[k].psid) end
      error(err, 0)
    end
  end
end

-- A table takes 2 MB even if it is for one softwire: one is kept, and emptied.
local MOST_KEPT = 1000 -- softwires
local scratch

local function emptied(softwires)
  if not softwires or softwires:count() > MOST_KEPT then return Softwires.new() end
  local list, n = softwires:list()
  for i = 0, n - 1 do softwires:remove(list[i].ipv4, list[i].psid) end
  return softwires
end

local function add_softwires(router, node, text)
  scratch = emptied(scratch)
  add_all(router, reader.text(text, NAME, node, true, scratch))
end

local function set_leaf(router, target, text)
  local leaf, up = target.node, {text = target.text, steps = {}}
  local entry
  for i, step in ipairs(target.steps) do
    up.steps[i] = step
    if step.node.is_softwires then
      entry = i
      break
    end
  end
  if is_key(target.steps[entry].node, leaf.name) then
    failure.usage("path %s: the key of a softwire can't be set; remove it, and add "
      .. "another", target.text)
  end
  local present = tree.get(router.conf, up)
  local rest = {text = target.text, node = leaf, steps = {}}
  for i = entry + 1, #target.steps do table.insert(rest.steps, target.steps[i]) end
  local value = reader.text(text, NAME, leaf)
  local new = tree.with(present, rest, target.steps[entry].node,
    function () return value end)
  replace(router, softwire.struct(new))
end

local function set_softwire(router, target, text)
  local step = target.steps[#target.steps]
  local given = reader.text(text, NAME, without_keys(step.node))
  given.ipv4, given.psid = step.key.ipv4, step.key.psid
  replace(router, softwire.struct(given))
end

-- Does the path lead into a softwire?
local function softwires_of(target)
  for i, step in ipairs(target.steps) do
    if step.node.is_softwires then return i == #target.steps and "list" or "leaf" end
  end
end

-- Everything else -------------------------------------------------------------------

-- The whole configuration, or a part that has the softwires in it.
local function has_softwires(target)
  return #target.steps == 0 or target.text:match("^/*softwire%-config/*$")
    or target.node.name == "binding-table"
end

local function set_tree(router, target, text)
  local last = target.steps[#target.steps]
  local node = target.node
  if last and last.key ~= nil then node = without_keys(node) end
  if last and not last.key and #target.steps > 1 then
    local parent = target.steps[#target.steps - 1].node
    if parent.is_list and parent.key == last.name then
      failure.usage("path %s: the key of %s can't be set; remove it, and add another",
        target.text, parent.name)
    end
  end
  local value = reader.text(text, NAME, node, target.is_list)
  local conf = tree.with(router.conf, target, schema, function () return value end)
  if not has_softwires(target) then return router:configure(conf) end
  local softwires = conf.softwire_config.binding_table.softwires
  router:configure(conf)
  router:swap(softwires)
end

--- Let what `text` says be at the path.
function change.set(router, path_text, text)
  local target = path.find(schema, path_text)
  local within = softwires_of(target)
  if within == "leaf" then
    set_leaf(router, target, text)
  elseif within and target.is_list then
    return router:swap(reader.text(text, NAME, target.node, true))
  elseif within then
    set_softwire(router, target, text)
  else
    return set_tree(router, target, text)
  end
  router:tell()
end

--- The configuration in a file, which a thread reads: wait() is called until it has.
--- What is wrong is said with the file's name.
function change.read(file, wait)
  local loading = loader.start(file)
  local conf, wrong = loading:poll()
  while conf == nil do
    wait()
    conf, wrong = loading:poll()
  end
  return conf or failure.usage("%s", wrong)
end

--- Let `conf` be the whole configuration.
function change.load(router, conf)
  local softwires = conf.softwire_config.binding_table.softwires
  router:configure(conf)
  router:swap(softwires)
end

--- Add the entries of `text`, each between braces, to the list at the path.
function change.add(router, path_text, text)
  local target = path.find(schema, path_text)
  if not target.is_list then
    failure.usage("path %s: it leads to no list; `set` changes what is there",
      path_text)
  end
  if target.node.is_softwires then
    add_softwires(router, target.node, text)
    return router:tell()
  end
  local added = reader.text(text, NAME, target.node, true)
  router:configure(tree.with(router.conf, target, schema, function (entries)
    local all = tables.copy(entries)
    for key, entry in pairs(added) do
      if all[key] then
        failure.usage("%s '%s' is there already", target.node.name, tostring(key))
      end
      all[key] = entry
    end
    return all
  end))
end

--- Remove the entry of a list at the path.
function change.remove(router, path_text)
  local target = path.find(schema, path_text)
  local last = target.steps[#target.steps]
  if not last or last.key == nil then
    failure.usage("path %s: only entries of lists can be removed: NAME[KEY=VALUE]",
      path_text)
  end
  tree.get(router.conf, target) -- raises a failure if there is none
  if last.node.is_softwires then
    router.binding:remove(last.key.ipv4, last.key.psid)
    return router:tell()
  end
  router:configure(tree.with(router.conf, target, schema, function () return nil end))
end

return change
