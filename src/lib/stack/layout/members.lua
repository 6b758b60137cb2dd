-- SPDX-License-Identifier: Apache-2.0
-- A header's members as programs read and assign them: pkt.ip4.tTL, pkt.ip4.src.
-- LuaJIT asks no metatable about a member of the C struct, so these have a name of
-- their own there (`slot`), and the functions here translate. A value of the wrong type
-- gets a sentence. Compiled code has the names as constants: it is that of a plain
-- member.

local ffi = require("ffi")
local constant = require("lib.stack.layout.cells").constant

-- Compiling what runs a few times takes longer than running it.
jit.off(true, true)

local members = {}

local ADDRESSES = {
  ip4 = {"struct perigee_ip4", "IPv4"},
  ip6 = {"struct perigee_ip6", "IPv6"},
  mac = {"struct perigee_mac", "Ethernet"},
}
local NAMED = {table = true, ["function"] = true, thread = true, userdata = true}

local function text(value)
  local kind = type(value)
  if kind == "string" then return "'" .. value .. "'" end
  if NAMED[kind] then return "a " .. kind end
  if kind == "cdata" and not tonumber(value) then
    return tostring(ffi.typeof(value)):gsub("^ctype", "cdata")
  end
  return tostring(value)
end

local PART = {kind = "part"} -- stands for the fields of what is of variable size

local function first_field(cell)
  return cell.fields[1] or PART
end

-- What the cell's member takes, and what sets the field instead.
local function wanted(cell)
  local field = first_field(cell)
  local set = #cell.fields == 1 and "set" .. field.name
  if field == PART then
    return nil, cell.member .. "[i] are its bytes"
  elseif field.kind == "ip6" then
    return "another IPv6 address", set .. "String takes text"
  elseif ADDRESSES[field.kind] then
    return ("another %s address"):format(ADDRESSES[field.kind][2]),
      ("%s takes numbers too, and %sString text"):format(set, set)
  elseif field.kind == "bytes" then
    return ("a string of %d bytes"):format(cell.bytes)
  end
  return cell.whole and "a number", set and set .. " takes the field's value"
end

-- Source of the test that `v` may be assigned at once. Other values are tried under
-- pcall: LuaJIT takes booleans for numbers, and arrays for arrays.
local function accepted(cell)
  local kind = first_field(cell).kind
  if ADDRESSES[kind] then
    return ("istype(%s, v)"):format(kind)
  end
  return cell.whole and kind ~= "bytes" and "type(v) == 'number'" or "false"
end

local function sentence(title, cell, value)
  local takes, hint = wanted(cell)
  local said = takes and ("takes %s, not %s"):format(takes, text(value))
    or ("can't be set to %s"):format(text(value))
  return ("%s.%s %s%s"):format(title, cell.member, said, hint and "; " .. hint or "")
end

local function assign(self, slot, value)
  self[slot] = value
end

-- LuaJIT takes an empty table for zeros, and of a short string what there is.
local function sets_all(cell, value)
  if type(value) == "string" then
    return first_field(cell).kind == "bytes" and #value == cell.bytes
  end
  return type(value) ~= "table"
end

-- The sentence, unless LuaJIT can convert the value.
local function refuser(cells, title)
  return function (self, i, value)
    local cell = cells[i]
    if cell.fields[1] and sets_all(cell, value)
        and pcall(assign, self, cell.slot, value) then
      return
    end
    error(sentence(title, cell, value), 3)
  end
end

local function source(cells)
  local lines = {
    "local M, refuse, others, istype, type, ip4, ip6, mac = ...",
    "return function (self, k)",
    "local m = M[k]",
    "if type(m) == 'string' then return self[m] end",
    "return m end, function (self, k, v)",
  }
  for i, cell in ipairs(cells) do
    lines[#lines + 1] = ("if k == %q then"):format(cell.member)
    lines[#lines + 1] = ("if %s then self.%s = v"):format(accepted(cell), cell.slot)
    lines[#lines + 1] = ("else refuse(self, %d, v) end return end"):format(i)
  end
  lines[#lines + 1] = "others(self, k) end"
  return table.concat(lines, "\n")
end

--- Functions for __index and __newindex of the layout's C type. Adds its members to
--- `methods`; `others` is called with what is assigned to and there isn't.
function members.of(layout, title, methods, others)
  local cells = layout.cells
  for _, cell in ipairs(cells) do methods[cell.member] = cell.slot end
  local chunk = assert(loadstring(source(cells), "=" .. title))
  return chunk(constant(methods), refuser(cells, title), others, ffi.istype, type,
    ffi.typeof(ADDRESSES.ip4[1]), ffi.typeof(ADDRESSES.ip6[1]),
    ffi.typeof(ADDRESSES.mac[1]))
end

return members
