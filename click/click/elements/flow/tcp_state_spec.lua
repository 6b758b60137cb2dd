-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local drops = require("core.fuse.drops")

local FIELDS = "timestamp src sport dst dport proto tcp_flags"

-- "1>S": a segment of the client, port 1; "1<SA": one of the server to it.
local function lines_of(words)
  local list = {}
  for word in words:gmatch("%S+") do
    local port, way, flags = word:match("^(%d+)([<>])(%a+)$")
    list[#list + 1] = way == ">"
      and ("%d 10.0.0.1 %s 10.0.0.2 80 T %s"):format(#list, port, flags)
      or ("%d 10.0.0.2 80 10.0.0.1 %s T %s"):format(#list, port, flags)
  end
  return list
end

-- Numbers of packets passed there and back, established, waiting there; drops by name.
local function pass(words, arguments)
  local r = click.run_dump(FIELDS, lines_of(words), ([[SOURCE
    -> c :: IPClassifier(src host 10.0.0.1, -);
    c[0] -> FlowIPManager -> a :: TCPStateIN(b%s) -> there :: Counter -> Discard;
    c[1] -> FlowIPManager -> b :: TCPStateIN(a%s) -> back :: Counter -> Discard]])
    :format(arguments or "", arguments or ""))
  local function number(handler) return tonumber(tostring(r:handler_read(handler))) end
  local counts = {number("there.count"), number("back.count"),
    number("a.established") + number("b.established"),
    number("a.map_size") + number("b.map_size")}
  local lost = {}
  for _, name in ipairs{"a", "b"} do
    for reason, n in pairs(drops.of(r:find(name))) do
      lost[reason] = (lost[reason] or 0) + n
    end
  end
  r:close()
  return counts, lost
end

describe("TCPStateIN", function ()
  it("follows a connection from one side's first packet to the last ACK", function ()
    assert.same({{1, 0, 0, 1}, {}}, {pass("1>S")})
    assert.same({{2, 1, 1, 0}, {}}, {pass("1>S 1<SA 1>A")})
    assert.same({{3, 2, 0, 0}, {}}, {pass("1>S 1<SA 1>FA 1<FA 1>A")})
    assert.same({{3, 2, 0, 0}, {["its connection is over"] = 2}},
      {pass("1>S 1<SA 1>FA 1<FA 1>A 1>A 1<A")})
  end)

  it("knows FINs that come again, and that one side still sends", function ()
    assert.same({{5, 3, 0, 0}, {}}, {pass("1>S 1<SA 1>FA 1>FA 1<A 1>FA 1<FA 1>A")})
  end)

  it("ends a side with its RST, and begins again with a SYN", function ()
    assert.same({{2, 2, 1, 0}, {["its connection is over"] = 1}},
      {pass("1>S 1<SA 1>R 1>A 1<A")})
    assert.same({{3, 3, 1, 0}, {}}, {pass("1>S 1<SA 1>R 1<R 1>S 1<SA")})
    assert.same({{1, 1, 0, 1}, {}}, {pass("1>R 1<A")}) -- it waits no more: another one
  end)

  it("takes what is no SYN, unless it isn't to", function ()
    assert.same({{1, 1, 1, 0}, {}}, {pass("1>A 1<A")})
    assert.same({{0, 0, 0, 0}, {["no SYN before"] = 2}},
      {pass("1>A 1<A", ", ACCEPT_NONSYN false")})
    assert.same({{1, 1, 1, 0}, {}}, {pass("1>S 1<A", ", ACCEPT_NONSYN false")})
  end)

  it("keeps connections apart, and refuses other packets", function ()
    assert.same({{3, 1, 1, 2}, {}}, {pass("1>S 2>S 3>S 2<SA")})
    local unit = click.unit("TCPStateIN(x)")
    assert.same({"RETURNNAME: does not name an element"}, unit.errors)
  end)
end)
