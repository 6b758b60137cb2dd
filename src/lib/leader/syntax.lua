-- SPDX-License-Identifier: Apache-2.0
-- Statements in the syntax of YANG (RFC 7950, section 6.1), in which `snabb config` and
-- what it configures talk: NAME VALUE; or NAME { STATEMENTS }. Pure.

local buffer = require("string.buffer")
local ffi = require("ffi")
local failure = require("core.failure")

-- Texts may have 100 MB: what stands between two special bytes is copied as a whole.
ffi.cdef [[
  size_t perigee_strcspn(const char *text, const char *bytes) __asm__("strcspn");
  const char *perigee_memchr(const char *text, int byte, size_t n) __asm__("memchr");
]]

local syntax = {}

local WORD = "[^%s;{}\"']"
local ESCAPES = setmetatable({n = "\n", t = "\t"}, {
  __index = function (_, letter) return letter end,
})
local BACKSLASH = 92
local SPECIAL, QUOTED = '\\"\n\t', {["\n"] = "\\n", ["\t"] = "\\t",
  ['"'] = '\\"', ["\\"] = "\\\\"}
local char_p = ffi.typeof("const char *")

-- Put what is from p[at] on, up to a special byte or the zero at the end, into the
-- buffer; where that is.
local function copy(out, p, at)
  local n = tonumber(ffi.C.perigee_strcspn(p + at, SPECIAL))
  out:putcdata(p + at, n)
  return at + n
end

-- Put what is to be between double quotes.
local function escape(out, text)
  local p, last = ffi.cast(char_p, text), #text
  local at = copy(out, p, 0)
  while at < last do
    local letter = text:sub(at + 1, at + 1)
    out:put(QUOTED[letter] or letter) -- strcspn stops at a zero, too
    at = copy(out, p, at + 1)
  end
end

--- Put the text into a string.buffer as one word, quoted where it has to be.
function syntax.put(out, text)
  if text:find("^" .. WORD .. "+$") and not text:find("/[/*]") then
    out:put(text)
    return
  end
  out:put('"')
  escape(out, text)
  out:put('"')
end

--- Put a text, which comes as pieces(put) calls put(PIECE), as one word into the buffer
--- `out`; after each piece flush() is called, which may empty that.
function syntax.put_pieces(out, pieces, flush)
  out:put('"')
  pieces(function (piece)
    escape(out, piece)
    flush()
  end)
  out:put('"')
end

-- Where the first token at or behind `at` begins; nil at the end.
local function skip(text, at)
  while true do
    at = text:find("%S", at)
    local two = at and text:sub(at, at + 1)
    if two == "//" then
      at = text:find("\n", at, true)
    elseif two == "/*" then
      local _, last = text:find("*/", at + 2, true)
      if not last then failure.raise("a comment doesn't end") end
      at = last + 1
    else
      return at
    end
    if not at then return nil end
  end
end

-- Where the quote ends that begins at `at`: a quote behind an odd number of backslashes
-- is a part of it.
local function end_of_quote(text, at, quote)
  local found = at
  repeat
    found = text:find(quote, found + 1, true)
    if not found then failure.raise("a quote doesn't end") end
    local behind = found - 1
    while quote == '"' and behind > at and text:byte(behind) == BACKSLASH do
      behind = behind - 1
    end
  until (found - behind) % 2 == 1
  return found
end

-- What the bytes behind `at` and before `last` say, escapes and all.
local function unescaped(text, at, last)
  local p, out = ffi.cast(char_p, text), buffer.new(last - at)
  last = last - 1
  while at < last do
    local found = ffi.C.perigee_memchr(p + at, BACKSLASH, last - at)
    local n = found ~= nil and tonumber(found - (p + at)) or last - at
    out:putcdata(p + at, n)
    at = at + n
    if at < last then
      out:put(ESCAPES[text:sub(at + 2, at + 2)])
      at = at + 2
    end
  end
  return out:tostring()
end

-- The string behind the quote at `at`, and where what follows it begins.
local function quoted(text, at)
  local quote = text:sub(at, at)
  local last = end_of_quote(text, at, quote)
  if quote == '"' then return unescaped(text, at, last), last + 1 end
  return text:sub(at + 1, last - 1), last + 1
end

-- The string at `at`, of quoted parts joined by +, or the word; and what is behind it.
local function string_at(text, at)
  if not text:find("^[\"']", at) then
    local _, last = text:find("^" .. WORD .. "+", at)
    if not last then
      failure.raise("'%s' is where a word should be", text:sub(at, at))
    end
    return text:sub(at, last), last + 1
  end
  local value, behind = quoted(text, at)
  local plus = skip(text, behind)
  while plus and text:sub(plus, plus) == "+" do
    local more
    more, behind = quoted(text, skip(text, plus + 1) or #text + 1)
    value, plus = value .. more, skip(text, behind)
  end
  return value, behind
end

local MOST_SHOWN = 40 -- letters of a name

local function missing(what, statement)
  failure.raise("%s is missing behind %s", what,
    (statement.name:sub(1, MOST_SHOWN):gsub("[^\32-\126]", "?")))
end

local statements

local function statement(text, at)
  local result = {}
  result.name, at = string_at(text, at)
  at = skip(text, at)
  if at and not text:find("^[;{}]", at) then
    result.value, at = string_at(text, at)
    at = skip(text, at)
  end
  local sign = at and text:sub(at, at)
  if sign == ";" then return result, at + 1 end
  if sign ~= "{" then missing("';' or '{'", result) end
  result.block, at = statements(text, at + 1)
  if not at then missing("'}'", result) end
  return result, at + 1
end

-- The statements from `at` on, and where the brace is that ends them (nil: the end).
function statements(text, at)
  local list = {}
  at = skip(text, at)
  while at and text:sub(at, at) ~= "}" do
    list[#list + 1], at = statement(text, at)
    at = skip(text, at)
  end
  return list, at
end

--- The statements in `text`: a list of {name =, value = (or nil), block = a list of
--- statements (or nil)}. Raises a failure.
function syntax.read(text)
  local list, at = statements(text, 1)
  if at then failure.raise("there is a '}' too many") end
  return list
end

return syntax
