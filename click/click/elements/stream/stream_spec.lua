-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local run = require("testing.streams").run

local TCP = "timestamp src sport dst dport proto tcp_seq tcp_ack tcp_flags payload"

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

  local function try(seed)
    math.randomseed(seed)
    local random, lines = math.random, {}
    local function pick(list) return list[random(#list)] end
    for i = 1, 5000 do
      local up = random() < 0.6
      local flags = pick{"A", "A", "A", "PA", "FA", "R", "S", "SA", "SA"}
      local first = flags:find("S") and 1000 or 1001 + random(0, 40)
      local ends = up and {1, 2} or {2, 1}
      lines[i] = ('%d 1.0.0.%d %d 1.0.0.%d %d T %d %d %s "%s"'):format(i / 10, ends[1],
        random(2), ends[2], random(2), first,
        1001 + (first == 1000 and 0 or random(0, 40)), flags,
        ("wordwordx"):rep(random(0, 2)):sub(random(8)))
    end
    local fine, why = pcall(run, TCP, lines, [[SOURCE -> IPIn
      -> c :: IPClassifier(src 1.0.0.1, -) -> a :: TCPIn(b, CAPACITY 3)
      -> WordMatcher(WORD word, WORD wow, MODE FULL, ALL true) -> TCPOut
      -> to :: ToIPSummaryDump(SINKFILE, FIELDS tcp_seq);
      c[1] -> b :: TCPIn(a, CAPACITY 3) -> WordMatcher(WORD wordwordx, MODE CLOSE)
      -> TCPOut -> to]])
    assert.is_true(fine, ("seed %d: %s"):format(seed, tostring(why)))
  end

  it("give all packets back, whatever came in any order", function ()
    try(1795818350) -- words behind RSTs, which overlapped those of segments
    try(os.time())
  end)

  it("have nothing of what is behind a RST's header", function ()
    local list, numbers = pass({line(4, 1001, ".", "this"),
      line(5, 1005, "R", "is is")}, nil, {read = "w.found"})
    assert.same({'1001 1001001 . "th"', '1003 1001001 R ""'}, {unpack(list, 3)})
    assert.same({1}, numbers)
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
