-- SPDX-License-Identifier: Apache-2.0
local route_store = require("click.net.route_store")

local function mask_of(length)
  return length == 0 and 0 or 2 ^ 32 - 2 ^ (32 - length)
end

local function random_route()
  local mask = mask_of(math.random(0, 32))
  local address = math.random(0, 15) * 2 ^ 28 + math.random(0, 7) * 2 ^ 8
  address = bit.band(address, mask)
  return {address = address % 2 ^ 32, mask = mask, gateway = math.random(0, 3) * 2 ^ 30,
    port = math.random(0, 9), label = math.random(4) == 1 and "x" or nil}
end

describe("Routes in arrays", function ()
  it("are found, replaced and removed as in a table #slow", function ()
    math.randomseed(1)
    local store, model, n = route_store.new(), {}, 0
    for _ = 1, 20000 do
      local route = random_route()
      local key = route.address .. "/" .. route.mask
      local place = store:place_of(route.address, route.mask)
      assert.equal(model[key] and model[key].place, place)
      if math.random(3) > 1 then
        n = n + (place and 0 or 1)
        store:put(route)
        route.place = store:place_of(route.address, route.mask)
        assert.same(route, store:at(route.place))
        model[key] = route
      elseif place then
        store:remove(place)
        model[key], n = nil, n - 1
        assert.is_nil(store:at(place))
      end
      assert.equal(n, store.n)
    end
    local found = 0
    for place = 1, store.last do found = found + (store:at(place) and 1 or 0) end
    assert.equal(n, found)
    for _, route in pairs(model) do assert.same(route, store:at(route.place)) end
  end)

  it("take the first free place", function ()
    local store = route_store.new()
    for i = 1, 300 do
      store:put{address = i * 2 ^ 8, mask = 2 ^ 32 - 2 ^ 8, gateway = 0, port = i}
    end
    store:remove(200)
    store:remove(7)
    store:put{address = 0, mask = 0, gateway = 0, port = 0}
    assert.equal(7, store:place_of(0, 0))
    store:put{address = 1, mask = 2 ^ 32 - 1, gateway = 0, port = 0}
    assert.equal(200, store:place_of(1, 2 ^ 32 - 1))
    assert.equal(300, store.last)
    assert.is_nil(store:at(301))
  end)
end)
