-- SPDX-License-Identifier: Apache-2.0
-- Elements that take another configuration while they run: those that do in Click.

local click = require("testing.click")

-- {element, as configured, configured again, a handler and what it says then}
local CASES = {
  {"Paint", "1", "7", "color", "7"},
  {"Paint2", "1", "700", "color", "700"},
  {"SetAnnoByte", "PAINT, 1", "PAINT, 7", "value", "7"},
  {"SetPacketType", "HOST", "BROADCAST"},
  {"Print", "a", "b, ACTIVE false", "active", "false"},
  {"EtherEncap", "0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2", "0x0800, 2:0:0:0:0:3, 2:0:0:0:0:4",
   "src", "02-00-00-00-00-03"},
  {"EtherRewrite", "2:0:0:0:0:1, 2:0:0:0:0:2", "2:0:0:0:0:3, 2:0:0:0:0:4", "src",
   "02-00-00-00-00-03"},
  {"SetEtherAddress", "2:0:0:0:0:1, 0", "2:0:0:0:0:3, 0", "addr", "02-00-00-00-00-03"},
  {"GetEtherAddress", "0, src", "0, dst"},
  {"SetIPAddress", "10.0.0.1", "10.0.0.2", "addr", "10.0.0.2"},
  {"Truncate", "20", "40", "nbytes", "40"},
  {"TruncateFCS", "", "EXTRA_LENGTH false"},
  {"Pad", "60", "64"},
  {"GTPEncap", "1", "2"},
  {"RandomSample", "1", "0.5", "sampling_prob", "0.5"},
  {"RandomBitErrors", "0.5", "0.25, set", "error_kind", "set"},
  {"WifiEncap", "0, 2:0:0:0:0:1", "0, 2:0:0:0:0:2"},
  {"WifiDecap", "", "STRICT true"},
  {"RadiotapDecap", "", "DEBUG true"},
  {"WifiSeq", "", "SHIFT 4"},
}

local function router(class, configuration)
  return click.run(("Idle -> e :: %s(%s) -> Discard; Script(stop)")
    :format(class, configuration))
end

describe("live configuration", function ()
  it("is taken by elements that take one in Click", function ()
    for _, case in ipairs(CASES) do
      local class, before, after, handler, value = unpack(case, 1, 5)
      local r = router(class, before)
      local ok, problem = r:handler_write("e.config", after)
      assert.is_true(ok, ("%s: %s"):format(class, tostring(problem)))
      if handler then
        assert.equal(value, (r:handler_read("e." .. handler)), class)
      end
      r:close()
    end
  end)

  it("is taken, too, where the text read is the element's own", function ()
    local r = click.run([[Idle -> s :: Switch(1) -> Discard; s[1] -> Discard;
      Idle -> red :: RED(5, 50, 0.02) -> Queue -> b :: BandwidthShaper(1MBps) -> Idle;
      Script(stop)]])
    for e, text in pairs{s = "0", red = "6, 50, 0.02", b = "2MBps"} do
      assert.is_true((r:handler_write(e .. ".config", text)), e)
    end
    assert.equal("0", (r:handler_read("s.switch")))
    assert.equal("6", (r:handler_read("red.min_thresh")))
    assert.equal("2000000", (r:handler_read("b.rate")))
    r:close()
  end)

  it("changes nothing if it is wrong", function ()
    for _, case in ipairs{
      {"Print", "a", "b, CONTENTS x"}, {"SetPacketType", "HOST", "x"},
      {"RandomSample", "0.5", "2", "sampling_prob", "0.5"},
      {"GetEtherAddress", "0, src", "0, x"},
    } do
      local class, before, after, handler, value = unpack(case, 1, 5)
      local r = router(class, before)
      assert.is_falsy((r:handler_write("e.config", after)), class)
      if handler then assert.equal(value, (r:handler_read("e." .. handler))) end
      assert.equal(class == "RandomSample" and "SAMPLE 0.5, ACTIVE true" or before,
        (r:handler_read("e.config")))
      r:close()
    end
  end)

  it("lets sources go on, and count on", function ()
    local r = click.run([[s :: InfiniteSource(LIMIT 3) -> c :: Counter -> Discard;
      DriverManager(wait 1s, write s.config LIMIT 5, wait 1s, stop)]])
    assert.equal("5", (r:handler_read("c.count")))
    assert.equal("5", (r:handler_read("s.count")))
    assert.is_falsy((r:handler_write("s.config", "LIMIT 9, LENGTH 20000")))
    assert.equal("5", (r:handler_read("s.limit")))
    r:close()
  end)

  it("shows in packets at once", function ()
    local r, said = click.run([[s :: InfiniteSource(x, 1) -> p :: Paint(1)
      -> c :: CheckPaint(1) -> d :: Discard; c[1] -> o :: Discard;
      DriverManager(wait 1s, write p.config 2, write s.config LIMIT 9, wait 1s, stop)]])
    assert.equal("1", (r:handler_read("d.count")), said)
    assert.equal("8", (r:handler_read("o.count")))
    r:close()
  end)
end)
