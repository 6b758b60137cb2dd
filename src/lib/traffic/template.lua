-- SPDX-License-Identifier: Apache-2.0
-- The bytes that all packets of one size begin with, for each size of a mix: headers
-- with the constants set and what varies at 0, and the record's fixed part. Made by the
-- stack library once, so that the packet path only copies.

local ffi = require("ffi")
local failure = require("core.failure")
local packet = require("core.packet")
local probe = require("lib.traffic.probe")
local read16 = require("net.wire.bytes").read16

local M = {}

local ALIGNMENT = 64

local ZERO = {uint = 0, ip4 = "0.0.0.0", mac = "00:00:00:00:00:00"}

-- Labels and values for fill. What is added to an IPv6 address is added to its lowest
-- value, so that stands in the template.
local function arguments(settings, size, filled)
  local args = {pktLength = size}
  for label, value in pairs(filled) do args[label] = value end
  for _, setting in ipairs(settings) do
    local spec = setting.spec
    args[setting.label] = spec.kind == "constant" and spec.first
      or ZERO[setting.field.kind] or spec.first
  end
  return args
end

-- A packet of that size as the stack library makes it. Where there is no room for all
-- of the payload, it ends earlier. `at`: where the record is; nil: there is none.
local function example(stack, settings, size, at, extra)
  local p = packet.resize(packet.allocate(), 0)
  packet.resize(p, size)
  local pkt, payload = stack(p), extra.payload
  pkt:fill(arguments(settings, size, extra.fill))
  local first = at == stack.size and at + probe.SIZE or stack.size
  ffi.copy(p.data + first, payload, math.min(#payload, size - first))
  if at then probe.prepare(p.data + at) end
  pkt:calculateChecksums()
  for _, setting in ipairs(settings) do
    local field = setting.field
    if field.checksum and setting.spec.kind == "constant" then
      pkt[setting.item.label]["set" .. field.name](pkt[setting.item.label],
        setting.spec.first)
    end
  end
  return p
end

-- What `sum` adds up to without what varies: see lib.traffic.sums.
local function base(sum, sums, data)
  local function stored(s) return read16(data + s.at) end
  local total = 65535 - stored(sum)
  if total == 0 then total = 65535 end
  for _, term in ipairs(sum) do
    if term.sum then total = total + term.factor * (65535 - stored(sums[term.sum])) end
  end
  return total
end

local function check_sizes(mix, header_size, payload_size)
  if mix.smallest < header_size then
    failure.usage("a packet of %d bytes is too short for the headers of the stack,"
      .. " which have %d", mix.smallest, header_size)
  elseif mix.largest < header_size + payload_size then
    failure.usage("packets of up to %d bytes are too short for %d bytes of headers and"
      .. " %d of payload", mix.largest, header_size, payload_size)
  end
end

-- The mix's sizes, each once, and the round as indices of them.
local function distinct(mix)
  local index, list = {}, {}
  local round = ffi.new("int32_t[?]", #mix.round)
  for i, size in ipairs(mix.round) do
    if not index[size] then
      list[#list + 1], index[size] = size, #list
    end
    round[i - 1] = index[size]
  end
  return list, round
end

-- Where the record of a packet of that size is: behind the payload, or where there is
-- no room for both before it, if that may be; nil: nowhere.
local function place(stack, size, extra)
  local behind = stack.size + #extra.payload
  if extra.record == false then return nil end
  if size >= behind + probe.SIZE then return behind end
  local fits = size >= stack.size + probe.SIZE
  return extra.record == "any" and fits and stack.size or nil
end

--- The templates for packets of a stack (lib.stack), in sizes of `mix`, with `settings`
--- (lib.traffic.fields) and `sums` (lib.traffic.sums, or {}); `extra` has `fill`,
--- further labels and values for fill, and `payload`, the bytes between the headers and
--- the record (both may be left out), and `record`, as lib.traffic.maker's. A table of:
--- `n` sizes, their `sizes` (int32_t[]) and `records` (int32_t[], where the record is;
--- 0: there is none); `some` and `all` (have a record); `head`, the bytes to copy;
--- `in_front` (some have it before the payload); `bytes`, from
--- one template to the next `stride`; `round` (of `length`, int32_t[], indices of
--- sizes); `bases`, an array of double[] for the sums.
function M.make(stack, mix, settings, sums, extra)
  extra = {fill = extra and extra.fill or {}, payload = extra and extra.payload or "",
           record = extra and extra.record}
  check_sizes(mix, stack.size, #extra.payload)
  local list, round = distinct(mix)
  local head = stack.size + #extra.payload + probe.SIZE
  local stride = math.ceil(head / ALIGNMENT) * ALIGNMENT
  local t = {
    n = #list, head = math.min(head, mix.largest), stride = stride, round = round,
    length = #mix.round,
    sizes = ffi.new("int32_t[?]", #list), records = ffi.new("int32_t[?]", #list),
    bytes = ffi.new("uint8_t[?]", #list * stride), bases = {},
    some = place(stack, mix.largest, extra) ~= nil,
    all = place(stack, mix.smallest, extra) ~= nil, in_front = false,
    smallest = mix.smallest, largest = mix.largest,
  }
  for k in ipairs(sums) do t.bases[k] = ffi.new("double[?]", #list) end
  for i, size in ipairs(list) do
    local at = place(stack, size, extra)
    local p = example(stack, settings, size, at, extra)
    t.sizes[i - 1], t.records[i - 1] = size, at or 0
    t.in_front = t.in_front or at == stack.size and #extra.payload > 0
    ffi.copy(t.bytes + (i - 1) * stride, p.data, math.min(size, head))
    for k, sum in ipairs(sums) do t.bases[k][i - 1] = base(sum, sums, p.data) end
    packet.free(p)
  end
  return t
end

return M
