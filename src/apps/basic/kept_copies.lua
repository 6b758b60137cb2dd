-- SPDX-License-Identifier: Apache-2.0
-- Copies of packets that an app keeps, sent in bursts: C makes them (copies.c). Where
-- packets are checked (core.check) they are made one by one, so that each is seen.

local ffi = require("ffi")
local C = require("core.native")
local link = require("core.link")
local mode = require("core.check.mode")
local packet = require("core.packet")
local pool = require("core.pool")

local BURST = 64
local freelist = pool.freelist
local burst = ffi.new("struct packet *[?]", BURST)
local min = math.min

-- Free packets, at least one and no more than `n`: so many may be taken.
local function allow(n)
  if freelist.nfree < n and C.pg_freelist_refill(freelist, BURST) == 0
     and freelist.nfree == 0 then
    pool.refill()
  end
  return min(n, freelist.nfree)
end

local function send_each(packets, index, output, n)
  for _ = 1, n do
    link.transmit(output, packet.clone(packets[index]))
    index = index % #packets + 1
  end
  return index
end

--- Send copies of `n` of the packets (an array), from the one at `index` on and from
--- the first again. Returns the index that is next. What the link has no room for is
--- dropped there. Raises a failure when the pool has no packet left.
return function (packets, index, output, n)
  if mode.on then return send_each(packets, index, output, n) end
  local count = #packets
  while n > 0 do
    local some = allow(min(n, BURST))
    for i = 0, some - 1 do
      burst[i] = packets[index]
      index = index < count and index + 1 or 1
    end
    C.pg_copy(freelist, burst, some)
    C.pg_give(freelist, output, burst, some)
    n = n - some
  end
  return index
end
