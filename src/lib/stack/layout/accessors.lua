-- SPDX-License-Identifier: Apache-2.0
-- The Lua source of a layout's getters and setters. It is loaded twice, for the
-- packet path and for slow code (fill, get, dump, ...): a function that LuaJIT has
-- given up on while slow code called it would stay slow in packet loops too. The slow
-- ones don't call the address types' methods either. Methods that make or take text
-- are slow ones alone. No getter ends in a tail call, hence `return (f(x))`: LuaJIT
-- can't compile a metamethod that does where interpreted code calls it, gives it up
-- after some ten thousand such calls, and then every loop that calls it.

-- Compiling what runs a few times takes longer than running it.
jit.off(true, true)

local accessors = {}

-- Numbers: whole cells as 32-bit integers where they fit, else as uint64_t ---------

local function byte_terms(cell, wide)
  local terms = {}
  for i = 0, cell.bytes - 1 do
    local index = cell.little and cell.bytes - 1 - i or i
    local byte = ("self.%s[%d]"):format(cell.slot, index)
    if wide then byte = ("cast(u64, %s)"):format(byte) end
    local shift = 8 * (cell.bytes - 1 - i)
    terms[#terms + 1] = shift == 0 and byte or ("lshift(%s, %d)"):format(byte, shift)
  end
  return ("bor(%s)"):format(table.concat(terms, ", "))
end

local function load(cell)
  local member = "self." .. cell.slot
  if cell.split then
    return ("bor(rshift(bswap(%s.high), 8), %s.low)"):format(member, member)
  end
  if not cell.whole then return byte_terms(cell, cell.bytes > 4) end
  if cell.bytes == 1 or cell.little then return member end
  if cell.bytes == 2 then return ("rshift(bswap(%s), 16)"):format(member) end
  return ("bswap(%s)"):format(member)
end

local function store(cell, value)
  local member = "self." .. cell.slot
  if cell.split then -- two stores: to join the byte behind would take a load
    return ("local x = %s; %s.high = rshift(bswap(rshift(x, 8)), 16);"
      .. " %s.low = band(x, 255)"):format(value, member, member)
  end
  if not cell.whole then
    local lines = {("local x = %s"):format(value)}
    for i = 0, cell.bytes - 1 do
      local index = cell.little and cell.bytes - 1 - i or i
      local byte = ("rshift(x, %d)"):format(8 * (cell.bytes - 1 - i))
      if cell.bytes > 4 then byte = ("tonumber(band(%s, 255))"):format(byte) end
      lines[#lines + 1] = ("%s[%d] = %s"):format(member, index, byte)
    end
    return table.concat(lines, "; ")
  end
  if cell.bytes == 1 or cell.little then return ("%s = %s"):format(member, value) end
  if cell.bytes == 2 then
    return ("%s = rshift(bswap(%s), 16)"):format(member, value)
  end
  return ("%s = bswap(%s)"):format(member, value)
end

local function mask_text(bits, wide)
  if not wide then return ("0x%x"):format(2 ^ bits - 1) end
  if bits == 64 then return "0xffffffffffffffffULL" end
  local high, low = math.floor(2 ^ (bits - 32)) - 1, 0xffffffff
  if bits < 32 then high, low = 0, 2 ^ bits - 1 end
  return ("0x%x%08xULL"):format(math.max(high, 0), low)
end

local function shift_of(field)
  return field.cell.behind * 8 - (field.offset + field.bits)
end

local function read_narrow(field)
  local cell, bits = field.cell, field.bits
  local value, shift = load(cell), shift_of(field)
  if field.signed then
    local up = 32 - bits - shift
    if up > 0 then value = ("lshift(%s, %d)"):format(value, up) end
    return ("arshift(%s, %d)"):format(value, 32 - bits)
  end
  if bits == 32 then
    return cell.little and value or ("tonumber(cast(u32, %s))"):format(value)
  end
  if shift > 0 then value = ("rshift(%s, %d)"):format(value, shift) end
  if bits + shift == cell.bytes * 8 then return value end
  return ("band(%s, %s)"):format(value, mask_text(bits))
end

local function read_wide(field)
  local value, shift = load(field.cell), shift_of(field)
  if field.signed then
    value = ("arshift(lshift(cast(i64, %s), %d), %d)"):format(value,
      64 - field.bits - shift, 64 - field.bits)
  else
    if shift > 0 then value = ("rshift(%s, %d)"):format(value, shift) end
    if field.bits + shift < field.cell.bytes * 8 then
      value = ("band(%s, %s)"):format(value, mask_text(field.bits, true))
    end
  end
  return field.bits <= 53 and ("tonumber(%s)"):format(value) or value
end

local function write_number(field)
  local cell, bits = field.cell, field.bits
  local wide = cell.bytes > 4
  local value = wide and "cast(u64, v)" or "v"
  if wide and field.signed then value = "cast(u64, cast(i64, v))" end
  if bits == cell.bytes * 8 then return store(cell, value) end
  local shift, mask = shift_of(field), mask_text(bits, wide)
  value = ("band(%s, %s)"):format(value, mask)
  if shift > 0 then value = ("lshift(%s, %d)"):format(value, shift) end
  local rest = ("bnot(lshift(%s, %d))"):format(mask, shift)
  return store(cell, ("bor(band(%s, %s), %s)"):format(load(cell), rest, value))
end

-- Other types -----------------------------------------------------------------------

local SLOW_GET = {
  ip4 = "local b = self.%s.uint8; return b[0] * 2^24 + b[1] * 2^16 + b[2] * 2^8 + b[3]",
  mac = "local b, n = self.%s.uint8, 0; for i = 5, 0, -1 do n = n * 256 + b[i] end"
    .. " return n",
  ip6 = "local c = Ip6(); copy(c, self.%s, 16); return c",
}
local SLOW_SET = {
  ip4 = "if type(v) ~= 'number' then copy(self.%s, v, 4) return end"
    .. " local b = self.%s.uint8; for i = 3, 0, -1 do b[i] = v %% 256"
    .. " v = floor(v / 256) end",
  mac = "if type(v) ~= 'number' then copy(self.%s, v, 6) return end"
    .. " local b = self.%s.uint8; for i = 0, 5 do b[i] = v %% 256"
    .. " v = floor(v / 256) end",
  ip6 = "copy(self.%s, v, 16)",
}

local function bodies(field, slow)
  local member, kind = field.cell.slot, field.kind
  if kind == "uint" then
    local value = field.cell.bytes > 4 and read_wide(field) or read_narrow(field)
    if field.flag then value = value .. " ~= 0" end
    return ("return (%s)"):format(value), write_number(field)
  elseif kind == "bytes" then
    local n = field.bits / 8
    return ("return (str(self.%s, %d))"):format(member, n),
      ("copy(self.%s, exactly(v, %d), %d)"):format(member, n, n)
  elseif slow then
    return (SLOW_GET[kind]:gsub("%%s", member)),
      (SLOW_SET[kind]:gsub("%%s", member):gsub("%%%%", "%%"))
  end
  return ("return (self.%s:get())"):format(member), ("self.%s:set(v)"):format(member)
end

local function default_of(field)
  if type(field.default) == "number" then return ("%.17g"):format(field.default) end
  if field.default == true then return "1" end
  if field.kind == "uint" then return field.bits == 1 and "1" or "0" end
end

-- What makes the argument `v` of a number's setter a number. LuaJIT knows its type:
-- in a loop the tests cost nothing.
local function accept(field)
  local text = ("if v == nil then v = %s "):format(default_of(field))
  if field.bits == 1 then
    text = text .. "elseif v == true then v = 1 elseif v == false then v = 0 "
  end
  local wide = field.cell.bytes > 4 and " and not istype(u64, v)" or ""
  return text .. ("elseif type(v) ~= 'number'%s then v = number(v, %q) end "):format(
    wide, field.name)
end

local function add(lines, fmt, ...)
  lines[#lines + 1] = fmt:format(...)
end

-- A method that is called without its header, h.setTTL(64), says so. In a loop the
-- type is known, so the test is gone from compiled code. (Slow code's get and set don't
-- ask.)
local function own(name)
  return ("if not (istype(H, self) or istype(G, self)) then wrong(self, %q) end ")
    :format(name)
end

local function add_strings(lines, field, name)
  if field.kind == "uint" or field.kind == "bytes" then
    return add(lines,
      "function M.get%sString(self) %sreturn show(%q, M.get%s(self)) end", name,
      own("get" .. name .. "String"), field.name, name)
  end
  add(lines, "function M.get%sString(self) %sreturn self.%s:getString() end",
    name, own("get" .. name .. "String"), field.cell.slot)
  add(lines, "function M.set%sString(self, v) %sself.%s:setString(v) end",
    name, own("set" .. name .. "String"), field.cell.slot)
end

local function add_field(lines, field, slow)
  local get, set = bodies(field, slow)
  local accepted = field.kind == "uint" and accept(field) or ""
  for _, name in ipairs{field.name, unpack(field.aliases or {})} do
    add(lines, "function M.get%s(self) %s%s end", name,
      slow and "" or own("get" .. name), get)
    add(lines, "function M.set%s(self, v) %s%s%s end", name,
      slow and "" or own("set" .. name), accepted, set)
    if field.bits == 1 then
      add(lines, "function M.unset%s(self) M.set%s(self, 0) end", name, name)
    end
    if slow then add_strings(lines, field, name) end
  end
end

--- The source of a chunk that returns the methods of the layout's fields. Its
--- arguments are those that lib.stack.ctypes gives it.
function accessors.source(layout, slow)
  local lines = {
    "local band, bor, bnot, lshift, rshift, arshift, bswap, cast, copy, str, u32, u64,"
      .. " i64, Ip6, exactly, show, floor, istype, number, H, G, wrong = ...",
    "local tonumber, type = tonumber, type",
    "local M = {}",
  }
  for _, field in ipairs(layout.fields) do
    field.cell.little = field.order == "le"
    add_field(lines, field, slow)
  end
  lines[#lines + 1] = "return M"
  return table.concat(lines, "\n")
end

return accessors
