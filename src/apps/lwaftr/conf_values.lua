-- SPDX-License-Identifier: Apache-2.0
-- Values of leaves in a configuration: from text, and to text. They are in memory as
-- upstream has them: IPv4 addresses are numbers, IPv6 and MAC addresses arrays of
-- bytes.

local ffi = require("ffi")
local address = require("lib.stack.address")

local values = {}

local function whole(min, max)
  return {
    is_whole = true,
    what = ("a whole number from %.0f to %.0f"):format(min, max),
    read = function (text)
      local n = text:match("^%d+$") and #text <= 15 and tonumber(text)
      if n and n >= min and n <= max then return n end
    end,
    write = function (n) return ("%.0f"):format(n) end,
  }
end

-- Of a type that says how many, so that it can be copied, and sent to other CPUs.
local function bytes(size, object)
  local result = ffi.new(("uint8_t[%d]"):format(size))
  ffi.copy(result, object, size)
  return result
end

values.whole = whole
values.uint8, values.uint16 = whole(0, 255), whole(0, 65535)
values.uint32, values.uint64 = whole(0, 2^32 - 1), whole(0, 2^53)

values.boolean = {
  what = "'true' or 'false'",
  read = function (text)
    if text == "true" then return true elseif text == "false" then return false end
  end,
  write = tostring,
}

-- Quoted where it wouldn't be one word.
values.text = {
  what = "text",
  read = function (text) return text end,
  write = function (text)
    if text:match("^[%w_.:@-]+$") then return text end
    local escaped = text:gsub('[\\"]', "\\%0"):gsub("\n", "\\n"):gsub("\t", "\\t")
    return '"' .. escaped .. '"'
  end,
}

values.date = {
  what = "a date and time such as 2026-01-31T12:00:00Z",
  read = function (text)
    return text:match("^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d[%d.]*[Zz+-][%d:]*$")
  end,
  write = values.text.write,
}

-- The text of such an address, which lies in memory as `type` does.
local function text_of(type)
  return function (object)
    local copy = type()
    ffi.copy(copy, object, ffi.sizeof(type))
    return tostring(copy)
  end
end

values.ipv4 = {
  what = "an IPv4 address such as 192.0.2.1",
  read = address.parseIP4Address,
  write = address.ip4ToString,
}

values.ipv6 = {
  what = "an IPv6 address such as 2001:db8::1",
  read = function (text)
    local found = address.parseIP6Address(text)
    return found and bytes(16, found)
  end,
  write = text_of(address.Ip6),
}

values.mac = {
  what = "a MAC address such as 02:00:00:00:00:01",
  read = function (text) -- in the one form that YANG has (RFC 6991)
    local found = text:match("^%x%x:%x%x:%x%x:%x%x:%x%x:%x%x$")
      and address.parseMacAddress(text)
    return found and bytes(6, found)
  end,
  write = text_of(address.Mac),
}

return values
