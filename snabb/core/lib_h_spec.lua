-- SPDX-License-Identifier: Apache-2.0
-- That the functions declared are there and do what their names say.

local ffi = require("ffi")
local C = ffi.C

describe("the C functions of Snabb's programs", function ()
  it("tell the time", function ()
    local monotonic, ns = C.get_monotonic_time(), C.get_time_ns()
    C.sleep_ns(1000000)
    assert.is_true(C.get_monotonic_time() - monotonic >= 0.001)
    assert.is_true(C.get_time_ns() - ns >= 1000000)
    assert.equal("cdata", type(ns))
    local before, now, after = os.time(), C.get_unix_time(), os.time()
    assert.is_true(before <= now and now < after + 1.1) -- time(2) lags by a tick
  end)

  it("do nothing that can be seen", function ()
    local bytes = ffi.new("uint8_t[64]", 7)
    C.full_memory_barrier()
    C.prefetch_for_read(bytes)
    C.prefetch_for_write(bytes)
    C.nop()
    assert.equal(("\7"):rep(64), ffi.string(bytes, 64))
  end)

  it("tell when a file was changed", function ()
    local name = os.tmpname()
    assert.is_true(math.abs(C.stat_mtime(name) - os.time()) < 60)
    os.remove(name)
    assert.equal(0, C.stat_mtime(name))
  end)
end)

describe("constants", function ()
  it("of packets and links are Snabb's", function ()
    assert.same({10240, 1024, 1023}, {tonumber(C.PACKET_PAYLOAD_SIZE),
      tonumber(C.LINK_RING_SIZE), tonumber(C.LINK_MAX_PACKETS)})
  end)
end)

describe("the C library's functions", function ()
  it("are declared, every one", function ()
    local path = require("core.main").root .. "/snabb/core/clib_h.lua"
    local count = 0
    for line in io.lines(path) do
      local name = line:match("^[%w_ ]+[ *]([%w_]+)%(.*;$")
      if name then
        assert.equal("cdata", type(C[name]), name)
        count = count + 1
      end
    end
    assert.equal(26, count)
  end)

  it("work", function ()
    assert.equal(0x3412, C.htons(0x1234))
    assert.equal(0x78563412, C.ntohl(0x12345678))
    local address = ffi.new("uint8_t[4]")
    assert.equal(1, C.inet_pton(2, "10.1.2.3", address))
    assert.equal("\10\1\2\3", ffi.string(address, 4))
    assert.is_true(C.memcmp("abc", "abd", 3) < 0)
    assert.equal(0, C.memcmp("abc", "abd", 2))
  end)
end)
