-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

-- The router of the configuration around packets of a dump's lines of UDP (where it
-- says SOURCE), which end with their payloads.
local function router(lines, text)
  local name = os.tmpname()
  local file = assert(io.open(name, "w"))
  file:write("!data timestamp src sport dst dport proto payload\n",
    table.concat(lines, "\n"), "\n")
  file:close()
  local r = assert(click.router((text:gsub("SOURCE",
    ("FromIPSummaryDump(%s, STOP true, TIMING true)"):format(name)))))
  r:run()
  os.remove(name)
  return r
end

local function packet(second, host, payload)
  return ('%d 1.0.0.%d 1 2.0.0.2 2 U "%s"'):format(second, host, payload)
end

local function scan(arguments, lines)
  local r = router(lines, ([[SOURCE -> FlowIPManager(TIMEOUT 5) -> StripTransportHeader
    -> s :: FlowHyperScan(%s) -> c :: Counter -> Discard]]):format(arguments))
  local matches, count = r:handler_read("s.matches"), r:handler_read("c.count")
  local said = #r.said
  r:close()
  return tonumber(matches), tonumber(count), said
end

describe("FlowHyperScan", function ()
  local SPLIT = {packet(1, 1, "an at"), packet(1, 2, "tack"), packet(1, 1, "tack"),
    packet(2, 1, "more"), packet(2, 2, "x")}

  it("finds what begins in one packet of a flow and ends in another", function ()
    assert.same({1, 5, 1}, {scan('"attack", VERBOSE true', SPLIT)})
    assert.same({0, 5, 0}, {scan('"ATTACK"', SPLIT)})
    assert.same({1, 5, 0}, {scan('"ATTACK", FLAGS i', SPLIT)})
    assert.same({2, 5, 0}, {scan('"more", "at+ack"', SPLIT)})
  end)

  it("drops the rest of a flow that matches, where it is to", function ()
    assert.same({1, 3, 0}, {scan('"attack", KILL true', SPLIT)})
  end)

  it("begins anew with a flow's end", function ()
    assert.same({0, 3, 0}, {scan('"attack"', {packet(1, 1, "att"), packet(20, 2, "x"),
      packet(40, 1, "ack")})})
  end)

  it("says with which expression something is wrong, and with which flag", function ()
    local FRONT = "Idle -> FlowIPManager -> FlowHyperScan(%s) -> Discard"
    for arguments, why in pairs{
      ['a, "((("'] = "pattern 2, '(((': Missing close parenthesis",
      [""] = "no patterns", ["a, FLAGS iq"] = "Unsupported flag q",
      ["FILE /nonexistent"] = "FILE: /nonexistent: No such file",
    } do
      assert.matches(why, select(2, click.router(FRONT:format(arguments))), 1, true)
    end
  end)

  it("takes expressions from a file", function ()
    local name = os.tmpname()
    local file = assert(io.open(name, "w"))
    file:write("nothing\n\nt{2}\n")
    file:close()
    assert.same({1, 5, 0}, {scan("FILE " .. name, SPLIT)})
    os.remove(name)
  end)
end)

describe("FlowIPManagerBucket", function ()
  it("counts flows by bucket, up to so many in each", function ()
    local lines = {}
    for i = 0, 11 do lines[i + 1] = packet(1, i % 6, "x") end
    local r = router(lines, [[SOURCE -> AggregateIP(ip src)
      -> m :: FlowIPManagerBucket(2, 2) -> FlowCounter -> c :: Counter -> Discard]])
    assert.equal("2\n2\n", r:handler_read("m.count"))
    assert.equal("8", (tostring(r:handler_read("c.count"))))
    r:close()
  end)
end)

describe("AggregateCounterVector", function ()
  it("counts by the masked annotation, in periods", function ()
    local lines = {}
    for i = 0, 11 do lines[i + 1] = packet(1, i % 6, "x") end
    local r = router(lines, [[SOURCE -> AggregateIP(ip src)
      -> v :: AggregateCounterVector(3) -> b :: AggregateCounterVector(0, BYTES true)
      -> FlowIPManager -> FlowLock -> c :: Counter -> Discard]])
    assert.equal("12", (tostring(r:handler_read("c.count"))))
    assert.equal("0 4\n1 4\n2 2\n3 2\n", r:handler_read("v.counts"))
    assert.equal("0 348\n", r:handler_read("b.counts"))
    assert(r:handler_write("v.clear", ""))
    assert.equal("", r:handler_read("v.counts"))
    assert.equal("0 2\n1 2\n2 1\n3 1\n", r:handler_read("v.averages"))
    r:close()
  end)
end)
