-- SPDX-License-Identifier: Apache-2.0
-- Configuration strings: their comments, their quotes, and how they split into
-- arguments (at commas) and words (at spaces). Outside of quotes, /* */ and // comment,
-- and \<48 69> is text in hexadecimal; within "..." a backslash escapes as in C; within
-- '...' everything is as written. Quotes may begin and end within a word.
--
-- The functions after_... take a text and the position where something begins, and
-- return the position behind it; what isn't closed ends with the text.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local meanwhile = require("core.lib.meanwhile")

local text = {}

local COMMENT, HEX = "^/[/*]", "^\\<"

-- Reading over things --------------------------------------------------------------

local function after_comment(s, i)
  if s:sub(i + 1, i + 1) == "*" then
    local _, last = s:find("*/", i + 2, true)
    return (last or #s) + 1
  end
  local newline = s:find("[\r\n]", i + 2)
  if not newline then return #s + 1 end
  return s:find("^\r\n", newline) and newline + 2 or newline + 1
end

-- Behind \<...>, which may have comments.
local function after_hex(s, i)
  i = i + 2
  while true do
    i = s:find("[/>]", i)
    if not i then return #s + 1 end
    if s:find("^>", i) then return i + 1 end
    i = s:find(COMMENT, i) and after_comment(s, i) or i + 1
  end
end

local function after_backslash(s, i)
  if s:find(HEX, i) then return after_hex(s, i) end
  return s:find("^\\\r\n", i) and i + 3 or math.min(i + 2, #s + 1)
end

local function after_double_quote(s, i)
  i = i + 1
  while true do
    i = s:find('["\\]', i)
    if not i then return #s + 1 end
    if s:find('^"', i) then return i + 1 end
    i = after_backslash(s, i)
  end
end

local function after_single_quote(s, i)
  return (s:find("'", i + 1, true) or #s) + 1
end

--- Behind the comment at `i`.
text.after_comment = after_comment

--- Behind spaces and comments.
function text.after_space(s, i)
  while true do
    i = s:find("[^%s]", i) or #s + 1
    if not s:find(COMMENT, i) then return i end
    i = after_comment(s, i)
  end
end

--- Behind one character that isn't a space, or a whole quoted or hexadecimal text.
function text.after_item(s, i)
  local c = s:sub(i, i)
  if c == '"' then return after_double_quote(s, i) end
  if c == "'" then return after_single_quote(s, i) end
  if s:find(HEX, i) then return after_hex(s, i) end
  return i + 1
end

-- Splitting ------------------------------------------------------------------------

local PLAIN = "^[^%s/'\"\\,]+()" -- nothing in it needs a look

-- `s` from `i` on without comments and outer spaces, up to a comma if `to_comma`; and
-- where that ends. A comment, with the spaces around it, becomes one space.
local function clean(s, i, to_comma)
  i = text.after_space(s, i)
  local parts, first, last, cut = {}, i, i - 1, false
  while i <= #s do
    if s:find("^%s", i) then
      i = i + 1
    elseif s:find(COMMENT, i) then
      i, cut = after_comment(s, i), true
    elseif to_comma and s:find("^,", i) then
      break
    else
      if cut then parts[#parts + 1], first, cut = s:sub(first, last), i, false end
      i = s:match(PLAIN, i) or text.after_item(s, i)
      last = i - 1
    end
  end
  parts[#parts + 1] = s:sub(first, last)
  return table.concat(parts, " "), i
end

--- `s` without comments and outer spaces.
function text.uncomment(s)
  return (clean(s, 1))
end

--- The argument of the configuration string `s` that begins at `i`, without comments,
--- and the position behind the comma after it; nil if there is none: an empty last one
--- isn't.
function text.argument_at(s, i)
  if i > #s then return nil end
  local argument, comma = clean(s, i, true)
  if argument == "" and comma > #s then return nil end
  return argument, comma + 1
end

--- The arguments of the configuration string `s`, a list: it splits at commas.
function text.arguments(s)
  local list = {}
  local argument, i = text.argument_at(s, 1)
  while argument do
    meanwhile.step()
    list[#list + 1] = argument
    argument, i = text.argument_at(s, i)
  end
  return list
end

local function after_word(s, i)
  while i <= #s and not s:find("^%s", i) and not s:find(COMMENT, i) do
    i = s:match(PLAIN, i) or text.after_item(s, i)
  end
  return i
end

--- The first word of `s` (with its quotes), and the rest; "" if there is no word.
function text.first_word(s)
  local first = text.after_space(s, 1)
  local behind = after_word(s, first)
  return s:sub(first, behind - 1), s:sub(text.after_space(s, behind))
end

--- The words of `s` (with their quotes), a list.
function text.words(s)
  local list, i = {}, text.after_space(s, 1)
  while i <= #s do
    local behind = after_word(s, i)
    list[#list + 1] = s:sub(i, behind - 1)
    i = text.after_space(s, behind)
  end
  return list
end

-- Quoting --------------------------------------------------------------------------

local ESCAPES = {a = "\a", b = "\b", f = "\f", n = "\n", r = "\r",
  t = "\t", v = "\v", ["\n"] = "", ["\r"] = ""}

-- The bytes of \<...> at `i`, and the position behind it. An odd digit is left out.
local function hex_bytes(s, i)
  local behind = after_hex(s, i)
  local digits = {}
  i = i + 2
  while i < behind do
    if s:find(COMMENT, i) then
      i = after_comment(s, i)
    else
      digits[#digits + 1] = s:match("^%x", i)
      i = i + 1
    end
  end
  local bytes = table.concat(digits):gsub("(%x)(%x?)", function (high, low)
    return low == "" and "" or string.char(tonumber(high .. low, 16))
  end)
  return bytes, behind
end

-- What the escape at `i` stands for, and the position behind it.
local function escape(s, i)
  if s:find(HEX, i) then return hex_bytes(s, i) end
  local octal, behind = s:match("^\\([0-7][0-7]?[0-7]?)()", i)
  if octal then return string.char(tonumber(octal, 8) % 256), behind end
  octal, behind = s:match("^\\x(%x*)()", i)
  if octal then return string.char((tonumber(octal:sub(-2), 16) or 0) % 256), behind end
  local c = s:sub(i + 1, i + 1)
  if c == "" then return "\\", i + 1 end
  return ESCAPES[c] or c, after_backslash(s, i)
end

--- What `s` stands for: without comments, quotes and escapes.
function text.unquote(s)
  s = text.uncomment(s)
  if not s:find("['\"\\]") then return s end
  local parts, quote, i = {}, nil, 1
  while i <= #s do
    local c = s:sub(i, i)
    if (c == '"' or c == "'") and (not quote or quote == c) then
      quote, i = not quote and c or nil, i + 1
    elseif c == "\\" and (quote == '"' or not quote and s:find(HEX, i)) then
      parts[#parts + 1], i = escape(s, i)
    else
      local plain, behind = s:match("^([^'\"\\]+)()", i)
      parts[#parts + 1], i = plain or c, behind or i + 1
    end
  end
  return table.concat(parts)
end

local QUOTED = {["\\"] = "\\\\", ['"'] = '\\"', ["$"] = "\\$", ["\t"] = "\\t",
  ["\r"] = "\\r", ["\n"] = "\\n"}

--- `s` in double quotes, so that unquote() gives it back. Newlines stay newlines if
--- `newlines`.
function text.quote(s, newlines)
  return '"' .. s:gsub('[%z\1-\31\127-\255\\"$]', function (c)
    if c == "\n" and newlines then return c end
    return QUOTED[c] or ("\\%03o"):format(c:byte())
  end) .. '"'
end

--- Is `s` one word without anything that needs quotes?
function text.is_word(s)
  return s:find("^[%w!#$%%&()*+%-./:;<=>?@%[%]^_`{|}~]+$") ~= nil
end

--- Is `s` a name that elements may have?
function text.is_name(s)
  return s:find("^[%w_@/]+$") ~= nil and not s:find("^/") and not s:find("/$")
    and not s:find("//", 1, true)
end

return text
