-- SPDX-License-Identifier: Apache-2.0
-- Cards that interrupt when something comes (rte_eth_dev_rx_intr_enable): what the entry
-- of a kind with DPDK's own driver has for that. Those that can't are looked at.

local C = require("core.native")

local interrupts = {}

--- The eventfd that the card's interrupt writes to; nil if it has none.
function interrupts.wake_fds(device_port)
  local fd = C.pg_port_descriptor(device_port)
  return fd >= 0 and {fd, counts = true} or nil
end

--- Let the card interrupt, or no more.
interrupts.notify = C.pg_port_notify

return interrupts
