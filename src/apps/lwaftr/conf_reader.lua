-- SPDX-License-Identifier: Apache-2.0
-- Reads an lwAFTR's configuration, as upstream's files have it. The result is a table
-- as upstream's programs have it, but for binding_table.softwires
-- (apps.lwaftr.softwires). What is wrong is a sentence that begins with file and line.

local ffi = require("ffi")
local C = require("core.declare")("apps/lwaftr/lwaftr.h")
local errno = require("posix.errno")
local failure = require("core.failure")
local spelling = require("core.lib.spelling")
local schema = require("apps.lwaftr.conf_schema")
local Softwires = require("apps.lwaftr.softwires")

local reader = {}

local TROUBLE = {
  [C.SCAN_OPEN_QUOTE] = "a quote that begins here doesn't end",
  [C.SCAN_OPEN_COMMENT] = "a comment that begins here doesn't end",
  [C.SCAN_TOO_LONG] = "a word or text that begins here has more than a megabyte",
  [C.SCAN_NO_MEMORY] = "there is no memory to read it",
  [C.SCAN_READ_ERROR] = "it can't be read",
}

local MOST_SHOWN = 60 -- bytes of a token

local Reading = {}
Reading.__index = Reading

function Reading:wrong(line, fmt, ...)
  failure.usage("%s:%d: %s", self.name, line, fmt:format(...))
end

local function shown(text)
  if #text > MOST_SHOWN then text = text:sub(1, MOST_SHOWN) .. "..." end
  return "'" .. text:gsub("[%c\127-\255]", "?") .. "'"
end

local SIGNS = {[C.SCAN_OPEN] = "'{'", [C.SCAN_CLOSE] = "'}'",
  [C.SCAN_SEMICOLON] = "';'", [C.SCAN_END] = "the end"}

function Reading:text()
  return ffi.string(self.scan.text, self.scan.length)
end

function Reading:expected(what)
  local scan = self.scan
  local trouble = TROUBLE[scan.kind]
  if scan.kind == C.SCAN_READ_ERROR then
    trouble = ("%s: %s"):format(trouble, (errno.errno(ffi.errno())))
  end
  if trouble then self:wrong(scan.line, "%s", trouble) end
  self:wrong(scan.line, "%s is here, where %s should be",
    SIGNS[scan.kind] or shown(self:text()), what)
end

function Reading:take(kind, what)
  if C.pg_scan_token(self.scan) ~= kind then self:expected(what) end
end

function Reading:unknown(line, name, node, names)
  self:wrong(line, "%s isn't known%s%s", shown(name),
    node and " in " .. node or " here", spelling.hint(name, names))
end

-- Softwires

local SOFTWIRE = {"ipv4", "psid", "b4-ipv6", "br-address", "padding", "port-set"}
local PORT_SET = {"psid-length", "reserved-ports-bit-count"}
local VALUES = {
  ipv4 = "an IPv4 address such as 192.0.2.1", psid = "a whole number from 0 to 65535",
  padding = "a whole number from 0 to 65535",
  ["b4-ipv6"] = "an IPv6 address such as 2001:db8::1",
  ["br-address"] = "an IPv6 address such as 2001:db8::1",
  ["psid-length"] = "a whole number from 0 to 16",
  ["reserved-ports-bit-count"] = "a whole number from 0 to 16",
}

local LIST_ERRORS = {
  [C.LIST_SYNTAX] = function (self, list) self:expected(ffi.string(list.key)) end,
  [C.LIST_KEY] = function (self, list)
    local node = ffi.string(list.key)
    self:unknown(list.line, self:text(), node,
      node == "softwire" and SOFTWIRE or PORT_SET)
  end,
  [C.LIST_VALUE] = function (self, list)
    local key = ffi.string(list.key)
    self:wrong(list.line, "%s is %s, not %s", key, VALUES[key], shown(self:text()))
  end,
  [C.LIST_TWICE] = function (self, list)
    self:wrong(list.line, "%s is there twice", ffi.string(list.key))
  end,
  [C.LIST_MISSING] = function (self, list)
    self:wrong(list.line, "this softwire has no %s", ffi.string(list.key))
  end,
}

function Reading:softwires(result, bare)
  local list = ffi.new("struct softwire_list", {bare = bare or false})
  result.softwires = result.softwires or Softwires.new()
  local found = C.pg_scan_softwires(self.scan, result.softwires.table, list)
  if found == C.LIST_OK then return end
  if LIST_ERRORS[found] then LIST_ERRORS[found](self, list) end
  self:wrong(list.line, "%s", result.softwires:wrong(found, list.last))
end

-- Everything else

