-- SPDX-License-Identifier: Apache-2.0

local click = require("testing.click")

-- The router of `n` packets of each of two flows, at that element; behind it Counter c.
local function run(element, n, more)
  local r = assert(click.router(([[
    InfiniteSource("0123456789abcdef", %d, STOP true) -> RoundRobinSwitch => (
      [0] -> UDPIPEncap(10.0.0.1, 5000, 10.0.0.2, 53) -> [0];
      [1] -> UDPIPEncap(10.0.0.1, 5001, 10.0.0.2, 53) -> [0]
    ) -> FlowIPManager(TIMEOUT 100) -> e :: %s
      -> c :: Counter -> %s Discard;
  ]]):format(2 * n, element, more or "")))
  r:run()
  return r
end

local function read(r, name)
  return tonumber((tostring(assert(r:handler_read(name)))))
end

describe("FlowRateLimiter", function ()
  it("lets each flow send its burst, and counts the rest", function ()
    local r = run("FlowRateLimiter(1, BURST_SIZE 3)", 10)
    assert.equal(6, read(r, "c.count"))
    assert.equal(14, read(r, "e.dropped"))
    r:close()
  end)

  it("takes the burst from the rate, and lets tokens come back", function ()
    local r = assert(click.router([[
      RatedSource(hello, 100, 100, STOP true) -> UDPIPEncap(10.0.0.1, 5, 10.0.0.2, 53)
        -> FlowIPManager -> e :: FlowRateLimiter(10, BURST_DURATION 200ms)
        -> c :: Counter -> Discard;
    ]]))
    r:run()
    local n = read(r, "c.count") -- a second: 10, and 2 at the start
    assert.is_true(n >= 11 and n <= 12, tostring(n))
    r:close()
  end)

  it("says what is wrong", function ()
    local _, problem = click.router("Idle -> FlowIPManager -> FlowRateLimiter(1, "
      .. "BURST_SIZE 1, BURST_DURATION 1s) -> Discard")
    assert.matches("cannot specify both BURST_DURATION and BURST_SIZE", problem)
    _, problem = click.router("Idle -> FlowRateLimiter(1) -> Discard")
    assert.matches("no flow manager is in front of it", problem)
    _, problem = click.router("Idle -> FlowIPManager -> FlowRandLoad(MIN 3, MAX 2) "
      .. "-> Discard")
    assert.matches("MAX 2 is less than MIN 3", problem)
  end)
end)

describe("FlowPaint, FlowAcquire, MidStat, FlowRandLoad", function ()
  it("pass packets of flows", function ()
    for _, e in ipairs{"FlowPaint(7)", "FlowAcquire", "MidStat", "FlowRandLoad"} do
      local r = run(e, 3)
      assert.equal(6, read(r, "c.count"), e)
      r:close()
    end
  end)

  it("have a colour to read and write", function ()
    local r = run("FlowPaint(7)", 1)
    assert.truthy(r:handler_write("e.color", "9"))
    assert.equal(9, read(r, "e.color"))
    r:close()
  end)
end)

describe("StoreFlowID", function ()
  it("writes a number of each flow, where there is room", function ()
    local r = run("StoreFlowID(28)", 2, "Strip(28) -> Print(MAXLENGTH 9) ->")
    local expected = {}
    for i = 1, 4 do
      expected[i] = ("  16 | 0%d000000 00000000 38"):format(i % 2 == 1 and 1 or 2)
    end
    assert.same(expected, r.said)
    r:close()
    r = run("StoreFlowID(37)", 1, "Strip(28) -> Print ->") -- a byte too far
    assert.equal("  16 | 30313233 34353637 38396162 63646566", r.said[1])
    r:close()
  end)
end)
