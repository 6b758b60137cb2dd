-- SPDX-License-Identifier: Apache-2.0
local C = require("core.declare")("net/route/route.h")
local table6 = require("net.route.table6")

local ALL = ("\255"):rep(16)

local function bits_of(address)
  return (address:gsub(".", function (byte)
    local n, bits = byte:byte(), {}
    for i = 8, 1, -1 do bits[i], n = n % 2, math.floor(n / 2) end
    return table.concat(bits)
  end))
end

-- The same the slow way: by the addresses' bits, as text.
local function longest(list, address)
  local bits, best, at = bits_of(address), -1, 0
  for i, prefix in ipairs(list) do
    local length = prefix.length
    prefix.bits = prefix.bits or bits_of(prefix.address):sub(1, length)
    local same = prefix.bits == bits:sub(1, length)
    if same and length > best then best, at = length, i end
  end
  return at
end

local function look_up(t, address) return C.pg_ip6_table_look_up(t, address) end

-- Addresses that have much in common.
local function random_address()
  local bytes = {}
  for i = 1, 16 do bytes[i] = ({0, 0, 1, 128, 254, 255})[math.random(6)] end
  if math.random(2) == 1 then for i = 1, 14 do bytes[i] = 255 end end
  return string.char(unpack(bytes))
end

describe("A table of IPv6 routes", function ()
  it("finds the longest prefix, whatever there is", function ()
    for seed = 1, 60 do
      math.randomseed(seed)
      local list = {}
      for i = 1, math.random(0, 40) do
        list[i] = {address = random_address(), length = math.random(0, 128)}
      end
      local t = table6.new(list)
      for _ = 1, 50 do
        local address = random_address()
        assert.same({seed, address, longest(list, address)},
          {seed, address, look_up(t, address)})
      end
      for _, prefix in ipairs(list) do -- where ranges begin
        assert.equal(longest(list, prefix.address), look_up(t, prefix.address))
      end
    end
  end)

  it("has prefixes of all lengths, within each other at the end", function ()
    local list = {}
    for length = 128, 0, -1 do list[#list + 1] = {address = ALL, length = length} end
    local t = table6.new(list)
    assert.equal(1, look_up(t, ALL))
    assert.equal(2, look_up(t, ("\255"):rep(15) .. "\254"))
    assert.equal(129, look_up(t, ("\0"):rep(16)))
    assert.equal(128, look_up(t, "\128" .. ("\0"):rep(15)))
  end)

  it("has none, and knows the first of the same", function ()
    assert.equal(0, look_up(table6.new{}, ALL))
    local t = table6.new{{address = ALL, length = 8}, {address = ALL, length = 8},
      {address = "\255" .. ("\0"):rep(15), length = 8}}
    assert.equal(1, look_up(t, "\255" .. ("\7"):rep(15)))
    assert.equal(0, look_up(t, "\254" .. ("\7"):rep(15)))
  end)

  it("lives as long as it is used", function ()
    local t = table6.new{{address = ALL, length = 0}}
    for _ = 1, 100 do table6.new{{address = ALL, length = 128}} end
    collectgarbage()
    assert.equal(1, look_up(t, ALL))
  end)
end)
