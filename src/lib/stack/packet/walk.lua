-- SPDX-License-Identifier: Apache-2.0
-- Which headers a packet has: from its first, along the fields that say what follows,
-- as far as the packet's bytes go. Nothing outside of them is read; what a definition's
-- functions return is kept within bounds (slow code).

local ffi = require("ffi")
local lengths = require("lib.stack.layout.lengths")
local Protocol = require("lib.stack.protocol")
local registry = require("lib.stack.registry")

local walk = {}

local MAX_HEADERS = 32

local function pointer(layout, data)
  return ffi.cast(layout.slow_pointer, data)
end

local function flags_of(protocol, subtype, data, left)
  local base = protocol:layout(subtype)
  if base.size > left or #protocol.flags == 0 then return base end
  local present, header = {}, pointer(base, data)
  for _, flag in ipairs(protocol.flags) do
    if base.slow["get" .. flag](header) then present[flag] = true end
  end
  return protocol:layout(subtype, present)
end

local function subtype_fits(protocol, subtype, data, left)
  local layout = protocol:layout(subtype)
  return layout.when and layout.size <= left
    and Protocol.holds(layout.when, layout, pointer(layout, data))
end

--- The layout of the protocol's header at `data`, of which `left` bytes are there; it
--- may be longer than that.
function walk.layout(protocol, data, left)
  for _, subtype in ipairs(protocol.subtypes) do
    if subtype_fits(protocol, subtype, data, left) then
      return flags_of(protocol, subtype, data, left)
    end
  end
  return flags_of(protocol, nil, data, left)
end

-- Of what a definition returns: nil, NaN and what is less than 0 are 0.
local function bounded(size)
  size = tonumber(size)
  if size and size > 0 then return math.floor(math.min(size, 2 ^ 31)) end
  return 0
end

--- The size of the variable part of the header at `data`, at most what is left; and
--- what is wrong with it, if something is.
function walk.variable(layout, data, left)
  local variable = layout.variable
  if not variable then return 0 end
  local most = left - layout.size
  if variable.rest then return most end
  local header = pointer(layout, data)
  if variable.size then
    local ok, size = pcall(variable.slow_size, header, left)
    if not ok then return 0, "its size is unknown" end
    size = bounded(size)
    if size > most then
      return most, ("its %s has %d bytes, more than the packet has")
        :format(variable.name, size)
    end
    return size
  end
  local field = variable.from
  local value = layout.slow["get" .. field.name](header)
  local size = lengths.bytes_of(field, value)
  if field.length ~= "variable" then size = size - layout.size end
  if size < 0 then
    return 0, ("its %s is %s, less than the header has"):format(field.name,
      tostring(value))
  elseif size > most then
    return most, ("its %s is %s, more than the packet has"):format(field.name,
      tostring(value))
  end
  return size
end

-- The first condition that doesn't hold, in words: "its Version is 6, not 4".
local function disagreement(layout, header)
  for _, condition in ipairs(layout.claims) do
    local value = layout.slow["get" .. condition.field.name](header)
    if not condition.set[value] then
      return ("its %s is %s, not %s"):format(condition.field.name,
        Protocol.values_text{value},
        Protocol.values_text(condition.values, condition.range))
    end
  end
end

-- Of the protocols that are announced: the one whose own bytes agree; else one that
-- has no test, or is cut short. If there is none, and one was sure to follow, what is
-- wrong with its bytes.
local function agreeing(names, data, left)
  local plain, short, wrong
  for _, name in ipairs(names or {}) do
    local protocol = registry.find(name)
    if protocol.claims then
      local layout = protocol.default
      if layout.size > left then
        short = short or name
      elseif Protocol.holds(layout.claims, layout, pointer(layout, data)) then
        return name
      elseif protocol.def.strict then
        wrong = ("%s: %s"):format(protocol.title,
          disagreement(layout, pointer(layout, data)))
      end
    else
      plain = plain or name
    end
  end
  local found = plain or short
  return found, not found and wrong or nil
end

--- The name of the protocol that the header at `data` says follows it, `size` bytes
--- on; nil if it says none, or none that is known, and then what is wrong, if something
--- is.
function walk.next(layout, data, size, left)
  local next, header = layout.slow_next, pointer(layout, data)
  if type(next) == "function" then
    local ok, name = pcall(next, header, left)
    return ok and type(name) == "string" and registry.find(name) and name or nil
  elseif type(next) ~= "table" then
    return next
  elseif layout.next_when and not Protocol.holds(layout.next_when, layout, header) then
    return nil
  end
  local wrong
  for _, name in ipairs(next.fields or {next.field}) do
    local value = tonumber(layout.slow["get" .. name](header))
    local names = registry.announced(Protocol.table_of(layout), value)
    local found, reason = agreeing(names, data + size, left - size)
    if found then return found end
    wrong = wrong or reason
  end
  return nil, wrong
end

--- What the definition's own test says is wrong with the header, or nil.
function walk.complaint(protocol, layout, data, left)
  local check = protocol.slow_check
  if not check then return end
  local ok, reason = pcall(check, pointer(layout, data), left)
  if not ok then return "it can't be checked" end
  return reason
end

--- The bytes from the header on that are the packet's, by its length field: behind them
--- is padding. All that is left if there is no such field, or if it can't be right.
function walk.told(layout, data, size, left)
  for _, field in ipairs(layout.fields) do
    if field.length == "all" or field.length == "payload" then
      local value = layout.slow["get" .. field.name](pointer(layout, data))
      local bytes = lengths.bytes_of(field, value)
      if field.length == "payload" then bytes = bytes + size end
      if bytes >= size and bytes < left then return bytes end
    end
  end
  return left
end

--- The headers of the `length` bytes at `data`, the first of which is of protocol
--- `name`: a list of items as in a shape, without labels; and why it ends where it
--- does, if something is wrong. (A packet that an error message quotes may end where
--- it likes.)
function walk.items(data, length, name)
  local items, offset, quoted = {}, 0, false
  while name and #items < MAX_HEADERS do
    local protocol = registry.find(name)
    local at, left = data + offset, length - offset
    if not protocol or left <= 0 then break end
    local layout = walk.layout(protocol, at, left)
    if layout.size > left then
      return items, not quoted and ("the packet ends within the %s header")
        :format(protocol.title) or nil
    end
    local variable, wrong = walk.variable(layout, at, left)
    wrong = wrong or walk.complaint(protocol, layout, at, left)
    if wrong then
      return items, not quoted and ("%s: %s"):format(protocol.title, wrong) or nil
    end
    quoted = quoted or protocol.def.quotes
    local size = layout.size + variable
    items[#items + 1] = {protocol = protocol, layout = layout, variable = variable,
      size = size}
    left = walk.told(layout, at, size, left)
    name, wrong = walk.next(layout, at, size, left)
    if wrong and left > size then return items, wrong end
    length, offset = offset + left, offset + size
  end
  return items
end

return walk
