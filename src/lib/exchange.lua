-- SPDX-License-Identifier: Apache-2.0
-- Exchanges bytes of a packet, such as its addresses, for answers to their senders.

local ffi = require("ffi")

local MOST = 16
local kept = ffi.new("uint8_t[?]", MOST)
local copy = ffi.copy

--- Exchange the `n` bytes, up to 16, at the pointers `a` and `b`. Without a loop: it
--- would be one within that over packets.
return function (a, b, n)
  copy(kept, a, n)
  copy(a, b, n)
  copy(b, kept, n)
end
