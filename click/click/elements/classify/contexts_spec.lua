-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

describe("CTXDispatcher", function ()
  -- The output (from 0) that each text goes to, "-" if it is dropped.
  local function outputs(rules, n, texts)
    local unit = click.unit(("CTXDispatcher(%s)"):format(rules), {outputs = n})
    assert.same({}, unit.errors)
    local found = {}
    for i, text in ipairs(texts) do
      local out = unit:send(text)
      found[i] = out[1] and out[1][1] - 1 or "-"
    end
    unit:free()
    return table.concat(found, " ")
  end

  it("sends packets where rules say, or one after the other", function ()
    assert.equal("0 1 2", outputs("0/61, 0/62, -", 3, {"abcd", "bbcd", "cbcd"}))
    assert.equal("1 0 2", outputs("0/61 1, 0/62 0, - 2", 3, {"abcd", "bbcd", "cbcd"}))
    assert.equal("1 2 -", outputs("0/61 1, 0/62", 3, {"abcd", "bbcd", "cbcd"}))
  end)

  it("drops what it is told to, and what has no output", function ()
    assert.equal("- 0 -", outputs("0/61 drop, 0/62 0, -", 1, {"abcd", "bbcd", "cbcd"}))
    assert.equal("- 0", outputs("0/61 9, - 0", 1, {"abcd", "bbcd"}))
  end)

  it("sends the rest to the last output if no rule has it", function ()
    assert.equal("0 1", outputs("0/61", 2, {"abcd", "bbcd"}))
    assert.equal("0 -", outputs("0/61", 1, {"abcd", "bbcd"}))
  end)

  it("takes masks, words for headers, and what may be anything", function ()
    assert.equal("0 1", outputs("0/6100/ff00, -", 2, {"abcd", "bbcd"}))
    assert.equal("0 0 1", outputs("0/61! && 1/-, -", 2, {"abcd", "aXcd", "bbcd"}))
    assert.equal("0 0 0", outputs("0/0/ffffffff", 2, {"abcd", "aXcd", "\0\0\0\0"}))
    assert.equal("0 0 1", outputs("0/61 1/0/ff00, -", 2, {"abcd", "aXcd", "bbcd"}))
    local tcp = "E" .. ("\0"):rep(8) .. "\6\0\0\10\0\0\1\10\0\0\2\0\80\1\0"
    local other = tcp:gsub("\6", "\17")
    assert.equal("0 1", outputs("ip proto tcp src host 10.0.0.1 dst host 10.0.0.2 "
      .. "src port 80 && dst port 256 0, -", 2, {tcp, other}))
    assert.equal("0 1", outputs("ip proto 6, -", 2, {tcp, other}))
  end)

  it("refuses what it doesn't know", function ()
    assert.same({"argument 2 is not a valid defined subflow (src net 10.0.0.0/8 0)"},
      click.unit("CTXDispatcher(0/61, src net 10.0.0.0/8 0)").errors)
    assert.same({"pattern 0: value has odd number of hex digits"},
      click.unit("CTXDispatcher(0/616)").errors)
    assert.same({"Invalid rule set. There is no rule and not a single output."},
      click.unit("CTXDispatcher", {outputs = 2}).errors)
  end)
end)

describe("CTXManager", function ()
  it("passes packets", function ()
    local unit = click.unit("FlowClassifier(CACHESIZE 0, BUILDER 1, VERBOSE 1)")
    assert.same({{1, "abc"}}, unit:send("abc"))
    unit:free()
    assert.same({"Invalid context X !"}, click.unit("CTXManager(CONTEXT X)").errors)
  end)

  it("finds flows for elements behind, of IPv4 alone", function ()
    local r = assert(click.router([[m :: Null;
      InfiniteSource(DATA abcd, LIMIT 4, STOP true) -> s :: RoundRobinSwitch;
      s[0] -> UDPIPEncap(10.0.0.1, 5, 10.0.0.9, 80)
        -> EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2) -> m;
      s[1] -> EtherEncap(0x0806, 1:1:1:1:1:1, 2:2:2:2:2:2) -> m;
      m -> ctx :: CTXManager
      -> d :: CTXDispatcher(12/0800, -);
      d[1] -> others :: Counter -> Discard;
      d[0] -> FlowStrip(14) -> CheckIPHeader
      -> l :: FlowNAPTLoadBalancer(10.1.0.1, SIP 10.1.0.9, STATE false) -> CheckIPHeader
      -> there :: Counter -> Discard]]))
    r:run()
    local function read(name) return (tostring(assert(r:handler_read(name)))) end
    assert.same({"2", "2", "1", "1"}, {read("others.count"), read("there.count"),
      read("l.conn"), read("ctx.count")})
    r:close()
  end)
end)
