-- SPDX-License-Identifier: Apache-2.0
-- Which checksums of a stack's packets follow from its template's by adding what
-- differs. An internet checksum (RFC 1071) is a sum modulo 65,535, and 65,536 is 1
-- modulo that: so a field of any size that ends at an even byte counts as its value,
-- one that ends at an odd byte as 256 times that, and the payload needn't be read.

local M = {}

local IP = {ip4 = true, ip6 = true}
local ADDRESSES = {Src = true, Dst = true}

local function covers(sum, item, field, offset)
  if offset >= sum.first and offset < sum.behind then return true end
  return sum.ip == item and item ~= nil and ADDRESSES[field.name] == true
end

-- Can the sum take the setting's values as they are? Protocols go into the pseudo
-- header in a way of their own.
local function understood(sum, setting, covered)
  local field = setting.field
  if covered then
    if field.bits % 8 ~= 0 or field.offset % 8 ~= 0 or field.order == "le" then
      return false
    end
    if field.kind == "ip6" and setting.spec.kind == "list" then return false end
  end
  return setting.item ~= sum.ip
    or field.name ~= "Protocol" and field.name ~= "NextHeader"
end

-- Lengths say where sums end, and of two settings that share bytes one hides the other.
local function simple(settings)
  for i, a in ipairs(settings) do
    if a.field.length then return false end
    for k = 1, i - 1 do
      local b = settings[k]
      if a.offset < b.offset + b.bytes and b.offset < a.offset + a.bytes then
        return false
      end
    end
  end
  return true
end

-- The factor of a value whose last byte is at `last`.
local function factor(sum, last)
  return (last - sum.first) % 2 == 1 and 1 or 256
end

local function new_sum(shape, item, field)
  local sum = {item = item, field = field, at = item.offset + field.offset / 8,
               first = item.offset, behind = math.huge, zero = field.zero}
  if field.checksum == "header" then
    sum.behind = item.offset + item.size
  elseif field.checksum == "pseudo" then
    sum.ip = shape.items[item.index - 1]
    if not sum.ip or not IP[sum.ip.protocol.name] then return nil end
  elseif field.checksum ~= "all" then
    return nil
  end
  return sum
end

local function fields_of(shape)
  local list = {}
  for i = #shape.items, 1, -1 do
    for _, field in ipairs(shape.items[i].layout.fields) do
      if field.checksum then
        list[#list + 1] = {item = shape.items[i], field = field}
      end
    end
  end
  return list
end

-- The terms of one sum: what of the settings, the record and the sums further in (the
-- list `inner`) it covers.
local function terms(sum, settings, record, inner)
  for i, setting in ipairs(settings) do
    local covered = covers(sum, setting.item, setting.field, setting.offset)
    if setting.spec.kind ~= "constant" and (covered or sum.ip == setting.item) then
      if not understood(sum, setting, covered) then return false end
      if covered then
        local last = setting.offset + setting.bytes - 1
        sum[#sum + 1] = {setting = i, factor = factor(sum, last)}
      end
    end
  end
  if sum.behind == math.huge then
    sum.record = factor(sum, record + 9) -- its numbers end there and at + 17
  end
  for k, other in ipairs(inner) do
    if covers(sum, nil, other.field, other.at) then
      sum[#sum + 1] = {sum = k, factor = factor(sum, other.at + 1)}
    end
  end
  return true
end

--- The checksums, innermost first: tables of `at` (where it lies), `zero` (what is sent
--- for 0), `record` (the factor of the record's numbers, or nil), and the terms:
--- {setting = or sum = its index, factor =}. `record` is where the record
--- begins. nil if one of them can't be had so. A checksum that is set itself is left
--- alone.
function M.of(shape, settings, record)
  if not simple(settings) then return nil end
  local set, sums = {}, {}
  for _, setting in ipairs(settings) do set[setting.field] = setting.item end
  for _, entry in ipairs(fields_of(shape)) do
    if set[entry.field] ~= entry.item then
      local sum = new_sum(shape, entry.item, entry.field)
      if not sum or not terms(sum, settings, record, sums) then return nil end
      sums[#sums + 1] = sum
    end
  end
  return sums
end

return M
