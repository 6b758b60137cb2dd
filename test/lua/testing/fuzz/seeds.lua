-- SPDX-License-Identifier: Apache-2.0
-- Valid packets to start mutating from: one of each fixed stack, and some of random
-- stacks; filled with random values, padded with random bytes, checksums right.

local ffi = require("ffi")
local chains = require("testing.fuzz.chains")
local guard = require("testing.fuzz.guard")
local stack = require("lib.stack")
local stacks = require("testing.fuzz.stacks")

local seeds = {}

-- Fields whose value another field or the layout depends on stay as fill sets them;
-- all do where a function of the definition may depend on them.
local function free_fields(header)
  local held, list = {}, {}
  local def, layout = header.protocol.def, header.layout
  local told = layout.variable and layout.variable.size
  if def.check or told or type(layout.next) == "function" then return list end
  local whens = {def.when or {}, type(def.next) == "table" and def.next.when or {}}
  for _, subtype in pairs(def.subtypes or {}) do -- or it would be one of those
    whens[#whens + 1] = subtype.when
  end
  for _, when in pairs(whens) do
    for name in pairs(when) do held[name] = true end
  end
  for _, flag in ipairs(header.protocol.flags) do held[flag] = true end
  local next = type(def.next) == "table" and def.next or {}
  for _, name in ipairs(next.fields or {next.field}) do held[name] = true end
  for _, field in ipairs(layout.fields) do
    if field.kind == "uint" and field.bits <= 32 and not field.length
      and not field.checksum and not field.at and not held[field.name] then
      list[#list + 1] = field
    end
  end
  return list
end

local function random_arguments(random, shape)
  local arguments = {}
  for _, item in ipairs(shape.items) do
    for _, field in ipairs(free_fields(item)) do
      if random:one_in(4) then
        local value = random:word() % 2 ^ field.bits
        if field.signed then value = value - 2 ^ (field.bits - 1) end
        arguments[item.label .. field.label] = value
      end
    end
    if item.protocol.name == "gtpu" and item.variable > 0 then
      arguments[item.label .. "Sequence"] = 1
    end
  end
  return arguments
end

-- What can be set to extremes in such a packet: {offset, bytes} of each field's cell.
local function cells(shape)
  local list = {}
  for _, item in ipairs(shape.items) do
    for _, field in ipairs(item.layout.fields) do
      local cell = field.cell
      list[#list + 1] = {item.offset + cell.first, cell.behind - cell.first}
    end
  end
  return list
end

-- A seed: what it was made from, and its `bytes`.
local function seed(random, arguments)
  local cast = stack.createStack(unpack(arguments))
  local shape = cast.shape
  local p = guard.packet()
  random:bytes(p.buf_addr, 2048, true)
  local values = random_arguments(random, shape)
  values.pktLength = shape.size + (random:one_in(3) and 0 or random:range(0, 600))
  local pkt = cast(p)
  pkt:fill(values)
  pkt:calculateChecksums()
  local new = {arguments = arguments, shape = shape, values = values, cast = cast,
    bytes = ffi.string(p.data, p.length), cells = cells(shape)}
  guard.free(p)
  return new
end

--- The seeds of a run: one of each fixed stack, and `extra` of random ones.
function seeds.make(random, extra)
  local list = {}
  for _, arguments in ipairs(stacks) do list[#list + 1] = seed(random, arguments) end
  for _ = 1, extra do
    list[#list + 1] = seed(random, chains.random(random))
  end
  return list
end

return seeds
