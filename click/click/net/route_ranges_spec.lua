-- SPDX-License-Identifier: Apache-2.0
local route_ranges = require("click.net.route_ranges")
local wire = require("click.net.wire")

local function find(routes, address)
  return routes:finder()(wire.word_of(address))
end

-- The longest prefix of a list {address, length, way}, the slow way.
local function longest(list, address)
  local best, way = -1, 0
  for _, r in ipairs(list) do
    local size = 2 ^ (32 - r[2])
    if math.floor(address / size) * size == r[1] and r[2] > best then
      best, way = r[2], r[3]
    end
  end
  return way
end

describe("route ranges", function ()
  it("find the longest prefix", function ()
    local routes = route_ranges.new()
    routes:set(0x0a000000, 8, 1)
    routes:set(0x0a010000, 16, 2)
    routes:set(0x0a010200, 24, 3)
    routes:set(0x0a0102ff, 32, 4)
    routes:commit()
    assert.same({1, 2, 3, 3, 4, 2, 0}, {find(routes, 0x0aff0001),
      find(routes, 0x0a0101ff), find(routes, 0x0a010200), find(routes, 0x0a0102fe),
      find(routes, 0x0a0102ff), find(routes, 0x0a010300), find(routes, 0x0b000000)})
    routes:set(0x0a010200, 24, nil)
    routes:set(0, 0, 9)
    routes:commit()
    assert.same({2, 4, 9}, {find(routes, 0x0a010200), find(routes, 0x0a0102ff),
      find(routes, 0xffffffff)})
    routes:clear()
    assert.equal(0, find(routes, 0x0a010200))
  end)

  it("find what a search through all finds #slow", function ()
    math.randomseed(7)
    local routes, list, at = route_ranges.new(), {}, {}
    local wrong
    local function compare(a)
      if longest(list, a) ~= find(routes, a) then wrong = a end
    end
    for round = 1, 400 do
      local length = math.random(7, 32)
      local size = 2 ^ (32 - length)
      -- Few first bytes, so that prefixes lie within each other.
      local address = math.random(0, 2) * 2 ^ 24 + math.random(0, 3) * 2 ^ 16
        + math.random(0, 65535)
      address = math.floor(address / size) * size
      local key = address .. "/" .. length
      local way = math.random(1, 5)
      if at[key] then way = math.random() < 0.5 and way or nil end
      routes:set(address, length, way)
      if at[key] and way then at[key][3] = way
      elseif way then
        at[key] = {address, length, way}
        table.insert(list, at[key])
      else
        for i, r in ipairs(list) do
          if r == at[key] then table.remove(list, i) break end
        end
        at[key] = nil
      end
      if round % 20 == 0 then
        routes:commit()
        for _ = 1, 300 do
          compare(math.random(0, 3) * 2 ^ 24 + math.random(0, 4) * 2 ^ 16
            + math.random(0, 65535))
        end
        for _, r in ipairs(list) do
          compare(r[1])
          compare(r[1] + 2 ^ (32 - r[2]) - 1)
        end
        assert.is_nil(wrong)
      end
    end
  end)
end)
