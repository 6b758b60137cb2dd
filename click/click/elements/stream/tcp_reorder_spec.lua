-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local drops = require("core.fuse.drops")
local harness = require("testing.harness")
local packet = require("core.packet")

local FIELDS = "timestamp src sport dst dport proto tcp_seq tcp_flags payload"

local function line(time, seq, flags, payload, host)
  return ('%.3f 1.0.0.%d 1 2.0.0.2 2 T %.0f %s "%s"'):format(time, host or 1,
    seq % 2 ^ 32, flags, payload or "")
end

do -- so that the pool is large enough from the beginning
  local list = {}
  for i = 1, 20000 do list[i] = packet.allocate() end
  for _, p in ipairs(list) do packet.free(p) end
end

-- What leaves by output 1, a list of {seq, flags, payload}; what else there is to know:
-- drops by name, `waiting`, and packets in, out and by output 2.
local function pass(lines, arguments, two, manager)
  local name, before = os.tmpname(), harness.free_packets()
  local r = click.run_dump(FIELDS, lines, ([[SOURCE -> came :: Counter
    -> %s -> r :: TCPReorder(%s) -> left :: Counter -> CheckTCPHeader
    -> ToIPSummaryDump(%s, FIELDS src tcp_seq tcp_flags payload);
    again :: Counter -> Discard; %s -> again]]):format(manager or "FlowIPManager",
    arguments or "", name, two and "r[1]" or "Idle"))
  local function number(handler) return tonumber(tostring(r:handler_read(handler))) end
  local said = {waiting = number("r.waiting"), came = number("came.count"),
    left = number("left.count"), again = number("again.count"), drops = {}}
  local sum = said.waiting + said.left + said.again
  for reason, n in pairs(drops.of(r:find("r"))) do
    said.drops[reason], sum = n, sum + n
  end
  assert.equal(said.came, sum)
  r:close()
  assert.equal(before, harness.free_packets())
  local list = {}
  for text in io.lines(name) do
    if not text:find("^!") then list[#list + 1] = text end
  end
  os.remove(name)
  return list, said
end

local function texts(list)
  for i, text in ipairs(list) do
    list[i] = text:gsub("^%S+ ", ""):gsub('"', "")
  end
  return list
end

local function sent(...) return texts((pass(...))) end

describe("TCPReorder", function ()
  it("lets what comes early wait, and FINs", function ()
    local list, said = pass{line(1, 1000, "S"), line(1, 1004, "PA", "de"),
      line(1, 1006, "FA"), line(1, 1001, "A", "abc")}
    assert.same({"1000 S ", "1001 A abc", "1004 PA de", "1006 FA "}, texts(list))
    assert.same({}, said.drops)
  end)

  it("passes what has no data at once", function ()
    assert.same({"1000 S ", "1009 A ", "1000 A ", "1001 A a"}, sent{
      line(1, 1000, "S"), line(1, 1009, "A"), line(1, 1000, "A"),
      line(1, 1001, "A", "a")})
  end)

  it("drops what comes again, or has an output for it", function ()
    local lines = {line(1, 1000, "S"), line(1, 1000, "S"), line(1, 1001, "A", "abc"),
      line(1, 1001, "A", "abc"), line(1, 1006, "A", "f"), line(1, 1006, "A", "f"),
      line(1, 1002, "A", "bc")}
    local list, said = pass(lines)
    assert.same({"1000 S ", "1001 A abc"}, texts(list))
    assert.same({["came twice"] = 4}, said.drops)
    said = select(2, pass(lines, "", true))
    assert.same({{["came twice"] = 1}, 3, 1}, {said.drops, said.again, said.waiting})
  end)

  it("cuts off what came before", function ()
    assert.same({"1000 S ", "1001 A abc", "1004 A de", "1006 FA f"}, sent{
      line(1, 1000, "S"), line(1, 1001, "A", "abc"), line(1, 1002, "A", "bcde"),
      line(1, 1005, "FA", "ef")})
    assert.same({"1000 S ", "1001 A abcd", "1005 A e"}, sent{line(1, 1000, "S"),
      line(1, 1003, "A", "cde"), line(1, 1001, "A", "abcd")})
  end)

  it("hides no wrong checksum by a cut", function ()
    local list, said = pass({line(1, 1000, "S"), line(1, 1003, "A", "cde"),
      line(1, 1001, "A", "abcd"), line(1, 1004, "A", "defg")}, nil, nil,
      "StoreData(42, X) -> FlowIPManager")
    assert.equal(1, #list)
    assert.same({["bad checksum"] = 2}, said.drops)
  end)

  it("begins with a SYN, and passes RSTs", function ()
    local list, said = pass{line(1, 5, "A", "a"), line(1, 5, "R"), line(1, 1000, "S"),
      line(1, 1005, "A", "e"), line(1, 900, "R"), line(1, 1001, "A", "abcd"),
      line(1, 1007, "A", "g"), line(1, 1006, "R"), line(1, 1006, "A", "f")}
    assert.same({"5 R ", "1000 S ", "900 R ", "1001 A abcd", "1005 A e", "1006 R "},
      texts(list))
    assert.same({["no SYN before"] = 2, ["its flow ended"] = 1}, said.drops)
  end)

  it("begins anew behind a FIN, or where nothing came behind a SYN", function ()
    assert.same({"1000 S ", "9000 S ", "9001 FA ", "500 S ", "501 A a"}, sent{
      line(1, 1000, "S"), line(1, 9000, "S"), line(1, 9001, "FA"), line(1, 500, "S"),
      line(1, 501, "A", "a")})
    -- Within a connection a SYN says nothing.
    assert.same({"1000 S ", "1001 A a", "9000 S ", "1002 A b"}, sent{
      line(1, 1000, "S"), line(1, 1001, "A", "a"), line(1, 9000, "S"),
      line(1, 1002, "A", "b")})
  end)

  it("lets nothing pass behind the end", function ()
    local list, said = pass{line(1, 1000, "S"), line(1, 1002, "A", "xyz"),
      line(1, 1001, "FA"), line(1, 1002, "A", "x"), line(1, 1001, "FA")}
    assert.same({"1000 S ", "1001 FA "}, texts(list))
    assert.same({["its flow ended"] = 1, ["behind the end"] = 1, ["came twice"] = 1},
      said.drops)
  end)

  it("lets nothing wait longer than 2 seconds, but with NOTIMEOUT", function ()
    local lines = {line(1, 1000, "S"), line(1, 1002, "A", "b"),
      line(2, 1000, "S", "", 3), line(2, 1002, "A", "b", 3), line(3.5, 1001, "A", "a"),
      line(3.6, 1001, "A", "a", 3), line(3.7, 1009, "A", "x", 3)}
    local list, said = pass(lines)
    assert.same({"1000 S ", "1000 S ", "1001 A a", "1001 A a", "1002 A b"}, texts(list))
    assert.same({["waited too long"] = 1}, said.drops)
    assert.equal(1, said.waiting)
    list, said = pass(lines, "true, true")
    assert.equal(6, #list)
    assert.equal(1, said.waiting)
  end)

  it("drops what waits when the flow manager ends the flow", function ()
    local _, said = pass({line(1, 1000, "S"), line(1, 1002, "A", "b"),
      line(30, 1, "S", "", 2)}, "NOTIMEOUT true", false, "FlowIPManager(TIMEOUT 5)")
    assert.same({["its flow ended"] = 1}, said.drops)
    assert.equal(0, said.waiting)
  end)

  it("keeps so many of a flow, and of all", function ()
    local lines = {line(1, 1000, "S")}
    for i = 1, 1500 do lines[i + 1] = line(1, 1000 + 10 * i, "A", "a") end
    local _, said = pass(lines)
    assert.same({1024, {["no room to wait"] = 476}}, {said.waiting, said.drops})
    lines = {}
    for host = 1, 20 do
      lines[#lines + 1] = line(1, 1000, "S", "", host)
      for i = 1, 1000 do
        lines[#lines + 1] = line(1, 1000 + 10 * i, "A", "a", host)
      end
    end
    _, said = pass(lines)
    assert.is_true(said.waiting <= 16384 and said.waiting > 16000)
    assert.same({["no room to wait"] = 20000 - said.waiting}, said.drops)
  end)

  -- A stream in pieces that overlap, some again, in any order; then in order what is
  -- left to come.
  local function try(seed)
    math.randomseed(seed)
    local random, lines, streams, lies = math.random, {}, {}, 0
    for host = 1, 5 do
      local letters = {}
      for i = 1, random(300) do letters[i] = string.char(96 + random(26)) end
      streams[host] = {text = table.concat(letters), first = 2 ^ 32 - random(400)}
      lines[host] = line(1, streams[host].first, "S", "", host)
    end
    local function piece(host, at, n)
      local x = streams[host]
      lines[#lines + 1] = line(1, x.first + at, "A", x.text:sub(at, at + n - 1), host)
    end
    for _ = 1, 400 do
      local host = random(5)
      piece(host, random(#streams[host].text), random(40))
      if random() < 0.05 then
        lies = lies + 1
        lines[#lines + 1] = line(1, streams[host].first + 2 ^ 31 + random(1000), "A",
          "lies", host)
      end
    end
    for host = 1, 5 do
      for at = 1, #streams[host].text, 25 do piece(host, at, 25) end
    end
    local list, said = pass(lines)
    local got = {}
    for _, text in ipairs(list) do
      local host, seq, flags, payload = text:match('^1%.0%.0%.(%d) (%d+) (%S+) "(.*)"$')
      local x = streams[tonumber(host)]
      if flags == "S" then
        got[x] = ""
      else
        assert.equal((x.first + 1 + #got[x]) % 2 ^ 32, tonumber(seq), seed)
        got[x] = got[x] .. payload
      end
    end
    for _, x in ipairs(streams) do assert.equal(x.text, got[x], seed) end
    assert.is_true(said.waiting <= lies, seed)
  end

  it("gives each stream once, in order, whatever its pieces", function ()
    for _ = 1, 10 do try(os.time() + math.random(1e6)) end
    try(1)
  end)

  it("says what it refuses", function ()
    for text, why in pairs{
      ["Idle -> TCPReorder -> Discard"] = "no flow manager is in front of it",
      [ [[Idle -> FlowIPManager -> TCPReorder -> a :: TCPIn(b) -> TCPOut -> Discard;
        Idle -> b :: TCPIn(a) -> TCPOut -> Discard]] ] =
        "TCPIn now includes support for reordering",
    } do
      assert.matches(why, select(2, click.router(text)), 1, true)
    end
  end)
end)

describe("SimpleTCPReorder", function ()
  it("begins with any segment", function ()
    local name = os.tmpname()
    local r = click.run_dump(FIELDS, {line(1, 7000, "A", "abc"),
      line(1, 7006, "FA", "g"), line(1, 7003, "A", "def"), line(1, 7000, "A", "abc"),
      line(1, 7003, "A", "def")}, ([[SOURCE -> FlowIPManager -> r :: SimpleTCPReorder
        -> ToIPSummaryDump(%s, FIELDS tcp_seq payload); r[1] -> again :: Counter
        -> Discard]]):format(name))
    assert.equal("2", tostring(r:handler_read("again.count")))
    r:close()
    local list = {}
    for text in io.lines(name) do
      if not text:find("^!") then list[#list + 1] = text:gsub('"', "") end
    end
    os.remove(name)
    assert.same({"7000 abc", "7003 def", "7006 g"}, list)
  end)
end)
