-- SPDX-License-Identifier: Apache-2.0
-- JSON (RFC 8259) as a tree of nodes that know their lines (lib.document). Stricter
-- than cjson: a key twice is an error, and so is nesting without end.

local node = require("lib.document.node")

local json = {}

local ESCAPES = {['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n",
                 r = "\r", t = "\t"}
local CONSTANTS = {["true"] = true, ["false"] = false}

local function skip_space(self)
  local from = self.at
  self.at = self.text:find("[^ \t\r\n]", from) or #self.text + 1
  local newlines = select(2, self.text:sub(from, self.at - 1):gsub("\n", ""))
  self.line = self.line + newlines
end

-- What comes next, for a sentence.
local function next_shown(self)
  local text, at = self.text, self.at
  if at > #text then return "the end of the file" end
  return node.shown(text:match("^[%w_.+-]+", at) or text:sub(at, at))
end

local function expected(self, what)
  node.refuse(self.line, "%s was expected, not %s", what, next_shown(self))
end

-- Take the character, if it is the next one behind spaces.
local function take(self, character)
  skip_space(self)
  if self.text:sub(self.at, self.at) ~= character then return false end
  self.at = self.at + 1
  return true
end

-- Strings -------------------------------------------------------------------------

local function utf8(code)
  if code < 0x80 then return string.char(code) end
  local bytes, first = {}, 0x40
  while code >= first do
    table.insert(bytes, 1, string.char(0x80 + code % 64))
    code, first = math.floor(code / 64), first / 2
  end
  return string.char(256 - 2 * first + code) .. table.concat(bytes)
end

-- The character of \uXXXX, whose X begin at `at`, and where it ends. Those beyond
-- 0xffff have two of them (RFC 8259, section 7).
local function unicode(self, at)
  local high = tonumber(self.text:match("^%x%x%x%x", at) or "", 16)
  local low = tonumber(self.text:match("^\\u(%x%x%x%x)", at + 4) or "", 16)
  if not high or high >= 0xdc00 and high < 0xe000 then
    node.refuse(self.line, "\\u%s stands for no character",
      self.text:match("^%w*", at):sub(1, 4))
  elseif high < 0xd800 or high >= 0xe000 then
    return utf8(high), at + 4
  elseif not low or low < 0xdc00 or low >= 0xe000 then
    node.refuse(self.line, "behind \\u%x the second half of the character is missing",
      high)
  end
  return utf8(0x10000 + (high - 0xd800) * 0x400 + low - 0xdc00), at + 10
end

-- The string that begins behind the quote at self.at - 1.
local function rest_of_string(self)
  local parts, at = {}, self.at
  while true do
    local stop = self.text:find('[%c"\\]', at)
    local character = stop and self.text:sub(stop, stop)
    if not stop or character:match("%c") and character ~= "\127" then
      node.refuse(self.line, "a string isn't closed in its line: \"%s",
        node.plain(self.text:sub(self.at, self.at + 20):match("^[^\n]*")))
    end
    parts[#parts + 1] = self.text:sub(at, stop - 1)
    at = stop + 1
    if character == '"' then break end
    if character == "\127" then
      parts[#parts + 1] = character
    else
      local escaped = self.text:sub(at, at)
      at = at + 1
      if escaped == "u" then
        parts[#parts + 1], at = unicode(self, at)
      else
        parts[#parts + 1] = ESCAPES[escaped]
          or node.refuse(self.line, "\\%s isn't known in strings", node.plain(escaped))
      end
    end
  end
  self.at = at
  return table.concat(parts)
end

-- Values --------------------------------------------------------------------------

local value

local function object(self, depth)
  local map = node.map(self.line, depth)
  if take(self, "}") then return map end
  repeat
    if not take(self, '"') then expected(self, "a key in quotes") end
    local line, key = self.line, rest_of_string(self)
    if not take(self, ":") then expected(self, "':'") end
    node.add(map, key, value(self, depth + 1), line)
  until not take(self, ",")
  if not take(self, "}") then expected(self, "',' or '}'") end
  return map
end

local function array(self, depth)
  local list = node.list(self.line, depth)
  if take(self, "]") then return list end
  repeat node.append(list, value(self, depth + 1)) until not take(self, ",")
  if not take(self, "]") then expected(self, "',' or ']'") end
  return list
end

local function number(self)
  local text = self.text:match("^-?%d+", self.at)
  if not text or text:match("^-?0%d") then expected(self, "a value") end
  local ends = self.at + #text
  for _, part in ipairs{"^%.%d+", "^[eE][+-]?%d+"} do
    ends = ends + #(self.text:match(part, ends) or "")
  end
  if self.text:match("^[%w_.+-]", ends) then expected(self, "a value") end
  text = self.text:sub(self.at, ends - 1)
  self.at = ends
  return node.number(self.line, text)
end

function value(self, depth)
  self.pause()
  if take(self, "{") then return object(self, depth) end
  if take(self, "[") then return array(self, depth) end
  if take(self, '"') then
    return node.scalar(self.line, rest_of_string(self))
  end
  local word = self.text:match("^%a+", self.at)
  if word == "null" or CONSTANTS[word] ~= nil then
    self.at = self.at + #word
    return node.constant(self.line, CONSTANTS[word], word)
  end
  return number(self)
end

--- The node of the text. Raises what is wrong (lib.document.node). `pause` is called
--- again and again.
function json.parse(text, pause)
  local self = {text = text, at = 1, line = 1, pause = pause}
  local root = value(self, 1)
  skip_space(self)
  if self.at <= #text then expected(self, "the end") end
  return root
end

return json
