-- SPDX-License-Identifier: Apache-2.0
-- FromDevice and ToDevice: kernel interfaces, by AF_PACKET.

local common = require("click.devices.elements")

local ignored, define_receiver, define_sender = common.ignored, common.define_receiver,
  common.define_sender

local port_of = common.interface_port
local CAPTURING = {"SNIFFER", "HEADROOM", "METHOD", "CAPTURE",
  "PROTOCOL", "OUTBOUND", "ENCAP", "KERNELDROPS"}

local FromDevice = define_receiver{
  name = "FromDevice", summary = "receives packets from a kernel interface",
  division = "any",
  ports = "0/1-2", processing = "/h", typed = true,
  arguments = ignored({
    {"DEVNAME", "string", required = true},
    {"PROMISC", "bool", default = false}, {"SNAPLEN", "unsigned", default = 2046},
    {"BURST", "unsigned", keyword = true},
    {"FORCE_IP", "bool", default = false, keyword = true},
    {"TIMESTAMP", "bool", default = true, keyword = true},
    {"ACTIVE", "bool", default = true, keyword = true},
    {"ALLOW_NONEXISTENT", "bool", default = false, keyword = true},
    {"BPF_FILTER", "argument", keyword = true},
  }, CAPTURING),
}

function FromDevice:configure(a)
  if a.BPF_FILTER then
    return self:error("BPF_FILTER isn't supported; let an IPFilter follow")
  end
  self.timestamps, self.force_ip = a.TIMESTAMP, a.FORCE_IP
  common.receive_from(self, a, port_of(a.DEVNAME))
end

local ToDevice = define_sender{
  name = "ToDevice", summary = "sends packets to a kernel interface",
  division = "any",
  arguments = ignored({
    {"DEVNAME", "string", required = true}, {"BURST", "unsigned"},
    {"ALLOW_NONEXISTENT", "bool", default = false, keyword = true},
  }, {"METHOD", "DEBUG", "NO_PAD", "QUEUE"}),
}

function ToDevice:configure(a) common.send_to(self, a, port_of(a.DEVNAME)) end

return {FromDevice, ToDevice}
