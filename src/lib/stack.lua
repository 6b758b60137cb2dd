-- SPDX-License-Identifier: Apache-2.0
-- Protocol stacks: createStack("eth", "ip4", "udp") makes a cast from packets to
-- packets with named headers. doc/stack.md tells how to use it, and how to define a
-- protocol.

local address = require("lib.stack.address")
local cast = require("lib.stack.cast")
local methods = require("lib.stack.packet.methods")
local missing = require("lib.stack.layout.missing")
local operand = require("lib.stack.packet.operand")
local registry = require("lib.stack.registry")
local resolve = require("lib.stack.packet.resolve")
local shapes = require("lib.stack.layout.packet")

-- Compiling what runs a few times takes longer than running it.
jit.off(true, true)

local M = {}

--- Types and parsers of addresses, under libmoon's names.
M.types = address
M.parseIPAddress = address.parseIPAddress
M.parseIP4Address = address.parseIP4Address
M.parseIP6Address = address.parseIP6Address
M.parseMacAddress = address.parseMacAddress
M.incAndWrap = address.incAndWrap

M.registry = registry

--- The headers that a packet has, whatever they are: see lib.stack.packet.resolve.
M.resolve = resolve

--- The names of all protocols, sorted.
M.protocols = registry.protocols

local made = {} -- by shapes.key

--- Has the stack of these arguments (a list) been made?
function M.is_made(arguments)
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
function M.createStack(...)
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

--- Add a protocol, defined by a table as in doc/stack.md; at run time, before the
--- stacks that use it. Raises a sentence if the definition is wrong.
function M.define(definition)
  local ok, result = pcall(registry.define, definition)
  if not ok then error(result, 2) end
end

-- A C type stays for good: packets from outside mustn't have one made for each
-- combination of headers they come up with.
local MAX_RESOLVED, n_resolved = 200, 0

methods.add("resolveLastHeader", function ()
  return function (pkt)
    local resolved = resolve(pkt)
    local arguments = resolved.shape.arguments
    if not M.is_made(arguments) then
      if n_resolved >= MAX_RESOLVED or #arguments > shapes.MAX_HEADERS then
        return resolved
      end
      n_resolved = n_resolved + 1
    end
    -- A packet may have options of a size that a stack can't be made with.
    local ok, as = pcall(M.createStack, unpack(arguments))
    return ok and as(operand.slow_packet(pkt)) or resolved
  end
end)

missing.guard(M, "lib.stack")

return M
