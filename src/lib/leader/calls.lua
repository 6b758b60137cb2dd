-- SPDX-License-Identifier: Apache-2.0
-- What is said over the socket by which a running function is configured: calls and
-- answers, both statements (lib.leader.syntax) that have a field a line. The protocol
-- is that of `snabb config` (its snabb-config-leader-v1). Pure.

local buffer = require("string.buffer")
local failure = require("core.failure")
local syntax = require("lib.leader.syntax")
local tables = require("core.lib.tables")

local calls = {}

--- The socket's name in a process's directory in shared memory.
calls.SOCKET = "config-leader-socket"

local MOST_DIGITS = 10 -- of a length

local PIECE = 1048576 -- bytes, at least, but for the last piece

local put_fields

local function put_item(out, item, indent, flush)
  if type(item) == "table" then
    out:put("{\n")
    put_fields(out, item, indent .. "  ", flush)
    out:put(indent, "}\n")
    return
  end
  if type(item) == "function" then
    syntax.put_pieces(out, item, flush)
  else
    syntax.put(out, tostring(item))
  end
  out:put(";\n")
end

function put_fields(out, fields, indent, flush)
  local names = tables.sorted_keys(fields)
  for _, name in ipairs(names) do
    local value = fields[name]
    for _, item in ipairs(type(value) == "table" and value or {value}) do
      out:put(indent, name, " ")
      put_item(out, item, indent, flush)
    end
  end
end

--- A call, or the answer to one, as text: its name and fields, a table by name. A value
--- is a string, number or boolean, or a list of such, or of tables of fields; or a
--- function that calls its argument with the pieces of a string.
function calls.write(name, fields)
  return table.concat(calls.pieces(name, fields))
end

--- The same as a list of strings, so that a large one isn't copied as a whole.
function calls.pieces(name, fields)
  local out, pieces = buffer.new(), {}
  local function flush()
    if #out >= PIECE then pieces[#pieces + 1] = out:get() end
  end
  out:put(name, " {\n")
  put_fields(out, fields, "  ", flush)
  out:put("}\n")
  pieces[#pieces + 1] = out:get()
  return pieces
end

local function fields_of(block)
  local fields, lists = {}, {}
  for _, statement in ipairs(block) do
    local value = statement.block and fields_of(statement.block)
      or statement.value or ""
    lists[statement.name] = lists[statement.name] or {}
    table.insert(lists[statement.name], value)
    fields[statement.name] = value
  end
  return fields, lists
end

--- The calls or answers in `text`: a list of {name =, fields = the last value of each
--- field, lists = all values of each}. Raises a failure.
function calls.read(text)
  local list = {}
  for i, statement in ipairs(syntax.read(text)) do
    local fields, lists = fields_of(statement.block or {})
    list[i] = {name = statement.name, fields = fields, lists = lists}
  end
  return list
end

--- What goes over the socket in front of a text of `size` bytes.
function calls.head(size) return ("%d\n"):format(size) end

--- The text as it goes over the socket: its length in front.
function calls.frame(text) return calls.head(#text) .. text end

-- Of what has come over a connection, frame by frame: the first `parts` from `at` on is
-- still to be given out; `size` bytes are, in all. The frame there has `length` bytes,
-- `head` of them in its first line, once that is known.
local Frames = {}
Frames.__index = Frames

--- What collects bytes until they are whole frames.
function calls.frames()
  return setmetatable({parts = {}, size = 0, at = 1}, Frames)
end

function Frames:add(bytes)
  self.parts[#self.parts + 1] = bytes
  self.size = self.size + #bytes
end

-- Large ones come in many pieces, which are put together once.
local function all(self)
  if #self.parts > 1 then
    self.parts[1] = self.parts[1]:sub(self.at)
    self.parts, self.at = {table.concat(self.parts)}, 1
  end
  return self.parts[1]
end

-- How many bytes the frame has, with its line; nil if that isn't known yet.
local function length_of(self, bytes)
  local line, first = bytes:match("^(%d+)\n()", self.at)
  local digits = line or bytes:match("^%d*", self.at)
  if #digits > MOST_DIGITS or not line and self.at + #digits <= #bytes then
    failure.raise("a message begins with its length on a line of its own")
  end
  if line then
    self.head = first - self.at
    return self.head + tonumber(line)
  end
end

-- The text of the frame, which is all there is: a large one is put together once.
local function all_but_head(self)
  local parts = self.parts
  parts[1] = parts[1]:sub(self.at + self.head)
  self.parts, self.at, self.size, self.length = {}, 1, 0, nil
  return table.concat(parts)
end

--- The text of the next frame, or nil if it isn't all there yet. Raises a failure if
--- that is no frame.
function Frames:next()
  if self.size == 0 or self.size < (self.length or 0) then return nil end
  if not self.length then
    local first = self.parts[1]
    local has_head = #first - self.at > MOST_DIGITS
    self.length = length_of(self, has_head and first or all(self))
  end
  if not self.length or self.size < self.length then return nil end
  if self.size == self.length then return all_but_head(self) end
  local bytes = all(self)
  local text = bytes:sub(self.at + self.head, self.at + self.length - 1)
  self.at, self.size = self.at + self.length, self.size - self.length
  self.length = nil
  return text
end

return calls
