-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local run = require("testing.streams").run

local FIELDS = "timestamp src sport dst dport proto tcp_seq tcp_ack tcp_flags payload"

local function quoted(text) return (text:gsub("\r", "\\r"):gsub("\n", "\\n")) end

-- What a client and a server say: a list of {from the client, text}, behind the
-- handshake; each is cut into segments of `n` bytes. What leaves on both sides, without
-- what a receiver has already, and the numbers that handlers said.
local function talk(said, arguments, more)
  more = more or {}
  local up, down, time, lines = 1001, 5001, 3, {
    '1 1.0.0.1 1 1.0.0.2 1 T 1000 0 S ""', '2 1.0.0.2 1 1.0.0.1 1 T 5000 1001 SA ""'}
  for _, x in ipairs(said) do
    local n = more.n or 1000
    for at = 1, #x[2], n do
      local piece = x[2]:sub(at, at + n - 1)
      local ends, flags = x[1] and {1, 2} or {2, 1}, x[3] or "A"
      if at + n <= #x[2] then flags = "A" end
      local line = ('%d 1.0.0.%d 1 1.0.0.%d 1 T %d %d %s "%s"'):format(time, ends[1],
        ends[2], x[1] and up or down, x[1] and down or up, flags, quoted(piece))
      for _ = 1, more.twice and 2 or 1 do lines[#lines + 1] = line end
      time = time + 1
      if x[1] then up = up + #piece else down = down + #piece end
    end
  end
  local list, numbers = run(FIELDS, lines, ([[SOURCE -> IPIn
    -> c :: IPClassifier(src 1.0.0.1, -)
    -> a :: TCPIn(b) -> ha :: HTTPIn(%s) -> wa :: WordMatcher(WORD %s, ALL true)
    -> hao :: HTTPOut -> TCPOut -> to :: CheckIPHeader(VERBOSE true)
    -> tc :: CheckTCPHeader(VERBOSE true)
    -> ToIPSummaryDump(SINKFILE, FIELDS src tcp_seq payload);
    c[1] -> b :: TCPIn(a) -> hb :: HTTPIn(%s) -> wb :: WordMatcher(WORD %s, ALL true)
    -> hbo :: HTTPOut -> TCPOut -> to]]):format(arguments or "",
    more.up or "zzzz, MODE MASK", arguments or "", more.down or
    "attack, MODE FULL, MSG 'a longer word'"), "ha.messages hb.messages "
    .. "ha.refused hb.refused to.drops tc.drops " .. (more.numbers or ""))
  assert.same({0, 0}, {numbers[5], numbers[6]})
  local out, next = {"", ""}, {1001, 5001}
  for _, text in ipairs(list) do
    local side, seq, payload = text:match('^1%.0%.0%.(%d) (%d+) "(.*)"$')
    side, seq = tonumber(side), tonumber(seq)
    payload = payload:gsub("\\r", "\r"):gsub("\\n", "\n"):gsub('\\"', '"')
    local known = next[side] - seq
    if #payload > known then
      assert.is_true(more.gaps or known >= 0, text)
      out[side] = out[side] .. payload:sub(known + 1)
      next[side] = seq + #payload
    end
  end
  return out[1], out[2], numbers
end

local GET = "GET /x HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n"

local function answer(body, fields, first)
  return (first or "HTTP/1.1 200 OK") .. "\r\nServer: attack\r\n"
    .. (fields or ("Content-Length: %d\r\n"):format(#body)) .. "\r\n" .. body
end

-- The messages in `text`: what is before each body, and bodies.
local function decoded(text)
  local list = {}
  while text ~= "" do
    local head, rest = text:match("^(.-\r\n)\r\n(.*)$")
    local body = ""
    local length = head:match("Content%-Length: (%d+)")
    if length then
      body, text = rest:sub(1, length), rest:sub(length + 1)
      assert.equal(tonumber(length), #body)
    elseif head:find("chunked") then
      while true do
        local size, behind = rest:match("^(%x+)\r\n(.*)$")
        size = tonumber(size, 16)
        if size == 0 then
          text = behind:match("^\r\n(.*)$") or behind:match("^.-\r\n\r\n(.*)$")
          break
        end
        body = body .. behind:sub(1, size)
        rest = assert(behind:match("^\r\n(.*)$", size + 1))
      end
    elseif head:find(" 304 ") then
      text = rest
    else
      body, text = rest, ""
    end
    list[#list + 1] = {head, body}
  end
  return list
end

describe("HTTPIn, HTTPOut", function ()
  local BODY = "an attack, attackattack att"
  local CHANGED = BODY:gsub("attack", "a longer word")

  it("correct Content-Length where a body is in one packet", function ()
    local asked, got, numbers = talk{{true, GET}, {false, answer(BODY)},
      {true, GET}, {false, answer("attack")}}
    assert.equal(GET .. GET, asked)
    assert.equal(answer(CHANGED) .. answer("a longer word"), got)
    assert.same({2, 2, 0, 0}, {unpack(numbers, 1, 4)})
  end)

  it("turn longer ones into chunks, however segments are cut", function ()
    local coded = "5\r\nan at\r\n6;x\r\ntack, \r\n9\r\nattackatt\r\n7\r\nack att\r\n"
      .. "0\r\nTrailer: x\r\n\r\n"
    local said = {{true, GET .. GET .. GET .. GET}, {false,
      answer(BODY) .. answer("", "", "HTTP/1.1 304 Not Modified")
      .. answer(coded, "Transfer-Encoding: chunked\r\n") .. answer("attack")}}
    for _, down in ipairs{"attack, MODE FULL, MSG 'a longer word'",
      "attack, MODE REMOVE", "attack, MODE MASK"} do
      local changed = BODY:gsub("attack", down:find("FULL") and "a longer word"
        or down:find("REMOVE") and "" or "******")
      local last = ("attack"):gsub("attack", down:find("FULL") and "a longer word"
        or down:find("REMOVE") and "" or "******")
      for n = 12, 90, 6 do
        local asked, got = talk(said, "", {n = n, down = down})
        assert.equal(GET:rep(4), asked)
        local list = decoded(got)
        assert.equal(4, #list, n)
        for i, body in ipairs{changed, "", changed, last} do
          assert.equal(body, list[i][2], n .. " " .. got)
          assert.matches("Server: attack\r\n", list[i][1], 1, true)
        end
      end
    end
  end)

  it("let bodies keep their length where nothing else is possible", function ()
    local short = BODY:gsub("attack", "")
    for arguments, expected in pairs{
      ["BUFFER 0"] = short .. (" "):rep(#BODY - #short),
      ["BUFFER 0, RESIZE_METHOD fill_end"] = short .. (" "):rep(#BODY - #short),
      ["BUFFER 0, RESIZE_METHOD fill"] = short .. (" "):rep(#BODY - #short),
    } do
      local _, got = talk({{true, GET}, {false, answer(BODY)}}, arguments,
        {down = "attack, MODE REMOVE"})
      assert.equal(answer(expected), got, arguments)
    end
    local _, got, numbers = talk({{true, GET}, {false, answer(BODY)}}, "BUFFER 0",
      {numbers = "hbo.cut"})
    assert.equal(answer(CHANGED:sub(1, #BODY)), got)
    assert.equal(1, numbers[7])
    -- A segment of which nothing is left is filled, too.
    local head = #answer("", "Content-Length: 12\r\n")
    _, got = talk({{true, GET}, {false, answer("attackattack")}}, "BUFFER 0, "
      .. "RESIZE_METHOD fill", {down = "attack, MODE REMOVE", n = head})
    assert.equal(answer((" "):rep(12)), got)
  end)

  it("leave no Content-Length where the server closes", function ()
    local old = GET:gsub("1.1", "1.0")
    local _, got = talk({{true, old}, {false, answer(BODY, nil, "HTTP/1.0 200 OK")}},
      "",
      {n = 70})
    assert.equal(answer(CHANGED, "", "HTTP/1.0 200 OK"), got)
  end)

  it("keep Accept-Encoding from the server, and make HTTP/1.0", function ()
    local asked = talk({{true, GET}}, "NOENC true")
    assert.equal("GET /x HTTP/1.1\r\nHost: a\r\n\r\n", asked)
    for n = 8, 60, 13 do
      asked = talk({{true, GET}}, "NOENC true", {n = n})
      assert.equal("GET /x HTTP/1.1\r\nHost: a\r\n\r\n", asked)
    end
    local keeps = GET:gsub("Host", "Connection: Keep-Alive\r\nHost")
    local got
    asked, got = talk({{true, keeps}, {false, answer("attack")}}, "HTTP10 true")
    assert.equal((GET:gsub("1.1", "1.0")), asked)
    assert.equal(answer("a longer word", nil, "HTTP/1.0 200 OK"), got)
  end)

  it("know which responses have no body", function ()
    local _, got, numbers = talk({{true, GET:gsub("GET", "HEAD") .. GET}, {false,
      "HTTP/1.1 100 Continue\r\n\r\n" .. answer("", "Content-Length: 27\r\n")
      .. answer("attack")}})
    assert.equal("HTTP/1.1 100 Continue\r\n\r\n" .. answer("", "Content-Length: 27\r\n")
      .. answer("a longer word"), got)
    assert.same({2, 3, 0, 0}, {unpack(numbers, 1, 4)})
  end)

  it("pass what follows CONNECT and Upgrade, and refuse what isn't HTTP", function ()
    local said = {{true, "CONNECT a:1 HTTP/1.1\r\n\r\n"},
      {false, "HTTP/1.1 200 OK\r\n\r\n"}, {true, "xattack"}, {false, "attack"}}
    local asked, got = talk(said)
    assert.equal(said[1][2] .. said[3][2], asked)
    assert.equal(said[2][2] .. said[4][2], got)
    local _, _, numbers = talk{{true, "hello\r\n\r\n"}, {true, GET},
      {false, answer("", "Content-Length: 1, 2\r\n")}, {false, answer("x")}}
    assert.same({0, 0, 1, 1}, {unpack(numbers, 1, 4)})
    local coded = answer("zz\r\n", "Transfer-Encoding: chunked\r\n")
    assert.same({1, 1, 0, 1}, {unpack(select(3, talk{{true, GET}, {false, coded}}),
      1, 4)})
  end)

  it("send again what comes again as it was", function ()
    for n = 11, 100, 17 do
      local _, got = talk({{true, GET .. GET}, {false, answer(BODY)
        .. answer("attack")}},
        "", {n = n, twice = true, down = "attack, MODE MASK"})
      local list = decoded(got)
      assert.equal(2, #list)
      assert.equal(#BODY, #list[1][2])
    end
  end)

  it("give all packets back, whatever is said", function ()
    local seed = os.time()
    math.randomseed(seed)
    local pieces = {GET, answer(BODY), answer("attack"), "attack", "\r\n", "5\r\n", "0",
      answer("3\r\natt\r\n3\r\nack\r\n0\r\n\r\n", "Transfer-Encoding: chunked\r\n"),
      "HTTP/1.1 101 x\r\n\r\n", "PUT / HTTP/1.1\r\nContent-Length: 9\r\n\r\n"}
    for i = 1, 150 do
      local said = {}
      for k = 1, 6 do
        local text = pieces[math.random(math.random(#pieces))]
        if math.random() < 0.2 then text = text:sub(1, math.random(#text)) end
        said[k] = {math.random() < 0.4, text, math.random() < 0.1 and "FA" or "A"}
      end
      local fine, why = pcall(talk, said, i % 3 == 0 and "BUFFER 0" or "",
        {gaps = true, n = math.random(80), twice = i % 4 == 0, down = i % 2 == 0
          and "attack, MODE REMOVE" or nil})
      assert.is_true(fine, seed .. " " .. i .. ": " .. tostring(why))
    end
  end)

  it("say what they refuse", function ()
    local PATH = "Idle -> a :: TCPIn(b) -> HTTPIn(%s) -> %s -> TCPOut -> Discard;"
      .. "Idle -> b :: TCPIn(a) -> TCPOut -> Discard"
    for why, text in pairs{
      ["we do not need a resize method"] = PATH:format("RESIZE_METHOD fill", "HTTPOut"),
      ["Unknown RESIZE_METHOD 'x'"] = PATH:format("BUFFER 0, RESIZE_METHOD x",
        "HTTPOut"),
      ["Filling method cannot be set with HTTP10"] =
        PATH:format("HTTP10 true, BUFFER 0, RESIZE_METHOD fill", "HTTPOut"),
      ["Found no or more than 1 HTTPOut"] = PATH:format("", "Null"),
      ["Could not find TCPIn element"] = "Idle -> HTTPIn -> HTTPOut -> Discard",
      ["Found no or more than 1 HTTPIn"] = "Idle -> HTTPOut -> Discard",
    } do
      assert.matches(why, select(2, click.router(text)), 1, true)
    end
  end)
end)
