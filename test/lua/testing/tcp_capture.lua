-- SPDX-License-Identifier: Apache-2.0
-- Connections on a simulated wire, as a savefile of what is on it:
-- `perigee run tcp_capture.lua FILE CONNECTIONS LOSS [both's options as Lua]`.

local tcp_wire = require("testing.tcp_wire")
local writer = require("lib.pcap.writer")

local file, n, loss, both = unpack(main.parameters)
local out = writer.new(file, {resolution = "ns"})
out:create()
local wire = tcp_wire.new{
  both = assert(loadstring("return " .. (both or "{}")))(), loss = tonumber(loss),
  seen = function (p, ns, _, lost)
    if not lost then out:write(p.data, p.length, p.length, ns) end
  end,
}
assert(wire:run(tonumber(n)), "connections are open still")
out:close()
local c = wire:counts("client")
print(("%d of %d closed; lost %d"):format(c.closed, c.started, wire.lost))
