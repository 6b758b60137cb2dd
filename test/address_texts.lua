-- SPDX-License-Identifier: Apache-2.0
-- For test_addresses.py: reads lines of 32 hexadecimal digits, an IPv6 address; writes
-- its text by everything that writes some: net.address, flow records, softwires, and
-- Snabb's class; and that of its last four bytes.

local ffi = require("ffi")
local address = require("net.address.address")
local cjson = require("cjson")
local C = require("core.declare")("apps/lwaftr/lwaftr.h")
local ipv4 = require("lib.protocol.ipv4")
local ipv6 = require("lib.protocol.ipv6")
require("net.metering.meter")

local ROOM = 1000
local text = ffi.new("char[?]", ROOM)

local function of_flow(bytes, version)
  local e = ffi.new("struct meter_ended")
  ffi.copy(e.key.source, bytes, #bytes)
  e.key.version = version
  local n = C.pg_meter_line(e, '"p"', text, ROOM)
  return cjson.decode(ffi.string(text, n)).source
end

local function of_softwire(mark, set)
  local s = ffi.new("struct softwire")
  set(s)
  return ffi.string(text, C.pg_print_softwires(s, 1, mark, mark, text))
end

for line in io.lines() do
  local bytes = line:gsub("%x%x", function (digits)
    return string.char(tonumber(digits, 16))
  end)
  local four = bytes:sub(13)
  local a, b, c, d = four:byte(1, 4)
  print(address.text(bytes), of_flow(bytes, 6),
    of_softwire("\3", function (s) ffi.copy(s.ends.b4, bytes, 16) end),
    ipv6:ntop(ffi.cast("uint8_t *", bytes)))
  print(address.text(four), of_flow(four, 4),
    of_softwire("\1", function (s) s.ipv4 = ((a * 256 + b) * 256 + c) * 256 + d end),
    ipv4:ntop(ffi.cast("uint8_t *", four)))
end
