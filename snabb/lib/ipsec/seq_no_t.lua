-- SPDX-License-Identifier: Apache-2.0
-- An extended sequence number (RFC 4303, 2.2.1): 64 bits in `no`, of which packets
-- carry the lower half.

local ffi = require("ffi")

local SeqNo = {}
SeqNo.__index = SeqNo

local HALF = 2 ^ 32

--- The lower half; with an argument, set it.
function SeqNo:low(value)
  if value then self.no = self:high() * (HALF + 0ULL) + value end
  return tonumber(self.no % (HALF + 0ULL))
end

--- The upper half; with an argument, set it.
function SeqNo:high(value)
  if value then self.no = value * (HALF + 0ULL) + self:low() end
  return tonumber(self.no / (HALF + 0ULL))
end

return ffi.metatype(ffi.typeof("struct { uint64_t no; }"), SeqNo)
