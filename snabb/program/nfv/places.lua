-- SPDX-License-Identifier: Apache-2.0
-- In which line of a configuration file something is: the file has been run, and its
-- values don't say. Found in files that are one list of tables, as most are.

local places = {}

local function spaces(text) return (text:gsub("[^\n]", " ")) end

-- Where what begins at `at` ends, if it is a comment or a string; else nil.
local function end_of(text, at)
  local equals = text:match("^%-%-%[(=*)%[", at) or text:match("^%[(=*)%[", at)
  if equals then
    return select(2, text:find("]" .. equals .. "]", at, true)) or #text
  elseif text:find("^%-%-", at) then
    return (text:find("\n", at, true) or #text + 1) - 1
  end
  local quote = text:match("^[\"']", at)
  if not quote then return nil end
  local i = at + 1
  while i <= #text and text:sub(i, i) ~= quote do
    i = i + (text:sub(i, i) == "\\" and 2 or 1)
  end
  return math.min(i, #text)
end

-- The text with spaces in the place of comments and strings.
local function code_of(text)
  local parts, at = {}, 1
  while at <= #text do
    local next_at = text:find("[%-%[\"']", at)
    if not next_at then break end
    local last = end_of(text, next_at)
    parts[#parts + 1] = text:sub(at, next_at - 1)
    parts[#parts + 1] = last and spaces(text:sub(next_at, last))
      or text:sub(next_at, next_at)
    at = (last or next_at) + 1
  end
  parts[#parts + 1] = text:sub(at)
  return table.concat(parts)
end

-- Where the elements of the list begin and end: {first, last} of each.
local function elements(code)
  local from, to = code:match("^%s*return%s*()%b{}()")
  local list = {}
  if not from then return list end
  local at = from + 1
  while true do
    local first, last = code:find("%b{}", at)
    if not first or last >= to then return list end
    list[#list + 1] = {first, last}
    at = last + 1
  end
end

-- Where `key` is given a value, directly in the table from first to last.
local function key_in(code, first, last, key)
  if type(key) ~= "string" or not key:match("^[%w_]+$") then return nil end
  local inside = code:sub(first + 1, last - 1):gsub("%b{}", spaces)
  local at = inside:match("%f[%w_]()" .. key .. "%f[^%w_]%s*=")
  return at and first + at
end

--- Makes a function of the text of a file and the number of ports it tells: (port,
--- key, inner) to the line where that key of the port is, or that of its table `key`;
--- or else the line where the port begins. The function returns nil if it can't tell.
function places.new(text, count)
  local code = code_of(text)
  local list = elements(code)
  local function line(at) return select(2, code:sub(1, at):gsub("\n", "")) + 1 end
  return function (port, key, inner)
    local range = #list == count and list[port]
    if not range then return nil end
    local at = key_in(code, range[1], range[2], key)
    if not at then return line(range[1]) end
    if inner then
      local first, last = code:find("%b{}", at)
      at = first and last <= range[2] and key_in(code, first, last, inner) or at
    end
    return line(at)
  end
end

return places