function Reading:leaf(field, last, what)
  self:take(C.SCAN_WORD, "a value")
  local line, text = self.scan.line, self:text()
  local value = field.type.read(text)
  if value == nil then
    self:wrong(line, "%s is %s, not %s", field.name, field.type.what, shown(text))
  end
  self:take(last or C.SCAN_SEMICOLON, what or "';'")
  return value
end

function Reading:entry(field, result)
  local line = self.scan.line
  self:take(C.SCAN_OPEN, "'{'")
  local entry = self:block(field, line)
  local entries = result[field.key_in_memory] or {}
  result[field.key_in_memory] = entries
  local of_key = field.by_name[field.key]
  local key = entry[of_key.key_in_memory]
  entry[of_key.key_in_memory] = nil
  if type(key) == "cdata" then key = of_key.type.write(key) end
  if entries[key] then
    self:wrong(line, "%s %s is there twice", field.name, shown(tostring(key)))
  end
  entries[key] = entry
end

-- What isn't said is as the schema says.
local function fill_in(self, node, result, line)
  for _, field in ipairs(node.fields) do
    local key = field.key_in_memory
    if result[key] == nil then
      if field.default ~= nil then
        result[key] = field.default
      elseif field.needed then
        self:wrong(line, "this %s has no %s", node.name, field.name)
      elseif field.is_list then
        result[key] = {}
      elseif field.is_softwires then
        result.softwires = result.softwires or Softwires.new()
      elseif field.fields then
        result[key] = {}
        fill_in(self, field, result[key], line)
      end
    end
  end
  if node.one_of then
    local n = 0
    for _ in pairs(result) do n = n + 1 end
    if n ~= 1 then
      self:wrong(line, "%s has one of %s", node.name, table.concat(node.names, " and "))
    end
  end
end

function Reading:field(node, field, result)
  if field.is_softwires then return self:softwires(result) end
  if field.is_list then return self:entry(field, result) end
  local key, line = field.key_in_memory, self.scan.line
  if result[key] ~= nil then
    self:wrong(line, "%s is there twice%s", field.name,
      node.name and " in " .. node.name or "")
  end
  if field.type then
    result[key] = self:leaf(field)
  else
    self:take(C.SCAN_OPEN, "'{'")
    result[key] = self:block(field, line)
  end
end

-- What stands between braces, or up to the token `last`.
function Reading:block(node, line, last)
  local result, scan = {}, self.scan
  last = last or C.SCAN_CLOSE
  while true do
    local kind = C.pg_scan_token(scan)
    if kind == last then break end
    if kind == C.SCAN_WORD then
      local name = self:text()
      local field = node.by_name[name]
      if not field then self:unknown(scan.line, name, node.name, node.names) end
      self:field(node, field, result)
    elseif kind ~= C.SCAN_SEMICOLON then
      self:expected(last == C.SCAN_CLOSE and "a name or '}'" or "a name")
    end
  end
  fill_in(self, node, result, line)
  return result
end

-- The entries of a list, each between braces, to the end of the text.
function Reading:entries(node, into)
  local result = {softwires = into}
  if node.is_softwires then
    if C.pg_scan_token(self.scan) ~= C.SCAN_END then
      C.pg_scan_push(self.scan)
      self:softwires(result, true)
    end
    self:take(C.SCAN_END, "'{'")
    return result.softwires or Softwires.new()
  end
  while C.pg_scan_token(self.scan) ~= C.SCAN_END do
    C.pg_scan_push(self.scan)
    self:entry(node, result)
  end
  return result[node.key_in_memory] or {}
end

function Reading:all(node, of_list, into)
  if of_list then return self:entries(node, into) end
  if node.type then return self:leaf(node, C.SCAN_END, "the end") end
  return self:block(node, 1, C.SCAN_END)
end

local function read(scan, name, node, of_list, into)
  local reading = setmetatable({scan = scan, name = name}, Reading)
  local ok, result = pcall(reading.all, reading, node, of_list, into)
  C.pg_scan_close(scan)
  if not ok then error(result, 0) end
  return result
end

--- The configuration in the file at `path`. Raises a failure.
function reader.file(path)
  local scan = C.pg_scan_file(path)
  if scan == nil then
    local _, problem = io.open(path, "r")
    failure.usage("the configuration can't be read: %s", problem or path)
  end
  return read(scan, path, schema)
end

--- What the string `text`, which sentences call `name`, has for the `node` of a schema
--- (apps.lwaftr.conf_schema; left out: the whole configuration). For a list, `of_list`
--- says that there are entries between braces, not what is in one; softwires are a
--- table (apps.lwaftr.softwires; `into`, if that is given), others by their keys.
function reader.text(text, name, node, of_list, into)
  return read(C.pg_scan_text(text, #text), name or "text", node or schema, of_list,
    into)
end

return reader
