-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local C = require("core.declare")("net/stream/stream.h")
local checksum = require("net.checksum.checksum")
local packet = require("core.packet")

local segment_t = ffi.typeof("struct stream_segment")

local function be32(n)
  return string.char(math.floor(n / 2 ^ 24) % 256, math.floor(n / 2 ^ 16) % 256,
    math.floor(n / 256) % 256, n % 256)
end

-- A segment of TCP over IPv4, with right checksums; `options`: TCP's, words.
local function make(seq, payload, flags, options, ack)
  options = options or ""
  local tcp = "\0\1\0\2" .. be32(seq) .. be32(ack or 0)
    .. string.char((5 + #options / 4) * 16, flags or 16) .. "\1\0\0\0\0\0" .. options
    .. payload
  local ip = "\69\0" .. be32(20 + #tcp):sub(3) .. "\0\0\0\0\64\6\0\0\10\0\0\1\10\0\0\2"
  local p = packet.from_string(ip .. tcp)
  local list = ffi.new("struct packet *[1]", p)
  checksum.fill_ip4(list, 1, 0)
  checksum.fill_l4(list, 1, 0, 20, checksum.TCP)
  return p
end

local function look(p)
  local s = segment_t()
  return C.pg_stream_look(p, 0, s) and s or nil
end

local function payload_of(p)
  local s = assert(look(p))
  return ffi.string(p.data + s.payload, p.length - s.payload)
end

describe("net.stream, segments", function ()
  it("are found within the packet, whole", function ()
    local p = make(0xfffffff0, "abc", 2, "\2\4\5\180")
    local s = look(p)
    assert.same({0xfffffff0, 44, 3, 3, 1460, 2},
      {s.seq, s.payload, s.length, s.now, s.mss, s.flags})
    assert.is_true(C.pg_stream_sound(p, s))
    local text = ffi.string(p.data, p.length)
    for n = 0, 43 do
      local short = packet.from_string(text:sub(1, n))
      assert.is_nil(look(short), n)
      packet.free(short)
    end
    p.data[46] = p.data[46] + 1
    assert.is_false(C.pg_stream_sound(p, s))
    packet.resize(p, p.length - 1)
    assert.is_false(C.pg_stream_sound(p, look(p)))
    packet.free(p)
  end)

  it("aren't other protocols, fragments, or of impossible lengths", function ()
    for _, change in ipairs{{0, 0x65}, {0, 0x44}, {0, 0x4f}, {9, 17}, {6, 0x20}, {7, 1},
      {32, 0x40}, {32, 0xf0}, {3, 39}, {2, 0xff}} do
      local p = make(1, "abc")
      p.data[change[1]] = change[2]
      local s = look(p)
      assert.is_true(s == nil or not C.pg_stream_sound(p, s), table.concat(change, " "))
      packet.free(p)
    end
  end)

  it("lose the option for selective acknowledgements, within the header", function ()
    local p = make(1, "", 2, "\2\4\5\180\1\4\2\1")
    assert.is_true(C.pg_stream_refuse_sack(p, look(p)))
    assert.equal("\2\4\5\180\1\1\1\1", ffi.string(p.data + 40, 8))
    packet.free(p)
    for _, options in ipairs{"\2\4\5\180", "\0\4\2\0", "\3\0\4\2", "\3\9\4\2",
      "\1\1\1\4", "\5\1\4\2"} do
      p = make(1, "", 2, options)
      assert.is_false(C.pg_stream_refuse_sack(p, look(p)))
      assert.equal(options, ffi.string(p.data + 40, 4))
      packet.free(p)
    end
  end)

  it("are cut in front and at the end, and written with checksums", function ()
    local p = make(0xffffffff, "abcdef", 24, nil, 7)
    C.pg_stream_cut(p, look(p), 2, 3)
    local s = look(p)
    assert.same({1, 3, "cde"}, {s.seq, s.length, payload_of(p)})
    assert.is_true(C.pg_stream_sound(p, s))
    C.pg_stream_write(p, s, 0x80000000, 9)
    s = look(p)
    assert.is_true(C.pg_stream_sound(p, s))
    assert.same({0x80000000, 9, "cde"}, {s.seq, s.ack, payload_of(p)})
    packet.free(p)
  end)
end)

local function new_changes()
  return ffi.gc(ffi.new("struct stream_changes"), C.pg_stream_changes_free)
end

-- Replace `old` bytes at `position` of the packet's payload.
local function edit(c, p, s, position, old, text, most)
  return C.pg_stream_edit(c, p, s, position, old, text, #text, most or 1460)
end

describe("net.stream, changes", function ()
  it("move numbers behind them, and acknowledgements back", function ()
    local c, p = new_changes(), make(1001, "thisisan")
    local s = look(p)
    assert.equal(C.STREAM_EDITED, edit(c, p, s, 2, 2, ""))
    assert.equal(C.STREAM_EDITED, edit(c, p, s, 2, 2, "XYZ"))
    assert.equal("thXYZan", payload_of(p))
    local sent, acked = {}, {}
    for i = 0, 9 do
      sent[i + 1] = C.pg_stream_sent(c, 1001 + i) - 1001
      acked[i + 1] = C.pg_stream_acked(c, 1001 + i) - 1001
    end
    assert.same({0, 1, 2, 2, 2, 2, 5, 6, 7, 8}, sent)
    assert.same({0, 1, 2, 2, 2, 6, 7, 8, 9, 10}, acked)
    C.pg_stream_forget(c, 1005)
    assert.equal(1, c.n)
    assert.equal(1001 + 7, C.pg_stream_sent(c, 1001 + 8))
    C.pg_stream_forget(c, 1007)
    assert.equal(0, c.n)
    assert.equal(2001 - 1, C.pg_stream_sent(c, 2001))
    packet.free(p)
  end)

  it("put bytes into a segment of which nothing was left", function ()
    local c, p = new_changes(), make(1001, "abcd")
    local s = look(p)
    assert.equal(C.STREAM_EDITED, edit(c, p, s, 0, 2, "x"))
    assert.equal(C.STREAM_EDITED, edit(c, p, s, 0, 3, ""))
    assert.equal(C.STREAM_EDITED, edit(c, p, s, 0, 0, "new"))
    assert.equal("new", payload_of(p))
    assert.same({1, 1001, 4, 3},
      {c.n, c.list[0].at, c.list[0].old, c.list[0].fresh})
    assert.equal(C.STREAM_NO_ROOM, edit(nil, p, s, 0, 0, "x"))
    assert.equal(1003 + 1, C.pg_stream_sent(c, 1005))
    packet.free(p)
  end)

  it("refuse what doesn't fit", function ()
    local c, p = new_changes(), make(1, "abcdef")
    local s = look(p)
    for _, bad in ipairs{{0, 0, "x"}, {6, 1, "x"}, {5, 2, "x"}, {-1, 1, "x"},
      {0, 2 ^ 32 - 1, ""}, {0, 1, ("x"):rep(1456)}} do
      assert.equal(C.STREAM_NO_ROOM, edit(c, p, s, unpack(bad)))
    end
    assert.equal(C.STREAM_NO_ROOM, edit(c, p, s, 0, 1, ("x"):rep(10240), 65535))
    assert.equal("abcdef", payload_of(p))
    assert.equal(0, c.n)
    packet.free(p)
  end)

  it("are bounded in number and bytes", function ()
    local c = new_changes()
    local made = 0
    for i = 1, C.STREAM_CHANGES_MOST + 10 do
      local p = make(10 * i, "abcdef")
      if edit(c, p, look(p), 0, 1, "XX") == C.STREAM_EDITED then made = made + 1 end
      packet.free(p)
    end
    assert.equal(C.STREAM_CHANGES_MOST, made)
    assert.equal(C.STREAM_CHANGES_MOST, c.n)
    c = new_changes()
    made = 0
    local long = ("X"):rep(1100)
    for i = 1, 4300 do
      local p = make(10 * i, "abcdef")
      if edit(c, p, look(p), 0, 1, long) == C.STREAM_EDITED then
        made = made + 1
      end
      packet.free(p)
    end
    assert.equal(math.floor(C.STREAM_CHANGES_BYTES_MOST / 1100), made)
    C.pg_stream_forget(c, 50000)
    assert.same({0, 0}, {c.bytes, c.room})
  end)

  it("of all streams are bounded, and one has no more than is left", function ()
    local long, list = ("X"):rep(1400), {}
    local function fill(c)
      local made = 0
      for i = 1, 3100 do
        local p = make(10 * i, "abcdef")
        if edit(c, p, look(p), 0, 1, long) == C.STREAM_EDITED then made = made + 1 end
        packet.free(p)
      end
      return made
    end
    local all = 0
    for i = 1, 20 do
      list[i] = new_changes()
      assert.is_true(fill(list[i]) > 50)
      all = all + list[i].bytes
    end
    assert.is_true(all > 0.9 * C.STREAM_MEMORY_MOST and all <= C.STREAM_MEMORY_MOST)
    for _, c in ipairs(list) do C.pg_stream_forget(c, 50000) end
    assert.equal(math.floor(C.STREAM_CHANGES_BYTES_MOST / 1400), fill(list[1]))
  end)

  it("aren't made where bytes of another stream were changed", function ()
    local changes = ffi.new("struct stream_changes")
    local function change(seq, at)
      local p = make(seq, "0123456789ab")
      local result = C.pg_stream_edit(changes, p, look(p), at, 4, "word", 4, 100)
      packet.free(p)
      return result
    end
    assert.equal(C.STREAM_EDITED, change(1021, 3)) -- 1024 to 1028
    for seq = 1000, 1040 do
      for at = 0, 8 do
        local result = change(seq, at)
        assert.is_true(result == C.STREAM_EDITED or result == C.STREAM_TOO_MANY)
        for i = 0, changes.n - 2 do
          local x, y = changes.list[i], changes.list[i + 1]
          assert.is_true(x.at + x.old <= y.at, ("%d, %d"):format(seq, at))
        end
      end
    end
    C.pg_stream_changes_free(changes)
  end)

  -- Cut a stream into segments, change them at random, several times each place; what
  -- was sent is the segments' payloads. Sent again in other segments it must be the
  -- same.
  local function try(random)
    local start = random(0, 1) == 1 and 2 ^ 32 - random(1, 300) or random(0, 2 ^ 31)
    local function number(at) return (start + at) % 2 ^ 32 end
    local c, stream, sent = new_changes(), {}, {}
    local length, starts = 0, {}
    for _ = 1, 12 do
      local text = {}
      for k = 1, random(1, 30) do text[k] = string.char(random(97, 122)) end
      text = table.concat(text)
      local p = make(number(length), text)
      local s = look(p)
      for _ = 1, random(0, 5) do
        local now = p.length - s.payload
        if now > 0 then
          local at = random(0, now - 1)
          local old = random(1, math.min(6, now - at))
          assert.equal(C.STREAM_EDITED, edit(c, p, s, at, old,
            ("X"):rep(random(0, 12))))
        end
      end
      starts[#starts + 1] = {length, #table.concat(sent)}
      sent[#sent + 1], stream[#stream + 1] = payload_of(p), text
      length = length + #text
      packet.free(p)
    end
    stream, sent = table.concat(stream), table.concat(sent)
    for _, at in ipairs(starts) do
      assert.equal(number(at[2]), C.pg_stream_sent(c, number(at[1])))
    end
    assert.equal(number(#stream), C.pg_stream_acked(c, number(#sent)))
    local out, first = ffi.new("uint8_t[4096]"), ffi.new("uint32_t[1]")
    for _ = 1, 40 do
      local from = random(0, #stream - 1)
      local n = random(1, #stream - from)
      local made = C.pg_stream_rewritten(c, number(from), stream:sub(from + 1), n, out,
        4096, first)
      local at = (C.pg_stream_sent(c, first[0]) - start) % 2 ^ 32
      assert.equal(sent:sub(at + 1, at + made), ffi.string(out, made))
      local whole = (C.pg_stream_sent(c, number(from)) - start) % 2 ^ 32
      local behind = (C.pg_stream_sent(c, number(from + n)) - start) % 2 ^ 32
      assert.is_true(at <= whole and at + made >= behind)
    end
    -- What is acknowledged was sent before, and all before it.
    local before = 0
    for at = 0, #sent do
      local acked = (C.pg_stream_acked(c, number(at)) - start) % 2 ^ 32
      assert.is_true(acked >= before and acked <= #stream)
      assert.is_true((C.pg_stream_sent(c, number(acked)) - start) % 2 ^ 32 <= at)
      before = acked
    end
    C.pg_stream_forget(c, number(#stream))
    assert.equal(0, c.n)
    assert.equal(0, c.bytes)
    assert.equal(number(#sent), C.pg_stream_sent(c, number(#stream)))
  end

  it("give the same bytes again, however they are cut", function ()
    local seed = os.time()
    math.randomseed(seed)
    for _ = 1, 60 do
      local fine, why = pcall(try, math.random)
      if not fine then error(("seed %d: %s"):format(seed, tostring(why))) end
    end
  end)
end)

describe("net.stream, segments that wait", function ()
  local function new_queue() return ffi.new("struct stream_queue") end

  it("come in order, once nothing is missing, across the numbers' end", function ()
    local q, list = new_queue(), {}
    local numbers = {0xfffffff8, 0, 8, 16}
    for _, i in ipairs{3, 1, 4, 2} do
      list[i] = packet.from_string("")
      assert.equal(C.STREAM_KEPT,
        C.pg_stream_wait(q, numbers[i], (numbers[i] + 8) % 2 ^ 32,
        list[i], 10))
    end
    assert.is_true(C.pg_stream_next(q, 0xfffffff0) == nil)
    for i = 1, 4 do assert.equal(list[i], C.pg_stream_next(q, numbers[i])) end
    assert.equal(0, q.n)
    for i = 1, 4 do packet.free(list[i]) end
  end)

  it("give their memory back", function ()
    local q, p = new_queue(), packet.from_string("")
    for i = 1, 1000 do C.pg_stream_wait(q, 10 * i, 10 * i + 10, p, 1000) end
    for i = 1, 999 do assert.equal(p, C.pg_stream_next(q, 10 * i)) end
    assert.same({1, 8}, {q.n, q.room})
    assert.equal(p, C.pg_stream_any(q))
    assert.is_true(q.list == nil and q.room == 0)
    packet.free(p)
  end)

  it("aren't kept twice, nor more than there is room for", function ()
    local q, p = new_queue(), packet.from_string("")
    assert.equal(C.STREAM_KEPT, C.pg_stream_wait(q, 10, 20, p, 2))
    assert.equal(C.STREAM_KNOWN, C.pg_stream_wait(q, 10, 20, p, 2))
    assert.equal(C.STREAM_KNOWN, C.pg_stream_wait(q, 12, 15, p, 2))
    assert.equal(C.STREAM_KEPT, C.pg_stream_wait(q, 15, 25, p, 2))
    assert.equal(C.STREAM_FULL, C.pg_stream_wait(q, 40, 50, p, 2))
    assert.equal(p, C.pg_stream_any(q))
    assert.equal(p, C.pg_stream_any(q))
    assert.is_true(C.pg_stream_any(q) == nil)
    packet.free(p)
  end)
end)
