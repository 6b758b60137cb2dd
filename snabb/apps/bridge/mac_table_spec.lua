-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local mac_table = require("apps.bridge.mac_table")

local box = ffi.new("uint8_t *[1]")

-- A box with the address, which is kept in `hold`.
local hold
local function at(bytes)
  hold = ffi.new("uint8_t[6]", bytes:byte(1, 6))
  box[0] = hold
  return box
end

local function numbered(i)
  return string.char(2, 0, 0, math.floor(i / 65536) % 256, math.floor(i / 256) % 256,
    i % 256)
end

describe("apps.bridge.mac_table", function ()
  local t

  before_each(function () t = mac_table:new() end)
  after_each(function () t:stop() end)

  it("finds what was put in, and nothing else", function ()
    t:insert(at(numbered(1)), 3, 7)
    assert.same({3, 7}, {t:lookup(at(numbered(1)))})
    assert.is_nil((t:lookup(at(numbered(2)))))
    assert.is_nil((t:lookup(at("\0\0\0\0\0\0"))))
    t:insert(at(numbered(1)), 65535, 65534)
    assert.same({65535, 65534}, {t:lookup(at(numbered(1)))})
    assert.equal(1, t:info().entries)
    t:clear()
    assert.is_nil((t:lookup(at(numbered(1)))))
  end)

  it("takes a group's address, as Snabb's does", function ()
    t:insert(at("\1\0\94\0\0\1"), 2, 5)
    assert.same({2, 5}, {t:lookup(at("\1\0\94\0\0\1"))})
    assert.is_nil((t:lookup(at("\0\0\94\0\0\1"))))
  end)

  it("keeps what it has when it is full", function ()
    local small, n = mac_table:new{size = 2}, 0
    repeat
      n = n + 1
      small:insert(at(numbered(n)), n, 0)
    until small:overflow_p()
    for i = 1, n - 1 do assert.equal(i, (small:lookup(at(numbered(i))))) end
    assert.is_nil((small:lookup(at(numbered(n)))))
    small:stop()
  end)

  -- Those of a maker's cards differ in the last bytes, those of a host's in others.
  it("spreads addresses of any pattern", function ()
    for _, place in ipairs{1, 2, 3, 4, 5} do
      t:clear()
      for i = 0, 255 do
        local bytes = {2, 0, 0, 0, 0, 0}
        bytes[place], bytes[place + 1] = i - i % 2, i % 16 * 16
        t:insert(at(string.char(unpack(bytes))), 1, 0)
      end
      assert.is_false(t:overflow_p())
      assert.is_true(t:info().load > 0.8)
    end
  end)

  it("grows when it is too small, and keeps what it knows", function ()
    for i = 1, 300 do t:insert(at(numbered(i)), i, 0) end
    assert.is_true(t:maybe_resize())
    assert.equal(512, t:info().size)
    assert.equal(t:info().buckets - 1, t:info().mask)
    for i = 1, 300 do assert.equal(i, (t:lookup(at(numbered(i))))) end
    assert.is_false(t:maybe_resize())
    local seen = 0
    local following, state = t:iterator()
    for mac, port in following, state do
      assert.equal(numbered(port), ffi.string(mac, 6))
      seen = seen + 1
    end
    assert.equal(300, seen)
    state:reset()
    assert.is_not_nil(following(state))
  end)

  it("forgets what it knows when it grows, if it may", function ()
    local other = mac_table:new{size = 1, copy_on_resize = false}
    for i = 1, 5 do other:insert(at(numbered(i)), i, 0) end
    assert.is_true(other:maybe_resize())
    assert.equal(0, other:info().entries)
    assert.equal(8, other:info().size)
    other:stop()
  end)

  it("has room for addresses in use, whatever else comes", function ()
    local small = mac_table:new{size = 4}
    for _ = 1, 2 do
      for i = 1, 20 do small:insert(at(numbered(i)), i, 0) end
    end
    for i = 1001, 9999 do small:insert(at(numbered(i)), 99, 0) end
    for i = 1, 20 do assert.equal(i, (small:lookup(at(numbered(i))))) end
    assert.equal(32, small:info().entries)
    assert.is_true(small:maybe_resize())
    assert.is_false(small:overflow_p())
    small:stop()
  end)

  it("grows no further than it may", function ()
    local small = mac_table:new{size = 500, resize_max = 16}
    assert.equal(16, small:info().size)
    for i = 1, 1000 do small:insert(at(numbered(i)), 1, 0) end
    assert.is_true(small:overflow_p())
    assert.equal(128, small:info().entries)
    assert.is_false(small:maybe_resize())
    local max, average = small:stats()
    assert.is_true(max >= average and average >= 3 and average < 7)
    small:stop()
  end)

  it("refuses sizes that can't be", function ()
    for _, config in ipairs{{size = 0}, {size = "x"}, {timeout = -1},
                            {resize_max = 2^30}} do
      assert.has_error(function () mac_table:new(config) end)
    end
  end)
end)
