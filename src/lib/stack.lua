-- SPDX-License-Identifier: Apache-2.0
-- Protocol stacks: createStack("eth", "ip4", "udp") makes a cast from packets to
-- packets with named headers. doc/stack.md says how to use it, and how to define a
-- protocol.

local address = require("lib.stack.address")
local create = require("lib.stack.packet.create")
local methods = require("lib.stack.packet.methods")
local missing = require("lib.stack.layout.missing")
local registry = require("lib.stack.registry")
local resolve = require("lib.stack.packet.resolve")

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

M.createStack = create.stack
M.is_made = create.is_made

--- Add a protocol, defined by a table as in doc/stack.md; at run time, before the
--- stacks that use it. Raises a sentence if the definition is wrong.
function M.define(definition)
  local name = type(definition) == "table" and definition.name
  if name and methods.taken()[name] then
    error(("protocol '%s': packets have a member or method of that name"):format(name),
      2)
  end
  local ok, result = pcall(registry.define, definition)
  if not ok then error(result, 2) end
end

missing.guard(M, "lib.stack")

return M
