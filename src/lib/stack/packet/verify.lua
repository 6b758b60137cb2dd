-- SPDX-License-Identifier: Apache-2.0
-- What is wrong with a packet's headers, in sentences: lengths that don't fit the
-- packet, headers that aren't announced, wrong checksums (slow code).

local ffi = require("ffi")
local data_of = require("lib.stack.layout.data_of")
local lengths = require("lib.stack.layout.lengths")
local Protocol = require("lib.stack.protocol")
local sums = require("lib.stack.sums")
local walk = require("lib.stack.packet.walk")

local verify = {}

local function add(problems, item, fmt, ...)
  problems[#problems + 1] = item.label .. ": " .. fmt:format(...)
end

local function check_conditions(problems, item, list)
  local layout = item.layout
  for _, condition in ipairs(list or {}) do
    local value = layout.slow["get" .. condition.field.name](item.header)
    if not condition.set[value] then
      add(problems, item, "%s is %s, not %s", condition.field.name,
        Protocol.values_text{value},
        Protocol.values_text(condition.values, condition.range))
    end
  end
end

-- The bytes behind what a length tells may be padding, or a trailer, as long as there
-- is room for the headers (`ends`, where the last of them does). `total` is where the
-- length below says that the packet ends.
local function check_length(problems, item, field, total, ends)
  local value = tonumber(item.layout.slow["get" .. field.name](item.header))
  local right = lengths.value(item, field, total)
  if value == right then return end
  local static = field.length == "header" or field.length == "variable"
  local variable = item.layout.variable
  local inside = variable and (variable.from == field or variable.size)
  if static and inside or item.quoted then return end -- check_variable's
  local least = lengths.value(item, field, ends)
  if not static and value < right and value >= least then return end
  add(problems, item, "%s is %d, not %d", field.name, value, right)
end

local function check_variable(problems, item, p)
  local left = p.length - item.offset
  local size, wrong = walk.variable(item.layout, data_of(p) + item.offset, left)
  if wrong then add(problems, item, "%s", wrong)
  elseif size ~= item.variable and not item.layout.variable.rest then
    add(problems, item, "its %s has %d bytes, not %d", item.layout.variable.name, size,
      item.variable)
  end
end

local function check_next(problems, item, above, p)
  local layout = item.layout
  if not layout.next then return end
  local left = p.length - item.offset
  local name = walk.next(layout, data_of(p) + item.offset, item.size, left)
  if name ~= above.protocol.name then
    add(problems, item, "what follows is %s, not %s", name or "unknown",
      above.protocol.name)
  end
end

-- Only the whole has a checksum that can be told, not a fragment of it.
local function is_fragment(shape, p)
  for _, item in ipairs(shape.items) do
    local get = item.layout.slow
    if item.offset + item.size > p.length then return false end
    local header = ffi.cast(item.layout.slow_pointer, data_of(p) + item.offset)
    if item.protocol.name == "ip4" and (bit.band(get.getFlags(header), 1) ~= 0
      or get.getFragment(header) ~= 0) then return true end
    if item.protocol.name == "fragment" and (get.getMoreFragments(header)
      or get.getOffset(header) ~= 0) then return true end
  end
  return false
end

local function check_sums(problems, shape, p)
  local fragment = is_fragment(shape, p)
  for _, entry in ipairs(sums.list(shape)) do
    local whole = entry.item.offset + entry.item.size <= p.length
    local apart = fragment or entry.item.quoted -- from what the checksum covers
    if whole and not (apart and entry.field.checksum ~= "header") then
      local value, right = sums.compare(entry, p)
      if value and value ~= right then
        add(problems, entry.item, "%s is 0x%04x, not 0x%04x", entry.field.name, value,
          right)
      end
    end
  end
end

local function check_item(problems, item, above, p, ends)
  local layout = item.layout
  check_conditions(problems, item, layout.claims)
  check_conditions(problems, item, layout.when)
  if layout.variable then check_variable(problems, item, p) end
  for _, field in ipairs(layout.fields) do
    if field.length then check_length(problems, item, field, item.total, ends) end
  end
  local complaint = walk.complaint(item.protocol, layout, item.header,
    p.length - item.offset)
  if complaint then add(problems, item, "%s", complaint) end
  if above then check_next(problems, item, above, p) end
end

--- Is all well with the headers? true, or false and a list of sentences, the outermost
--- header's first; checksums come last. Reads nothing outside of the packet.
function verify.verify(shape, p, problem)
  local problems, total = {}, p.length
  for i, item in ipairs(shape.items) do
    if item.offset + item.size > p.length then
      add(problems, item, "the packet ends before or in it")
      break
    end
    local here = setmetatable({total = total,
      header = ffi.cast(item.layout.slow_pointer, data_of(p) + item.offset)},
      {__index = item})
    check_item(problems, here, shape.items[i + 1], p, shape.size)
    local told = walk.told(item.layout, data_of(p) + item.offset, item.size,
      total - item.offset)
    total = math.min(total, item.offset + told)
  end
  check_sums(problems, shape, p)
  if problem then problems[#problems + 1] = problem end
  if #problems == 0 then return true end
  return false, problems
end

return verify
