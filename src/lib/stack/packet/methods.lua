-- SPDX-License-Identifier: Apache-2.0
-- The methods of a stack's packets (pkt:fill{...}), and of stacks (asUdp.check(p)).
-- They are made when they are first called, so that making a stack stays cheap.

local check = require("lib.stack.packet.check")
local dump = require("lib.stack.packet.dump")
local fill = require("lib.stack.packet.fill")
local lengths = require("lib.stack.layout.lengths")
local spelling = require("core.lib.spelling")
local operand = require("lib.stack.packet.operand")
local sums = require("lib.stack.sums")
local text = require("lib.stack.packet.text")
local verify = require("lib.stack.packet.verify")

local packet_of = operand.slow_packet

local methods = {}

-- For what has a `packet`: packets under a stack's type, and resolved ones ------------

local slow = {}

function slow.get(shape)
  return function (pkt) return text.get(shape, packet_of(pkt)) end
end

function slow.getString(shape)
  return function (pkt) return table.concat(text.lines(shape, packet_of(pkt)), "\n") end
end

function slow.dump(shape)
  return function (pkt, bytes, stream)
    return dump.write(shape, packet_of(pkt), bytes, stream)
  end
end

function slow.verify(shape)
  return function (pkt)
    local problem = type(pkt) == "table" and rawget(pkt, "problem") or nil
    return verify.verify(shape, packet_of(pkt), problem)
  end
end

function slow.setLength(shape)
  return function (pkt, n) lengths.set_dynamic(shape, packet_of(pkt), n) end
end

function slow.calculateChecksums(shape)
  return function (pkt) sums.set(shape, packet_of(pkt)) end
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

--- Their names.
function methods.slow_names()
  local names = {"length", "data", "packet", "payload", "problem"}
  for name in pairs(slow) do names[#names + 1] = name end
  return names
end

--- What a packet of any stack can be asked for besides headers: a set of names, which
--- no header can have.
function methods.taken()
  local set = {buf_addr = true, data_off = true}
  for _, name in ipairs(methods.slow_names()) do set[name] = true end
  for name in pairs(methods.typed) do set[name] = true end
  return set
end

-- For packets under a stack's type alone --------------------------------------------

local typed = setmetatable({}, {__index = slow})
methods.typed = typed

function typed.fill(shape)
  return function (pkt, args)
    local p = packet_of(pkt)
    local ok, message = pcall(fill.fill, shape, p, args)
    if not ok then error(message, 2) end
  end
end

function typed.setLength(shape) return lengths.setter(shape) end

function typed.calculateChecksums(shape) return sums.calculator(shape) end

--- Packets of all stacks get the method `name`: make(shape) returns it for those of a
--- shape (for lib.stack, which this doesn't know).
function methods.add(name, make) typed[name] = make end

local function checksum_method(item)
  return "calculate" .. item.label:gsub("^.", string.upper) .. "Checksum"
end

local function checksum_of_one(shape, name)
  for _, item in ipairs(shape.items) do
    if name == checksum_method(item) then return sums.calculator_of(shape, item) end
  end
end

local SHAPE = {} -- the key under which both kinds of tables keep their shape

-- All that a packet of the shape can be asked for.
local function names_of(shape)
  local names = {"length", "data", "packet"}
  if not shape.no_payload then names[4] = "payload" end
  for name in pairs(slow) do names[#names + 1] = name end
  for name in pairs(typed) do names[#names + 1] = name end
  for _, item in ipairs(shape.items) do
    names[#names + 1] = item.label
    for _, field in ipairs(item.layout.fields) do
      if field.checksum then names[#names + 1] = checksum_method(item) end
    end
  end
  return names
end

local lazy_methods = {__index = function (made, name)
  local maker, shape = typed[name], made[SHAPE]
  local method = maker and maker(shape) or checksum_of_one(shape, tostring(name))
  if not method then
    error(("this stack has no header or method '%s'%s"):format(tostring(name),
      spelling.hint(tostring(name), names_of(shape))), 3)
  end
  made[name] = method
  return method
end}

--- The table of methods of packets under the shape's type.
function methods.of_packets(shape)
  return setmetatable({[SHAPE] = shape}, lazy_methods)
end

local of_stack = {check = check.new}

function of_stack.shape(shape) return shape end
function of_stack.size(shape) return shape.size end
function of_stack.getArgs(shape) return slow.getArgs(shape) end
function of_stack.getName(shape) return slow.getName(shape) end

-- Makes what is asked for first, and keeps it.
local lazy_members = {__index = function (made, name)
  local maker = of_stack[name]
  if not maker then
    error(("a stack has no '%s'; it has check, size, getArgs and getName")
      :format(tostring(name)), 3)
  end
  local value = maker(made[SHAPE])
  rawset(made, name, value)
  return value
end}

--- The table of members of the stack itself.
function methods.of_stacks(shape)
  return setmetatable({[SHAPE] = shape}, lazy_members)
end

return methods
