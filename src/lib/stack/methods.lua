-- SPDX-License-Identifier: Apache-2.0
-- The methods of a stack's packets (pkt:fill{...}), and of stacks (asUdp.check(p)).
-- They are made when they are first called, so that making a stack stays cheap.

local check = require("lib.stack.check")
local dump = require("lib.stack.dump")
local fill = require("lib.stack.fill")
local lengths = require("lib.stack.lengths")
local sums = require("lib.stack.sums")
local text = require("lib.stack.text")
local verify = require("lib.stack.verify")

local methods = {}

-- For what has a `packet`: packets under a stack's type, and resolved ones ------------

local slow = {}

function slow.get(shape)
  return function (pkt) return text.get(shape, pkt.packet) end
end

function slow.getString(shape)
  return function (pkt) return table.concat(text.lines(shape, pkt.packet), "\n") end
end

function slow.dump(shape)
  return function (pkt, bytes, stream)
    return dump.write(shape, pkt.packet, bytes, stream)
  end
end

function slow.verify(shape)
  return function (pkt)
    local problem = type(pkt) == "table" and rawget(pkt, "problem") or nil
    return verify.verify(shape, pkt.packet, problem)
  end
end

function slow.getArgs(shape)
  return function ()
    local copies = {}
    for i, argument in ipairs(shape.arguments) do
      copies[i] = argument
      if type(argument) == "table" then
        copies[i] = {}
        for key, value in pairs(argument) do copies[i][key] = value end
      end
    end
    return copies
  end
end

function slow.getName(shape)
  local names = {}
  for i, item in ipairs(shape.items) do names[i] = item.protocol.name end
  local name = table.concat(names, "_")
  return function () return name end
end

function slow.getHeader(shape)
  return function (pkt, i)
    if type(i) == "table" then i = i.name or i[1] end -- as libmoon's arguments
    local item = shape.items[i] or shape.by_label[i]
    return item and pkt[item.label]
  end
end

function slow.getHeaders(shape)
  return function (pkt)
    local headers = {}
    for i, item in ipairs(shape.items) do headers[i] = pkt[item.label] end
    return headers
  end
end

--- The method `name` of packets with this shape; nil if there is none.
function methods.slow(shape, name)
  return slow[name] and slow[name](shape)
end

-- For packets under a stack's type alone --------------------------------------------

local typed = setmetatable({}, {__index = slow})

function typed.fill(shape)
  return function (pkt, args)
    local ok, message = pcall(fill.fill, shape, pkt.packet, args)
    if not ok then error(message, 2) end
  end
end

function typed.setLength(shape) return lengths.setter(shape) end

function typed.calculateChecksums(shape) return sums.calculator(shape) end

function typed.resolveLastHeader()
  local stack = require("lib.stack")
  local resolve = require("lib.stack.resolve")
  return function (pkt)
    local resolved = resolve(pkt.packet)
    return stack.createStack(unpack(resolved.shape.arguments))(pkt.packet)
  end
end

local function checksum_of_one(shape, name)
  for _, item in ipairs(shape.items) do
    local wanted = "calculate" .. item.label:gsub("^.", string.upper) .. "Checksum"
    if name == wanted then return sums.calculator_of(shape, item) end
  end
end

--- The table of methods of packets under the shape's type.
function methods.of_packets(shape)
  return setmetatable({}, {__index = function (made, name)
    local method
    if typed[name] then method = typed[name](shape)
    else method = checksum_of_one(shape, tostring(name)) end
    if not method then
      error(("this stack has no header or method '%s'"):format(tostring(name)), 3)
    end
    made[name] = method
    return method
  end})
end

local of_stack = {check = check.new}

function of_stack.size(shape) return shape.size end
function of_stack.getArgs(shape) return slow.getArgs(shape) end
function of_stack.getName(shape) return slow.getName(shape) end

--- What `stack.check` and so on are, made when first asked for.
function methods.of_stacks(shape)
  return function (stack, name)
    local maker = of_stack[name]
    local value = maker and maker(shape)
    if value ~= nil then rawset(stack, name, value) end
    return value
  end
end

return methods
