-- SPDX-License-Identifier: Apache-2.0

local click = require("testing.click")

local function run(text, data)
  return click.run(([[InfiniteSource(%s, 2, STOP true)
    -> UDPIPEncap(10.0.0.1, 5000, 10.0.0.2, 53) -> CTXManager(CONTEXT NONE) -> IPIn
    -> UDPIn -> %s -> c :: Counter -> Discard]]):format(data, text))
end

describe("CTXASCIIPrint", function ()
  it("prints payload, with dots for what can't be printed", function ()
    local r = run("CTXASCIIPrint", "\\<61 00 62 ff 1b>")
    assert.same({"Content of the stream:", "a.b..", "Content of the stream:", "a.b.."},
      r.said)
    r:close()
    r = run("CTXASCIIPrint(ACTIVE false)", "hello")
    assert.same({}, r.said)
    assert.equal("2", tostring(r:handler_read("c.count")))
    r:close()
  end)
end)

describe("CTXCRC", function ()
  it("passes packets of flows", function ()
    local r = run("CTXCRC", "hello")
    assert.equal("2", tostring(r:handler_read("c.count")))
    r:close()
  end)
end)
