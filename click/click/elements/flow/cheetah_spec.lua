-- SPDX-License-Identifier: Apache-2.0
-- Clients and servers around Cheetah's elements: each stamp of a server comes back to
-- it as it was, or as the paper has it.

local bit = require("bit")
local click = require("testing.click")
local ffi = require("ffi")
local note = require("click.note")
local packet = require("core.packet")
local sums = require("core.declare")("net/checksum/checksum.h")

local VIP, CLIENT = "5.5.5.5", "9.0.0.1"
local SERVERS = {"10.0.0.1", "10.0.0.2", "10.0.0.3"}
local IP = 20

local function octets(address)
  return string.char(address:match("(%d+)%.(%d+)%.(%d+)%.(%d+)"))
end

local function text_of(bytes) return table.concat({bytes:byte(1, -1)}, ".") end

local function put32(n)
  n = n % 2 ^ 32
  return string.char(math.floor(n / 2 ^ 24), math.floor(n / 2 ^ 16) % 256,
    math.floor(n / 256) % 256, n % 256)
end

local function get32(text, at)
  local a, b, c, d = text:byte(at, at + 3)
  return ((a * 256 + b) * 256 + c) * 256 + d
end

-- Options in three shapes, with the timestamp at an even and an odd place; nil: none.
local SHAPES = {
  {"\1\1\8\10", ""}, {"\2\4\5\180\4\2\8\10", ""}, {"\1\8\10", "\1"},
  {"\3\3\7\8\10", "\1\1\1"},
}

