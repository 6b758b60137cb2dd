-- SPDX-License-Identifier: Apache-2.0
-- Made-up test frames: UDP over IPv4, as RFC 2544's appendix C has them, with port 7
-- (echo) and addresses of its range 198.18.0.0/15.

local C = require("core.declare")("net/checksum/checksum.h")

local frames = {}

local ETHERNET, IPV4, UDP = 14, 20, 8
local FLOWS = 64 -- source ports, so that devices can spread the frames

local function be16(n)
  return string.char(math.floor(n / 256), n % 256)
end

local function ip_header(length)
  local header = "\69\0" .. be16(length) .. "\0\0\0\0\64\17\0\0"
    .. "\198\18\0\1" .. "\198\19\0\1"
  return header:sub(1, 10) .. be16(C.pg_checksum(header, IPV4, 0)) .. header:sub(13)
end

--- Frames of `size` bytes, without the frame check: an array of strings.
function frames.make(size)
  local ip, list = ip_header(size - ETHERNET), {}
  local payload = size - ETHERNET - IPV4 - UDP
  for i = 1, FLOWS do
    list[i] = "\2\0\0\0\0\2" .. "\2\0\0\0\0\1" .. "\8\0" .. ip
      .. be16(49152 + i) .. be16(7) .. be16(UDP + payload) .. "\0\0"
      .. ("\0"):rep(payload)
  end
  return list
end

return frames
