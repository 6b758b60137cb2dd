-- SPDX-License-Identifier: Apache-2.0
-- Rates of traffic: packets a second, or bits a second on an Ethernet wire, where a
-- frame takes more room than its bytes.

local ethernet = require("net.wire.ethernet")
local quantity = require("lib.quantity")
local si = require("core.engine.report").si

local M = {}

--- The bits that a frame of so many bytes (without its frame check) takes on the wire.
M.wire_bits = ethernet.bits

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
