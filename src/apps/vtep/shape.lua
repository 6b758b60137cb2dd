-- SPDX-License-Identifier: Apache-2.0
-- Which names the settings of a tunnel end point have and what kind of value each
-- takes. Whether the values make sense together is apps.vtep.settings' concern.

local sorted_keys = require("core.config").sorted_keys
local failure = require("core.failure")
local spelling = require("core.lib.spelling")

local shape = {}

--- A value as a sentence shows it.
shape.shown = failure.shown
local shown = shape.shown

local function refuse(what, wanted, value)
  failure.usage("%s is %s, not %s", what, wanted, shown(value))
end

-- A check that the value is of this Lua type.
local function of(kind, wanted)
  return function (value, what)
    if type(value) ~= kind then refuse(what, wanted, value) end
  end
end

local text = of("string", "text in quotes")
local number = of("number", "a number")
local boolean = of("boolean", "true or false")

local function table_of(value, what, example)
  if type(value) ~= "table" then
    refuse(what, ("a table, such as %s"):format(example), value)
  end
end

-- A check of lists whose elements pass `item`.
local function list(item, example)
  return function (value, what)
    table_of(value, what, example)
    for key in pairs(value) do
      if type(key) ~= "number" or key % 1 ~= 0 or key < 1 or key > #value then
        failure.usage("%s is a list, such as %s; it has %s", what, example,
          type(key) == "string" and "a field " .. shown(key) or "a gap")
      end
    end
    for i, element in ipairs(value) do item(element, ("%s[%d]"):format(what, i)) end
  end
end

-- The names there are and, of one that there isn't, the nearest.
local function check_fields(value, what, fields)
  for name, field in pairs(value) do
    if type(name) ~= "string" then
      failure.usage("%s has a value without a name; write NAME = VALUE", what)
    elseif not fields[name] then
      local hint = spelling.hint(name:sub(1, failure.MOST_SHOWN), sorted_keys(fields))
      failure.usage("%s has no field %s%s", what, shown(name),
        hint ~= "" and hint or "; it has " .. table.concat(sorted_keys(fields), ", "))
    end
    fields[name](field, name)
  end
end

-- A check of tables with these fields, of which `needed` must be there.
local function record(fields, needed, example)
  return function (value, what)
    table_of(value, what, example)
    local within = {}
    for name, check in pairs(fields) do
      within[name] = function (field) check(field, what .. "." .. name) end
    end
    check_fields(value, what, within)
    for _, name in ipairs(needed) do
      if value[name] == nil then
        failure.usage("%s has no %s; write %s", what, name, example)
      end
    end
  end
end

local remote_record = record(
  {address = text, mac = text, vnis = list(number, "{42, 43}")}, {"address"},
  '{address = "192.0.2.2"}')

local function remote(value, what)
  if type(value) == "string" then return end
  if type(value) ~= "table" then
    refuse(what, 'an address in quotes or a table such as {address = "192.0.2.2"}',
      value)
  end
  remote_record(value, what)
end

local STATIC = '{vni = 42, mac = "02:00:00:00:00:05", remote = "192.0.2.2"}'
local static = record({vni = number, mac = text, remote = remote},
  {"vni", "mac", "remote"}, STATIC)

local function vnis(value, what)
  table_of(value, what, "{[42] = 0, [43] = 10}")
  for vni, vlan in pairs(value) do
    number(vni, "a VNI")
    number(vlan, ("the VLAN of VNI %s (0: untagged)"):format(vni))
  end
end

local function dscp(value, what)
  if type(value) ~= "number" and value ~= "copy" then
    refuse(what, 'a number or "copy"', value)
  end
end

local FIELDS = {
  address = text, mac = text, gateway = text, vnis = vnis,
  remotes = list(remote, '{"192.0.2.2"}'), static = list(static, "{" .. STATIC .. "}"),
  mtu = number, ttl = number, dscp = dscp, port = number, udp_checksum = boolean,
  learn = boolean, strict = boolean, ageing = number, capacity = number,
  max_remotes = number, keep_tags = boolean, ping = boolean, seed = number,
  flood_control = boolean,
}

--- Raise a sentence unless `value` is a table with fields of these names and kinds.
--- `more`: further names, and functions (value, name) that check their values.
function shape.check(value, more)
  local fields = {}
  table_of(value, "the configuration", '{address = "192.0.2.1/24", ...}')
  for name, check in pairs(FIELDS) do fields[name] = check end
  for name, check in pairs(more or {}) do fields[name] = check end
  check_fields(value, "the configuration", fields)
end

shape.kinds = {text = text, number = number}

return shape
