-- SPDX-License-Identifier: Apache-2.0
-- For testing.another_argument: frames, and functions that give them to an app.

local ethernet = require("lib.protocol.ethernet")
local ffi = require("ffi")
local ipv6 = require("lib.protocol.ipv6")
local link = require("core.link")
local nd = require("net.neighbor.nd")
local packet = require("core.packet")

local M = {}

M.US, M.THEM = "\2\0\0\0\0\1", "\2\0\0\0\0\2"
M.mac1, M.mac2 = ethernet:pton("02:00:00:00:00:01"), ethernet:pton("02:00:00:00:00:02")
M.ip1, M.ip2, M.ip3 = "\192\0\2\1", "\192\0\2\2", "\192\0\2\3"
M.six1, M.six2 = ipv6:pton("2001:db8::1"), ipv6:pton("2001:db8::2")
M.six3 = ipv6:pton("2001:db8::3")
local text1, text2 = ffi.string(M.six1, 16), ffi.string(M.six2, 16)

local function be16(n) return string.char(math.floor(n / 256), n % 256) end

--- IPv4 from ip2 to ip1.
function M.frame4(payload, protocol, flags)
  local header = "\69\0" .. be16(20 + #payload) .. "\0\7" .. be16(flags or 0)
    .. "\64" .. string.char(protocol or 17) .. "\0\0" .. M.ip2 .. M.ip1
  local sum = require("lib.checksum").ipsum(header, #header, 0)
  return M.US .. M.THEM .. "\8\0" .. header:sub(1, 10) .. be16(sum)
    .. header:sub(13) .. payload
end

--- IPv6 from six2 to six1.
function M.frame6(payload, protocol)
  return M.US .. M.THEM .. "\134\221\96\0\0\0" .. be16(#payload)
    .. string.char(protocol or 17, 64) .. text2 .. text1 .. payload
end

local MORE_FRAGMENTS = 0x2000
M.FRAGMENT4 = M.frame4(("f"):rep(64), 17, MORE_FRAGMENTS)
M.FRAGMENT6 = M.frame6("\17\0\0\1\0\0\0\7" .. ("f"):rep(64), 44)

--- The packet's bytes; it is freed.
function M.bytes_of(p)
  local bytes = ffi.string(p.data, p.length)
  packet.free(p)
  return bytes
end

--- Their advertisement, which we have asked for.
function M.advertisement()
  local asked = nd.solicitation(M.mac1, M.six1, M.six2)
  local bytes = M.bytes_of(nd.advertisement(M.mac2, M.six2, asked.data, nd.OVERRIDE))
  packet.free(asked)
  return bytes
end

--- A function that gives an app these frames, from the link `input`.
function M.sends(input, ...)
  local frames = {...}
  return function (app)
    for _, frame in ipairs(frames) do
      link.transmit(app.input[input], packet.from_string(frame))
    end
  end
end

return M
