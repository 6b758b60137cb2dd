-- SPDX-License-Identifier: Apache-2.0
-- C types made from other C types. Each is made once: LuaJIT has 65,536 type numbers
-- and never takes one back.

local ffi = require("ffi")

local ctype = {}

local derived = {} -- C declarator -> type

local function derive(element, declarator)
  -- The type number goes into the text, because busted's ffi.typeof remembers
  -- results by their text alone.
  local text = ("$ /* %d */ %s"):format(tonumber(element), declarator)
  derived[text] = derived[text] or ffi.typeof(text, element)
  return derived[text]
end

--- The type "pointer to `element`" (a C type or its text).
function ctype.pointer_to(element)
  return derive(ffi.typeof(element), "*")
end

--- The type "reference to `element`": what a pointer yields when indexed.
function ctype.reference_to(element)
  return derive(ffi.typeof(element), "&")
end

--- The type "array of `count` `element`s".
function ctype.array_of(element, count)
  return derive(ffi.typeof(element), ("[%d]"):format(count))
end

return ctype