-- A TCP segment with right checksums, as a packet behind CheckIPHeader.
local function segment(s)
  local options = ""
  if s.stamp then
    local shape = SHAPES[s.shape or 1]
    options = shape[1] .. put32(s.stamp) .. put32(s.echo or 0) .. shape[2]
  end
  local port = s.port or 1000
  local sport, dport = s.back and 80 or port, s.back and port or 80
  local function half(n) return string.char(math.floor(n / 256), n % 256) end
  local tcp = half(sport) .. half(dport) .. put32(1) .. put32(2)
    .. string.char((20 + #options) / 4 * 16, s.flags or 0x10) .. "\2\0\0\0\0\0"
    .. options .. "data"
  local ip = "\69\0" .. half(IP + #tcp) .. "\0\0\0\0\64\6\0\0" .. octets(s.from)
    .. octets(s.to)
  local p = packet.from_string(ip .. tcp)
  note.clear(p)
  p.note16[note.NETWORK_HEADER], p.note16[note.TRANSPORT_HEADER] =
    p.data_off, p.data_off + IP
  local sum = sums.pg_checksum(p.data, IP, 0)
  p.data[10], p.data[11] = bit.rshift(sum, 8), bit.band(sum, 255)
  sums.pg_ip4_l4_set(p.data, p.data + IP, #tcp, 6)
  return p
end

-- What a packet is, checked: {from =, to =, stamp =, echo =}.
local function read(p)
  local bytes = ffi.string(p.data, p.length)
  assert.equal(0, sums.pg_checksum(p.data, IP, 0))
  local before = bytes:sub(IP + 17, IP + 18)
  sums.pg_ip4_l4_set(p.data, p.data + IP, p.length - IP, 6)
  assert.equal(before, ffi.string(p.data + IP + 16, 2))
  packet.free(p)
  local at = bytes:find("\8\10", IP + 21, true)
  return {from = text_of(bytes:sub(13, 16)), to = text_of(bytes:sub(17, 20)),
    stamp = at and get32(bytes, at + 2), echo = at and get32(bytes, at + 6)}
end

local function pass(unit, s, input)
  local p, o = unit:pass(segment(s), input)
  if not p then return nil end
  assert.equal(input or 1, o)
  return read(p)
end

local function stateless(text)
  return click.unit(("CheetahStateless(VIP %s, DST %s%s)"):format(VIP,
    table.concat(SERVERS, ", DST "), text), {inputs = 2, outputs = 2})
end

-- A client's connection: SYN, its answer with the server's clock at `clock`, data. The
-- server, and the TSecr that it sees last.
local function connect(unit, port, clock, shape)
  local syn = pass(unit, {from = CLIENT, to = VIP, flags = 2, stamp = 7, port = port,
    shape = shape})
  local answer = pass(unit, {from = syn.to, to = CLIENT, flags = 0x12, stamp = clock,
    echo = 7, back = true, port = port, shape = shape}, 2)
  assert.equal(VIP, answer.from)
  assert.equal(clock % 65536, answer.stamp % 65536)
  local data = pass(unit, {from = CLIENT, to = VIP, stamp = 8, echo = answer.stamp,
    port = port, shape = shape})
  return syn.to, data, answer
end

describe("CheetahStateless", function ()
  it("leads a connection to its server, who sees its own clock", function ()
    for _, more in ipairs{"", ", HASH true"} do
      local unit = stateless(", FIX_TS_ECR true, BUCKETS 4" .. more)
      for i = 1, 12 do
        local clock = 0xfffe1234 + 65000 * i
        local server, data = connect(unit, 1000 + i, clock % 2 ^ 32, i % #SHAPES + 1)
        assert.equal(SERVERS[(i - 1) % 3 + 1], server)
        assert.equal(server, data.to)
        assert.equal(clock % 2 ^ 32, data.echo)
      end
      unit:free()
    end
  end)

  it("goes on when a server's clock has overflown, and servers change", function ()
    local unit = stateless(", FIX_TS_ECR true")
    local server, _, answer = connect(unit, 1, 0x0001ffff)
    local second = pass(unit, {from = server, to = CLIENT, stamp = 0x00020003,
      back = true, port = 1}, 2)
    for _, case in ipairs{{answer.stamp, 0x0001ffff}, {second.stamp, 0x00020003}} do
      local data = pass(unit, {from = CLIENT, to = VIP, stamp = 9, echo = case[1],
        port = 1})
      assert.same({server, case[2]}, {data.to, data.echo})
    end
    unit.element.class.handlers.remove_server.write(unit.element)
    local data = pass(unit, {from = CLIENT, to = VIP, stamp = 9, echo = second.stamp,
      port = 1})
    assert.equal(server, data.to)
    unit:free()
  end)

  it("lets servers set the cookie, which SYNs have", function ()
    local unit = stateless(", SET_TS_VAL false, FIX_IP false")
    for i = 0, 5 do
      local syn = pass(unit, {from = CLIENT, to = VIP, flags = 2, stamp = 7, port = i})
      assert.equal(i % 3 * 65536, syn.echo)
      local answer = pass(unit, {from = syn.to, to = CLIENT, flags = 0x12,
        stamp = syn.echo + 77, back = true}, 2)
      assert.same({syn.to, syn.echo + 77}, {answer.from, answer.stamp})
      local data = pass(unit, {from = CLIENT, to = VIP, stamp = 8, echo = answer.stamp,
        port = i})
      assert.same({syn.to, answer.stamp}, {data.to, data.echo})
    end
    unit:free()
  end)

  it("drops what it can't lead anywhere, by name", function ()
    local unit = stateless(", FIX_TS_ECR true")
    assert.is_nil(pass(unit, {from = CLIENT, to = VIP, flags = 2}))
    assert.is_nil(pass(unit, {from = CLIENT, to = VIP, stamp = 1, echo = 9 * 65536}))
    assert.is_nil(pass(unit, {from = "8.8.8.8", to = CLIENT, stamp = 1, back = true},
      2))
    assert.is_nil(pass(unit, {from = SERVERS[1], to = CLIENT, back = true}, 2))
    local reset = pass(unit, {from = SERVERS[1], to = CLIENT, flags = 4, back = true},
      2)
    assert.equal(VIP, reset.from)
    assert.same({}, unit:send("x"))
    assert.same({["no timestamp"] = 2, ["no server of that cookie"] = 1,
      ["from an unknown server"] = 1, ["no TCP over IPv4"] = 1}, unit.lost)
    unit:free()
  end)

  it("stays within options that lie", function ()
    local unit, lost = stateless(", FIX_TS_ECR true"), 0
    for cut = 20, 34 do
      for kind = 0, 9 do
        for length = 0, 12 do
          local p = segment{from = CLIENT, to = VIP, flags = 2, stamp = 7}
          p.data[IP + 20], p.data[IP + 21] = kind, length
          p.length = IP + cut
          lost = lost + 1 - #unit:send(p)
        end
      end
    end
    assert.truthy(lost > 1000)
    unit:free()
  end)

  it("says what is wrong with its arguments", function ()
    assert.same({"BUCKETS: 3 is no power of two"}, stateless(", BUCKETS 3").errors)
    assert.same({"3 servers are more than BUCKETS, 2"}, stateless(", BUCKETS 2").errors)
  end)

  it("counts loads, which sink", function ()
    local unit = stateless(", FIX_TS_ECR true, FORCE_TRACK_LOAD true, RESET_TIME 5")
    for i = 1, 9 do connect(unit, i, 1) end
    local handlers = unit.element.class.handlers
    assert.equal("3 3 3", handlers.load_conn.read(unit.element))
    pass(unit, {from = CLIENT, to = VIP, flags = 0x11, stamp = 8, port = 1})
    assert.equal("2 3 3", handlers.load_conn.read(unit.element))
    unit:free()
  end)
end)

local function stateful(text)
  return click.unit(("CheetahStateful(%s)"):format(text), {inputs = 2, outputs = 2})
end

-- The same of a server that puts the cookie into its stamps, as it came with the SYN.
local function begin(unit, port)
  local syn = pass(unit, {from = CLIENT, to = VIP, flags = 2, stamp = 7, port = port})
  return syn and bit.rshift(syn.echo, 16)
end

local function number_of(unit, s, input)
  local p = unit:pass(segment(s), input)
  if not p then return nil end
  local number = p.note32[note.FLOW_ID] % 2 ^ 27
  packet.free(p)
  return number
end

describe("CheetahStateful", function ()
  it("knows each connection by its cookie, both ways", function ()
    local unit, seen = stateful("BLOCKS 4"), {}
    for port = 1, 200 do
      local cookie = begin(unit, port)
      assert.equal(cookie, begin(unit, port)) -- once more: the same
      local stamp = cookie * 65536 + port
      local there = number_of(unit, {from = CLIENT, to = VIP, stamp = 1, echo = stamp,
        port = port})
      assert.equal(there, number_of(unit, {from = SERVERS[1], to = CLIENT,
        stamp = stamp, port = port, back = true}, 2))
      assert.is_nil(seen[there])
      seen[there] = true
    end
    assert.equal(200, (unit.element.class.handlers.count.read(unit.element)))
    unit:free()
  end)

  it("drops segments that have another's cookie, or none", function ()
    local unit = stateful("")
    local cookie = begin(unit, 1)
    assert.is_nil(number_of(unit, {from = CLIENT, to = VIP, stamp = 1,
      echo = cookie * 65536, port = 2}))
    assert.is_nil(number_of(unit, {from = CLIENT, to = VIP, stamp = 1,
      echo = (cookie + 1) % 32768 * 65536, port = 1}))
    assert.is_nil(number_of(unit, {from = CLIENT, to = VIP, port = 1}))
    assert.same({["no flow of that cookie"] = 2, ["no timestamp"] = 1}, unit.lost)
    unit:free()
  end)

  it("gives cookies back, and says when a block has none left", function ()
    local unit = stateful("BLOCKS 1, TIMEOUT 10, VERBOSE 1")
    local e = unit.element
    local first = begin(unit, 1)
    for flow in e.table:each() do e:end_flow(flow) end
    assert.equal(first, begin(unit, 2))
    e.blocks[0].n = 0
    assert.is_nil(begin(unit, 3))
    assert.same({"No more buckets for block 0"}, unit.said)
    assert.same({["no room for its flow"] = 1}, unit.lost)
    assert.equal(1, e.table:count())
    unit:free()
  end)

  it("wants a power of two", function ()
    assert.same({"nblocks must be pow2"}, stateful("BLOCKS 3").errors)
  end)
end)
