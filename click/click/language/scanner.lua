-- SPDX-License-Identifier: Apache-2.0
-- Click's tokens, and where they stand. A token is {kind=, text=, line=, file=}: kind
-- is "name", "variable", a keyword, an arrow or another sign as it is written, or
-- "end".
-- Configuration strings are no tokens: config() takes the text up to the parenthesis
-- that closes them. A line `# 12 "file"` says where the next one comes from.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local meanwhile = require("core.lib.meanwhile")
local text_of = require("click.language.text")

local scanner = {}

local Scanner = {}
Scanner.__index = Scanner

local KEYWORDS = {elementclass = true, require = true, provide = true, define = true}

-- Where the line that `i` is in ends: of a long one only once.
local function line_end(text, i) return text:find("[\r\n]", i) or #text + 1 end

--- A scanner of `text`, a configuration from `file` (a name for messages). `errors` is
--- told of what is no token.
function scanner.new(text, file, errors)
  return setmetatable({text = text, file = file, own_file = file, line = 1, at = 1,
    line_end = line_end(text, 1), errors = errors, waiting = {}}, Scanner)
end

--- "file:line" of a place that has these: a token, or the scanner itself.
function scanner.landmark(place)
  if place.file:find("[:%s]$") then return place.file .. place.line end
  return ("%s:%d"):format(place.file, place.line)
end

function Scanner:error(...)
  self.errors:at(scanner.landmark(self)):error(...)
end

-- Move on to position `to`, counting lines.
local function move(self, to)
  local text = self.text
  while self.line_end < to do
    meanwhile.step()
    local next_line = text:find("^\r\n", self.line_end) and 2 or 1
    self.line_end = line_end(text, self.line_end + next_line)
    self.line = self.line + 1
  end
  self.at = to
end

-- Read the `#` line that begins here, up to its end.
local function line_directive(self)
  local last = self.text:find("[\r\n]", self.at) or #self.text + 1
  local line = self.text:sub(self.at, last - 1)
  local number, rest = line:match("^#[ \t]*l?i?n?e?[ \t]*(%d+)[ \t]*(.*)$")
  if not number then
    self:error("unknown preprocessor directive")
  else
    self.line = tonumber(number) - 1 -- the newline makes it right
    local name = rest:match('^".*"') or rest:match('^".*$')
    if name then
      name = text_of.unquote(name)
      self.file = name ~= "" and name or self.own_file
    end
  end
  self.at = last
end

local function at_line_start(self, i)
  return i == 1 or self.text:find("^[\r\n]", i - 1) ~= nil
end

local function skip_space(self)
  while true do
    move(self, text_of.after_space(self.text, self.at))
    if self.text:sub(self.at, self.at) ~= "#" or not at_line_start(self, self.at) then
      return
    end
    line_directive(self)
  end
end

local NAME = "^[%w_@]+()"

-- Behind the name at `i`: words with single slashes between them.
local function after_name(text, i)
  local behind = text:match(NAME, i)
  while behind do
    local further = text:find("^/", behind) and text:match(NAME, behind + 1)
    if not further then break end
    behind = further
  end
  return behind
end

local SIGNS = {["->"] = true, ["=>"] = true, ["::"] = true, ["||"] = true}

local function scan(self)
  local text, i = self.text, self.at
  if i > #text then return "end", i end
  local behind = after_name(text, i)
  if behind then
    local word = text:sub(i, behind - 1)
    return KEYWORDS[word] and word or "name", behind
  end
  behind = text:match("^%$[%w_]+()", i)
  if behind then return "variable", behind end
  behind = text:match("^~[%w/]*>()", i)
  if behind then return "~>", behind end
  if SIGNS[text:sub(i, i + 1)] then return text:sub(i, i + 1), i + 2 end
  if text:sub(i, i + 2) == "..." then return "...", i + 3 end
  return text:sub(i, i), i + 1
end

--- The next token.
function Scanner:next()
  local waiting = self.waiting
  if #waiting > 0 then return table.remove(waiting) end
  skip_space(self)
  meanwhile.step()
  local kind, behind = scan(self)
  local token = {kind = kind, text = self.text:sub(self.at, behind - 1),
    line = self.line, file = self.file, start = self.at}
  move(self, behind)
  return token
end

--- Give a token back: next() returns it again.
function Scanner:back(token) table.insert(self.waiting, token) end

--- The next token, which next() returns, too.
function Scanner:peek()
  local token = self:next()
  self:back(token)
  return token
end

--- Take the next token if it is of this kind.
function Scanner:accept(kind)
  local token = self:next()
  if token.kind == kind then return token end
  self:back(token)
end

-- Behind what can't hold the closing parenthesis.
local function after_opaque(self, i)
  local text = self.text
  if text:find("^['\"]", i) or text:find("^\\<", i) then
    return text_of.after_item(text, i)
  end
  if text:find("^/[/*]", i) then return text_of.after_comment(text, i) end
  return i + 1
end

--- The configuration string behind an opening parenthesis that was the last token, up
--- to the closing one, as it is written.
function Scanner:config()
  local text, depth, i, first = self.text, 1, self.at, self.at
  local parts = {}
  while true do
    i = text:find("[()/'\"\\#]", i)
    if not i then break end
    meanwhile.step()
    local c = text:sub(i, i)
    if c == "#" and at_line_start(self, i) then
      parts[#parts + 1] = text:sub(first, i - 1)
      move(self, i)
      line_directive(self)
      i, first = self.at, self.at
    elseif c == ")" and depth == 1 then
      break
    else
      depth = depth + (c == "(" and 1 or c == ")" and -1 or 0)
      i = after_opaque(self, i)
    end
  end
  i = i or #text + 1
  parts[#parts + 1] = text:sub(first, i - 1)
  move(self, i)
  return table.concat(parts)
end

return scanner
