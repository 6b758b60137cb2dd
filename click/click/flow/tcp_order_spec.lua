-- SPDX-License-Identifier: Apache-2.0
local order = require("click.flow.tcp_order")
local packet = require("core.packet")
local stream = require("click.flow.stream")
local C = require("core.declare")("net/stream/stream.h")

describe("Segments that come too early", function ()
  -- How many of 2,000 wait, where so many of other connections do.
  local function kept(waiting)
    local tcp_in, d, s = {waiting = waiting, reorders = true}, stream.direction(),
      stream.segment()
    d.open, d.next, s.length = 1, 1, 5
    for i = 1, 2000 do
      local p = packet.from_string("")
      s.seq = 10 * i
      local left, reason = order.take(tcp_in, d, 1, p, s)
      if left == nil then
        assert.equal(order.NO_ROOM_TO_WAIT, reason)
        packet.free(p)
      end
    end
    local n = d.queue.n
    assert.equal(waiting + n, tcp_in.waiting)
    for _ = 1, n do packet.free(C.pg_stream_any(d.queue)) end
    return n
  end

  it("wait, no more of a connection than are left for all others", function ()
    assert.same({1024, 1024, 192, 0},
      {kept(0), kept(14000), kept(16000), kept(16384)})
  end)
end)
