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
local min = math.min

local copies = {}
copies.__index = copies

--- For one app. `array` has the addresses of the `n` packets that it keeps.
local function new()
  return setmetatable({array = ffi.new("struct packet *[1]"), room = 1, n = 0,
                       burst = ffi.new("struct packet *[?]", BURST)}, copies)
end

-- Note the packets that came since.
local function note(self, packets)
  if #packets > self.room then
    self.room, self.n = 2 * #packets, 0
    self.array = ffi.new("struct packet *[?]", self.room)
  end
  for i = self.n + 1, #packets do self.array[i - 1] = packets[i] end
  self.n = #packets
end

local function send_each(packets, index, output, n)
  for _ = 1, n do
    link.transmit(output, packet.clone(packets[index]))
    index = index % #packets + 1
  end
  return index
end

--- Send copies of `n` of the packets (an array that only grows), from the one at
--- `index` on and from the first again. Returns the index that is next. What the link
--- has no room for is dropped there.
function copies:send(packets, index, output, n)
  if mode.on then return send_each(packets, index, output, n) end
  if self.n ~= #packets then note(self, packets) end
  while n > 0 do
    if freelist.nfree == 0 then packet.free_internal(packet.allocate()) end
    local some = min(n, BURST, freelist.nfree)
    index = C.pg_copies(freelist, self.array, self.n, index - 1, self.burst, some) + 1
    C.pg_give(freelist, output, self.burst, some)
    n = n - some
  end
  return index
end

return {new = new}
