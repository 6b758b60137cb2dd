-- SPDX-License-Identifier: Apache-2.0
-- A packet's headers without a stack: a Lua table with the headers as members and the
-- methods of stacks, for tools that look at whatever comes. No C type is made.

local ffi = require("ffi")
local data_of = require("lib.stack.layout.data_of")
local methods = require("lib.stack.packet.methods")
local spelling = require("core.lib.spelling")
local operand = require("lib.stack.packet.operand")
local registry = require("lib.stack.registry")
local shapes = require("lib.stack.packet.shapes")
local walk = require("lib.stack.packet.walk")
local tables = require("core.lib.tables")

-- eth, innerEth, inner2Eth, ... (`used` counts)
local function label_of(name, used)
  local n = used[name] or 0
  used[name] = n + 1
  if n == 0 then return name end
  return "inner" .. (n > 1 and n or "") .. name:gsub("^.", string.upper)
end

-- nil for a header says that this packet doesn't have it.
local function could_be_there(name)
  if type(name) ~= "string" or name == "problem" then return true end
  if name:find("^__") then return true end -- Lua asks for metamethods
  local inner = name:match("^inner%d*(%u%w*)$")
  return registry.find(inner and inner:gsub("^.", string.lower) or name) ~= nil
end

local function names_of(self)
  local names = registry.protocols()
  for _, name in ipairs(methods.slow_names()) do names[#names + 1] = name end
  for label in pairs(self.shape.by_label) do names[#names + 1] = label end
  return names
end

local view = {}
view.__index = function (self, name)
  local p = rawget(self, "packet")
  if name == "length" then return p.length end
  if name == "data" then return data_of(p) end
  local item = self.shape.by_label[name]
  if item then
    return (ffi.cast(item.layout.slow_pointer, data_of(p) + item.offset))
  end
  if name == "payload" then
    return (ffi.cast("union perigee_payload *", data_of(p) + self.shape.size))
  end
  local method = methods.slow(self.shape, name)
  if not method and not could_be_there(name) then
    error(("a resolved packet has no header or method '%s'%s"):format(tostring(name),
      spelling.hint(tostring(name), names_of(self))), 2)
  end
  return method
end

--- The headers of the packet, whose first is of protocol `first` ("eth" if nil), as far
--- as they are known and there: a table with a member for each (eth, ip4, udp, vxlan,
--- innerEth, ...), payload, and the slow methods of stacks (get, getString, dump,
--- verify). `problem` tells why it ends early, if something is wrong. Never raises, and
--- reads nothing outside of the packet. It is to be thrown away when the packet's
--- headers change.
return function (p, first)
  p = operand.slow_packet(p)
  if first ~= nil and not registry.find(first) then
    error(("resolve: there is no protocol '%s'%s"):format(tostring(first),
      spelling.hint(tostring(first), registry.protocols())), 2)
  end
  local items, problem = walk.items(data_of(p), p.length, first or "eth")
  local used = {}
  for _, item in ipairs(items) do item.label = label_of(item.protocol.name, used) end
  local shape = shapes.of_items(items)
  shape.arguments = {}
  for i, item in ipairs(items) do
    local layout = item.layout
    local with = tables.sorted_keys(layout.present)
    shape.arguments[i] = {item.protocol.name, name = item.label,
      subType = layout.subtype, with = #with > 0 and with or nil,
      length = layout.variable and item.variable or nil}
  end
  return setmetatable({packet = p, shape = shape, problem = problem}, view)
end
