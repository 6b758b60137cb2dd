-- SPDX-License-Identifier: Apache-2.0
-- Cards that interrupt when something comes (native/dpdk/port_interrupt.c): what the
-- entry of a kind with DPDK's own driver has for that. A card is looked at until its
-- interrupts have come with packets, and always where they don't.

local C = require("core.native")
local arguments = require("lib.port.arguments")
local waking = require("core.idle.waking")

local interrupts = {}

--- The eventfd that the card's interrupt writes to; nil if it has none.
function interrupts.wake_fds(device_port)
  if not C.pg_port_interrupts(device_port) then return nil end
  return {C.pg_port_descriptor(device_port), counts = true}
end

--- Let the card interrupt, or no more.
interrupts.notify = C.pg_port_notify

--- Look whether it does.
function interrupts.tend(device_port)
  local proof = device_port.proof
  local before = proof.given
  if C.pg_port_interrupts(device_port) and proof.given ~= before then
    waking.changed()
  end
  return 0
end

--- What the entry of such a kind has in common with others, a table.
interrupts.of_card = {
  args = {arguments.offload, arguments.fast_free},
  mtu = 9600,
  rx_interrupts = true,
  wake_fds = interrupts.wake_fds,
  notify = interrupts.notify,
  tend = interrupts.tend,
}

return interrupts
