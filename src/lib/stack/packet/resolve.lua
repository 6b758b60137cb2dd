-- SPDX-License-Identifier: Apache-2.0
-- A packet's headers without a stack: a Lua table with the headers as members and the
-- methods of stacks, for tools that look at whatever comes. No C type is made.

local ffi = require("ffi")
local data_of = require("lib.stack.layout.start")
local methods = require("lib.stack.packet.methods")
local shapes = require("lib.stack.layout.packet")
local walk = require("lib.stack.packet.walk")

-- eth, innerEth, inner2Eth, ... (`used` counts)
local function label_of(name, used)
  local n = used[name] or 0
  used[name] = n + 1
  if n == 0 then return name end
  return "inner" .. (n > 1 and n or "") .. name:gsub("^.", string.upper)
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
  return (methods.slow(self.shape, name)) -- no tail calls: accessors.lua
end

--- The headers of the packet, whose first is of protocol `first` ("eth" if nil), as far
--- as they are known and there: a table with a member for each (eth, ip4, udp, vxlan,
--- innerEth, ...), payload, and the slow methods of stacks (get, getString, dump,
--- verify). `problem` tells why it ends early, if something is wrong. Never raises, and
--- reads nothing outside of the packet. It is to be thrown away when the packet's
--- headers change.
return function (p, first)
  local items, problem = walk.items(data_of(p), p.length, first or "eth")
  local used = {}
  for _, item in ipairs(items) do item.label = label_of(item.protocol.name, used) end
  local shape = shapes.of_items(items)
  shape.arguments = {}
  for i, item in ipairs(items) do
    local layout, with = item.layout, {}
    for flag in pairs(layout.present) do with[#with + 1] = flag end
    table.sort(with)
    shape.arguments[i] = {item.protocol.name, name = item.label,
      subType = layout.subtype, with = #with > 0 and with or nil,
      length = layout.variable and item.variable or nil}
  end
  return setmetatable({packet = p, shape = shape, problem = problem}, view)
end
