-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local handlers = require("click.router.handlers")

describe("The router's own handlers", function ()
  local function read(r, name, argument)
    return handlers.read(r, r.root, name, argument)
  end

  it("tell how busy the thread was since they were read", function ()
    local r = click.run("Idle -> Discard; Script(stop)", {simtime = false})
    local sum, ends = 0, os.clock() + 0.1
    while os.clock() < ends do sum = sum + 1 end
    local load = tonumber(read(r, "load"))
    assert.is_true(load > 0 and load <= 1)
    assert.is_true(tonumber(read(r, "useful_kcycles")) > 1000)
    assert.is_truthy(tonumber(read(r, "load", "0")))
    assert.same({nil, "'7' is no thread whose load is known"}, {read(r, "load", "7")})
    r:close()
  end)
end)

describe("is_fullpush", function ()
  it("says whether packets come by pushing alone", function ()
    local r = click.run([[
      i :: InfiniteSource(LIMIT 1) -> q :: Queue -> u :: Unqueue -> c :: Counter
      -> d :: Discard; k :: InfiniteSource(LIMIT 1) -> c;
      j :: InfiniteSource(LIMIT 1) -> n :: Null -> m :: Null -> e :: Discard;
      l :: InfiniteSource(LIMIT 1) -> Pipeliner -> f :: Discard;
      Script(stop)]])
    local said = {}
    for i, name in ipairs{"i", "q", "u", "c", "d", "k", "n", "e", "f"} do
      said[i] = r:handler_read(name .. ".is_fullpush")
    end
    assert.same({"true", "true", "false", "false", "false", "true", "true", "true",
      "false"},
      said)
    r:close()
  end)
end)

describe("spawning_threads", function ()
  it("has the thread of elements that packets begin in", function ()
    local r = click.run([[
      i :: InfiniteSource(LIMIT 1) -> q :: Queue -> u :: Unqueue -> c :: Counter
      -> q2 :: Queue -> d :: Discard; x :: Idle; y :: Message("");
      StaticThreadSched(d 1); Script(stop)]], {threads = 2})
    local said = {}
    for i, name in ipairs{"i", "q", "u", "c", "q2", "d", "y"} do
      said[i] = r:handler_read(name .. ".spawning_threads")
      assert.equal("true", r:handler_read(name .. ".mt_safe"))
    end
    assert.same({"0", "", "0", "", "", "1", "0"}, said)
    r:close()
  end)
end)
