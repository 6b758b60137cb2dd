-- SPDX-License-Identifier: Apache-2.0
-- Making stacks: lib.stack's createStack. Each is made once.

local cast = require("lib.stack.packet.cast")
local methods = require("lib.stack.packet.methods")
local operand = require("lib.stack.packet.operand")
local resolve = require("lib.stack.packet.resolve")
local shapes = require("lib.stack.packet.shapes")

-- Compiling what runs a few times takes longer than running it.
jit.off(true, true)

local create = {}

local made = {} -- by shapes.key

--- Has the stack of these arguments (a list) been made?
function create.is_made(arguments)
  local key = shapes.key(arguments)
  return key ~= nil and made[key] ~= nil
end

local function make(arguments)
  local shape = shapes.new(arguments)
  shape.arguments = arguments
  local stack
  stack, shape.pointer = cast.new(shape, methods.of_packets(shape),
    methods.of_stacks(shape))
  return stack
end

--- The stack of these headers, outermost first. Each is a protocol's name or a table:
--- {"eth", name = "innerEth", subType = "vlan", length = bytes of the variable part,
--- with = {"Key"}}; last may come "noPayload". Called with a packet, a stack returns
--- the same packet with its headers as members; its `check(packet)` does so if the
--- packet has just these headers, else it returns nil and a reason. Raises a sentence
--- if there is no such stack.
function create.stack(...)
  local arguments = {...}
  for i = 1, select("#", ...) do
    if arguments[i] == nil then
      error(("createStack: argument %d is nil, not a header"):format(i), 2)
    end
  end
  local key = shapes.key(arguments)
  local stack = key and made[key]
  if not stack then
    local ok, result = pcall(make, arguments)
    if not ok then error(result, 2) end
    stack = result
    made[key] = stack
  end
  return stack
end

-- A C type stays for good: packets from outside mustn't have one made for each
-- combination of headers they come up with.
local MAX_RESOLVED, n_resolved = 200, 0

methods.add("resolveLastHeader", function ()
  return function (pkt)
    local resolved = resolve(pkt)
    local arguments = resolved.shape.arguments
    if not create.is_made(arguments) then
      if n_resolved >= MAX_RESOLVED or #arguments > shapes.MAX_HEADERS then
        return resolved
      end
      n_resolved = n_resolved + 1
    end
    -- A packet may have options of a size that a stack can't be made with.
    local ok, as = pcall(create.stack, unpack(arguments))
    return ok and as(operand.slow_packet(pkt)) or resolved
  end
end)

return create
