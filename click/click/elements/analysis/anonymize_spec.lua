-- SPDX-License-Identifier: Apache-2.0
local bit = require("bit")
local click = require("testing.click")
local dumps = require("testing.click_dumps")
local ffi = require("ffi")
local ip = require("core.declare")("net/checksum/checksum.h")
local wire = require("click.net.wire")

-- Both addresses of the packet, as numbers from 0 on.
local function addresses(p, at)
  local words = ffi.cast("int32_t *", p.data + (at or 12))
  return wire.number_of(words[0]), wire.number_of(words[1])
end

local function through(unit, source, destination)
  local p = unit:pass(dumps.packet("src dst proto",
    ("%s %s U"):format(source, destination)))
  assert.equal(0, ip.pg_checksum_word(p.data, 20))
  return p
end

-- How many bits both begin with.
local function common(a, b)
  for n = 32, 0, -1 do
    if math.floor(a / 2 ^ (32 - n)) == math.floor(b / 2 ^ (32 - n)) then return n end
  end
end

local function text(number) return wire.ip_text(number) end

describe("AnonymizeIPAddr", function ()
  it("keeps how many bits addresses have in common, and each's replacement", function ()
    local unit, seen, list = click.unit("AnonymizeIPAddr"), {}, {}
    for i = 1, 300 do
      local a = math.random(1, 2 ^ 31 - 2) + 0
      if i % 2 == 0 then a = list[i - 1] + bit.band(i, 7) + 1 end
      list[i] = a
    end
    for _ = 1, 2 do
      for i = 2, #list do
        local a, b = addresses(through(unit, text(list[i - 1]), text(list[i])))
        assert.equal(seen[list[i - 1]] or a, a)
        seen[list[i - 1]], seen[list[i]] = a, b
      end
    end
    for i = 1, #list, 7 do
      for j = 1, #list do
        assert.equal(common(list[i], list[j]), common(seen[list[i]], seen[list[j]]))
      end
    end
    unit:free()
  end)

  it("keeps special addresses, classes and first bytes that are asked for", function ()
    local unit = click.unit("AnonymizeIPAddr(PRESERVE_8 10 192)")
    local a, b = addresses(through(unit, "0.0.0.0", "255.255.255.255"))
    assert.same({0, 2 ^ 32 - 1}, {a, b})
    a, b = addresses(through(unit, "10.1.2.3", "192.9.8.7"))
    assert.same({10, 192}, {math.floor(a / 2 ^ 24), math.floor(b / 2 ^ 24)})
    unit:free()
    unit = click.unit("AnonymizeIPAddr(CLASS 4)")
    for address, first in pairs{["9.1.1.1"] = 0, ["130.0.0.1"] = 2, ["200.0.0.1"] = 6,
        ["226.0.0.1"] = 14} do
      a = addresses(through(unit, address, "1.1.1.1"))
      local bits = first == 0 and 1 or first == 2 and 2 or first == 6 and 3 or 4
      assert.equal(first, math.floor(a / 2 ^ (32 - bits)), address)
    end
    unit:free()
  end)

  it("replaces what an ICMP error quotes, and says which packets aren't IP", function ()
    local unit = click.unit("AnonymizeIPAddr", {outputs = 2})
    local asked = through(unit, "10.0.0.1", "10.0.0.2")
    local from, to = addresses(asked)
    local r = click.unit("ICMPError(10.0.0.2, unreachable, port)")
    local p = unit:pass(r:pass(dumps.packet("src dst proto", "10.0.0.1 10.0.0.2 U")))
    local quoting, asker = addresses(p)
    assert.same({to, from}, {quoting, asker})
    local a, b = addresses(p, 20 + 8 + 12)
    assert.same({from, to}, {a, b})
    assert.equal(0, ip.pg_checksum_word(p.data, 20))
    assert.equal(0, ip.pg_checksum_word(p.data + 20, p.length - 20))
    assert.same({{2, "abc"}}, unit:send("abc"))
    unit:free()
    r:free()
  end)
end)
