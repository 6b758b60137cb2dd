-- SPDX-License-Identifier: Apache-2.0
-- Rates of traffic: packets a second, or bits a second on an Ethernet wire, where a
-- frame takes more room than its bytes.

local quantity = require("lib.quantity")
local si = require("core.engine.report").si

local M = {}

-- Bytes around a frame: preamble and start delimiter 8, gap 12 (together the 20 that
-- line rates are given with), and the frame check sequence 4, which no frame here
-- holds (IEEE 802.3, clauses 3.2 and 4.4.2).
local WIRE_OVERHEAD = 8 + 12 + 4
local SHORTEST_FRAME = 60 -- without its frame check: shorter ones are padded

--- The bits that a frame of `size` bytes (without its frame check) takes on the wire.
function M.wire_bits(size)
  return 8 * (math.max(size, SHORTEST_FRAME) + WIRE_OVERHEAD)
end

--- Converter (lib.cli): "1.5Mpps" is {packets = 1.5e6}, "10Gbit" (or Gbit/s, Gbps)
--- {bits = 1e10}, on the wire. k, M and G are powers of 1,000.
function M.parse(text)
  local value, of = quantity.rate(text)
  if not value then return nil, of end
  return {[of] = value}
end

--- A rate (as from parse; nil: none) as text.
function M.text(rate)
  if not rate then return "as fast as it goes" end
  return rate.packets and si(rate.packets, "pps")
    or si(rate.bits, "bit/s") .. " on the wire"
end

return M
