-- SPDX-License-Identifier: Apache-2.0
-- Of the C functions that Snabb's lib.ipsec.esp calls (snabb/native/sequence.c).
local ffi = require("ffi")

ffi.cdef[[
uint64_t track_seq_no(uint32_t, uint32_t, uint64_t, uint8_t *, uint32_t);
int64_t check_seq_no(uint32_t, uint64_t, uint8_t *, uint32_t);
]]

local SIZE = 64

describe("the window of sequence numbers", function ()
  it("knows which it has seen, and the upper halves, across 2^32", function ()
    math.randomseed(8)
    local window = ffi.new("uint8_t[?]", SIZE / 8)
    local seen, last = {}, 0ULL
    local top = 2 ^ 32 - 500
    last = ffi.C.track_seq_no(0, top, last, window, SIZE)
    seen[top] = true
    for _ = 1, 3000 do
      -- Numbers in the window, or up to 100 ahead of it.
      local n = top + math.random(-SIZE + 1, math.random() < 0.05 and 100 or 2)
      local high = tonumber(ffi.C.check_seq_no(n % 2 ^ 32, last, window, SIZE))
      if seen[n] then
        assert.equal(-1, high)
      else
        assert.equal(math.floor(n / 2 ^ 32), high)
        last = ffi.C.track_seq_no(high, n % 2 ^ 32, last, window, SIZE)
        seen[n] = true
        top = math.max(top, n)
      end
      assert.equal(top, tonumber(last))
    end
    assert.is_true(top > 2 ^ 32)
  end)

  it("takes numbers below it as those of the next 2^32", function ()
    local window = ffi.new("uint8_t[?]", SIZE / 8)
    local last = ffi.C.track_seq_no(5, 1000, 0, window, SIZE)
    assert.equal(6, tonumber(ffi.C.check_seq_no(1000 - SIZE, last, window, SIZE)))
    assert.equal(5, tonumber(ffi.C.check_seq_no(1000 - SIZE + 1, last, window, SIZE)))
    assert.equal(-1, tonumber(ffi.C.check_seq_no(1000, last, window, SIZE)))
  end)
end)
