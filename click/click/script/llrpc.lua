-- SPDX-License-Identifier: Apache-2.0
-- Click's calls in binary form. A number says what is called, how many bytes it takes
-- or gives, and in which direction. An element class may have `llrpc`, functions by the
-- low byte of that number: f(self, data) returns data, or nil and a message. Those that
-- Click has for Switch and Counter are here: they are their handlers in other words.

local ffi = require("ffi")
local handlers = require("click.router.handlers")

local llrpc = {}

local GIVES, TAKES, FLAT = 0x40000000, 0x80000000, 0x4000

--- What the call `command` takes and gives: {bytes =, takes =, gives =}; nil if it
--- can't be made from afar.
function llrpc.shape(command)
  local bytes = bit.band(bit.rshift(command, 16), 0xfff)
  local takes = bit.band(command, TAKES) ~= 0
  local gives = bit.band(command, GIVES) ~= 0
  if bytes == 0 or not (takes or gives) or bit.band(command, FLAT) == 0 then
    return nil
  end
  return {bytes = bytes, takes = takes, gives = gives}
end

local function int_data(value)
  return ffi.string(ffi.new("int32_t[1]", value), 4)
end

local function data_int(data)
  return ffi.cast("const int32_t *", data)[0]
end

local GET_COUNT, GET_SWITCH, SET_SWITCH = 3, 5, 6

local function reading(name)
  return {handler = name, kind = "read", act = function (handler, element)
    local value = tonumber((handler.read(element, "")))
    return value and int_data(value)
  end}
end

local KNOWN = {
  [GET_COUNT] = reading("count"), [GET_SWITCH] = reading("switch"),
  [SET_SWITCH] = {handler = "switch", kind = "write",
    act = function (handler, element, data)
      local value = data_int(data)
      if value >= element.noutputs then return nil, "Invalid argument" end
      local problem = handler.write(element, tostring(value))
      if problem then return nil, tostring(problem) end
      return ""
    end},
}

--- Make the call; the data that it gives, or nil and a message.
function llrpc.call(element, command, data)
  local number = bit.band(command, 0xff)
  local own = element.class.llrpc and element.class.llrpc[number]
  if own then return own(element, data) end
  local known = KNOWN[number]
  local handler = known and handlers.find(element.router, element, known.handler)
  if not (handler and handler[known.kind]) then return nil, "Invalid argument" end
  return known.act(handler, element, data)
end

return llrpc
