-- SPDX-License-Identifier: Apache-2.0
-- A source of TCP packets of many flows: each has a SYN, data, and a FIN.

local flows = require("click.traffic.flows")
local frames = require("click.traffic.frames")
local tcp_flag = require("net.wire.tcp_flag")

local define, put16 = flows.define, frames.put16

local TCP = 6
local TCP_HEADER, TCP_CHECKSUM = 20, frames.TRANSPORT + 16
local FIN, SYN, PUSH_ACK = tcp_flag.FIN, tcp_flag.SYN, tcp_flag.PSH + tcp_flag.ACK
local FEWEST = 3 -- packets of a flow

local FastTCPFlows = define{
  name = "FastTCPFlows", summary = "makes TCP packets of many flows",
  processing = "l/l",
  is_udp = false,
  arguments = flows.arguments{
    {"ACTIVE", "bool", default = true},
    {"STOP", "bool", default = false, keyword = true},
  },
}

function FastTCPFlows:configure(a)
  if a.FLOWSIZE < FEWEST then
    self:warning("flow size < 3, defaulting to 3")
    a.FLOWSIZE = FEWEST
  end
  self.burst, self.to_finish = 32, 0
  self:set_common(a)
end

local function tcp_template(self, flags, sequence)
  local bytes = frames.ip(self.length, {source = self.source,
    destination = self.destination, from = self.from, to = self.to, protocol = TCP})
  frames.put32(bytes, frames.TRANSPORT + 4, sequence)
  bytes[frames.TRANSPORT + 12] = TCP_HEADER / 4 * 16
  bytes[frames.TRANSPORT + 13] = flags
  put16(bytes, frames.TRANSPORT + 14, 65535)
  return {bytes = bytes, sum = frames.transport_sum(bytes, self.length)}
end

--- All flows have the same sequence numbers.
function FastTCPFlows:make_templates()
  local payload = self.length - frames.TRANSPORT - TCP_HEADER
  self.syn = tcp_template(self, SYN, 1)
  self.data = tcp_template(self, PUSH_ACK, 2)
  self.fin = tcp_template(self, FIN, 2 + payload)
end

-- The last packet of a flow that is under way, once the limit is reached; nil if there
-- is none any more.
local function finish_one(self)
  for flow = self.to_finish, self.flows - 1 do
    local sent = self.sent[flow]
    if sent > 0 and sent < self.flow_size then
      self.sent[flow], self.to_finish = self.flow_size, flow + 1
      return self:stamp(self.fin.bytes, flow, self.fin.sum, TCP_CHECKSUM)
    end
  end
  self.to_finish = self.flows
end

function FastTCPFlows:make_packet()
  if self.count >= self.limit then return finish_one(self) end
  local flow = math.random(0, self.flows - 1)
  if self.sent[flow] >= self.flow_size then
    self:change_ports(flow)
    self.sent[flow] = 0
  end
  local sent = self.sent[flow] + 1
  self.sent[flow], self.to_finish = sent, 0
  local template = sent == 1 and self.syn or sent == self.flow_size and self.fin
    or self.data
  return self:stamp(template.bytes, flow, template.sum, TCP_CHECKSUM)
end

function FastTCPFlows:is_over(p) return not p end

return {FastTCPFlows}
