-- SPDX-License-Identifier: Apache-2.0
-- Lua 5.2's __len, __pairs and __ipairs for code written for a LuaJIT that has them:
-- Debian's hasn't. pairs and ipairs are functions, and replaced; `#` is an operator
-- that ignores a table's metatable, so in the code's text `#x` becomes `__len(x)`.

local luajit = require("core.luajit")

local lua52 = {}

-- The length operator -----------------------------------------------------

-- The end of the string or comment that opens with "[", some "=" and "[" at `at`, or
-- nil if none does.
local function long_bracket(text, at)
  local equals = text:match("^%[(=*)%[", at)
  if not equals then return nil end
  local _, stop = text:find("]" .. equals .. "]", at + 2 + #equals, true)
  return stop or #text
end

-- The end of the string that opens with a quote at `at`.
local function quoted(text, at)
  local quote = text:sub(at, at)
  local i = at + 1
  while i <= #text do
    local c = text:sub(i, i)
    if c == quote or c == "\n" then return i end
    i = i + (c == "\\" and 2 or 1)
  end
  return #text
end

-- The end of the comment at `at`, which opens with "--".
local function comment(text, at)
  return long_bracket(text, at + 2) or (text:find("\n", at, true) or #text + 1) - 1
end

-- The kind and end of the token at `at`: "space" (comments too), "name", "string",
-- "number" or the character itself.
local function token(text, at)
  local c = text:sub(at, at)
  if c:match("%s") then return "space", select(2, text:find("^%s+", at)) end
  if text:find("^%-%-", at) then return "space", comment(text, at) end
  if c:match("[%a_]") then return "name", select(2, text:find("^[%w_]+", at)) end
  if c == '"' or c == "'" then return "string", quoted(text, at) end
  local stop = c == "[" and long_bracket(text, at)
  if stop then return "string", stop end
  if c:match("%d") then return "number", select(2, text:find("^[%w_.]+", at)) end
  return c, at
end

-- Behind the spaces at `at`.
local function skip(text, at)
  while at <= #text do
    local kind, stop = token(text, at)
    if kind ~= "space" then break end
    at = stop + 1
  end
  return at
end

local CLOSING = {["("] = ")", ["["] = "]", ["{"] = "}"}

-- The end of what the bracket at `at` encloses.
local function enclosed(text, at)
  local depth = 0
  while at <= #text do
    local kind, stop = token(text, at)
    if CLOSING[kind] then depth = depth + 1 end
    if kind == ")" or kind == "]" or kind == "}" then depth = depth - 1 end
    if depth == 0 then return stop end
    at = stop + 1
  end
  return #text
end

-- The end of the suffix (.name, [x], :name, arguments) at `at`, or nil.
local function suffix(text, at)
  local kind, stop = token(text, at)
  if kind == "string" then return stop end
  if CLOSING[kind] then return enclosed(text, at) end
  local joined = kind == ":" or kind == "." and text:sub(at + 1, at + 1) ~= "."
  if not joined then return nil end
  kind, stop = token(text, skip(text, at + 1))
  return kind == "name" and stop or nil
end

-- The end of the operand that begins at `at`.
local function operand(text, at)
  local kind, stop = token(text, at)
  if kind == "#" or kind == "-" then return operand(text, skip(text, at + 1)) end
  if CLOSING[kind] then stop = enclosed(text, at) end
  while true do
    local more = suffix(text, skip(text, stop + 1))
    if not more then return stop end
    stop = more
  end
end

--- The Lua code `text` with `__len(x)` for `#x`; the lines stay where they are.
function lua52.lengths(text)
  if not text:find("#", 1, true) then return text end
  local out, at, copied = {}, 1, 1
  if text:sub(1, 2) == "#!" then at = text:find("\n", 1, true) or #text + 1 end
  while true do
    at = text:find("[#\"'%-%[]", at) -- the operator, or what may hold one that isn't
    if not at then break end
    local kind, stop = token(text, at)
    if kind == "#" then
      local first = skip(text, at + 1)
      local last = operand(text, first)
      out[#out + 1] = text:sub(copied, at - 1)
      out[#out + 1] = "__len(" .. lua52.lengths(text:sub(at + 1, last)) .. ")"
      copied, stop = last + 1, last
    end
    at = stop + 1
  end
  out[#out + 1] = text:sub(copied)
  return table.concat(out)
end

-- The functions -------------------------------------------------------------

local function metamethod(value, name)
  local meta = debug.getmetatable(value) -- also of those that hide it (__metatable)
  return type(meta) == "table" and rawget(meta, name)
end

--- The length of `value`, as `#value` is in Lua 5.2.
function lua52.len(value)
  if type(value) == "table" then
    local own = metamethod(value, "__len")
    if own then return (own(value)) end
  end
  return #value
end

--- The length of a table or string, whatever its metatable says. (A LuaJIT with Lua
--- 5.2's library has it; its `#` doesn't do.)
lua52.rawlen = rawget(_G, "rawlen") or function (value)
  if type(value) ~= "table" and type(value) ~= "string" then
    luajit.fail(("bad argument #1 to '?' (table expected, got %s)"):format(type(value)))
  end
  return #value
end

-- A stand-in for `plain` (pairs, ipairs) that asks the metatable first. No tail
-- calls: LuaJIT allows a trace few of them.
local function iterator(plain, name)
  return function (...)
    local value = ...
    if type(value) ~= "table" then
      local ok, next_one, state, first = pcall(plain, ...)
      if not ok then luajit.fail(next_one) end
      return next_one, state, first
    end
    local next_one, state, first = (metamethod(value, name) or plain)(value)
    return next_one, state, first
  end
end

local provided = false

--- Make them globals: __len, rawlen, and pairs and ipairs in the place of Lua 5.1's;
--- and the library's functions as they are in 5.2 (core.lua52_library). Snabb's modules
--- are fields of globals, too: code of it says core.app.now, without require.
function lua52.provide()
  if provided then return end
  provided = true
  rawset(_G, "__len", lua52.len)
  rawset(_G, "rawlen", lua52.rawlen)
  rawset(_G, "pairs", iterator(pairs, "__pairs"))
  rawset(_G, "ipairs", iterator(ipairs, "__ipairs"))
  rawset(_G, "core", setmetatable({}, {
    __index = function (_, name) return package.loaded["core." .. name] end,
  }))
  require("core.lua52_library").provide()
end

return lua52
