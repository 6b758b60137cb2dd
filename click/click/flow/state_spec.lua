-- SPDX-License-Identifier: Apache-2.0
-- What elements keep of flows, in whole routers.

local click = require("testing.click")

local function source(port, n)
  return ("InfiniteSource(hello, %d) -> UDPIPEncap(10.0.0.1, %d, 10.0.0.2, 53)")
    :format(n, port)
end

local function read(r, text) return (tostring(assert(r:handler_read(text)))) end

-- The configuration run until it stops; f(router) looks at it.
local function run(text, f)
  local r = click.run(text)
  f(r)
  r:close()
end

describe("Elements behind a flow manager", function ()
  it("have areas of their own, also behind several managers", function ()
    run(source(1, 3) .. " -> FlowIPManager -> a :: FlowCounter -> both :: FlowCounter "
      .. "-> Discard;" .. source(1, 2) .. " -> FlowIPManagerIMP -> b :: FlowCounter "
      .. "-> both; DriverManager(wait 1s, stop)", function (r)
      assert.equal("1", read(r, "a.count"))
      assert.equal("1", read(r, "b.count"))
      assert.equal("2", read(r, "both.count"))
      assert.equal("2", read(r, "both.open"))
    end)
  end)

  it("belong to the nearest manager in front", function ()
    run(source(1, 3) .. " -> m :: FlowIPManager -> a :: FlowCounter "
      .. "-> StoreData(21, 7) -> n :: FlowIPManager -> b :: FlowCounter -> Discard;"
      .. "DriverManager(wait 1s, stop)", function (r)
      for _, name in ipairs{"m", "n", "a", "b"} do
        assert.equal("1", read(r, name .. ".count"))
      end
    end)
  end)

  it("find a flow behind a queue, and none where the annotation was lost", function ()
    run(source(1, 3) .. " -> FlowIPManager -> a :: FlowCounter -> Queue -> Unqueue "
      .. "-> b :: FlowCounter -> SetAnnoByte(32, 77) -> c :: FlowCounter "
      .. "-> d :: Counter -> Discard; DriverManager(wait 1s, stop)", function (r)
      assert.equal("1", read(r, "b.count"))
      assert.equal("0", read(r, "c.count"))
      assert.equal("0", read(r, "d.count"))
    end)
  end)

  it("aren't led astray by any annotation", function ()
    local stores = {}
    for i = 0, 255, 10 do
      stores[#stores + 1] = ("%s -> FlowIPManager -> SetAnnoByte(%d, %d) -> c;")
        :format(source(1, 2), 32 + i % 4, i)
    end
    run("c :: FlowCounter -> Discard;" .. table.concat(stores)
      .. "DriverManager(wait 1s, stop)", function (r)
      assert.is_true(tonumber(read(r, "c.count")) <= #stores)
    end)
  end)

  it("are told of flows that end, and begin anew", function ()
    run("s :: RatedSource(RATE 1, LIMIT 3) -> UDPIPEncap(10.0.0.1, 5, 10.0.0.2, 53)"
      .. " -> FlowIPManager(TIMEOUT 5) -> c :: FlowCounter -> Discard;"
      .. "DriverManager(wait 20s, write s.reset, wait 20s, stop)", function (r)
      assert.equal("2", read(r, "c.count"))
      assert.equal("0", read(r, "c.open"))
      assert.equal("3: 2\n", read(r, "c.dump"))
      assert.equal("3", read(r, "c.median"))
      assert.equal("3", read(r, "c.average"))
      assert.equal("2", read(r, "c.most_seen_freq"))
    end)
  end)

  it("say so where there is no manager", function ()
    local _, problem = click.router("Idle -> c :: FlowCounter -> Discard")
    assert.matches("no flow manager is in front of it, such as FlowIPManager", problem,
      1, true)
  end)
end)
