-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

local TCP = "timestamp src sport dst dport proto tcp_seq tcp_ack tcp_flags payload"

-- What ToIPSummaryDump(SINKFILE, FIELDS ...) wrote, the lines; and the numbers that the
-- handlers named (with spaces between them) said, a list.
local function run(fields, lines, text, names)
  local name = os.tmpname()
  local r = click.run_dump(fields, lines, (text:gsub("SINKFILE", name)))
  local list, numbers = {}, {}
  for handler in (names or ""):gmatch("%S+") do
    numbers[#numbers + 1] = tonumber(tostring(assert(r:handler_read(handler))))
  end
  r:close()
  for line in io.lines(name) do
    if not line:find("^!") then list[#list + 1] = line end
  end
  os.remove(name)
  return list, numbers
end

describe("WordMatcher, UDP", function ()
  local LINES = {}
  for i, line in ipairs{"4 thisisan", "4 at", "4 tack", "5 thi", "5 sca", "5 t"} do
    local host, text = line:match("^(%d) (.*)$")
    LINES[i] = ("%d 18.26.4.44 18.26.4.4%s U %s"):format(i, host, text)
  end

  -- FastClick's own test of these modes, flow/remove, expects the same.
  local function payloads(arguments)
    local list = run("timestamp src dst proto payload", LINES, ([[SOURCE
      -> CTXManager(CONTEXT NONE) -> IPIn -> UDPIn -> WordMatcher(WORD is, %s) -> IPOut
      -> CheckIPHeader(VERBOSE true)
      -> ToIPSummaryDump(SINKFILE, FIELDS wire_len payload)]]):format(arguments))
    return table.concat(list, " "):gsub('"', "")
  end

  it("masks, removes, replaces, also what begins in another packet", function ()
    local F = "<font color='red'>Blocked content !</font><br />"
    local END = " 30 at 32 tack "
    for arguments, expected in pairs{
      ["MODE MASK"] = "36 th**isan" .. END .. "31 th* 31 *ca 29 t",
      ["MODE REMOVE"] = "34 thisan" .. END .. "30 th 30 ca 29 t",
      ["MODE REPLACE"] = "36 th<fisan" .. END .. "31 th< 31 fca 29 t",
      ["MODE REPLACE, ALL true"] = "36 th<f<fan" .. END .. "31 th< 31 fca 29 t",
      ["MODE FULL"] = ("82 th%sisan"):format(F) .. END
        .. ("31 th< 77 %sca 29 t"):format(F:sub(2)),
      ["MODE FULL, ALL true"] = ("128 th%s%san"):format(F, F) .. END
        .. ("31 th< 77 %sca 29 t"):format(F:sub(2)),
      ["MODE FULL, MSG X"] = "35 thXisan" .. END .. "31 thX 30 ca 29 t",
      ["MODE FULL, ALL true, MSG X"] = "34 thXXan" .. END .. "31 thX 30 ca 29 t",
      ["MODE ALERT"] = "36 thisisan" .. END .. "31 thi 31 sca 29 t",
      ["MODE CLOSE"] = "",
    } do
      assert.equal(expected, (payloads(arguments)), arguments)
    end
  end)

  it("finds several words, the first that begins first", function ()
    -- "t" may be the beginning of "ta", and waits.
    assert.equal("36 th##is## 30 at 32 ##ck 31 th# 31 #ca",
      (payloads("WORD ta, WORD isis, WORD an, MODE REPLACE, MSG #")))
  end)

  it("lets what it keeps of UDP go when the flow ends", function ()
    local list = run("timestamp src dst proto payload",
      {LINES[4], "70 1.1.1.1 1.1.1.2 U x"}, [[SOURCE
      -> FlowIPManager(TIMEOUT 5) -> WordMatcher(WORD is)
      -> ToIPSummaryDump(SINKFILE, FIELDS payload)]])
    assert.same({'"thi"', '"x"'}, list)
  end)

  it("refuses modes, words and what it can't do", function ()
    for arguments, why in pairs{
      ["WORD a, MODE X"] = "Mode must be MASK, REMOVE, REPLACE, ALERT, CLOSE or FULL",
      [""] = "No words given", ['WORD ""'] = "WORD is empty",
    } do
      assert.matches(why, select(2, click.router(
        ("Idle -> CTXManager -> WordMatcher(%s) -> Discard"):format(arguments))), 1,
        true)
    end
    assert.matches("no flow manager is in front of it",
      select(2, click.router("Idle -> WordMatcher(WORD a) -> Discard")), 1, true)
  end)
end)

describe("TCPIn, TCPOut", function ()
  local function line(time, seq, flags, payload, ack)
    return ('%d 18.26.4.44 2222 18.26.4.45 22 T %d %d %s "%s"'):format(time, seq,
      ack or 1001001, flags, payload or "")
  end

  -- A client's segments behind its SYN, to a server that acknowledges what comes; what
  -- leaves to the server, and to the client from TCPOut's second output.
  local function pass(lines, middle, more)
    more = more or {}
    local all = {line(1, 1000, "S", "", 0), line(2, 1001, "A")}
    for _, text in ipairs(lines) do all[#all + 1] = text end
    return run(TCP, all, ([[SOURCE -> %s -> CTXManager(CONTEXT NONE) ~> IPIn
      -> in :: TCPIn(back) -> %s -> out :: TCPOut -> IPOut
      -> to :: CheckIPHeader(VERBOSE true) -> ok :: CheckTCPHeader(VERBOSE true)
      -> t :: Tee
      -> ToIPSummaryDump(SINKFILE, FIELDS tcp_seq tcp_ack tcp_flags payload);
      %s t[1] -> TCPReflector(STRIP_PAYLOAD true, RAND_SEQ false) -> %s
      -> CTXManager(CONTEXT NONE) -> IPIn -> back :: TCPIn(in) -> bo :: TCPOut
      -> Discard]]):format(more.before or "Null", middle
      or "w :: WordMatcher(WORD is, MODE REMOVE, ALL true)",
      more.ack == false and "" or "out[1] -> to;",
      more.answers or "Null"), more.read)
  end

  it("let numbers follow what was taken out, in order", function ()
    local list, numbers = pass({line(4, 1009, ".", "at"),
      line(5, 1001, ".", "thisisan"), line(6, 1011, ".", "tack"), line(7, 1015, "F")},
      nil, {read = "in.waiting in.count"})
    assert.same({'1000 0 S ""', '1001 1001001 A ""', '1001 1001001 . "than"',
      '1005 1001001 . "at"', '1007 1001001 . "tack"', '1011 1001001 F ""'}, list)
    assert.same({0, 1}, numbers)
  end)

  it("acknowledge a segment of which nothing is left", function ()
    local list = pass{line(4, 1001, ".", "thi"), line(5, 1004, ".", "sais"),
      line(6, 1008, ".", "is"), line(7, 1010, ".", "end")}
    assert.same({'1001 1001001 . "th"', '1003 1001001 . "a"', '1001001 1010 A ""',
      '1004 1001001 . ""', '1004 1001001 . "end"'}, {unpack(list, 3)})
  end)

  it("ask the receiver about it where there is no way back", function ()
    local list = pass({line(6, 1001, ".", "is"), line(7, 1003, ".", "end")}, nil,
      {ack = false})
    assert.same({'1000 1001001 . ""', '1001 1001001 . "end"'}, {unpack(list, 3)})
  end)

  it("send again what was sent, however it is cut, as it was changed", function ()
    local list, numbers = pass({line(4, 1001, ".", "this is it"),
      line(5, 1004, ".", "s is"),
      line(6, 1001, ".", "this is it, still")},
      "w :: WordMatcher(WORD is, MODE FULL, MSG abcd, ALL true)",
      {answers = "Discard; Idle", read = "w.found"})
    assert.same({'1001 1001001 . "thabcd abcd it"', '1003 1001001 . "abcd abcd"',
      '1001 1001001 . "thabcd abcd it"', '1015 1001001 . ", still"'}, {unpack(list, 3)})
    assert.same({2}, numbers)
  end)

  it("don't say again what the receiver has", function ()
    local list = pass{line(4, 1001, ".", "this"), line(5, 1001, ".", "this")}
    assert.same({'1001 1001001 . "th"', '1001001 1005 A ""', '999 1001001 . ""'},
      {unpack(list, 3)})
  end)

  it("cut off what the receiver has of a segment that comes again", function ()
    local list = pass({line(4, 1001, ".", "this"), line(5, 1005, ".", " is it"),
      line(6, 1001, ".", "this is it")}, nil,
      {answers = "Classifier(28/000003e9%fffffffd)"}) -- up to 1003
    local rest = '1003 1001001 . "  it"'
    assert.same({'1001 1001001 . "th"', rest, rest}, {unpack(list, 3)})
  end)

  it("write checksums of segments of which some came before", function ()
    local list, numbers = pass({line(4, 1001, ".", "abcd"), line(5, 1003, ".", "cdef"),
      line(6, 1009, ".", "ij"), line(7, 1005, ".", "efghi")}, "WordMatcher(WORD zz)",
      {ack = false, read = "to.drops ok.drops"})
    assert.same({'1001 1001001 . "abcd"', '1002 1001001 . ""', '1005 1001001 . "ef"',
      '1004 1001001 . ""', '1007 1001001 . "ghi"', '1010 1001001 . "j"'},
      {unpack(list, 3)})
    assert.same({0, 0}, numbers)
  end)

  it("let go of what is kept, when it comes again or ends", function ()
    local list, numbers = pass({line(4, 1001, ".", "thi"), line(5, 1001, ".", "thi"),
      line(6, 1004, ".", "s i"), line(7, 1007, "F")}, nil, {read = "w.found"})
    assert.same({'1001 1001001 . "thi"', '1004 1001001 . " i"', '1006 1001001 F ""'},
      {unpack(list, 3)})
    assert.same({1}, numbers)
  end)

  it("change the rest of a word whose beginning came again and has left", function ()
    local lines = {line(4, 1001, ".", "thi"), line(5, 1001, ".", "thi")}
    lines[3] = line(6, 1004, ".", "s it")
    for mode, expected in pairs{["MASK"] = "* it", ["REMOVE"] = " it",
      ["FULL, MSG a"] = " it", ["FULL, MSG abc"] = "bc it", ["ALERT"] = "s it"} do
      local list, numbers = pass(lines,
        ("w :: WordMatcher(WORD is, MODE %s)"):format(mode), {read = "w.found"})
      assert.same({'1001 1001001 . "thi"', ('1004 1001001 . "%s"'):format(expected)},
        {unpack(list, 3)})
      assert.same({1}, numbers)
    end
    -- An acknowledgement alone has the number behind what is kept.
    table.insert(lines, 2, line(4, 1004, "A"))
    local lists = pass(lines, "WordMatcher(WORD is, MODE REMOVE)")
    assert.same({'1004 1001001 A ""', '1001 1001001 . "thi"', '1004 1001001 . " it"'},
      {unpack(lists, 3)})
    -- Piece by piece, each twice.
    lines = {}
    for i, letter in ipairs{"w", "o", "r", "d", "!"} do
      lines[2 * i - 1] = line(3 + i, 1000 + i, ".", letter)
      lines[2 * i] = line(3 + i, 1000 + i, ".", letter)
    end
    local list, numbers = pass(lines, "w :: WordMatcher(WORD word, MODE MASK)",
      {read = "w.found w.failed", ack = false, answers = "Discard; Idle"})
    assert.equal('1004 1001001 . "*"', list[6])
    assert.same({1, 0}, numbers)
  end)

  it("cut segments that have grown beyond what the receiver takes", function ()
    local list = pass({line(4, 1001, "PF", ("is"):rep(200) .. "end")},
      "w :: WordMatcher(WORD is, MODE FULL, MSG abcd, ALL true)")
    assert.equal('1001 1001001 . "' .. ("abcd"):rep(134) .. '"', list[3])
    assert.equal('1537 1001001 FP "' .. ("abcd"):rep(66) .. 'end"', list[4])
    assert.equal(4, #list)
  end)

  it("drop what is of no connection, and pass RSTs", function ()
    local list, numbers = run(TCP, {line(1, 5, "A", "hello"), line(2, 5, "R")}, [[SOURCE
      -> IPIn -> a :: TCPIn(b) -> TCPOut
      -> ToIPSummaryDump(SINKFILE, FIELDS tcp_flags payload);
      Idle -> b :: TCPIn(a) -> TCPOut -> Discard]], "a.count")
    assert.same({'R ""'}, list)
    assert.same({0}, numbers)
  end)

  it("forget connections that aren't answered, or have ended", function ()
    local list, numbers = run(TCP, {line(1, 5, "S"), line(2, 5, "S"),
      line(40, 6, "A", "x"), line(50, 5, "S"), line(51, 6, "R"), line(52, 2, "R"),
      line(90, 7, "A", "x")}, [[SOURCE -> IPIn
      -> a :: TCPIn(b) -> TCPOut -> ToIPSummaryDump(SINKFILE, FIELDS tcp_flags payload);
      Idle -> b :: TCPIn(a) -> TCPOut -> Discard]], "a.count")
    assert.same({'S ""', 'S ""', 'S ""', 'R ""', 'R ""'}, list)
    assert.same({0}, numbers)
  end)

  -- Segments of both sides, in that order: {from the client, seq, flags, payload, ack},
  -- behind the handshake; what leaves then.
  local function talk(segments, middle)
    local lines = {}
    for i, x in ipairs{{true, 1000, "S", "data", 0}, {false, 5000, "SA", "", 1001},
      unpack(segments)} do
      lines[i] = ('%d 1.0.0.%d 1 1.0.0.%d 1 T %d %d %s "%s"'):format(i, x[1] and 1 or 2,
        x[1] and 2 or 1, x[2], x[5] or 5001, x[3], x[4] or "")
    end
    local list = run(TCP, lines, ([[SOURCE -> IPIn -> c :: IPClassifier(src 1.0.0.1, -)
      -> a :: TCPIn(b) -> %s -> TCPOut
      -> to :: ToIPSummaryDump(SINKFILE, FIELDS src tcp_seq tcp_ack tcp_flags payload);
      c[1] -> b :: TCPIn(a) -> TCPOut -> to]]):format(middle
      or "WordMatcher(WORD is, MODE FULL, MSG abcd)"))
    assert.same({'1.0.0.1 1000 0 S ""', '1.0.0.2 5000 1001 SA ""'},
      {unpack(list, 1, 2)}) -- without data
    return {unpack(list, 3)}
  end

  it("don't believe acknowledgements of what wasn't sent, nor old ones", function ()
    local first = {true, 1001, "A", "this"}
    local sent = '1.0.0.1 1001 5001 A "thabcd"'
    -- Of the bytes up to 1007 the receiver has none, then all.
    assert.same({sent, '1.0.0.2 5001 99998 A ""', sent},
      talk{first, {false, 5001, "A", "", 100000}, first})
    assert.same({sent, '1.0.0.2 5001 1005 A ""', '1.0.0.2 5001 999 A ""',
      '1.0.0.1 1002 5001 A ""'},
      talk{first, {false, 5001, "A", "", 1007}, {false, 5001, "A", "", 1001}, first})
  end)

  it("learn nothing of a SYN within the connection", function ()
    local kept = {true, 1001, "A", "thi"}
    for _, stray in ipairs{{true, 9000, "S", "", 0}, {false, 5000, "SA", "", 900000}} do
      local list = talk{kept, stray, kept, {true, 1004, "A", "s"}}
      assert.matches(stray[3], list[1])
      assert.same({'1.0.0.1 1001 5001 A "thi"', '1.0.0.1 1004 5001 A "bcd"'},
        {unpack(list, 2)})
    end
  end)

  it("open no connection by the answer to another SYN", function ()
    local r, numbers = run(TCP, {'1 1.0.0.1 1 1.0.0.2 1 T 1000 0 S ""',
      '2 1.0.0.2 1 1.0.0.1 1 T 5000 1002 SA ""'}, [[SOURCE -> IPIn
      -> c :: IPClassifier(src 1.0.0.1, -) -> a :: TCPIn(b) -> TCPOut
      -> to :: ToIPSummaryDump(SINKFILE, FIELDS tcp_flags);
      c[1] -> b :: TCPIn(a) -> TCPOut -> to]], "a.count b.count")
    assert.same({"S", "SA"}, r)
    assert.same({1, 0}, numbers)
  end)

  it("take a frame's padding for no data", function ()
    local list = pass({line(4, 1001, ".", "ab"), line(5, 1003, "F")}, nil,
      {before = "Pad(LENGTH 80)"})
    assert.same({'1000 0 S ""', '1001 1001001 A ""', '1001 1001001 . "ab"',
      '1003 1001001 F ""'}, list)
  end)

  it("make room for new connections by those that aren't answered", function ()
    local lines = {}
    for i = 1, 20 do
      lines[i] = ('%d.%d 1.0.0.%d 1 2.0.0.2 2 T 5 0 S ""'):format(1, i, i)
    end
    local list, numbers = run(TCP, lines, [[SOURCE -> IPIn
      -> a :: TCPIn(b, CAPACITY 4) -> TCPOut
      -> ToIPSummaryDump(SINKFILE, FIELDS tcp_flags);
      Idle -> b :: TCPIn(a) -> TCPOut -> Discard]], "a.count")
    assert.equal(20, #list)
    assert.same({4}, numbers)
  end)

  it("give back what waits when the router ends", function ()
    local _, numbers = pass({line(4, 1101, ".", "at"), line(5, 1201, ".", "at"),
      line(6, 1001, ".", "thi")}, nil, {read = "in.waiting"})
    assert.same({2}, numbers)
  end)

  it("let nothing wait of what isn't answered", function ()
    local _, numbers = pass({line(4, 1101, ".", "at")}, nil,
      {answers = "Discard; Idle", read = "in.waiting"})
    assert.same({0}, numbers)
  end)

  it("name each other", function ()
    for text, why in pairs{
      ["Idle -> a :: TCPIn(a) -> TCPOut -> Discard"] = "has another RETURNNAME",
      ["Idle -> a :: TCPIn(b) -> Discard; Idle -> b :: TCPIn(a) -> TCPOut -> Discard"] =
        "Found no or more than 1 TCPOut element",
      [ [[Idle -> a :: TCPIn(b, FLOWDIRECTION 0) -> TCPOut -> Discard;
        Idle -> b :: TCPIn(a, FLOWDIRECTION 0) -> TCPOut -> Discard]] ] =
        "have the same FLOWDIRECTION",
      ["Idle -> a :: TCPIn(b) -> TCPOut -> Discard"] =
        "RETURNNAME: does not name an element",
    } do
      assert.matches(why, select(2, click.router(text)), 1, true)
    end
  end)

  it("have a TCPRetransmitter for what comes again", function ()
    local list, numbers = run(TCP, {line(1, 1000, "S", "", 0),
      line(4, 1001, ".", "this"),
      line(5, 1001, ".", "this")}, [[SOURCE -> IPIn -> a :: TCPIn(b)
      -> w :: WordMatcher(WORD is, MODE MASK) -> t :: TCPRetransmitter -> TCPOut
      -> ToIPSummaryDump(SINKFILE, FIELDS tcp_seq payload);
      a[1] -> c :: Counter -> [1] t;
      Idle -> b :: TCPIn(a) -> TCPOut -> Discard]], "c.count w.found")
    assert.same({'1000 ""', '1001 "th**"', '1001 "th**"'}, list)
    assert.same({1, 1}, numbers)
  end)
end)
