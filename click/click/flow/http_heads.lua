-- SPDX-License-Identifier: Apache-2.0
-- What HTTPIn does with the head of a message: which request a response answers, how
-- the message gets another length, and what is changed in the head.

local chunks = require("net.http.chunks")
local head = require("net.http.head")
local parts = require("click.flow.http_parts")

local heads = {}

local ASKED_MOST = 1024 -- requests of a connection that aren't answered

-- The request that the next response answers; {}: it isn't known.
local function asked_of(other) return other and other.asked[other.first] or {} end

--- The head in `text` of the next message of flow `f`, direction `d`; nil if it isn't
--- one.
function heads.take(self, f, d, text)
  local other = self:other_flow(d)
  local asked = asked_of(other)
  local h = head.parse(text, asked.method)
  if not h then return nil end
  if h.method then
    if f.last - f.first >= ASKED_MOST then return nil end
    f.last = f.last + 1
    f.asked[f.last] = {method = h.method, minor = h.minor}
  else
    h.asked = asked
    if other and asked.method and (h.class > 1 or h.status == 101) then
      other.asked[other.first] = nil
      other.first = other.first + 1
    end
  end
  if h.body == "tunnel" and other then other.state = "tunnel" end
  return h
end

-- How the message gets another length. `here`: how many bytes are behind its head.
local function mode_of(self, f, h, here)
  if h.body == "chunked" then return "chunked" end
  if h.body ~= "length" or not self.resizes_content then return "pass" end
  local minor = h.asked and h.asked.minor or 1
  if not self.buffers then return "fill" end
  if f.list.behind == 0 then
    if h.length <= here then return "length" end
    if h.minor > 0 and minor > 0 and not self.http10 then return "chunked" end
    if h.status and h.closes then return "close" end
  end
  return "fill"
end

-- Is a field to be removed that lets the connection go on?
local function is_keep_alive(field)
  return field.name == "keep-alive"
    or field.name == "connection" and field.value:lower() == "keep-alive"
end

-- What takes the field's place; nil: it stays.
local function instead_of(self, h, mode, field)
  if field.name == "content-length" and h.body == "length" then
    if mode == "chunked" then return "Transfer-Encoding: chunked\r\n" end
    if mode == "close" then return "" end
  elseif field.name == "accept-encoding" and self.no_encoding and h.method then
    return ""
  elseif is_keep_alive(field) and (self.http10
    or h.method and h.minor == 0 and self:answers_resize()) then
    return ""
  end
end

-- Changes, a list of {at, n, text}, in order.
local function changes_of(self, h, mode)
  local list, seen = {}, false
  if self.http10 and h.minor > 0 and h.body ~= "chunked" then
    local at = h.method and h.first.at + #h.first.text - 1 or h.first.at + 7
    list[1] = {at, 1, "0"}
  end
  for _, field in ipairs(h.fields) do
    local text = instead_of(self, h, mode, field)
    if field.name == "content-length" and h.body == "length" then
      -- Of several that say the same one is left.
      if seen and mode ~= "pass" and mode ~= "fill" then text = "" end
      seen = true
    end
    if text then list[#list + 1] = {field.at, field.behind - field.at, text} end
  end
  return list
end

-- Where Content-Length is behind those changes.
local function length_field(h, list)
  for _, field in ipairs(h.fields) do
    if field.name == "content-length" then
      local at = field.at
      for _, x in ipairs(list) do
        if x[1] < field.at then at = at + #x[3] - x[2] end
      end
      return at, field.behind - field.at
    end
  end
end

--- Change the head, whose packets are f.list, behind `empty` bytes of empty lines, and
--- say in f.message how the message gets its length.
function heads.change(self, f, d, h, empty, here)
  local mode = mode_of(self, f, h, here)
  local list = changes_of(self, h, mode)
  for i = #list, 1, -1 do
    local x = list[i]
    if not parts.edit(d.changes, f.list, empty + x[1], x[2], x[3]) then
      self.left = self.left + 1
    end
  end
  local m = {mode = mode, held = {behind = 0}, length = h.length, sent = 0, line = ""}
  if mode == "length" then
    m.at, m.n = length_field(h, list)
    m.at = empty + m.at
  end
  f.message = m
  f.state = h.body == "none" and "head" or h.body
  f.left = h.length or 0
  if h.body == "chunked" then f.reader, f.ending = chunks.reader(), false end
end

return heads
