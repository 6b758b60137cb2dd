-- SPDX-License-Identifier: Apache-2.0
-- Fields of summary dumps from ICMP headers. (RFC 792, 950, 1191, 1256)

local names = require("click.classification.ip.names")

local ORDER = 400
local ICMP = 1
local UNREACHABLE, NEEDS_FRAGMENTS = 3, 4
local HEADER = 8
-- Types whose headers are longer than that: timestamps, and address masks.
local HEADERS = {[13] = 20, [14] = 20, [17] = 12, [18] = 12}
-- Types that have an identifier and a sequence number.
local SEQUENCED = {[0] = true, [8] = true, [13] = true, [14] = true, [15] = true,
                   [16] = true}

local function make_icmp(builder)
  return builder:make_ip(ICMP) and builder:make_transport()
    and builder:extend_transport(HEADER)
end

local function type_of(view) return view:byte(view.transport) end

local function type_field(name, text)
  return {
    name = name, bytes = 1, order = ORDER, headers = true, text = text,
    get = function (view) return view:has("icmp", ICMP, 1) and type_of(view) or nil end,
    parse = function (word)
      local value = names.icmp_number(word) or word:find("^%d+$") and tonumber(word)
      return value and value < 256 and value or nil
    end,
    put = function (builder, value)
      if not make_icmp(builder) then return end
      builder:set(builder:transport(), 1, value)
      builder.has_icmp_type = true
      builder:extend_transport(HEADERS[value] or HEADER)
    end,
  }
end

local function parse_code(word, builder)
  local number = word:find("^%d+$") and tonumber(word)
  if number then return number < 256 and number or nil end
  if not builder.has_icmp_type then return nil end
  return names.icmp_code_number(builder:byte(builder:transport()), word)
end

local function code_field(name, text)
  return {
    name = name, bytes = 1, order = ORDER + 1, headers = true, text = text,
    get = function (view)
      return view:has("icmp", ICMP, 2) and view:byte(view.transport + 1) or nil
    end,
    parse = parse_code,
    put = function (builder, value)
      if not make_icmp(builder) then return end
      builder:set(builder:transport() + 1, 1, value)
      builder.has_icmp_code = true
    end,
  }
end

local function sequenced_field(name, offset)
  return {
    name = name, bytes = 2, order = ORDER + 2, headers = true,
    get = function (view)
      if not view:has("icmp", ICMP, 1) or not SEQUENCED[type_of(view)]
          or not view:has("icmp", ICMP, offset + 2) then
        return nil
      end
      return view:half(view.transport + offset)
    end,
    put = function (builder, value)
      if not make_icmp(builder) then return end
      local at = builder:transport()
      if builder.has_icmp_type and not SEQUENCED[builder:byte(at)] then return end
      builder:set(at + offset, 2, value)
    end,
  }
end

local NEXT_MTU = {
  name = "icmp_nextmtu", bytes = 2, order = ORDER + 2, headers = true,
  get = function (view)
    if not view:has("icmp", ICMP, 2) then return nil end
    local at = view.transport
    if type_of(view) ~= UNREACHABLE or view:byte(at + 1) ~= NEEDS_FRAGMENTS
        or not view:has("icmp", ICMP, 8) then
      return nil
    end
    return view:half(at + 6)
  end,
  put = function (builder, value)
    if not make_icmp(builder) then return end
    local at = builder:transport()
    if builder.has_icmp_type and builder:byte(at) ~= UNREACHABLE
        or builder.has_icmp_code and builder:byte(at + 1) ~= NEEDS_FRAGMENTS then
      return
    end
    builder:set(at + 6, 2, value)
  end,
}

return function (fields)
  fields.add{
    type_field("icmp_type"), code_field("icmp_code"),
    type_field("icmp_type_name", function (value)
      return names.icmp_type(value) or tostring(value)
    end),
    code_field("icmp_code_name", function (value, view)
      return names.icmp_code(type_of(view), value) or tostring(value)
    end),
    sequenced_field("icmp_flowid", 4), sequenced_field("icmp_seq", 6), NEXT_MTU,
  }
end
