-- SPDX-License-Identifier: Apache-2.0
local dumps = require("testing.click_dumps")
local Lines = require("click.summary.lines")
local note = require("click.note")
local packet = require("core.packet")
local Reader = require("click.summary.reader")
local Writer = require("click.summary.writer")
local bytes_of = require("testing.support").bytes_of

-- The line that a packet made of a line has.
local function there_and_back(fields, line, options)
  local p = dumps.packet(fields, line, {})
  local back = dumps.line(fields, p, options)
  packet.free(p)
  return back
end

describe("a line of a summary dump", function ()
  it("makes a packet that makes the same line", function ()
    for _, case in ipairs{
      {"timestamp count link aggregate", "12.345678 3 7 99"},
      {"ts_sec ts_usec ts_usec1 direction", "5 250000 5250000 <"},
      {"first_ntimestamp ntimestamp", "1.000000001 2.000000"},
      {"eth_src eth_dst eth_type ip_src",
        "00-01-02-03-04-05 0A-0B-0C-0D-0E-0F 0800 1.2.3.4"},
      {"ip_src ip_dst ip_tos ip_ttl ip_id ip_sum", "1.2.3.4 255.0.0.9 33 7 65535 4660"},
      {"ip_dscp ip_ecn ip_proto ip_hl", "46 ect1 T 24"},
      {"ip_fragoff ip_proto", "1480+ U"}, {"ip_len ip_frag", "1500 !"},
      {"ip_src ip_opt ip_len", "1.2.3.4 rr{2.3.4.5}+3 60"},
      {"ip_proto sport dport udp_len", "U 53 1024 20"},
      {"sport dport tcp_seq tcp_ack tcp_flags tcp_window tcp_urp",
        "1 2 4294967295 7 SA 65535 3"},
      {"tcp_off tcp_opt", "32 mss1400;sackok"}, {"tcp_flags", "FSRPAUECN"},
      {"ip_proto icmp_type icmp_code", "I 8 0"},
      {"ip_proto icmp_type_name icmp_flowid icmp_seq", "I echo 7 9"},
      {"ip_proto icmp_type_name icmp_code_name icmp_nextmtu",
        "I unreachable needfrag 576"},
      {"ip_proto payload", 'U "a b\\n\\"\\001"'}, {"ip_proto payload_len", "T 100"},
      {"ip_proto ip_len payload_len", "132 50 30"}, {"wire_len ip_src", "20 1.2.3.4"},
    } do
      assert.equal(case[2], there_and_back(case[1], case[2]), case[1])
    end
  end)

  it("may lack fields, and have older names and values", function ()
    assert.equal("1.2.3.4 - -", there_and_back("src sport icmp_type", "1.2.3.4 - -",
      {extra = true}):gsub(" 0 ", " - "))
    assert.equal("18 W", ("%s %s"):format(there_and_back("tcp_flags", "18"):gsub("SA",
      "18"), "W"))
    local list = dumps.packets("!data 'ip src' length p\n1.2.3.4 100 U\n")
    assert.equal("1.2.3.4 100 U", dumps.line("ip_src ip_len ip_proto", list[1]))
    packet.free(list[1])
  end)

  it("sets lengths and checksums if that is asked for", function ()
    assert.equal("\69\0\0\33\0\0\0\0\100\17\70\185\1\2\3\4\5\6\7\8"
      .. "\0\53\0\80\0\13\171\105hello", bytes_of(dumps.packet(
      "src dst sport dport proto payload", '1.2.3.4 5.6.7.8 53 80 U "hello"')))
    -- UDP's would be 0, which says that there is none.
    assert.equal("\171\158\0\80\0\13\255\255hello", bytes_of(dumps.packet(
      "src dst sport dport proto payload",
      '1.2.3.4 5.6.7.8 43934 80 U "hello"')):sub(21))
    local p = dumps.packet("src dst proto ip_len", "1.2.3.4 5.6.7.8 U 60")
    assert.equal(60, p.length)
    assert.equal(0x08070605, p.note32[note.DST_IP])
    packet.free(p)
    p = dumps.packet("src dst proto ip_len", "1.2.3.4 5.6.7.8 U 60", {})
    assert.same({28, 32}, {p.length, p.note32[note.EXTRA_LENGTH]})
    packet.free(p)
  end)

  it("gives a header options where that makes lengths right", function ()
    local p = dumps.packet("ip_len proto payload", '60 T "12345678"', {})
    assert.equal('32 20 "12345678"', dumps.line("tcp_off ip_hl payload", p))
    packet.free(p)
  end)
end)

