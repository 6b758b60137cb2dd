-- SPDX-License-Identifier: Apache-2.0
-- $variables: their scopes, and what becomes of configuration strings that have them.
-- `$a`, `${a}`, `${a-text if there is no a}` and `${a[0]}`, its first word, are
-- replaced outside of single quotes and comments; within double quotes the value is
-- escaped, so that it stays the same text. What isn't defined stays as it is.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local text_of = require("click.language.text")

local variables = {}

local DEEPEST = 10 -- values may have variables, whose values may have variables...

-- Finding them ---------------------------------------------------------------------

-- Behind the parenthesis that closes $(...), whose text begins at `i`, or nil.
local function after_call(s, i)
  local depth, quote = 1, nil
  while true do
    i = s:find("[()'\"\\]", i)
    if not i then return nil end
    local c = s:sub(i, i)
    if c == "\\" then
      if quote ~= "'" then i = i + 1 end
    elseif c == "'" or c == '"' then
      if not quote then quote = c elseif quote == c then quote = nil end
    elseif not quote then
      depth = depth + (c == "(" and 1 or -1)
      if depth == 0 then return i + 1 end
    end
    i = i + 1
  end
end

-- The variable at `i`: its kind, the text within, and the position behind it; nil if
-- there is none; false if it isn't closed.
local function variable_at(s, i)
  local name, behind = s:match("^%$([%w_]+)()", i)
  if name then return "$", name, behind end
  name, behind = s:match("^%$([?#$])()", i)
  if name then return "$", name, behind end
  if s:find("^%${", i) then
    name, behind = s:match("^%${([^}]*)}()", i)
    if not name then return false end
    return "{", name, behind
  elseif s:find("^%$%(", i) then
    behind = after_call(s, i + 2)
    if not behind then return false end
    return "(", s:sub(i + 2, behind - 2), behind
  end
end

local function escaped(value)
  return text_of.quote(value):sub(2, -2)
end

-- What stands for the variable: its value, or itself.
local function replacement(s, first, behind, kind, name, o)
  local nested = kind ~= "$" and name:find("$", 1, true)
  if nested then name = variables.expand(name, o.find, {depth = o.depth + 1}) end
  local value = o.find(name, kind, o.depth)
  if value then
    if o.quote == '"' then return escaped(value) end
    return o.quote_words and '"' .. escaped(value) .. '"' or value
  end
  if not nested then return s:sub(first, behind - 1) end
  return "$" .. kind .. name .. s:sub(behind - 1, behind - 1)
end

--- `s` with the values of its variables. `find(name, kind, depth)` returns the value of
--- one, or nil; the kind is "$", "{" or "(", after how it was written. `options`:
--- quote_words, to put values that aren't within quotes in quotes.
function variables.expand(s, find, options)
  options = options or {}
  local o = {find = find, depth = options.depth or 0, quote_words = options.quote_words}
  if not s:find("$", 1, true) or o.depth > DEEPEST then return s end
  local parts, i, first = {}, 1, 1
  while true do
    i = s:find("[\\'\"/$]", i)
    if not i then break end
    local c = s:sub(i, i)
    local behind = i + 1
    if c == "\\" then
      if o.quote == '"' then behind = i + 2 end
    elseif c == "'" or c == '"' then
      if not o.quote then o.quote = c elseif o.quote == c then o.quote = nil end
    elseif c == "/" then
      if not o.quote and s:find("^/[/*]", i) then
        behind = text_of.after_comment(s, i)
      end
    elseif o.quote ~= "'" then
      local kind, name, after = variable_at(s, i)
      if kind == false then break end
      if kind then
        parts[#parts + 1] = s:sub(first, i - 1)
        parts[#parts + 1] = replacement(s, i, after, kind, name, o)
        first, behind = after, after
      end
    end
    i = behind
  end
  parts[#parts + 1] = s:sub(first)
  return table.concat(parts)
end

-- Scopes ---------------------------------------------------------------------------

local Scope = {}
Scope.__index = Scope

--- A scope within `parent` (nil: the outermost). `depth` counts from 0.
function variables.scope(parent)
  return setmetatable({parent = parent, depth = parent and parent.depth + 1 or 0,
    values = {}, names = {}}, Scope)
end

--- Let `name` have this value (text, in which there may be variables). False if it had
--- one already, which stays, unless `replace`.
function Scope:define(name, value, replace)
  local known = self.values[name] ~= nil
  if not known then table.insert(self.names, name) end
  if not known or replace then self.values[name] = value end
  return not known
end

--- The innermost scope around this one (or itself) that is less deep than `depth`.
function Scope:outside(depth)
  local scope = self
  while scope and scope.depth >= depth do scope = scope.parent end
  return scope
end

--- The value as it was defined, here or further out; nil if there is none.
function Scope:value(name)
  local scope = self
  while scope do
    if scope.values[name] ~= nil then return scope.values[name] end
    scope = scope.parent
  end
end

-- The name in ${...}, which of its words is meant (from 1), and its default.
local function parts_of(inside)
  local name, rest = inside:match("^%s*([%w_]*)%s*(.*)$")
  local index, behind = rest:match("^%[%s*(%d+)%]%s*(.*)$")
  if index then rest = behind end
  return name, index and tonumber(index) + 1, rest:match("^%-(.*)$")
end

--- `s` with the values of this scope's variables and of those around it.
function Scope:expand(s, depth)
  return variables.expand(s, function (name, kind, at)
    return self:find(name, kind, at)
  end, {depth = depth or 0})
end

--- The value of what stands in $name, ${...} or $(...), as variables.expand needs it.
function Scope:find(name, kind, depth)
  local index, default
  if kind == "{" then name, index, default = parts_of(name) end
  local value = self:value(name) or default
  if not value then return nil end
  value = self:expand(value, depth + 1)
  if index and self:value(name) then return text_of.words(value)[index] or "" end
  return value
end

return variables
