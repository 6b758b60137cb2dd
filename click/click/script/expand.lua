-- SPDX-License-Identifier: Apache-2.0
-- Variables within text: $x, ${x} and $(handler arguments) are replaced by what they
-- stand for, but not in comments or between single quotes. Within double quotes, what
-- comes in is escaped so that it stays one text.

local text = require("click.language.text")

local expand = {}

local DEEPEST = 10 -- variables within the names of variables
local SKIPPED = {['"'] = true, ["'"] = true} -- whose quotes count within $(...)

-- The position of the parenthesis that closes the one before `i`, or nil; and whether
-- something there is to be replaced.
local function closing(s, i)
  local level, quote, nested = 1, nil, false
  while i <= #s do
    local c = s:sub(i, i)
    if c == "\\" and quote ~= "'" then
      i = i + 1
    elseif SKIPPED[c] then
      if not quote then quote = c elseif quote == c then quote = nil end
    elseif c == "$" and quote ~= "'" then
      nested = true
    elseif not quote and (c == "(" or c == ")") then
      level = level + (c == "(" and 1 or -1)
      if level == 0 then return i, nested end
    end
    i = i + 1
  end
end

-- The reference at the dollar sign at `i`: its name, its kind, the position behind it,
-- and whether the name is to be expanded itself. Nothing if there is none; false if it
-- isn't closed.
local function reference(s, i)
  local name, behind = s:match("^([%w_]+)()", i + 1)
  if not name then name, behind = s:match("^([?#$])()", i + 1) end
  if name then return name, "name", behind, false end
  local opening = s:sub(i + 1, i + 1)
  if opening == "{" then
    name, behind = s:match("^([^}]*)}()", i + 2)
    if not name then return false end
    return name, "{", behind, name:find("$", 1, true) ~= nil
  elseif opening == "(" then
    local close, nested = closing(s, i + 2)
    if not close then return false end
    return s:sub(i + 2, close - 1), "(", close + 1, nested
  end
end

-- `value` as it stands in a text: `quoted` is the quote around it, or nil.
local function in_place(value, quoted, quote_all)
  if quoted == '"' then return text.quote(value):sub(2, -2) end
  return quote_all and text.quote(value) or value
end

-- What stands for the reference, whose text from `i` is `s`.
local function replacement(s, i, ref, state)
  local name = ref.name
  if ref.nested then name = expand.text(name, state.resolve, false, state.depth + 1) end
  local value = state.resolve(name, ref.kind)
  if value then return in_place(value, state.quote, state.quote_all) end
  if not ref.nested then return s:sub(i, ref.behind - 1) end
  return s:sub(i, i + 1) .. name .. s:sub(ref.behind - 1, ref.behind - 1)
end

-- Behind what nothing is replaced in at `i`; follows quotes.
local function step(s, i, state)
  local c = s:sub(i, i)
  if c == "\\" and state.quote == '"' then
    return i + 2
  elseif c == "'" or c == '"' then
    if not state.quote then
      state.quote = c
    elseif state.quote == c then
      state.quote = nil
    end
  elseif c == "/" and not state.quote and s:find("^/[/*]", i) then
    return text.after_comment(s, i)
  end
  return i + 1
end

--- `s` with all references replaced. resolve(name, kind) returns what one stands for,
--- or nil: then it stays. `kind` is "name", "{" (${name}) or "(" ($(name)). With
--- `quote_all`, what comes in outside of quotes gets some.
function expand.text(s, resolve, quote_all, depth)
  if not s:find("$", 1, true) then return s end
  local state = {resolve = resolve, quote_all = quote_all, depth = depth or 0}
  local parts, from, i = {}, 1, 1
  while i <= #s do
    local name, kind, behind, nested
    if s:byte(i) == 36 and state.quote ~= "'" and state.depth <= DEEPEST then
      name, kind, behind, nested = reference(s, i)
    end
    if name == false then break end
    if name then
      parts[#parts + 1] = s:sub(from, i - 1)
      parts[#parts + 1] = replacement(s, i,
        {name = name, kind = kind, behind = behind, nested = nested}, state)
      from, i = behind, behind
    else
      i = step(s, i, state)
    end
  end
  parts[#parts + 1] = s:sub(from)
  return table.concat(parts)
end

return expand