describe("a summary dump", function ()
  it("has lines that say what follows", function ()
    local list, said = dumps.packets([[
!IPSummaryDump 1.3
!creator "somebody"
!proto udp
!flowid 1.0.0.1 7 2.0.0.2 9
# a remark

!data ip_ttl
5
!data icmp_type
!proto I
echo
]])
    assert.same({}, said)
    assert.equal("1.0.0.1 7 2.0.0.2 9 U 5",
      dumps.line("src sport dst dport proto ip_ttl", list[1]))
    assert.equal("I 8", dumps.line("proto icmp_type", list[2]))
    for _, p in ipairs(list) do packet.free(p) end
  end)

  it("says what it doesn't understand, with the line", function ()
    local function said(text)
      local list, complaints = dumps.packets(text)
      for _, p in ipairs(list) do packet.free(p) end
      return complaints
    end
    assert.same({"<data>:1: warning: missing banner line; is this an IP summary dump?",
      "<data>:1: error: no '!data' provided"}, said("hello\n"))
    assert.same({"<data>:1: warning: unknown content type 'x'",
      "<data>:2: error: packet parse error"}, said("!data x\n5\n7\n"))
    assert.same({"<data>:1: warning: content type 'payload_md5' ignored on input"},
      said("!data payload_md5\n"))
    assert.same({"<data>:1: error: no contents specified"}, said("!data\n"))
    assert.same({"<data>:1: error: bad protocol in !proto"}, said("!proto x\n"))
    assert.same({"<data>:1: error: bad !flowid specification"}, said("!flowid 1 2\n"))
    assert.same({"<data>:1: warning: unexpected IPSummaryDump version 2.0"},
      said("!IPSummaryDump 2.0\n"))
    assert.same({"<data>:2: error: packet is longer than 10240 bytes"},
      said("!data ip_len\n60000\n"))
  end)

  it("may be binary", function ()
    local fields = {"timestamp", "ip_src", "sport", "tcp_opt", "link", "ip_proto"}
    local out = ""
    local writer = Writer.new(fields, {binary = true, extra = true}, {})
    local p = dumps.packet(table.concat(fields, " "),
      "5.000001 1.2.3.4 77 mss1400 3 T")
    writer:add(p, function (text) out = out .. text end)
    packet.free(p)
    assert.equal("\0\0\0\25\0\0\0\5\0\0\0\1\1\2\3\4\0\77\4\2\4\5\120\3\6", out)
    local list, said = dumps.packets(writer:header{} .. out .. "\128\0\0\12#a note\0")
    assert.same({}, said)
    assert.equal("5.000001 1.2.3.4 77 mss1400 3 T",
      dumps.line(table.concat(fields, " "), list[1]))
    packet.free(list[1])
  end)

  it("ends where its lines or records can't be read", function ()
    local function said(text)
      local list, complaints = dumps.packets("!data link\n" .. text)
      for _, p in ipairs(list) do packet.free(p) end
      return #list, complaints[1]
    end
    local record = "\0\0\0\5\7"
    assert.same({2}, {said("!binary\n" .. record .. record)})
    for _, rest in ipairs{"\0", "\0\0\0\5", "\0\0\0\9abcd"} do
      assert.same({1, "<data>:record 2: error: the last binary record is cut off"},
        {said("!binary\n" .. record .. rest)})
    end
    local file = require("testing.damage").temporary_file()
    local f = io.open(file, "w")
    f:write("!data link\n1\n", ("2"):rep(2 ^ 20 + 1), "\n3\n")
    f:close()
    local lines, problems, seen = Lines.open(file), {}, 0
    local reader = Reader.new(lines, {}, {say = function (_, mark, text)
      problems[#problems + 1] = mark:match("[^:]*$") .. ": " .. text
    end})
    reader:begin()
    repeat
      local p, ended = reader:next()
      if p then
        seen = seen + 1
        packet.free(p)
      end
    until ended
    lines:close()
    os.remove(file)
    assert.same({1, {"3: a line has more than a megabyte"}}, {seen, problems})
  end)

  it("may be read again and again", function ()
    local reader = Reader.new(Lines.of_text("!data link\n1\n2\n"), {},
      {times = 2, say = error})
    reader:begin()
    local seen = {}
    repeat
      local p, ended = reader:next()
      if p then
        seen[#seen + 1] = p.note8[note.PAINT]
        packet.free(p)
      end
    until ended
    assert.same({1, 2, 1, 2}, seen)
  end)

  it("is read from a file, packed or not", function ()
    local name = require("testing.support").temporary("one\r\ntwo\n")
    for _, suffix in ipairs{"", ".gz"} do
      if suffix == ".gz" then os.execute("gzip -f " .. name) end
      local lines = Lines.open(name .. suffix)
      assert.equal("one", (lines:next()))
      assert.equal("two", (lines:next()))
      assert.equal(name .. suffix .. ":2", lines:landmark())
      assert.is_nil(lines:next())
      lines:close()
    end
    os.remove(name .. ".gz")
    assert.is_nil(Lines.open(name))
  end)

  it("says that a packed file is cut, wherever it is", function ()
    local name = os.tmpname()
    local file = io.open(name, "w")
    for i = 1, 50 do file:write(("10.0.0.%d 10.1.2.3 %d\n"):format(i, i * i)) end
    file:close()
    for _, way in ipairs{{"gzip", 30}, {"bzip2", 60}, {"xz", 60}} do
      local packed = io.popen(way[1] .. " -c " .. name):read("*a")
      for cut = way[2], #packed, 17 do
        file = io.open(name .. ".z", "wb")
        file:write(packed:sub(1, cut - 1))
        file:close()
        local lines = Lines.open(name .. ".z")
        while lines:peek() do lines:next() end
        local _, problem = lines:next()
        assert.equal(name .. ".z: the compressed data are cut or damaged: " .. way[1]
          .. " ends with exit status " .. (way[1] == "bzip2" and 2 or 1), problem)
        assert.is_nil((lines:next()))
        lines:close()
      end
    end
    os.remove(name)
    os.remove(name .. ".z")
  end)
end)

describe("a packet that is wrong", function ()
  local function bad(p)
    local line = dumps.line("sport tcp_flags", p, {bad = true, careful = true})
    packet.free(p)
    return line
  end

  local function tcp()
    return dumps.packet("src dst sport dport proto", "1.0.0.1 2.0.0.2 7 8 T")
  end

  it("is said to be so in a line before its own", function ()
    local p = tcp()
    p.data[0] = 0x65
    assert.equal("!bad IP version 6\n- -", bad(p))
    p = tcp()
    p.data[0] = 0x44
    assert.equal("!bad IP header length 4\n- -", bad(p))
    p = tcp()
    p.data[3] = 10
    assert.equal("!bad IP length 10\n- -", bad(p))
    p = tcp()
    p.data[32] = 0x40
    assert.equal("!bad TCP header length 4\n7 -", bad(p))
    p = tcp()
    p.length = 30
    assert.equal("!bad truncated IP missing 10\n7 -", bad(p))
    p = tcp()
    p.length = 3
    assert.equal("!bad truncated IP header\n- -", bad(p))
    p = packet.from_string("x")
    note.clear(p)
    assert.equal("!bad no IP header\n- -", bad(p))
    p = tcp()
    p.data[7] = 1
    assert.equal("!bad fragmented TCP/UDP header\n- -", bad(p))
  end)

  it("may have padding, which doesn't count", function ()
    local p = packet.resize(tcp(), 60)
    assert.equal("40 0 40", dumps.line("ip_len payload_len ip_capture_len", p))
    packet.free(p)
  end)

  it("doesn't let a field look behind its end", function ()
    local fields = "eth_src ip_src ip_frag ip_opt ip_len sport dport tcp_seq tcp_flags "
      .. "tcp_opt tcp_ntopt tcp_sack udp_len icmp_type icmp_flowid payload payload_len "
      .. "payload_md5"
    local lines = 0
    for _, protocol in ipairs{"T", "U", "I"} do
      for length = 0, 70 do
        local p = dumps.packet("src proto ip_opt payload",
          ("1.0.0.1 %s rr{}+2 \"0123456789\""):format(protocol))
        p.length = math.min(length, p.length)
        if #dumps.line(fields, p) > 0 then lines = lines + 1 end
        packet.free(p)
      end
    end
    assert.equal(213, lines)
  end)
end)

describe("a packet that stands for several", function ()
  it("has a line for each, if that is asked for", function ()
    local p = dumps.packet("timestamp first_timestamp count ip_len",
      "3.0 1.0 3 300", {})
    local out = {}
    local writer = Writer.new({"timestamp", "ip_len"},
      {multipacket = true, extra = true}, {})
    writer:add(p, function (line) out[#out + 1] = line end)
    packet.free(p)
    assert.equal(3, #out)
    assert.matches("^1%.000000 ", out[1])
    assert.matches("^2%.000000 ", out[2])
    assert.matches("^3%.000000 ", out[3])
  end)
end)
