-- SPDX-License-Identifier: Apache-2.0
-- Configurations and state as text, in the formats of `snabb config get`: "yang", which
-- is read again; "xpath", a line PATH VALUE for each leaf; and "influxdb", lines for
-- that database. A walk through the tree passes what it meets to each format. A million
-- softwires are some 400 MB: the text comes in pieces.

local buffer = require("string.buffer")
local failure = require("core.failure")
local softwire_text = require("apps.lwaftr.softwire_text")
local tree = require("program.lwaftr.leader.tree")
local values = require("apps.lwaftr.conf_values")

local printer = {}

local AT_ONCE = 1000 -- softwires in a piece

-- The formats -------------------------------------------------------------------

-- open(name, keys) and close() are told of containers and entries (which have keys, a
-- list of {name, text}), leaf(field, value) of leaves, and only(field, value) of one
-- that is all there is.
local yang = {}
yang.__index = yang

function yang:open(name)
  self[#self + 1] = {head = name == "" and "{\n" or name .. " {\n"}
end

-- What is around a leaf is written with the first one.
local function write_heads(self)
  for i, level in ipairs(self) do
    if not level.written then self.out:put(("  "):rep(i - 1), level.head) end
    level.written = true
  end
  return ("  "):rep(#self)
end

function yang:leaf(field, value)
  local indent = write_heads(self)
  self.out:put(indent, field.name, " ", field.type.write(value), ";\n")
end

function yang:close()
  local level = table.remove(self)
  if level.written then self.out:put(("  "):rep(#self), "}\n") end
end

function yang:only(field, value) self.out:put(field.type.write(value)) end

-- What comes next is in the same block: it may be put into another buffer.
yang.ready = write_heads

local xpath = {numbered = true}
xpath.__index = xpath

function xpath:open(name, keys)
  local text = name ~= "" and "/" .. name or ""
  for _, key in ipairs(keys or {}) do
    text = ("%s[%s=%s]"):format(text, key[1], key[2])
  end
  self[#self + 1] = text
end

function xpath:leaf(field, value)
  self.out:put(self.root)
  for i = 1, #self do self.out:put(self[i]) end
  self.out:put("/", field.name, " ", field.type.write(value), "\n")
end

function xpath:close() table.remove(self) end

function xpath:only(field, value)
  self.out:put(self.root, " ", field.type.write(value), "\n")
end

local influxdb = {numbered = true}
influxdb.__index = influxdb

function influxdb:open(name, keys)
  self[#self + 1] = {name = name ~= "" and "/" .. name or "", keys = keys or {}}
end

local function influx_value(field, value)
  local text = field.type.write(value)
  if field.type.is_whole then return text .. "i" end
  if type(value) == "boolean" then return text end
  return '"' .. text:gsub('["\\]', "\\%0") .. '"'
end

function influxdb:leaf(field, value)
  local names, tags = {}, {}
  for _, level in ipairs(self) do
    names[#names + 1] = level.name
    for _, key in ipairs(level.keys) do
      tags[#tags + 1] = (",%s=%s"):format(key[1], (key[2]:gsub("[, =]", "\\%0")))
    end
  end
  self.out:put((self.root:gsub("%b[]", "")), table.concat(names), "/", field.name,
    table.concat(tags), " value=", influx_value(field, value), "\n")
end

function influxdb:close() table.remove(self) end

function influxdb:only(field, value)
  self.out:put((self.root:gsub("%b[]", "")), " value=", influx_value(field, value),
    "\n")
end

local FORMATS = {yang = yang, xpath = xpath, influxdb = influxdb}

-- The walk ------------------------------------------------------------------------

local fields

local function entries(self, node, list, name)
  local field = node.by_name[node.key]
  for key, entry in tree.entries(list or {}) do
    local is_text = type(key) == "string" -- also of an address (path.key)
    self:open(name, {{field.name, is_text and key or field.type.write(key)}})
    self:leaf(is_text and {name = field.name, type = values.text} or field, key)
    fields(self, node, entry, field.name)
    self:close()
  end
end

-- Of a list with several keys, an array in memory.
local function keyed_entries(self, node, list, name)
  for _, entry in ipairs(list or {}) do
    local keys = {}
    for i, key in ipairs(node.keys) do
      local field = node.by_name[key]
      local value = entry[field.key_in_memory]
      local is_text = field.type == values.text
      keys[i] = {key, is_text and value or field.type.write(value)}
    end
    self:open(name, keys)
    fields(self, node, entry)
    self:close()
  end
end

local function leaf_list(self, field, list)
  for i, item in ipairs(list or {}) do
    local one = self.numbered and {type = field.type,
      name = ("%s[position()=%d]"):format(field.name, i)} or field
    self:leaf(one, item)
  end
end

local function softwires(self, node, list, name)
  if not list then return end
  local all, n = list:list()
  if n == 0 then return end
  if self.ready then self:ready() end
  local out = self.out
  local template = softwire_text.template(node, function (marked, entry)
    self.out = buffer.new()
    self:open(name, {{"ipv4", marked.by_name.ipv4.type.write(entry.ipv4)},
                     {"psid", marked.by_name.psid.type.write(entry.psid)}})
    fields(self, marked, entry)
    self:close()
    return self.out:tostring()
  end)
  self.out = out
  for i = 0, n - 1, AT_ONCE do
    self.put(out:get())
    softwire_text.put(out, all + i, math.min(AT_ONCE, n - i), template)
  end
end

local function is_shown(self, field, value)
  return value ~= nil and (self.defaults or value ~= field.default)
end

-- The fields of a container or an entry, but for its key.
function fields(self, node, value, key)
  for _, field in ipairs(node.fields) do
    local item = value[field.key_in_memory]
    if field.is_softwires then
      softwires(self, field, value.softwires, field.name)
    elseif field.is_leaf_list then
      leaf_list(self, field, item)
    elseif field.is_list then
      local f = field.keys and keyed_entries or entries
      f(self, field, item, field.name)
    elseif field.fields then
      self:open(field.name)
      fields(self, field, item or {})
      self:close()
    elseif field.name ~= key and is_shown(self, field, item) then
      self:leaf(field, item)
    end
  end
end

local function is_key(node, name)
  for _, key in ipairs(node.keys or {node.key}) do
    if key == name then return true end
  end
end

-- What is in an entry that its path names, without its keys.
local function rest(node)
  local left = {fields = {}}
  for _, field in ipairs(node.fields) do
    if not is_key(node, field.name) then table.insert(left.fields, field) end
  end
  return left
end

-- All that there is.
local function only_leaf_list(self, node, list)
  if not self.numbered then return leaf_list(self, node, list) end
  local root = self.root
  for i, item in ipairs(list or {}) do
    self.root = ("%s[position()=%d]"):format(root, i)
    self:only(node, item)
  end
end

local function print(self, target, value)
  local node, last = target.node, target.steps[#target.steps]
  if node.is_leaf_list then
    only_leaf_list(self, node, value)
  elseif node.type then
    self:only(node, value)
  elseif target.is_list and node.is_softwires then
    softwires(self, node, value, "")
  elseif target.is_list then
    local f = node.keys and keyed_entries or entries
    f(self, node, value, "")
  else
    fields(self, last and last.key ~= nil and rest(node) or node, value)
  end
  self.put(self.out:get())
end

--- What prints `value`, which is what is at the `target` (program.lwaftr.leader.path):
--- a function that calls `put` with pieces of the text. `format` is "yang" (nil),
--- "xpath" or "influxdb"; `defaults`: also leaves that have their default values.
--- Raises a failure for other formats.
function printer.pieces(target, value, format, defaults)
  local class = FORMATS[format or "yang"]
  if not class then
    failure.usage("the format '%s' isn't known; there are yang, xpath and influxdb",
      format)
  end
  return function (put)
    print(setmetatable({out = buffer.new(), put = put, defaults = defaults,
      root = target.text:gsub("/+$", "")}, class), target, value)
  end
end

--- The same as one text.
function printer.text(target, value, format, defaults)
  local parts = {}
  printer.pieces(target, value, format, defaults)(function (part)
    parts[#parts + 1] = part
  end)
  return table.concat(parts)
end

return printer
