-- SPDX-License-Identifier: Apache-2.0
-- For --check: a packet's `data` and `length`, looked at and set with care. LuaJIT asks
-- nobody about a struct's own fields, so `length` has another name in C's declaration.

local record = require("core.check.record")

local fields = {}

local MOST = 10240 -- PACKET_MAX_PAYLOAD

--- The metatable of packets. `methods` are what else they can be asked by name, and
--- `properties` functions of a packet for what is no method.
function fields.metatable(methods, properties)
  return {
    __index = function (p, key)
      if key == "data" then
        record.check_use(p, "p.data")
        return p.buf_addr + p.data_off
      elseif key == "length" then
        record.check_use(p, "p.length")
        return p.unchecked_length
      end
      local method = methods[key]
      if method then return method end
      local property = properties[key]
      if property then return property(p) end
      error(("a packet has no field '%s'; it has data and length")
        :format(tostring(key)), 2)
    end,
    __newindex = function (p, key, value)
      if key ~= "length" then
        error(("a packet has no field '%s' to set; it has length"):format(
          tostring(key)), 2)
      end
      record.check_use(p, "p.length = " .. tostring(value))
      local n = tonumber(value)
      if not (n and n >= 0 and n <= MOST) then
        record.misuse("p.length = %s: a packet holds 0 to %d bytes", tostring(value),
          MOST)
      end
      p.unchecked_length = value
    end,
  }
end

jit.off(true, true)

return fields
