-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local packet = require("core.packet")

local ME, HIM, ALL = "\2\0\0\0\0\1", "\2\0\0\0\0\9", ("\255"):rep(6)
local CONFIG = "10.0.0.1/24, 2:0:0:0:0:1"

-- An IP packet to 10.0.0.LAST, or to `ip`.
local function to(last, text, ip)
  local p = packet.from_string(text or "ip")
  note.clear(p)
  local address = ip or {10, 0, 0, last}
  for i = 1, 4 do p.note8[note.DST_IP * 4 + i - 1] = address[i] end
  return p
end

local function framed(eth, text) return eth .. ME .. "\8\0" .. (text or "ip") end

local function query(last, eth)
  return (eth or ALL) .. ME .. "\8\6\0\1\8\0\6\4\0\1" .. ME .. "\10\0\0\1"
    .. ("\0"):rep(6) .. "\10\0\0" .. string.char(last)
end

local function answer(last, eth)
  eth = eth or HIM
  return ME .. eth .. "\8\6\0\1\8\0\6\4\0\2" .. eth .. "\10\0\0" .. string.char(last)
    .. ME .. "\10\0\0\1"
end

local function querier(rest, options)
  options = options or {}
  options.inputs, options.outputs = 2, options.outputs or 2
  return click.unit("ARPQuerier(" .. CONFIG .. (rest and ", " .. rest or "") .. ")",
    options)
end

