-- SPDX-License-Identifier: Apache-2.0
-- ring: joins two networks of one process. Made of rings (rte_eth_from_rings), so DPDK
-- has no device string for it.

local ffi = require("ffi")
local C = require("core.native")
local arguments = require("lib.port.arguments")
local driver = require("lib.port.driver")
local failure = require("core.failure")

local ring = {
  name = "ring", order = 3,
  summary = "joins two networks of one process",
  positional = true,
  args = {
    {name = "name", type = arguments.name(20), show = "NAME",
      help = "the same name at both ends"},
  },
  two_ends = true,
  bench = {order = 2, receive = "ring:model", send = "ring:model", round = 1000,
    -- A burst, sent at the start, goes round.
    testpmd = {device = "--vdev net_ring0", more = "--tx-first"}},
}

function ring.open(device_port, port)
  local side = C.pg_ring_take(port.name)
  if side < 0 then
    failure.usage("port '%s': %s", port.text, ffi.string(C.pg_error()))
  end
  local result = C.pg_port_ring(device_port, port.name, side)
  if result < 0 then C.pg_ring_leave(port.name, side) end
  driver.check(port, result)
  port.side = side
end

function ring.closed(port) C.pg_ring_leave(port.name, port.side) end

return ring
