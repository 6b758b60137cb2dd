-- SPDX-License-Identifier: Apache-2.0
-- The data of DNS records by type, and the names of types and classes. What isn't known
-- here is a string of bytes, under a name of RFC 3597 (TYPE99, CLASS3).

local address = require("net.address.address")

local rdata = {}

local TYPES = {A = 1, NS = 2, CNAME = 5, SOA = 6, PTR = 12, MX = 15, TXT = 16,
  AAAA = 28, SRV = 33, OPT = 41, ANY = 255}
local CLASSES = {IN = 1, CH = 3, ANY = 255}
local MAX_LABEL, MAX_NAME = 63, 255 -- bytes, RFC 1035, section 2.3.4

local function fault(fmt, ...)
  error(fmt:format(...), 0)
end

local function inverse(names)
  local by_number = {}
  for name, number in pairs(names) do by_number[number] = name end
  return by_number
end
local TYPE_NAMES, CLASS_NAMES = inverse(TYPES), inverse(CLASSES)

--- "MX", or "TYPE99".
function rdata.type_name(number) return TYPE_NAMES[number] or "TYPE" .. number end

--- "IN", or "CLASS99".
function rdata.class_name(number) return CLASS_NAMES[number] or "CLASS" .. number end

local function number_of(name, names, word)
  local number = names[name] or tonumber(name)
    or type(name) == "string" and tonumber(name:match("^" .. word .. "(%d+)$"))
  if not number or number % 1 ~= 0 or number < 0 or number > 65535 then
    fault("'%s' isn't a DNS %s, such as %s or %s99", tostring(name), word:lower(),
      next(names), word)
  end
  return number
end

--- The number of the type ("MX", "TYPE15").
function rdata.type_number(name) return number_of(name, TYPES, "TYPE") end

--- The number of the class ("IN", "CLASS1").
function rdata.class_number(name) return number_of(name, CLASSES, "CLASS") end

--- The number in n bytes; `what` is for the sentence raised if it doesn't fit.
function rdata.number_bytes(value, n, what)
  local number = tonumber(value)
  if not number or number % 1 ~= 0 or number < 0 or number >= 256 ^ n then
    fault("%s of a DNS record is a number from 0 to %.0f, not '%s'", what, 256 ^ n - 1,
      tostring(value))
  end
  local bytes = {}
  for i = n, 1, -1 do bytes[i], number = number % 256, math.floor(number / 256) end
  return string.char(unpack(bytes))
end

--- A length, as two bytes.
function rdata.word(value) return rdata.number_bytes(value, 2, "a length") end

-- The labels of a name, their escapes undone.
local function labels_of(name)
  local labels, label, at = {}, "", 1
  while at <= #name do
    local c = name:sub(at, at)
    local digits = name:match("^\\(%d%d%d)", at)
    if digits and tonumber(digits) < 256 then
      label, at = label .. string.char(tonumber(digits)), at + 4
    elseif c == "\\" then
      label, at = label .. name:sub(at + 1, at + 1), at + 2
    elseif c == "." then
      labels[#labels + 1], label, at = label, "", at + 1
    else
      label, at = label .. c, at + 1
    end
  end
  if label ~= "" then labels[#labels + 1] = label end
  return labels
end

--- The bytes of a domain name; the dot at its end may be left away.
function rdata.name_bytes(name)
  if type(name) ~= "string" or name == "" then
    fault("a DNS name is text such as example.org, not '%s'", tostring(name))
  end
  local parts = {}
  for i, label in ipairs(name == "." and {} or labels_of(name)) do
    if #label == 0 or #label > MAX_LABEL then
      fault("the DNS name '%s' has a part of %d bytes, not 1 to %d", name, #label,
        MAX_LABEL)
    end
    parts[i] = string.char(#label) .. label
  end
  local bytes = table.concat(parts) .. "\0"
  if #bytes > MAX_NAME then fault("the DNS name '%s' has over 255 bytes", name) end
  return bytes
end

-- ---- data by type: {read(reader, length), write(data)} ----

local forms = {}

forms.A = {
  read = function (reader)
    return address.text(reader:string(4))
  end,
  write = function (data)
    local number = address.ip4_number(data)
    if not number then fault("'%s' isn't an IPv4 address", tostring(data)) end
    return rdata.number_bytes(number, 4, "an address")
  end,
}

forms.AAAA = {
  read = function (reader)
    return address.text(reader:string(16))
  end,
  write = function (data)
    return address.ip6(data) or fault("'%s' isn't an IPv6 address", tostring(data))
  end,
}

local a_name = {
  read = function (reader) return reader:name() end,
  write = rdata.name_bytes,
}
forms.NS, forms.CNAME, forms.PTR = a_name, a_name, a_name

forms.TXT = {
  read = function (reader, length)
    local texts, behind = {}, reader.at + length
    while reader.at < behind do
      texts[#texts + 1] = reader:string(reader:number(1))
    end
    return texts
  end,
  write = function (data)
    local parts = {}
    for i, text in ipairs(type(data) == "table" and data or {tostring(data)}) do
      if #text > 255 then fault("a text of a DNS record has up to 255 bytes") end
      parts[i] = string.char(#text) .. text
    end
    return table.concat(parts)
  end,
}

-- A list of {key, bytes; 0 for a name}.
local function structure(members)
  return {
    read = function (reader)
      local data = {}
      for _, member in ipairs(members) do
        data[member[1]] = member[2] == 0 and reader:name() or reader:number(member[2])
      end
      return data
    end,
    write = function (data)
      local parts = {}
      if type(data) ~= "table" then fault("the data of this DNS record is a table") end
      for i, member in ipairs(members) do
        local key, bytes = unpack(member)
        parts[i] = bytes == 0 and rdata.name_bytes(data[key])
          or rdata.number_bytes(data[key], bytes, key)
      end
      return table.concat(parts)
    end,
  }
end

forms.MX = structure{{"preference", 2}, {"exchange", 0}}
forms.SRV = structure{{"priority", 2}, {"weight", 2}, {"port", 2}, {"target", 0}}
forms.SOA = structure{{"mname", 0}, {"rname", 0}, {"serial", 4}, {"refresh", 4},
  {"retry", 4}, {"expire", 4}, {"minimum", 4}}

--- The data of a record of the type (a name), `length` bytes from the reader.
function rdata.read(type_name, reader, length)
  local form = forms[type_name]
  if form then return form.read(reader, length) end
  return reader:string(length)
end

--- The bytes of a record's data.
function rdata.write(type_name, data)
  local form = forms[rdata.type_name(rdata.type_number(type_name))]
  if form then return form.write(data) end
  if data ~= nil and type(data) ~= "string" then
    fault("the data of a DNS record of %s is a string of bytes", tostring(type_name))
  end
  return data or ""
end

return rdata
