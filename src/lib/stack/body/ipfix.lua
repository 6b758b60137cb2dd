-- SPDX-License-Identifier: Apache-2.0
-- The sets of an IPFIX message (RFC 7011, section 3.3): made once, then copied into
-- packets behind the ipfix header. Called as methods: `ipfix:createTmplSet(...)`.
--
-- A template is an array of information elements: {id = number, length = bytes,
-- enterprise = number or nil, value = function() return a number, or a string of
-- `length` bytes end}.

local ffi = require("ffi")
local failure = require("core.failure")

local ipfix = {
  VERSION_NFV5 = 5, VERSION_NFV9 = 9, VERSION_IPFIX = 10,
  ID_TEMPLATE_SET = 2, ID_OPTION_TEMPLATE_SET = 3,
  ID_MIN_DATA_SET = 256, -- also the least template id
}

local MAX_SET = 65535 -- bytes; a set's length has 16 bits
local SET_HEADER = 4 -- bytes
local ENTERPRISE_BIT = 0x8000

ffi.cdef[[
/* Network byte order, as in a packet. */
struct perigee_ipfix_set {
  struct { uint16_t set_id, length; } set_header;
  uint8_t field_values[?];
} __attribute__((packed));
]]
local Set = ffi.typeof("struct perigee_ipfix_set")

local function bytes16(n)
  return string.char(bit.rshift(n, 8), bit.band(n, 255))
end

local function check(n, least, most, what)
  if type(n) == "number" and n % 1 == 0 and n >= least and n <= most then return end
  failure.usage("%s is %s, which isn't a whole number from %d to %d",
    what, tostring(n), least, most)
end

-- The low `length` bytes of a number or 64-bit integer, the highest first.
local function big_endian(value, length)
  if type(value) == "number" then value = ffi.cast("int64_t", value) end
  local bytes = {}
  for i = length, 1, -1 do
    bytes[i] = string.char(tonumber(value % 256ULL))
    value = bit.rshift(value, 8)
  end
  return table.concat(bytes)
end

local function encode(element)
  local value = element.value()
  if type(value) == "string" then
    if #value == element.length then return value end
    failure.usage("the value of information element %d has %d bytes, not %d",
      element.id, #value, element.length)
  end
  if element.length > 8 then
    failure.usage("information element %d has %d bytes: its value must be a string",
      element.id, element.length)
  end
  return big_endian(value, element.length)
end

local function make_set(id, body)
  local length = SET_HEADER + #body
  if length > MAX_SET then
    failure.usage("an IPFIX set of %d bytes is longer than %d", length, MAX_SET)
  end
  local set = Set(#body)
  ffi.copy(set, bytes16(id) .. bytes16(length) .. body, length)
  return set
end

--- One information element of a template, as a string of 4 bytes, or 8 with an
--- enterprise number.
function ipfix:createInformationElement(id, length, enterprise)
  check(id, 0, ENTERPRISE_BIT - 1, "an information element's id")
  check(length, 1, MAX_SET, "an information element's length")
  if not enterprise then return bytes16(id) .. bytes16(length) end
  check(enterprise, 0, 0xffffffff, "an enterprise number")
  return bytes16(id + ENTERPRISE_BIT) .. bytes16(length) .. big_endian(enterprise, 4)
end

local function elements(template)
  local list = {}
  for i, element in ipairs(template) do
    list[i] = ipfix:createInformationElement(element.id, element.length,
      element.enterprise)
  end
  return table.concat(list)
end

--- A template set with one template, numbered `id` (256 to 65535).
function ipfix:createTmplSet(id, template)
  check(id, ipfix.ID_MIN_DATA_SET, 65535, "a template's id")
  return make_set(ipfix.ID_TEMPLATE_SET,
    bytes16(id) .. bytes16(#template) .. elements(template))
end

--- An options template set with one template; its first `scopes` elements (1 if
--- not given) are the scope. Padded to 4 bytes.
function ipfix:createOptsTmplSet(id, template, scopes)
  scopes = scopes or 1
  check(id, ipfix.ID_MIN_DATA_SET, 65535, "a template's id")
  check(scopes, 1, #template, "the number of scope fields")
  local counts = bytes16(#template) .. bytes16(scopes)
  local body = bytes16(id) .. counts .. elements(template)
  return make_set(ipfix.ID_OPTION_TEMPLATE_SET, body .. ("\0"):rep(-#body % 4))
end

--- Bytes of one record of this template.
function ipfix:getRecordLength(template)
  local length = 0
  for _, element in ipairs(template) do length = length + element.length end
  return length
end

--- A data set of `records` records; each value comes from a call of `value()`.
--- `record_length` is what getRecordLength returns.
function ipfix:createDataSet(id, template, record_length, records)
  check(id, ipfix.ID_MIN_DATA_SET, 65535, "a data set's id")
  local length = ipfix:getRecordLength(template)
  if record_length ~= length then
    failure.usage("a record of this template has %d bytes, not %s",
      length, tostring(record_length))
  end
  check(records, 0, MAX_SET, "the number of records")
  local values = {}
  for _ = 1, records do
    for _, element in ipairs(template) do values[#values + 1] = encode(element) end
  end
  return make_set(id, table.concat(values))
end

--- Copy a set to `dest` (uint8_t *) from byte `pos` on; returns the position after
--- it. The caller makes sure of the room, or gives its `size` (bytes from dest on):
--- without enough of it nothing is copied, and nil returned.
function ipfix:copyTo(dest, pos, set, size)
  local big = set.set_header.length
  local after = pos + bit.bor(bit.rshift(big, 8), bit.lshift(bit.band(big, 255), 8))
  if size and after > size then return nil end
  ffi.copy(dest + pos, set, after - pos)
  return after
end

return ipfix
