-- SPDX-License-Identifier: Apache-2.0
-- The lines of a summary dump, from a file, standard input or a text; and its binary
-- records, which begin behind the line "!binary": four bytes with the length (and, as
-- the highest bit, whether it is a line of text), and the rest.

local compressed = require("click.devices.compressed")
local files = require("core.lib.files")

local Lines = {}
Lines.__index = Lines

local RECORD_MOST = 2 ^ 20 -- bytes; a packet's are 65,535

--- Open `name` ("-": standard input); nil and a reason if that can't be done.
function Lines.open(name)
  local file, unpacking
  if name == "-" then
    file, name = io.stdin, "<stdin>"
  else
    file, unpacking = compressed.open(name)
    if not file then return nil, unpacking end
  end
  return setmetatable({name = name, file = unpacking and unpacking.pipe or file,
                       unpacking = unpacking, number = 0}, Lines)
end

--- The lines of a text.
function Lines.of_text(text)
  return setmetatable({name = "<data>", text = text, at = 1, number = 0}, Lines)
end

local function take_line(self)
  if self.file then return files.line(self.file) end
  if self.at > #self.text then return nil end
  local line, behind = self.text:match("^([^\n]*)\n?()", self.at)
  self.at = behind
  return line
end

local function take_bytes(self, n)
  if self.file then return n == 0 and "" or self.file:read(n) end
  local bytes = self.text:sub(self.at, self.at + n - 1)
  self.at = self.at + n
  return (bytes ~= "" or n == 0) and bytes or nil
end

--- The next line, or, once `binary` is set, the next record. The second result says
--- whether it is a record of fields. Nil at the end, and a reason if it is broken.
function Lines:next()
  if self.peeked then
    local line = self.peeked
    self.peeked = nil
    return line, false
  elseif self.problem then
    local problem = self.problem
    self.problem = nil
    return nil, problem
  end
  self.number = self.number + 1
  if not self.binary then
    local line, problem = take_line(self)
    if not line then return nil, problem or self:at_end() end
    return line:gsub("\r$", ""), false
  end
  local head, why = take_bytes(self, 4)
  if not head then return nil, why or self:at_end() end
  if #head < 4 then return nil, "the last binary record is cut off" end
  local a, b, c, d = head:byte(1, 4)
  local length = ((a % 128 * 256 + b) * 256 + c) * 256 + d
  if length < 4 then return nil, "binary record too short" end
  if length > RECORD_MOST then return nil, "binary record too long" end
  local record = take_bytes(self, length - 4)
  if #(record or "") < length - 4 then
    return nil, "the last binary record is cut off"
  end
  if a >= 128 then return (record:gsub("%z+$", "")), false end
  return record, true
end

--- The next line, which next() will give again.
function Lines:peek()
  self.peeked, self.problem = self:next()
  self.problem = not self.peeked and self.problem or nil
  return self.peeked
end

-- What was compressed may end too early: then why.
function Lines:at_end() return self.unpacking and self:close(true) end

--- What follows is binary.
function Lines:begin_binary()
  self.binary, self.number = true, 0
end

--- Where it is, for messages: "FILE:LINE".
function Lines:landmark()
  return ("%s:%s%d"):format(self.name, self.binary and "record " or "", self.number)
end

--- A place to return to, after the line that was read last; nil if it can't be done.
function Lines:mark()
  if not self.file then return {at = self.at, number = self.number} end
  local at = self.file:seek("cur", 0)
  return at and {at = at, number = self.number}
end

--- Return to a mark.
function Lines:back_to(mark)
  if self.file then self.file:seek("set", mark.at) else self.at = mark.at end
  self.number = mark.number
end

--- Its length and position in bytes, or what they were when it was closed; nil if it
--- has none.
function Lines:size()
  if self.ended then return self.ended[1], self.ended[2] end
  if self.text then return #self.text, self.at - 1 end
  local at = self.file:seek("cur", 0)
  if not at then return nil end
  local size = self.file:seek("end", 0)
  self.file:seek("set", at)
  return size, at
end

--- Close it, if it isn't yet. What was compressed and was read to its end (`at_end`)
--- may not be all: then it says why.
function Lines:close(at_end)
  local problem
  if self.file then
    self.ended = {self:size()}
    if self.unpacking then
      problem = self.unpacking:close(at_end)
    elseif self.file ~= io.stdin then
      self.file:close()
    end
  end
  self.unpacking, self.file, self.text, self.at = nil, nil, "", 1
  return problem
end

return Lines
