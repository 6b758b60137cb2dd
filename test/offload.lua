-- SPDX-License-Identifier: Apache-2.0
-- For test_offload.py: what port 1 receives is sent with its checksums left to the
-- device: back through the same port, or through the ring of two more ports first.
-- Frames with a MAC address of "tag" get a VLAN tag, too. Arguments: port, ring port
-- (or "-"), seconds.

local config = require("core.config")
local engine = require("core.app")
local Port = require("apps.port.port").Port
require("lib.stack.offload")

local TAG = 0x67 -- last byte of the source
local IP4, IP6, TCP, UDP = 0x08, 0x86, 6, 17

local Ask = {}

function Ask:new()
  return setmetatable({}, {__index = Ask})
end

function Ask:process(p)
  local data = p.data
  if p.length > 23 then
    if data[11] == TAG then p:setVlan(100, 5, 1) end
    local ip4 = data[12] == IP4
    local protocol = ip4 and data[23] or data[20]
    if not ip4 and data[12] ~= IP6 then return p end
    if protocol == TCP then p:offloadTcpChecksum(ip4)
    elseif protocol == UDP then p:offloadUdpChecksum(ip4)
    else p:offloadIPChecksum(ip4) end
  end
  return p
end

local port, ring, seconds = ...
local c = config.new()
config.app(c, "port", Port, port)
config.app(c, "ask", Ask)
config.link(c, "port.output -> ask.input")
if ring == "-" then
  config.link(c, "ask.output -> port.input")
else
  config.app(c, "one", Port, ring)
  config.app(c, "other", Port, ring)
  config.link(c, "ask.output -> one.input")
  config.link(c, "other.output -> port.input")
end
engine.configure(c)
print(("offloads: %x"):format(tonumber(engine.app_table.port.port.offloads)))
io.stdout:flush()
engine.main{duration = tonumber(seconds)}
