-- SPDX-License-Identifier: Apache-2.0
-- The methods of a stack's packets (pkt:fill{...}). They are made when they are first
-- called, so that making a stack stays cheap.

local fill = require("lib.stack.fill")
local lengths = require("lib.stack.lengths")
local text = require("lib.stack.text")

local methods = {}

local makers = {}

function makers.fill(shape)
  return function (pkt, args)
    local ok, message = pcall(fill.fill, shape, pkt.packet, args)
    if not ok then error(message, 2) end
  end
end

function makers.get(shape)
  return function (pkt) return text.get(shape, pkt.packet) end
end

function makers.getString(shape)
  return function (pkt) return table.concat(text.lines(shape, pkt.packet), "\n") end
end

function makers.setLength(shape)
  return lengths.setter(shape)
end

function makers.getArgs(shape)
  return function () return {unpack(shape.arguments)} end
end

function makers.getName(shape)
  local names = {}
  for i, item in ipairs(shape.items) do names[i] = item.protocol.name end
  local name = table.concat(names, "_")
  return function () return name end
end

function makers.getHeader(shape)
  return function (pkt, i)
    local item = shape.items[i]
    return item and pkt[item.label]
  end
end

function makers.getHeaders(shape)
  return function (pkt)
    local headers = {}
    for i, item in ipairs(shape.items) do headers[i] = pkt[item.label] end
    return headers
  end
end

--- The table of methods of the shape's packets.
function methods.of_packets(shape)
  return setmetatable({}, {__index = function (made, name)
    local maker = makers[name]
    if not maker then
      error(("this stack has no header or method '%s'"):format(tostring(name)), 3)
    end
    local method = maker(shape)
    made[name] = method
    return method
  end})
end

--- The table of members of the stack itself.
function methods.of_stacks(shape)
  return shape
end

return methods
