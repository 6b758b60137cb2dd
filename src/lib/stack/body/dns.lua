-- SPDX-License-Identifier: Apache-2.0
-- The questions and records behind a DNS header (RFC 1035, section 4.1), read and
-- written as tables. A name's compression may point backwards only, so that reading
-- ends; nothing outside of the message is read. Slow code.

local ffi = require("ffi")
local rdata = require("lib.stack.body.dns_data")

local dns = {}

local HEADER = 12       -- bytes
local MAX_NAME = 255    -- bytes, RFC 1035, section 2.3.4
local POINTER = 0xc0    -- the two highest bits of a length, section 4.1.4
local SECTIONS = {"questions", "answers", "authorities", "additionals"}
local COUNTS = {questions = "QDCount", answers = "ANCount", authorities = "NSCount",
  additionals = "ARCount"}

local Reader = {}
Reader.__index = Reader

-- A reason is raised in a table, which `read` tells from a fault of this module.
local function stop(fmt, ...)
  error({reason = fmt:format(...)}, 0)
end

--- Is there so much up to the end of the message (or of a record's data)?
function Reader:need(n)
  if self.at + n > self.stop then stop("it ends within a record") end
end

--- An unsigned number of n bytes.
function Reader:number(n)
  self:need(n)
  local value = 0
  for i = self.at, self.at + n - 1 do value = value * 256 + self.bytes[i] end
  self.at = self.at + n
  return value
end

--- A string of n bytes.
function Reader:string(n)
  self:need(n)
  local text = ffi.string(self.bytes + self.at, n)
  self.at = self.at + n
  return text
end

-- Dots and what can't be printed are escaped: RFC 1035, section 5.1.
local function escape(label)
  return (label:gsub("[^%w%-_]", function (c)
    if c == "." or c == "\\" then return "\\" .. c end
    local byte = c:byte()
    return byte > 32 and byte < 127 and c or ("\\%03d"):format(byte)
  end))
end

--- A domain name: "www.example.org.", "." for the root.
function Reader:name()
  local labels, at, resume, size = {}, self.at, nil, 1
  local limit = self.length
  while true do
    if at >= limit then stop("a name leads out of it") end
    local length = self.bytes[at]
    if length >= POINTER then
      if at + 1 >= limit then stop("a name leads out of it") end
      local target = (length - POINTER) * 256 + self.bytes[at + 1]
      resume = resume or at + 2
      if target >= at or target < HEADER then stop("a name points to %d", target) end
      limit, at = at, target -- backwards only
    elseif length >= 0x40 then
      stop("a name has a label of type %d", length)
    elseif length == 0 then
      break
    else
      size = size + length + 1
      if at + 1 + length > limit or size > MAX_NAME then stop("a name is too long") end
      labels[#labels + 1] = escape(ffi.string(self.bytes + at + 1, length))
      at = at + 1 + length
    end
  end
  self.at = resume or at + 1
  if self.at > self.stop then stop("it ends within a record") end
  return #labels == 0 and "." or table.concat(labels, ".") .. "."
end

local function read_question(reader)
  return {name = reader:name(), type = rdata.type_name(reader:number(2)),
    class = rdata.class_name(reader:number(2))}
end

local function read_record(reader)
  local record = read_question(reader)
  record.ttl = reader:number(4)
  local length = reader:number(2)
  reader:need(length)
  local behind, whole = reader.at + length, reader.stop
  reader.stop = behind
  record.data = rdata.read(record.type, reader, length)
  if reader.at ~= behind then stop("a record of %s has a wrong length", record.type) end
  reader.stop = whole
  return record
end

local function read_sections(reader)
  local counts, message = {}, {}
  reader.at = 4
  for i = 1, #SECTIONS do counts[i] = reader:number(2) end
  for i, section in ipairs(SECTIONS) do
    message[section] = {}
    for k = 1, counts[i] do
      message[section][k] = i == 1 and read_question(reader) or read_record(reader)
    end
  end
  return message
end

--- The DNS message of `length` bytes at `pointer` (its header): a table of questions,
--- answers, authorities and additionals, each a list of {name, type, class, ttl, data}
--- (doc/stack.md tells the forms of data); or nil and what is wrong with it.
function dns.read(pointer, length)
  local reader = setmetatable({bytes = ffi.cast("const uint8_t *", pointer),
    length = length, at = 0, stop = length}, Reader)
  local ok, result = pcall(read_sections, reader)
  if ok then return result end
  if type(result) ~= "table" then error(result, 0) end
  return nil, result.reason
end

local function write_record(record, is_question)
  if type(record) ~= "table" then
    error(("a DNS record is a table, not a %s"):format(type(record)), 0)
  end
  local head = rdata.name_bytes(record.name)
    .. rdata.word(rdata.type_number(record.type or "A"))
    .. rdata.word(rdata.class_number(record.class or "IN"))
  if is_question then return head end
  local data = rdata.write(record.type or "A", record.data)
  return head .. rdata.number_bytes(record.ttl or 0, 4, "ttl") .. rdata.word(#data)
    .. data
end

--- The bytes behind the header for the message (a table such as `read` returns; a
--- section may be left away), and its counts: {QDCount = 1, ...}. Names aren't
--- compressed. Raises a sentence if a record is wrong.
function dns.write(message)
  local parts, counts = {}, {}
  for key in pairs(message) do
    if not COUNTS[key] then
      error(("a DNS message has no '%s'; it has %s"):format(tostring(key),
        table.concat(SECTIONS, ", ")), 0)
    end
  end
  for i, section in ipairs(SECTIONS) do
    local list = message[section] or {}
    counts[COUNTS[section]] = #list
    for _, record in ipairs(list) do
      parts[#parts + 1] = write_record(record, i == 1)
    end
  end
  return table.concat(parts), counts
end

return dns
