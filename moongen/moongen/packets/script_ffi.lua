-- SPDX-License-Identifier: Apache-2.0
-- The FFI as scripts see it: in C declarations and types, libmoon's names mean ours
-- (struct rte_mbuf is struct packet). What a text means is kept, so that a loop that
-- casts by text is as fast as one that casts by a type.

local ffi = require("ffi")
require("moongen.packets.headers")

local script_ffi = {}

local NAMES = {
  ["struct%s+rte_mbuf"] = "struct packet",
  ["union%s+mac_address"] = "struct perigee_mac",
  ["union%s+ip4_address"] = "struct perigee_ip4",
  ["union%s+ip6_address"] = "struct perigee_ip6",
}

--- The C text under our names.
local function translate(text)
  for pattern, name in pairs(NAMES) do
    text = text:gsub(pattern .. "%f[^%w_]", name)
  end
  return text
end

-- text -> C type. Those with parameters ($) are not kept.
local types = setmetatable({}, {__index = function (known, text)
  local ctype = ffi.typeof(translate(text))
  rawset(known, text, ctype)
  return ctype
end})

local function type_of(what)
  if type(what) == "string" then return types[what] end
  return what
end

for name, member in pairs(ffi) do script_ffi[name] = member end

-- Declared before: by another module of the script's, or by us, under the same name.
local function is_known(message)
  return tostring(message):find("attempt to redefine", 1, true) ~= nil
end

-- Declarations, one by one, so that one that is known doesn't take others with it.
local function each_declaration(text, action)
  local depth, first = 0, 1
  for at, char in text:gmatch("()([{};])") do
    if char == "{" then depth = depth + 1
    elseif char == "}" then depth = depth - 1
    elseif depth == 0 then
      action(text:sub(first, at))
      first = at + 1
    end
  end
  if text:find("%S", first) then action(text:sub(first)) end
end

-- What a script declares under a name of ours, but for libmoon's, is another type: its
-- name has "script_" in front from then on.
local LIBMOONS = {lock = true, barrier = true, namespace = true, mempool = true,
  packet = true}
local declared = {} -- by scripts

local function rename_clashes(text)
  for keyword, name in text:gmatch("(%a+)%s+([%a_][%w_]*)%s*%f[{]") do
    local kind = keyword == "struct" or keyword == "union" or keyword == "enum"
    local ours = kind and not LIBMOONS[name] and not declared[name]
      and not name:match("^rte_") and pcall(ffi.typeof, keyword .. " " .. name)
    if ours then
      NAMES[keyword .. "%s+" .. name] = ("%s script_%s"):format(keyword, name)
    end
    if kind then declared[name] = true end
  end
  return translate(text)
end

local function without_comments(text)
  return (text:gsub("/%*.-%*/", " "):gsub("//[^\n]*", ""))
end

--- ffi.cdef; what has been declared before stays as it is.
function script_ffi.cdef(text, ...)
  text = rename_clashes(translate(without_comments(text)))
  local ok, message = pcall(ffi.cdef, text, ...)
  if ok then return end
  if not is_known(message) then error(message, 2) end
  each_declaration(text, function (declaration)
    local fine, why = pcall(ffi.cdef, declaration)
    if not fine and not is_known(why) then error(why, 4) end
  end)
end

function script_ffi.typeof(what, ...)
  if type(what) == "string" and select("#", ...) == 0 then return types[what] end
  if type(what) == "string" then what = translate(what) end
  return ffi.typeof(what, ...)
end

local cast, new, istype, sizeof = ffi.cast, ffi.new, ffi.istype, ffi.sizeof

function script_ffi.cast(what, value)
  return (cast(type_of(what), value))
end

function script_ffi.new(what, ...)
  return (new(type_of(what), ...))
end

function script_ffi.istype(what, value)
  return (istype(type_of(what), value))
end

function script_ffi.sizeof(what, n)
  if n ~= nil then return sizeof(type_of(what), n) end
  return (sizeof(type_of(what)))
end

function script_ffi.offsetof(what, field)
  return ffi.offsetof(type_of(what), field)
end

function script_ffi.alignof(what)
  return ffi.alignof(type_of(what))
end

-- Types that a script may give methods to although they have ours: its are added.
local function add_to_ours(ctype, metatable)
  if ctype ~= ffi.typeof("struct packet") then return false end
  local packet = require("core.packet")
  local index = metatable.__index
  for name, method in pairs(type(index) == "table" and index or {}) do
    packet.methods[name] = method
  end
  return true
end

function script_ffi.metatype(what, metatable)
  local ctype = type_of(what)
  if add_to_ours(ctype, metatable) then return ctype end
  return ffi.metatype(ctype, metatable)
end

return script_ffi
