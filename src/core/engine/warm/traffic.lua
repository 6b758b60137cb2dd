-- SPDX-License-Identifier: Apache-2.0
-- The packets of a warm-up: a burst of what a network carries, in the proportions
-- of a simple IMIX, with some that are odd.

local ffi = require("ffi")

local traffic = {}

-- Frames up to and including the ports, as the field's standards give them.
local ETHERNET = "\2\0\0\0\0\1\2\0\0\0\0\2"
local IPV4 = ETHERNET .. "\8\0" .. "\69\0\0\46\0\1\0\0\64" -- protocol, checksum follow
local ADDRESSES = "\10\0\0\1\10\0\0\2"
local IPV6 = ETHERNET .. "\134\221" .. "\96\0\0\0\0\8\17\64"
  .. "\32\1\13\184" .. ("\0"):rep(11) .. "\1\32\1\13\184" .. ("\0"):rep(11) .. "\2"
local PORTS = "\4\0\0\53\0\8\0\0"

local KINDS = {
  IPV4 .. "\17\102\188" .. ADDRESSES .. PORTS,              -- UDP
  IPV4 .. "\6\102\199" .. ADDRESSES .. PORTS,               -- TCP
  IPV6 .. PORTS,
  ETHERNET .. "\129\0\0\5" .. IPV4:sub(13) .. "\17\102\188" .. ADDRESSES .. PORTS,
  ("\255"):rep(6) .. ETHERNET:sub(1, 6) .. "\8\6\0\1\8\0\6\4\0\1", -- ARP
}
-- Of 20 packets: which kind, and how many bytes.
local MIX = {1, 1, 2, 1, 3, 1, 2, 1, 2, 1, 4, 1, 2, 1, 3, 1, 2, 1, 2, 5}
local LENGTHS = {60, 60, 590, 60, 60, 1514, 60, 590, 60, 60, 590, 60}

--- Make `p` the `i`th packet of a burst (from 0).
function traffic.fill(p, i)
  local head = KINDS[MIX[i % #MIX + 1]]
  p.length = LENGTHS[i % #LENGTHS + 1]
  ffi.fill(p.data, p.length)
  ffi.copy(p.data, head, math.min(#head, p.length))
  if i % 20 == 13 then p.data[22] = 1 end -- IPv4's time to live runs out
end

return traffic
