-- SPDX-License-Identifier: Apache-2.0

local conversations = require("apps.connect.conversations")
local tcp_wire = require("testing.tcp_wire")
local wire_bytes = require("net.wire.bytes")
local writer = require("lib.pcap.writer")

local SEQUENCE = 14 + 20 + 4
local SYN, ACK = 2, 16

describe("conversations", function ()
  local path

  before_each(function () path = os.tmpname() end)
  after_each(function () os.remove(path) end)

  -- Those of a capture of `n` connections on a wire with these options.
  local function of(n, options)
    local out = writer.new(path, {resolution = "ns", snaplen = 90})
    out:create()
    options.seen = function (p, ns, _, lost)
      if not lost then out:write(p.data, p.length, p.length, ns) end
    end
    local wire = tcp_wire.new(options)
    assert.is_true(wire:run(n))
    wire:free()
    out:close()
    return conversations.read(path)
  end

  it("are read from a capture, whatever was lost and late", function ()
    local list = of(30, {both = {request = 123, response = 23456, requests = 3,
      think = 0.5, time_wait = 5}, loss = 0.05, swap = 0.05, late = 5, delay = 3})
    assert.equal(30, #list)
    assert.equal(90, list.turns)
    for _, turns in ipairs(list) do
      for i, turn in ipairs(turns) do
        assert.same({123, 23456}, {turn.request, turn.response})
        if i == 1 then assert.equal(0, turn.think)
        else assert.is_true(turn.think > 0.49 and turn.think < 3) end
      end
    end
  end)

  it("are one each though addresses are used again", function ()
    local list = of(40, {both = {clients = "10.0.0.1", client_ports = "1..8",
      time_wait = 0.01}, client = {limit = 4}})
    assert.equal(40, #list)
  end)

  it("begin anew with another SYN of the same addresses", function ()
    local sent = 0
    local list = of(1, {both = {request = 100, response = 200},
      client = {clients = "10.0.0.1"}, change = function (p, from_client)
        if not from_client or sent > 0 then return end
        sent = 1 -- as if an attempt long before had used the port
        local seq = wire_bytes.read32(p.data + SEQUENCE)
        wire_bytes.write32(p.data + SEQUENCE, (seq - 1e6) % 2^32)
      end})
    assert.equal(1, sent)
    assert.same({{request = 100, response = 200, think = 0}}, list[1])
  end)

  it("need not be in the file", function ()
    local out = writer.new(path, {})
    out:create()
    out:close()
    local ok, err = pcall(conversations.read, path)
    assert.is_false(ok)
    assert.matches("has no TCP connection over which something was said", tostring(err),
      1, true)
  end)

  -- A segment from one of two ports to the other, in literal headers.
  local function frame(tags, kind, from_client, seq, flags, payload)
    local a, b = from_client and "\4\1" or "\0\80", from_client and "\0\80" or "\4\1"
    local tcp = a .. b .. "\0\0\0" .. string.char(seq) .. ("\0"):rep(4) .. "\80"
      .. string.char(flags) .. ("\0"):rep(6) .. payload
    local macs = ("\2"):rep(12) .. tags
    if kind == "hop-by-hop" then -- RFC 8200, section 4.3
      return macs .. "\134\221\96\0\0\0\0" .. string.char(8 + #tcp) .. "\0\64"
        .. ("\3"):rep(32) .. "\6\0\1\4\0\0\0\0" .. tcp
    end
    local length = kind == "no length" and 0 or 20 + #tcp -- as a device is to fill in
    return macs .. "\8\0\69\0\0" .. string.char(length)
      .. "\0\0" .. (kind == "fragment" and "\32\0" or "\0\0") .. "\64\6\0\0"
      .. ("\4"):rep(8) .. tcp
  end

  it("are found behind tags, extension headers and with no length", function ()
    local TAG = "\136\168\0\1"
    for name, case in pairs{["three tags"] = {TAG:rep(3), "plain"},
        ["hop-by-hop options"] = {"", "hop-by-hop"},
        ["no length"] = {"", "no length"}} do
      local out = writer.new(path, {})
      out:create()
      for i, text in ipairs{frame(case[1], case[2], true, 9, SYN, ""),
          frame(case[1], case[2], true, 10, ACK, ("x"):rep(7)),
          frame(case[1], case[2], false, 50, ACK, ("y"):rep(30)),
          frame(case[1], "fragment", true, 17, ACK, ("x"):rep(7))} do
        out:write(text, #text, #text, i)
      end
      out:close()
      assert.same({{request = 7, response = 30, think = 0}},
        conversations.read(path)[1], name)
    end
  end)

  it("bear any bytes", function ()
    local out, state = writer.new(path, {}), 3
    local function draw(n)
      state = (state * 16807) % 2147483647
      return state % n
    end
    out:create()
    for i = 1, 20000 do
      local bytes = {}
      for k = 1, draw(80) do bytes[k] = string.char(draw(256)) end
      local head = ("\0"):rep(12) .. (draw(2) == 0 and "\8\0\69" or "\134\221\96")
      local text = (head .. table.concat(bytes)):sub(1, draw(100))
      if #text > 23 and draw(2) == 0 then
        text = text:sub(1, 20) .. "\6" .. text:sub(22, 23) .. "\6" .. text:sub(25)
      end
      out:write(text, #text, #text, i)
    end
    out:close()
    local ok, result = pcall(conversations.read, path)
    assert.is_true(ok and #result > 0 or tostring(result):find("has no TCP") ~= nil)
  end)
end)
