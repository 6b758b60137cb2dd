-- SPDX-License-Identifier: Apache-2.0
-- Fields of summary dumps from the Ethernet header.

local addresses = require("click.arguments.addresses")
local ether_type = require("net.wire.ether_type")

local ORDER = 200
local HEADER = 14

-- Where the Ethernet header is, if it is right before the IP header.
local function header(view)
  local at = view.ether
  if not at and (not view.net or view.start < view.net) then at = view.start end
  if at and at + HEADER == (view.net or view.finish) then return at end
  view:complain("Ethernet header")
end

local function address_field(name, offset)
  return {
    name = name, order = ORDER, zero = ("\0"):rep(6),
    get = function (view)
      local at = header(view)
      if not at then return nil end
      local bytes = {}
      for i = 0, 5 do bytes[i + 1] = string.char(view:byte(at + offset + i)) end
      return table.concat(bytes)
    end,
    text = function (value)
      return ("%02X-%02X-%02X-%02X-%02X-%02X"):format(value:byte(1, 6))
    end,
    parse = function (text, builder)
      return addresses.eth(text, {}, builder.element)
    end,
    put = function (builder, value)
      if builder:make_ether() then builder:set_bytes(offset, value) end
    end,
    pack = function (value) return value end,
    unpack = function (text, at)
      if at + 5 > #text then return nil, #text + 1 end
      return text:sub(at, at + 5), at + 6
    end,
  }
end

local IP, IP6 = ether_type.IP4, ether_type.IP6

return function (fields)
  fields.add{
    address_field("eth_dst", 0),
    address_field("eth_src", 6),
    {
      name = "eth_type", bytes = 2, order = ORDER,
      get = function (view)
        local at = header(view)
        return at and view:half(at + 12)
      end,
      text = function (value) return ("%04X"):format(value) end,
      parse = function (text)
        return text:find("^%x%x?%x?%x?$") and tonumber(text, 16)
      end,
      put = function (builder, value)
        if not builder:make_ether() then return end
        builder:set(12, 2, value)
        builder.is_ip = value == IP
        builder.is_ip6 = builder.ip6 and value == IP6
      end,
    },
  }
  fields.also{ether_src = "eth_src", ether_dst = "eth_dst", ether_type = "eth_type"}
end
