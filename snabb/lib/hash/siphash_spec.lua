-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local lib = require("core.lib")
local siphash = require("lib.hash.siphash")

-- The paper's key 00 01 .. 0f and inputs 00 01 02 ...
local function counting(n)
  local bytes = ffi.new("uint8_t[?]", math.max(n, 1))
  for i = 0, n - 1 do bytes[i] = i end
  return bytes
end
local KEY = counting(16)

local function hash_of(options, input)
  options.key = KEY
  return siphash.make_hash(options)(input)
end

describe("lib.hash.siphash", function ()
  -- SipHash-2-4: a129ca6149be45e5 (the paper, appendix A), and from the vectors of
  -- its reference code 726fdb47dd0e0e31 and 93f5f5799a932462.
  it("gives the published values", function ()
    assert.equal(0x49be45e5, hash_of({size = 15, standard = true}, counting(15)))
    assert.equal(0xdd0e0e31, hash_of({size = 0, standard = true}, counting(0)))
    assert.equal(0x9a932462, hash_of({size = 8, standard = true}, counting(8)))
  end)

  it("gives tables 31 bits of it, moved up by one", function ()
    assert.equal(bit.tobit(bit.lshift(0xa129ca61, 1)),
      bit.tobit(hash_of({size = 15, as_specified = true}, counting(15))))
  end)

  it("hashes many inputs as it hashes each, at any stride", function ()
    for _, size in ipairs{1, 3, 4, 7, 8, 13, 24, 32} do
      for _, rounds in ipairs{{1, 2}, {2, 4}, {0, 3}} do
        for _, as_specified in ipairs{true, false} do
          for width = 1, 9 do
            local options = {size = size, stride = size + 3, width = width, key = KEY,
              c = rounds[1], d = rounds[2], as_specified = as_specified}
            local inputs = lib.random_bytes(width * (size + 3))
            local hashes = ffi.new("uint32_t[?]", width + 1)
            hashes[width] = 12345
            siphash.make_multi_hash(options)(inputs, hashes)
            local one = siphash.make_hash(options)
            for i = 0, width - 1 do
              assert.equal(one(inputs + i * (size + 3)), hashes[i])
            end
            assert.equal(12345, hashes[width])
          end
        end
      end
    end
  end)

  -- Of 00 to 06: the number of four bytes, 0x03020100, of two, 0x0504, of one, 0x06.
  it("packs the bytes of an incomplete word as Snabb's tables do", function ()
    local word = ffi.new("uint64_t[1]", 0x03020100050406ULL)
    assert.equal(hash_of({size = 8}, word), hash_of({size = 7}, counting(7)))
  end)

  it("hashes a number as the eight bytes it is kept in", function ()
    local number = ffi.new("uint64_t[1]", 0x123456789abcdef0ULL)
    assert.equal(siphash.make_hash{size = 8, key = KEY}(number),
      siphash.make_u64_hash{key = KEY}(number[0]))
  end)

  it("depends on the key", function ()
    local input = counting(8)
    local one = siphash.make_hash{size = 8, key = siphash.sip_hash_key_from_seed(1)}
    local two = siphash.make_hash{size = 8, key = siphash.sip_hash_key_from_seed(2)}
    assert.not_equal(one(input), two(input))
    assert.not_equal(one(input), siphash.make_hash{size = 8}(input))
  end)
end)
