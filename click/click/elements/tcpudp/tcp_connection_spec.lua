-- SPDX-License-Identifier: Apache-2.0
-- Click's TCP stack of one connection (conf/test-tcp.click): TCPDemux, TCPConn,
-- BufferConverter, CopyFlowID and CopyTCPSeq.

local click = require("testing.click")

-- The stack between what comes in (the hub `wire`) and what leaves (printed).
local STACK = [[
  ack :: TCPAck; con :: TCPConn; dmx :: TCPDemux; rob :: TCPBuffer(false);
  b2p :: BufferConverter(4); fid :: CopyFlowID; seq :: CopyTCPSeq;
  out :: SetTCPChecksum -> SetIPChecksum -> CheckIPHeader -> CheckTCPHeader
    -> IPPrint(o, TIMESTAMP false, PAYLOAD ascii) -> Discard;
  wire :: CheckIPHeader -> CheckTCPHeader -> dmx -> [0] ack [0] -> [0] con [0] -> rob
    -> [0] b2p;
  b2p -> Queue -> [1] con [1] -> Unqueue -> [1] ack [1] -> [0] fid [0] -> [0] seq [0]
    -> out;
  con [2] -> [0] fid; ack [2] -> [1] fid [1] -> [1] seq [1] -> out; Idle -> [1] b2p;
]]

-- A segment's bytes behind the IP header, for InfiniteSource.
local function segment(seq, flags, payload)
  return ("\\<00500fa0 %08x 00000000 50%02x1000 00000000 %s>"):format(seq, flags,
    payload or "")
end

local function source(name, data)
  return ("%s :: InfiniteSource(%s, 1, ACTIVE false) "
    .. "-> IPEncap(tcp, 10.0.0.2, 10.0.0.1) -> SetTCPChecksum -> wire;")
    :format(name, data)
end

describe("Click's TCP stack", function ()
  it("connects, gives and takes data by handlers, and acknowledges", function ()
    local r = assert(click.router(STACK .. source("syn_ack", segment(1000, 0x12))
      .. source("data", segment(1001, 0x18, "68656c6c 6f"))
      .. "got :: InfiniteSource(got, 1, ACTIVE false) -> Print -> Discard;"
      .. [[DriverManager(write syn_ack.active true, wait 1ms,
        write con.ctrl connect 10.0.0.1 4000 10.0.0.2 80, wait 1ms,
        write syn_ack.reset, write syn_ack.active true, wait 1ms,
        write data.active true, wait 50ms, write b2p.data "GET /", wait 1ms,
        write got.active $(eq $(b2p.data) hello), wait 1ms, stop)]]))
    r:run()
    assert.equal("reject packet from unknown flow", r.said[1])
    local first = tonumber(r.said[2]:match(": S (%d+):"))
    assert.matches("^o: 10.0.0.1.4000 > 10.0.0.2.80: S ", r.said[2])
    local rest = table.concat(r.said, "\n", 3)
    assert.matches(("10.0.0.1.4000 > 10.0.0.2.80: P %d:%d%%(4,"):format(first + 1,
      first + 5), rest)
    assert.matches("ack 1006", rest)
    assert.matches("676f74", rest)
    r:close()
  end)

  it("says what is wrong with what is written to ctrl", function ()
    local r = assert(click.router(STACK .. "Idle -> wire"))
    for text, problem in pairs{
      ["join 10.0.0.1 80"] = "action must be connect or listen",
      ["listen 10.0.0.1"] = "3 words are needed",
      ["connect 10.0.0.1 80 10.0.0.2"] = "5 words are needed",
      ["connect 10.0.0.1 80 10.0.0.2 x:y"] = "'x:y' is no port",
      ["listen me? 80"] = "'me%?' is no address",
    } do
      assert.matches(problem, (select(2, r:handler_write("con.ctrl", text))))
    end
    assert.truthy(r:handler_write("con.ctrl", "listen 10.0.0.1 80"))
    local _, problem = r:handler_write("con.ctrl", "listen 10.0.0.1 80")
    assert.matches("already active", problem)
    assert.truthy(r:handler_write("con.reset", ""))
    assert.truthy(r:handler_write("con.ctrl", "listen 10.0.0.1 80"))
    r:close()
  end)

  it("wants a TCPDemux in front of a TCPConn", function ()
    local _, problem = click.router("Idle -> [0] c :: TCPConn [0] -> Discard; "
      .. "Idle -> Queue -> [1] c [1] -> Unqueue -> Discard; c[2] -> Discard")
    assert.matches("need at least 1 upstream TCPDemux", problem)
  end)
end)

local function packet_of(seq, address)
  return "\69\0\0\40\0\0\0\0\64\6\0\0" .. address .. "\10\0\0\2\0\80\0\90\0\0\0"
    .. string.char(seq) .. "\0\0\0\0\80\16\0\0\0\0\0\0"
end

describe("CopyFlowID, CopyTCPSeq", function ()
  it("write what went by on the other side", function ()
    local unit = click.unit("CopyFlowID", {inputs = 2, outputs = 2})
    local empty = "\69\0\0\40" .. ("\0"):rep(5) .. "\6" .. ("\0"):rep(22)
      .. "\80" .. ("\0"):rep(7)
    assert.same({}, unit:send(empty, 2))
    local first = packet_of(7, "\10\0\0\1")
    assert.same({{1, first}}, unit:send(first, 1))
    unit:send(packet_of(7, "\10\0\0\9"), 1)
    local out = unit:send(empty, 2)[1]
    assert.equal(2, out[1])
    assert.equal("\10\0\0\1\10\0\0\2\0\80\0\90", out[2]:sub(13, 24))
    unit:write("reset")
    assert.same({}, unit:send(empty, 2))
    assert.same({["nothing to copy yet"] = 2}, unit.lost)
    unit:free()
  end)

  it("keep the highest number", function ()
    local unit = click.unit("CopyTCPSeq", {inputs = 2, outputs = 2})
    for _, seq in ipairs{7, 9, 8} do unit:send(packet_of(seq, "\10\0\0\1"), 1) end
    assert.same({{2, packet_of(9, "\1\1\1\1")}}, unit:send(packet_of(0, "\1\1\1\1"), 2))
    assert.same({}, unit:send("short", 1))
    assert.same({["no TCP"] = 1}, unit.lost)
    unit:free()
  end)
end)
