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
    assert.same({"2", "2", "1", "1", "1"}, {read("others.count"), read("there.count"),
      read("l.conn"), read("ctx.count"), read("ctx.leaves_count")})
    r:close()
  end)
end)

describe("FlowContextDispatcher", function ()
  -- What comes to each of the counters c0, c1, ... of the configuration from packets
  -- with these contents.
  local function counts(text, n, ...)
    local parts = {}
    for i, data in ipairs{...} do
      parts[i] = ("InfiniteSource(DATA %s, LIMIT 1, STOP true) -> m;"):format(data)
    end
    local r = click.run("m :: Null; " .. table.concat(parts) .. text)
    local found = {}
    for i = 0, n - 1 do
      found[i + 1] = tonumber(r:handler_read(("c%d.count"):format(i)))
    end
    r:close()
    return found
  end

  local ASK = "\\<020000000001 020000000002 0806 0001080006040001>"
  local ANSWER = "\\<020000000001 020000000002 0806 0001080006040002>"
  local TCP = "\\<020000000001 020000000002 0800 450000280000000040060000 0a000001"
    .. "0a00000200010002 00000000 00000000 50020000 00000000>"
  local UDP = TCP:gsub("4006", "4011")

  it("sends ARP and IP where they are taken", function ()
    assert.same({1, 1, 2}, counts([[m -> ctx :: CTXManager -> at :: Null;
      at ~> c0 :: Counter -> [1] q :: ARPQuerier(1.1.1.1, 1:1:1:1:1:1) -> Discard;
      at ~> c1 :: Counter -> ARPResponder(1.1.1.1 1:1:1:1:1:1) -> Discard;
      at ~> c2 :: Counter -> [0] q; q[1] -> Discard]], 3, ASK, ANSWER, TCP, UDP))
  end)

  it("goes by the rules of dispatchers behind, and by what is taken off", function ()
    assert.same({1, 2, 1}, counts([[m -> CTXManager -> at :: Null;
      at ~> FlowStrip(12) -> CTXDispatcher(0/0806 8/0001, - drop) -> c0 :: Counter
        -> Discard;
      at ~> FlowStrip(12) -> CTXDispatcher(0/0800) -> c1 :: Counter -> Discard;
      at ~> c2 :: Counter -> Discard]], 3, ASK, ANSWER, TCP, UDP))
  end)

  it("drops what no path takes", function ()
    local r = click.run([[InfiniteSource(DATA ab, LIMIT 3, STOP true) -> f :: Null
      ~> CTXDispatcher(0/62) -> c :: Counter -> Discard]])
    assert.equal("0", tostring(r:handler_read("c.count")))
    r:close()
  end)

  it("counts rules of any value behind those of one", function ()
    assert.same({1, 1}, counts([[m -> d :: FlowContextDispatcher(- 0, - 1);
      d[0] -> CTXDispatcher(0/00/ff) -> c0 :: Counter -> Discard;
      d[1] -> CTXDispatcher(0/05) -> c1 :: Counter -> Discard]], 2, "\\<03>",
      "\\<05>"))
  end)
end)
