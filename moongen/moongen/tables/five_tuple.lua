-- SPDX-License-Identifier: Apache-2.0
-- MoonGen's create5TupleFilter (2015 and 2016): which packets of a burst match rules of
-- IPv4 addresses, ports and protocol, by categories. Few rules: they are tried one by
-- one.

local arguments = require("moongen.arguments")
local bit = require("bit")
local bytes = require("net.wire.bytes")
local bitmask = require("moongen.measure.bitmask")
local ffi = require("ffi")
local log = require("moongen.log")

-- Numbers are in the host's order; ports are from port_src to port_src_range.
ffi.cdef[[
struct mg_5tuple_rule {
  uint8_t proto;
  uint32_t ip_src;
  uint8_t ip_src_prefix;
  uint32_t ip_dst;
  uint8_t ip_dst_prefix;
  uint16_t port_src, port_src_range, port_dst, port_dst_range;
};
]]
local read16, read32 = bytes.read16, bytes.read32
local rule_t = ffi.typeof("struct mg_5tuple_rule")

-- Bytes in a packet without VLAN tags and options of IP, and its least length.
local TYPE, PROTO, SRC, DST, SRC_PORT, DST_PORT, LEAST = 12, 23, 26, 30, 34, 36, 38
local IPV4 = 0x0800
local MOST_CATEGORIES = 16

local Filter = {}
Filter.__index = Filter

local M = {mg_filter_5tuple = Filter}

--- A filter of so many categories (1 to 16). The other arguments don't matter here.
function M.create5TupleFilter(_, _, numCategories)
  local n = tonumber(numCategories)
  if not n or n < 1 or n > MOST_CATEGORIES or n % 1 ~= 0 then
    log:fatal("create5TupleFilter: argument 3 is the number of categories, 1 to %d, "
      .. "not %s", MOST_CATEGORIES, arguments.shown(numCategories))
  end
  return setmetatable({categories = n, rules = {}, masks = {}, values = {},
    lengths = {}}, Filter)
end

-- Put `object` to the category, or to those that have none.
local function bind(self, list, object, category)
  for i = category or 1, category or self.categories do
    if category or not list[i] then list[i] = object end
  end
  return object
end

--- The array of values (or a new one of so many) that classifyBurst fills for the
--- category; default: for all that have none.
function Filter:bindValuesToCategory(values, category)
  local room = type(values) == "number" and values or nil
  if room then values = ffi.new("uint32_t[?]", room) end
  self.lengths[values] = room or math.floor(ffi.sizeof(values) / 4)
  return bind(self, self.values, values, category)
end

--- The same with a bit mask (module bitmask), whose bits are set for matches.
function Filter:bindBitmaskToCategory(mask, category)
  if type(mask) == "number" then mask = bitmask.createBitMask(mask) end
  return bind(self, self.masks, mask, category)
end

--- A rule, all 0.
function Filter:allocateRule() -- luacheck: ignore 212
  return rule_t()
end

--- Add the rule for categories of `category_mask`. Of several that match the one of the
--- highest priority gives its value, which isn't 0.
function Filter:addRule(rule, priority, category_mask, value)
  if not ffi.istype(rule_t, rule) then
    arguments.refuse("addRule", 1, rule, "a rule of allocateRule()", 3)
  elseif value == 0 then
    log:fatal("addRule: a rule's value can't be 0, which says that none matches")
  end
  self.rules[#self.rules + 1] = {rule = rule_t(rule), priority = tonumber(priority),
    mask = tonumber(category_mask), value = value, number = #self.rules}
  return 0
end

--- To be called once all rules are added.
function Filter:build()
  table.sort(self.rules, function (a, b)
    if a.priority ~= b.priority then return a.priority > b.priority end
    return a.number < b.number
  end)
  return 0
end

local function in_network(address, of_rule, prefix)
  if prefix == 0 then return true end
  local shift = 32 - math.min(prefix, 32)
  return bit.rshift(bit.bxor(address, bit.tobit(of_rule)), shift) == 0
end

local function matches(p, r)
  local from, to = read16(p + SRC_PORT), read16(p + DST_PORT)
  return p[PROTO] == r.proto and in_network(read32(p + SRC), r.ip_src, r.ip_src_prefix)
    and in_network(read32(p + DST), r.ip_dst, r.ip_dst_prefix)
    and from >= r.port_src and from <= r.port_src_range
    and to >= r.port_dst and to <= r.port_dst_range
end

-- The value of the packet in the category; 0: no rule.
local function value_of(self, buf, category)
  local p = buf:getBytes()
  if buf:getSize() < LEAST or read16(p + TYPE) ~= IPV4 then return 0 end
  for _, r in ipairs(self.rules) do
    if bit.band(r.mask, bit.lshift(1, category - 1)) ~= 0 and matches(p, r.rule) then
      return r.value
    end
  end
  return 0
end

--- Classify the packets of the array whose bits are set in `inMask`. Returns 0.
function Filter:classifyBurst(pkts, inMask)
  for i = 1, #pkts do
    for category = 1, inMask[i] and self.categories or 0 do
      local value = value_of(self, pkts[i], category)
      local mask, values = self.masks[category], self.values[category]
      if mask and value ~= 0 then mask[i] = true end
      if values and i <= self.lengths[values] then values[i - 1] = value end
    end
  end
  return 0
end

return M
