-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

describe("Elements without ports", function ()
  it("give names", function ()
    local r = assert(click.router([[
      AddressInfo(h 10.0.0.1 00:01:02:03:04:05, net 10.1.0.0/16);
      AnnotationInfo(MINE 5 1); PortInfo(web 80/tcp);
      Idle -> p :: Paint(1, MINE) -> Idle]]))
    assert.equal(0x0a000001, r.names:find("ip", "x", "h"))
    assert.equal("\0\1\2\3\4\5", r.names:find("eth", "x", "h"))
    assert.equal(16, r.names:find("ip_prefix", "x", "net").length)
    assert.equal(21, r:find("p").at)
    assert.equal(80, r.names:find("port", "x", "web"))
    r:close()
    assert.equal("spec:1: While configuring 'AddressInfo@1 :: AddressInfo':\n"
      .. "  \"x\" '10.0.0' did not resolve to any address\n"
      .. "Router could not be initialized!\n",
      select(2, click.router("AddressInfo(x 10.0.0)")))
  end)

  it("set tickets and threads", function ()
    local r = assert(click.router([[
      elementclass A { InfiniteSource -> output }
      ScheduleInfo(s 2.5); StaticThreadSched(s 1, a 3);
      s :: InfiniteSource -> d :: Discard; a :: A -> d]], {threads = 4}))
    assert.equal("2560", (r:handler_read("s.tickets")))
    assert.equal("1", (r:handler_read("s.home_thread")))
    assert.equal("3", (r:handler_read("a/InfiniteSource@1.home_thread")))
    r:close()
  end)

  it("stop the router when an element isn't scheduled any more", function ()
    local r = click.run("s :: InfiniteSource(LIMIT 5) -> d :: Discard; QuitWatcher(s)")
    assert.equal("5", (r:handler_read("d.count")))
    r:close()
  end)
end)
