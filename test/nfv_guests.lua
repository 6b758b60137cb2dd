-- SPDX-License-Identifier: Apache-2.0
-- Stands for virtual machines: for each NAME a virtio-user port on DIR/NAME.sock, which
-- sends what DIR/NAME.in.pcap has and writes what comes to DIR/NAME.out.pcap.
--
--     perigee run nfv_guests.lua DIR client|server RATE NAME...
--
-- RATE: packets a second, or 0 for as fast as they go, once.

local basic = require("apps.basic.basic_apps")
local Port = require("apps.port.port").Port
local Replayer = require("apps.pcap.replayer").Replayer

local folder, role, rate = ...
local names = {select(4, ...)}

local function exists(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

local c = config.new()
for _, name in ipairs(names) do
  local path = folder .. "/" .. name
  config.app(c, name, Port, ("virtio-user:%s.sock%s"):format(path,
    role == "server" and ",server=1" or ""))
  config.app(c, name .. "_out", Port, ("pcap:tx=%s.out.pcap"):format(path))
  config.link(c, ("%s.output -> %s_out.input"):format(name, name))
  if not exists(path .. ".in.pcap") then
    config.app(c, name .. "_in", basic.Join) -- nothing comes from it
  elseif tonumber(rate) > 0 then
    config.app(c, name .. "_in", Replayer, {filename = path .. ".in.pcap",
      packet_rate = tonumber(rate)})
  else
    config.app(c, name .. "_in", Port, ("pcap:rx=%s.in.pcap"):format(path))
  end
  config.link(c, ("%s_in.output -> %s.input"):format(name, name))
end
engine.configure(c)
print("guests run")
io.flush()
engine.main{done = function () return false end, no_report = true}
