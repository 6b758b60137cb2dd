-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local testing = require("testing.support")

local FIELDS = "timestamp src sport dst dport proto payload"

local function packet(second, host, payload)
  return ('%d 1.0.0.%d 1 2.0.0.2 2 U "%s"'):format(second, host, payload)
end

local function scan(arguments, lines)
  local r = click.run_dump(FIELDS, lines, ([[SOURCE -> FlowIPManager(TIMEOUT 5)
    -> StripTransportHeader -> s :: FlowHyperScan(%s) -> c :: Counter
    -> Discard]]):format(arguments))
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

  it("gives a flow's stream back when the flow ends, or the router", function ()
    local open, opened = 0, 0
    local r = click.run_dump(FIELDS, {packet(1, 1, "a"), packet(20, 2, "a"),
      packet(21, 3, "a")}, [[SOURCE -> FlowIPManager(TIMEOUT 5)
      -> s :: FlowHyperScan(b) -> Discard]], function (r)
      local patterns = r:find("s").patterns
      local open_stream, close_stream = patterns.open_stream, patterns.close_stream
      function patterns:open_stream()
        open, opened = open + 1, opened + 1
        return open_stream(self)
      end
      function patterns:close_stream(stream)
        open = open - 1
        close_stream(self, stream)
      end
    end)
    assert.same({3, 2}, {opened, open})
    r:close()
    assert.equal(0, open)
  end)

  it("says with which expression something is wrong, and with which flag", function ()
    local FRONT = "Idle -> FlowIPManager -> FlowHyperScan(%s) -> Discard"
    for arguments, why in pairs{
      ['a, "((("'] = "pattern 2, '(((': Missing close parenthesis",
      [""] = "no patterns", ["a, FLAGS iq"] = "Unsupported flag q",
      ["FILE /nonexistent"] = "FILE: /nonexistent: No such file",
      ["FILE /tmp"] = "FILE: /tmp: Is a directory",
    } do
      assert.matches(why, select(2, click.router(FRONT:format(arguments))), 1, true)
    end
  end)

  it("takes expressions from a file", function ()
    local name = testing.temporary("nothing\n\nt{2}\n")
    assert.same({1, 5, 0}, {scan("FILE " .. name, SPLIT)})
    os.remove(name)
  end)
end)
