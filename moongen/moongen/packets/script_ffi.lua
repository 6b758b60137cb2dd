-- SPDX-License-Identifier: Apache-2.0
-- The FFI as scripts see it: in C declarations and types, libmoon's names mean ours
-- (struct rte_mbuf is struct packet). What a text means is kept, so that a loop that
-- casts by text is as fast as one that casts by a type.

local ffi = require("ffi")
local luajit = require("core.luajit")
require("moongen.packets.headers")

local script_ffi = {}

-- What a name of a struct, union or enum in a script's text means.
local NAMES = {
  rte_mbuf = "struct packet", mac_address = "struct perigee_mac",
  ip4_address = "struct perigee_ip4", ip6_address = "struct perigee_ip6",
}

local KINDS = {"struct", "union", "enum"}
local ATTRIBUTE = "__attribute__%s*%b()"

local function renamed(kind, attribute, name)
  local meant = NAMES[name]
  if not meant then return nil end
  local its_kind, its_name = meant:match("^(%a+) (.*)$")
  if attribute == "" and its_kind ~= kind then return meant end
  return its_kind .. " " .. attribute .. its_name
end

--- The C text under our names.
local function translate(text)
  for _, kind in ipairs(KINDS) do
    text = text:gsub("%f[%w_]" .. kind .. "(%s+)([%a_][%w_]*)", function (_, name)
      return renamed(kind, "", name)
    end)
    text = text:gsub("%f[%w_]" .. kind .. "%s*(" .. ATTRIBUTE .. "%s*)([%a_][%w_]*)",
      function (attribute, name) return renamed(kind, attribute, name) end)
  end
  return text
end

-- Of ours, those that a script may declare as libmoon does, and mean ours.
local LIBMOONS = {lock = true, barrier = true, namespace = true, mempool = true,
  packet = true}
local defined = {} -- names that scripts have defined

-- A script may define a struct under a name that one of ours has: then the name means
-- the script's from now on.
local function make_way(text)
  text = text:gsub(ATTRIBUTE, " ")
  for kind, name in text:gmatch("(%a+)%s+([%a_][%w_]*)%s*{") do
    if (kind == "struct" or kind == "union" or kind == "enum") and not NAMES[name]
      and not defined[name] and not LIBMOONS[name] and not name:match("^rte_") then
      local ok, ctype = pcall(ffi.typeof, kind .. " " .. name)
      if ok and ffi.sizeof(ctype) then
        NAMES[name] = ("%s script_%s"):format(kind, name)
      end
      defined[name] = true
    end
  end
end

local types = {} -- text -> C type. Those with parameters ($) are not kept.

local function add(text)
  local ok, ctype = pcall(ffi.typeof, translate(text))
  if not ok then error(ctype, 4) end -- at the caller of what has called type_of
  types[text] = ctype
  return ctype
end

-- The first argument of a function of script_ffi's: what a text means, or what it is.
local function type_of(what)
  if type(what) ~= "string" then return what end
  local ctype = types[what] or add(what)
  return ctype
end

for name, member in pairs(ffi) do script_ffi[name] = member end

--- ffi.C, with functions of libmoon's and DPDK's that are Lua here: modules add them.
script_ffi.C = setmetatable({}, {__index = ffi.C})

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

local function without_comments(text)
  return (text:gsub("/%*.-%*/", " "):gsub("//[^\n]*", ""))
end

--- ffi.cdef; what has been declared before stays as it is.
function script_ffi.cdef(text, ...)
  if type(text) ~= "string" then
    local _, why = pcall(ffi.cdef, text, ...)
    luajit.fail(why)
  end
  text = without_comments(text)
  make_way(text)
  text = translate(text)
  local ok, message = pcall(ffi.cdef, text, ...)
  if ok then return end
  if not is_known(message) then error(message, 2) end
  each_declaration(text, function (declaration)
    local fine, why = pcall(ffi.cdef, declaration)
    if not fine and not is_known(why) then error(why, 4) end
  end)
end

function script_ffi.typeof(what, ...)
  if type(what) == "string" and select("#", ...) == 0 then return (type_of(what)) end
  if type(what) == "string" then what = translate(what) end
  local ok, ctype = pcall(ffi.typeof, what, ...)
  if not ok then luajit.fail(ctype) end
  return ctype
end

local cast, new, istype, sizeof = ffi.cast, ffi.new, ffi.istype, ffi.sizeof

function script_ffi.cast(what, ...)
  local ok, result = pcall(cast, type_of(what), ...)
  if not ok then luajit.fail(result) end
  return result
end

function script_ffi.new(what, ...)
  local ok, result = pcall(new, type_of(what), ...)
  if not ok then luajit.fail(result) end
  return result
end

function script_ffi.istype(what, ...)
  local ok, result = pcall(istype, type_of(what), ...)
  if not ok then luajit.fail(result) end
  return result
end

function script_ffi.sizeof(what, ...)
  local ok, result = pcall(sizeof, type_of(what), ...)
  if not ok then luajit.fail(result) end
  return result
end

function script_ffi.offsetof(what, ...)
  local ok, at, bit, bits = pcall(ffi.offsetof, type_of(what), ...)
  if not ok then luajit.fail(at) end
  if bit then return at, bit, bits end
  if at then return at end
end

function script_ffi.alignof(what)
  local ok, result = pcall(ffi.alignof, type_of(what))
  if not ok then luajit.fail(result) end
  return result
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

function script_ffi.metatype(what, metatable, ...)
  local ctype = type_of(what)
  if type(metatable) == "table" and add_to_ours(ctype, metatable) then return ctype end
  local ok, result = pcall(ffi.metatype, ctype, metatable, ...)
  if not ok then luajit.fail(result) end
  return result
end

return script_ffi
