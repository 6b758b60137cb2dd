-- SPDX-License-Identifier: Apache-2.0
-- The lwAFTR's counters, under upstream's names. Those of packets come with one of
-- bytes, Ethernet headers included, but for a few.

local counter = require("core.counter")

local counters = {}

local BOTH = {
  "drop-all-ipv4-iface", "drop-all-ipv6-iface", "drop-bad-checksum-icmpv4",
  "drop-in-by-policy-icmpv4", "drop-in-by-policy-icmpv6", "drop-in-by-rfc7596-icmpv4",
  "drop-misplaced-not-ipv4", "drop-misplaced-not-ipv6", "drop-no-dest-softwire-ipv4",
  "drop-no-source-softwire-ipv6", "drop-over-mtu-but-dont-fragment-ipv4",
  "drop-over-rate-limit-icmpv4", -- which upstream doesn't count
  "drop-over-rate-limit-icmpv6", "drop-over-time-but-not-hop-limit-icmpv6",
  "drop-too-big-type-but-not-code-icmpv6", "drop-ttl-zero-ipv4",
  "drop-unknown-protocol-icmpv6", "drop-unknown-protocol-ipv6", "hairpin-ipv4",
  "in-ipv4", "in-ipv6", "out-icmpv4-error", "out-icmpv6-error", "out-ipv4", "out-ipv6",
}
local ALONE = {
  "drop-ipv4-frag-disabled", "drop-ipv6-frag-disabled",
  "drop-out-by-policy-icmpv4-packets", "drop-out-by-policy-icmpv6-packets",
  "ingress-packet-drops",
}

--- For an app class's `shm`.
function counters.shm()
  local shm = {}
  for _, name in ipairs(BOTH) do
    shm[name .. "-packets"], shm[name .. "-bytes"] = {counter}, {counter}
  end
  for _, name in ipairs(ALONE) do shm[name] = {counter} end
  return shm
end

--- Count `packets` (1 if it isn't given) of together `bytes` as `name` in `shm`.
function counters.add(shm, name, bytes, packets)
  counter.add(shm[name .. "-bytes"], bytes)
  counter.add(shm[name .. "-packets"], packets or 1)
end

return counters
