-- SPDX-License-Identifier: Apache-2.0
-- Numbers in addresses and payloads: indices and values of every kind.

local ffi = require("ffi")
local packet = require("core.packet")
local stack = require("lib.stack")

local OF_LUAJIT = {"attempt to ", "cannot convert", "bad argument", "cannot be indexed"}

-- The sentence that the call raises.
local function refusal(f)
  local ok, message = pcall(f)
  assert.is_false(ok)
  for _, words in ipairs(OF_LUAJIT) do
    assert.is_nil(message:find(words, 1, true), message)
  end
  assert.matches("cells_spec.lua:%d+: ", message)
  return message
end

describe("numbers in addresses and payloads", function ()
  local p, pkt, six
  before_each(function ()
    p = packet.from_string(("\0"):rep(100))
    pkt = stack.createStack("eth", "ip4", "udp")(p)
    six = stack.createStack("eth", "ip6")(p).ip6
  end)
  after_each(function () packet.free(p) end)

  local function arrays()
    return {
      {pkt.ip4.src, uint8 = 4}, {six.src, uint8 = 16, uint32 = 4, uint64 = 2},
      {pkt.eth.src, uint8 = 6, uint64 = 1},
      {pkt.payload, uint8 = 10240, uint16 = 5120, uint32 = 2560, uint64 = 1280},
    }
  end

  local function each(f)
    for _, entry in ipairs(arrays()) do
      for name, n in pairs(entry) do
        if name ~= 1 then f(entry[1], name, n) end
      end
    end
  end

  it("are from 0 on, as many as there are", function ()
    each(function (of, name, n)
      for _, i in ipairs{-1, n, n + 1, 2 ^ 31, 2 ^ 53, 1e300, 0 / 0, "x", "0", true,
                         {}, print, p.data} do
        local expected = ("%s[i] is indexed with numbers from 0 to %d, not with ")
          :format(name, n - 1)
        assert.matches(expected, refusal(function () return of[name][i] end), 1, true)
        assert.matches(expected, refusal(function () of[name][i] = 1 end), 1, true)
      end
    end)
  end)

  it("take numbers alone", function ()
    each(function (of, name, n)
      n = math.min(n, 4)
      for _, value in ipairs{"x", "5", true, {}, print, p.data, p} do
        assert.matches(("%s[%d] takes a number, not "):format(name, n - 1),
          refusal(function () of[name][n - 1] = value end), 1, true)
        assert.matches("can't be set to", refusal(function () of[name] = value end), 1,
          true)
      end
      refusal(function () of[name][0] = nil end)
      of[name][n - 1] = 200
      assert.equal(200, tonumber(of[name][n - 1]))
      of[name][n - 1] = 77ULL
      assert.equal(77, tonumber(of[name][n - 1]))
    end)
    assert.matches("an IPv4 address's uint32 takes a number, not 'x'",
      refusal(function () pkt.ip4.src.uint32 = "x" end), 1, true)
    pkt.ip4.src.uint32 = 0x0100007fULL
    assert.equal("127.0.0.1", pkt.ip4.src:getString())
  end)

  it("are memory, for C", function ()
    ffi.copy(pkt.payload.uint8, "abc", 3)
    assert.equal("abc", ffi.string(pkt.payload.uint8, 3))
    assert.equal(("c"):byte(), (pkt.payload.uint8 + 1)[1])
    assert.equal(("b"):byte(), ffi.cast("uint8_t *", pkt.payload.uint8)[1])
  end)
end)
