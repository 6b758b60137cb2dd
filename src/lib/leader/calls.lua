-- SPDX-License-Identifier: Apache-2.0
-- What is said over the socket by which a running function is configured: calls and
-- answers, both statements (lib.leader.syntax) that have a field a line. The protocol
-- is that of `snabb config` (its snabb-config-leader-v1). Pure.

local failure = require("core.failure")
local syntax = require("lib.leader.syntax")

local calls = {}

--- The socket's name in a process's directory in shared memory.
calls.SOCKET = "config-leader-socket"

local MOST_DIGITS = 10 -- of a length

local function put_fields(parts, fields, indent)
  local names = {}
  for name in pairs(fields) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local value = fields[name]
    for _, item in ipairs(type(value) == "table" and value or {value}) do
      parts[#parts + 1] = indent .. name .. " "
      if type(item) == "table" then
        parts[#parts + 1] = "{\n"
        put_fields(parts, item, indent .. "  ")
        parts[#parts + 1] = indent .. "}\n"
      else
        parts[#parts + 1] = syntax.quote(tostring(item)) .. ";\n"
      end
    end
  end
end

--- A call, or the answer to one, as text: its name and fields, a table by name. A value
--- is a string, number or boolean, or a list of such, or of tables of fields.
function calls.write(name, fields)
  local parts = {name, " {\n"}
  put_fields(parts, fields, "  ")
  parts[#parts + 1] = "}\n"
  return table.concat(parts)
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

--- The text as it goes over the socket: its length in front.
function calls.frame(text)
  return ("%d\n%s"):format(#text, text)
end

-- Of what has come over a connection, frame by frame.
local Frames = {}
Frames.__index = Frames

--- What collects bytes until they are whole frames.
function calls.frames()
  return setmetatable({parts = {}, size = 0}, Frames)
end

function Frames:add(bytes)
  self.parts[#self.parts + 1] = bytes
  self.size = self.size + #bytes
end

-- Large ones come in many pieces, which are put together once.
local function all(self)
  if #self.parts > 1 then self.parts = {table.concat(self.parts)} end
  return self.parts[1]
end

--- The text of the next frame, or nil if it isn't all there yet. Raises a failure if
--- that is no frame.
function Frames:next()
  if self.size == 0 or self.size < (self.last or 0) then return nil end
  local bytes = all(self)
  if not self.last then
    local line = bytes:match("^(%d+)\n")
    if #(line or bytes) > MOST_DIGITS or not line and not bytes:find("^%d+$") then
      failure.raise("a message begins with its length on a line of its own")
    end
    if not line then return nil end
    self.first, self.last = #line + 2, #line + 1 + tonumber(line)
    if self.size < self.last then return nil end
  end
  local text, rest = bytes:sub(self.first, self.last), bytes:sub(self.last + 1)
  self.parts, self.size, self.last = {rest}, #rest, nil
  return text
end

return calls
