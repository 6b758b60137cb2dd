-- SPDX-License-Identifier: Apache-2.0
-- Values of leaves in a configuration: from text, and to text. They are in memory as
-- upstream has them: IPv4 addresses are numbers, IPv6 and MAC addresses arrays of
-- bytes.

local ffi = require("ffi")
local parse = require("lib.stack.address")

local values = {}

local function whole(min, max)
  return {
    what = ("a whole number from %.0f to %.0f"):format(min, max),
    read = function (text)
      local n = text:match("^%d+$") and #text <= 15 and tonumber(text)
      if n and n >= min and n <= max then return n end
    end,
    write = function (n) return ("%.0f"):format(n) end,
  }
end

local function bytes(size, object)
  local result = ffi.new("uint8_t[?]", size)
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

values.ipv4 = {
  what = "an IPv4 address such as 192.0.2.1",
  read = function (text)
    local n = text:match("^%d+%.%d+%.%d+%.%d+$") and parse.parseIP4Address(text)
    return n and n % 2^32
  end,
  write = function (n)
    return ("%d.%d.%d.%d"):format(math.floor(n / 2^24), math.floor(n / 2^16) % 256,
      math.floor(n / 2^8) % 256, n % 256)
  end,
}

values.ipv6 = {
  what = "an IPv6 address such as 2001:db8::1",
  read = function (text)
    local address = parse.parseIP6Address(text)
    return address and bytes(16, address)
  end,
  write = function (address)
    local copy = ffi.new(parse.Ip6)
    ffi.copy(copy, address, 16)
    return tostring(copy)
  end,
}

values.mac = {
  what = "a MAC address such as 02:00:00:00:00:01",
  read = function (text)
    if not text:match("^%x%x:%x%x:%x%x:%x%x:%x%x:%x%x$") then return end
    local result, i = ffi.new("uint8_t[6]"), 0
    for digits in text:gmatch("%x+") do
      result[i], i = tonumber(digits, 16), i + 1
    end
    return result
  end,
  write = function (mac)
    return ("%02x:%02x:%02x:%02x:%02x:%02x"):format(mac[0], mac[1], mac[2], mac[3],
      mac[4], mac[5])
  end,
}

return values