describe("ARPQuerier", function ()
  it("asks, keeps the packet, and sends it when it knows", function ()
    local unit = querier()
    assert.same({{2, query(9)}}, unit:send(to(9, "a")))
    assert.same({}, unit:send(to(9, "b"))) -- not again so soon
    assert.equal(2, unit.kept)
    assert.equal("2", unit:read("length"))
    assert.same({{1, framed(HIM, "a")}, {1, framed(HIM, "b")}}, unit:send(answer(9), 2))
    assert.same({{1, framed(HIM, "c")}}, unit:send(to(9, "c")))
    assert.equal("0", unit:read("length"))
    assert.equal("10.0.0.9 1 02-00-00-00-00-09 0.000000\n", unit:read("table"))
    assert.equal("0 packets killed\n1 ARP queries sent\n", unit:read("stats"))
    unit:free()
  end)

  it("notes where the header is, and of queries time and VLAN", function ()
    local unit = querier()
    unit:write("insert", "10.0.0.9 2:0:0:0:0:9")
    local p = unit:pass(to(9))
    assert.equal(p.data_off, p.note16[note.MAC_HEADER])
    assert.equal(p.data_off + 14, p.note16[note.NETWORK_HEADER])
    packet.free(p)
    p = to(8)
    p.note64[note.TIMESTAMP], p.note16[note.VLAN_TCI] = 5, 6
    local q = unit:pass(p)
    assert.same({5, 6}, {tonumber(q.note64[note.TIMESTAMP]), q.note16[note.VLAN_TCI]})
    packet.free(q)
    unit.element:cleanup()
  end)

  it("needs no table for broadcasts and groups, and no address for 0.0.0.0", function ()
    local unit = querier()
    assert.same({{1, framed(ALL)}}, unit:send(to(255)))
    assert.same({{1, framed(ALL)}}, unit:send(to(nil, "ip", {255, 255, 255, 255})))
    assert.same({{1, framed("\1\0\94\127\2\3")}},
      unit:send(to(nil, "ip", {224, 255, 2, 3})))
    assert.same({}, unit:send(to(nil, "ip", {0, 0, 0, 0})))
    assert.same({["no address"] = 1}, unit.lost)
    assert.equal("1", unit:read("drops"))
    assert.equal("10.0.0.255", unit:read("broadcast"))
    unit:free()
  end)

  it("asks at most 10 times a second, and less often after that", function ()
    local unit = querier()
    local queries = 0
    for _ = 1, 100 do
      queries = queries + #unit:send(to(9))
      unit:wait(0.03)
    end
    assert.is_true(queries >= 10 and queries <= 13, queries)
    unit.element:cleanup()
    unit:free()
  end)

  it("asks who it knows again before that is too old", function ()
    local unit = querier("TIMEOUT 0.1s, POLL_TIMEOUT 0.08s")
    unit:write("insert", "10.0.0.9 2:0:0:0:0:9")
    unit:wait(0.07)
    assert.same({{1, framed(HIM)}}, unit:send(to(9)))
    unit:wait(0.02)
    assert.same({{2, query(9, HIM)}, {1, framed(HIM)}}, unit:send(to(9)))
    assert.same({{1, framed(HIM)}}, unit:send(to(9)))
    unit:wait(0.02)
    assert.same({}, unit:send(to(9))) -- it asked less than 0.1 s ago
    unit:wait(0.1)
    assert.same({{2, query(9)}}, unit:send(to(9)))
    unit.element:cleanup()
    unit:free()
  end)

  it("can poll by broadcast", function ()
    local unit = querier("POLL_TIMEOUT 0.08s, BROADCAST_POLL true", {outputs = 1})
    unit:write("insert", "10.0.0.9 2:0:0:0:0:9")
    unit:wait(0.2)
    assert.same({{1, query(9)}, {1, framed(HIM)}}, unit:send(to(9)))
    unit:free()
  end)

  it("takes nothing for an answer but answers", function ()
    local unit = querier()
    for _, frame in ipairs{answer(9):sub(1, 41), query(9), answer(9, "\3\0\0\0\0\9"),
                           ""} do
      assert.same({}, unit:send(frame, 2))
    end
    assert.equal("0", unit:read("count"))
    assert.equal("2", unit:read("responses"))
  end)

  it("keeps so many packets and entries", function ()
    local unit = querier("CAPACITY 4, ENTRY_PACKET_CAPACITY 3, ENTRY_CAPACITY 2")
    for _ = 1, 5 do unit:send(to(9)) end
    assert.same({["no room"] = 2}, unit.lost)
    unit:send(to(8))
    assert.equal("4", unit:read("length"))
    unit:send(to(8)) -- too many: the older ones go, down to half, and this one comes
    assert.equal("2", unit:read("length"))
    unit:send(to(7)) -- too many entries
    assert.equal("2", unit:read("count"))
    assert.equal("10.0.0.8 0 FF-FF-FF-FF-FF-FF 0.000000\n"
      .. "10.0.0.7 0 FF-FF-FF-FF-FF-FF 0.000000\n", unit:read("table"))
    unit:write("clear")
    assert.same({"0", "0"}, {unit:read("count"), unit:read("length")})
    unit:free()
  end)

  it("may share a table", function ()
    local arpt = click.unit("ARPTable(TIMEOUT 0)", {inputs = 0, outputs = 0})
    local unit = querier("TABLE arpt", {others = {arpt = arpt.element}})
    assert.same({}, unit.errors)
    arpt:write("insert", "10.0.0.9 2:0:0:0:0:9")
    assert.same({{1, framed(HIM)}}, unit:send(to(9)))
    arpt:write("delete", "10.0.0.9")
    assert.same({{2, query(9)}}, unit:send(to(9)))
    assert.equal("1", arpt:read("length"))
    assert.equal("IP: parse error", arpt:write("delete", "10.0.9"))
    arpt:write("clear")
    assert.equal("1", arpt:read("drops"))
    unit:free()
  end)

  it("hands its table over", function ()
    local old, new = querier(), querier("TIMEOUT 1")
    old:send(to(9))
    new.element:take_state(old.element)
    assert.equal("0", old:read("count"))
    assert.same({{1, framed(HIM)}}, new:send(answer(9), 2))
    new:free()
    old:free()
  end)

  it("checks its arguments", function ()
    assert.same({"ETH: parse error"}, click.unit("ARPQuerier(1.0.0.1)").errors)
    assert.same({"IP: required argument missing", "ETH: required argument missing"},
      click.unit("ARPQuerier()").errors)
    assert.same({"CAPACITY_SLIM_FACTOR cannot be zero"},
      querier("CAPACITY_SLIM_FACTOR 0").errors)
    assert.same({"TABLE: does not name an element"}, querier("TABLE x").errors)
    assert.same({"FOO: unknown argument"}, querier("FOO 1").errors)
  end)

  it("tells other copies what it has heard, and asks for all of them", function ()
    local OTHER = "\254\255\255\255\255\1"
    local copies = {}
    for i = 1, 2 do
      copies[i] = querier(nil, {copy = {number = i - 1, of = 2}, time = 1000})
    end
    assert.same({{2, query(9)}}, copies[1]:send(to(9, "a")))
    assert.same({}, copies[2]:send(to(9, "b"))) -- it has been asked
    assert.same({{2, query(8)}}, copies[2]:send(to(8, "c")))
    assert.same({{1, framed(HIM, "a")}}, copies[1]:send(answer(9), 2))
    assert.equal(2, copies[2].element:backlog())
    assert.same({{1, framed(HIM, "b")}, {1, framed(HIM, "d")}},
      copies[2]:send(to(9, "d")))
    assert.equal(0, copies[2].element:backlog())
    copies[1]:send(answer(9, OTHER), 2) -- it has another one now
    assert.same({{1, framed(OTHER, "e")}}, copies[2]:send(to(9, "e")))
    for i = 1, 2 do copies[i]:free() end
  end)

  it("says together what copies say", function ()
    local arp_copies = require("click.net.arp_copies")
    local function line(last, known, age)
      return ("10.0.0.%d %d 02-00-00-00-00-01 %d.000000\n"):format(last, known, age)
    end
    assert.equal(line(1, 1, 7) .. line(3, 0, 3) .. line(2, 1, 1),
      arp_copies.join_tables{line(1, 0, 1) .. line(2, 1, 2) .. line(3, 0, 3),
        line(1, 1, 7) .. line(2, 1, 1)})
    assert.equal("5 killed\n7 sent\n",
      arp_copies.sum_lines{"2 killed\n3 sent\n", "3 killed\n4 sent\n"})
  end)
end)
