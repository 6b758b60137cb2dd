-- SPDX-License-Identifier: Apache-2.0
-- Heads of HTTP/1's messages (RFC 9112): how long is the body behind, and where is each
-- field? For servers (net.http.messages), and for what looks at messages of others:
-- nothing is refused but what leaves it open where the body ends.

local head = {}

local MOST_DIGITS = 15 -- of a length: all such numbers are exact

local function trimmed(value)
  local first = value:find("%S")
  return first and value:match("^.*%S", first) or ""
end

-- The lines: a list of {at =, behind =, text =}; places are counted from 0, `behind`
-- what ends the line. Nil if one holds a CR or a NUL: some take a bare CR for the end
-- of a line, and see other fields (RFC 9112, section 2.2; RFC 9110, section 5.5).
local function lines_of(text)
  local list, at = {}, 1
  while at <= #text do
    local newline = text:find("\n", at, true)
    if not newline then break end
    local line = text:sub(at, newline - 1):gsub("\r$", "")
    if line:find("[%z\r]") then return nil end
    list[#list + 1] = {at = at - 1, behind = newline, text = line}
    at = newline + 1
  end
  return list
end

-- The fields, a list of {name =, value =, at =, behind =}; nil if a line is none.
local function fields_of(lines)
  local list = {}
  for i = 2, #lines do
    local line = lines[i]
    if line.text == "" then break end
    local last = list[#list]
    if line.text:find("^[ \t]") and last then -- a value goes on (RFC 9112, section 5.2)
      last.parts, last.behind = last.parts or {last.value}, line.behind
      table.insert(last.parts, trimmed(line.text))
    else
      local name, value = line.text:match("^([^:%s%c]+):(.*)$")
      if not name then return nil end
      list[#list + 1] = {name = name:lower(), value = trimmed(value), at = line.at,
        behind = line.behind}
    end
  end
  for _, field in ipairs(list) do
    if field.parts then
      field.value, field.parts = trimmed(table.concat(field.parts, " ")), nil
    end
  end
  return list
end

-- All values of the fields of that name, in small letters, between commas; nil: none.
local function values(fields, name)
  local list = {}
  for _, field in ipairs(fields) do
    if field.name == name then list[#list + 1] = field.value:lower() end
  end
  return list[1] and table.concat(list, ",") or nil
end

local function has(list, token)
  for part in (list or ""):gmatch("[^,]+") do
    if trimmed(part) == token then return true end
  end
  return false
end

-- The one number that all values are; nil: they aren't.
local function length_of(list)
  local length
  for part in (list .. ","):gmatch("([^,]*),") do
    local digits = trimmed(part)
    if not digits:find("^%d+$") or #digits > MOST_DIGITS then return nil end
    if length and tonumber(digits) ~= length then return nil end
    length = tonumber(digits)
  end
  return length
end

local function first_line(text)
  local method, minor = text:match("^([%w!#$%%&'*+%-.^_`|~]+) .* HTTP/1%.(%d)$")
  if method then return {method = method, minor = tonumber(minor)} end
  local version, status = text:match("^HTTP/1%.(%d) (%d%d%d)%f[%D]")
  if not status then return nil end
  status = tonumber(status)
  return {status = status, class = math.floor(status / 100), minor = tonumber(version)}
end

-- Where the body of the message ends (RFC 9112, section 6.3): h.body, h.length. False:
-- that is open. `asked`: the method of the request, for a response.
local function find_body(h, asked)
  local status, coding = h.status, values(h.fields, "transfer-encoding")
  local lengths = values(h.fields, "content-length")
  if status == 101 or asked == "CONNECT" and h.class == 2 then
    h.body = "tunnel"
  elseif status
    and (asked == "HEAD" or status < 200 or status == 204 or status == 304) then
    h.body = "none"
  elseif coding then
    local chunked = has(coding:match("[^,]*$"), "chunked")
    if not chunked and not status then return false end
    h.body = chunked and "chunked" or "close"
  elseif lengths then
    local length = length_of(lengths)
    if not length then return false end
    h.body = length > 0 and "length" or "none"
    h.length = length > 0 and length or nil
  else
    h.body = status and "close" or "none"
  end
  return true
end

--- Where the head in `text` ends: how many bytes it has, and how many of them are empty
--- lines before it; nil if it isn't whole. Takes time in proportion to the text.
function head.find(text)
  local first = text:find("[^\r\n]")
  if not first then return nil end
  local _, last = text:find("\n\r?\n", first)
  return last, first - 1
end

--- What a whole head says: {method =, or status = and class = (its first digit); minor
--- = of HTTP/1's version; first =, fields = lines, with places `at` and `behind` in
--- `text` from 0, and `name` in small letters and `value`; body = "none", "length"
--- (`length` bytes), "chunked", "close" (up to the connection's end) or "tunnel" (no
--- messages follow); closes = does the connection end behind it?}. Nil if it isn't a
--- head, or leaves open where its body ends. `asked`: the method of the request that a
--- response answers, if it is known.
function head.parse(text, asked)
  local lines = lines_of(text)
  local h = lines and lines[1] and first_line(lines[1].text)
  if not h then return nil end
  h.first = lines[1]
  h.fields = fields_of(lines)
  if not h.fields or not find_body(h, asked) then return nil end
  local connection = values(h.fields, "connection")
  h.closes = has(connection, "close")
    or h.minor == 0 and not has(connection, "keep-alive")
  return h
end

return head
