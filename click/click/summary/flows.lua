-- SPDX-License-Identifier: Apache-2.0
-- Flows of TCP and UDP packets, numbered in order, as AggregateIPFlows notes them: the
-- number as aggregate, the direction as paint (0 as the first packet, 1 back; 2 more
-- for ICMP errors about them). Time is that of packets.
--
-- Flows are found by protocol, both addresses and both ports: nested tables of numbers,
-- so that a packet of a known flow makes no garbage. Fragments wait, with all packets
-- of their pair of hosts, for the ports of their first one.

local bit = require("bit")

local note = require("click.note")
local packet = require("core.packet")
local View = require("click.summary.view")
local tcp_flag = require("net.wire.tcp_flag")
local wire = require("click.net.wire")
local bytes = require("net.wire.bytes")

local Flows = {}
Flows.__index = Flows

local TCP, UDP, ICMP = 6, 17, 1
local FIN, SYN, RST = tcp_flag.FIN, tcp_flag.SYN, tcp_flag.RST
local BOTH_OVER = 3
local AGGREGATE, PAINT, STAMP = note.AGGREGATE, note.PAINT, note.TIMESTAMP
local ICMP_ERRORS = {[3] = true, [4] = true, [5] = true, [11] = true, [12] = true}

--- Options are AggregateIPFlows' arguments by name; hooks: send(p) for packets that
--- have waited, trace (a file for flows that have ended, or nil), over(number), called
--- when the flow of that number has ended.
function Flows.new(options, hooks)
  return setmetatable({
    options = options, hooks = hooks, view = View.new{}, next = 1, now = 0, reap_at = 0,
    hosts = {[TCP] = {}, [UDP] = {}}, pairs = {[TCP] = {}, [UDP] = {}},
  }, Flows)
end

local function time_of(p) return tonumber(p.note64[STAMP]) / 1e9 end

-- Headers ---------------------------------------------------------------------------

local function half(p, at) return bytes.read16(p.buf_addr + at) end
local function word(p, at) return bytes.read32(p.buf_addr + at) end

-- Is it a fragment? Is it the first one, or none?
local function is_fragment(p, ip) return bit.band(half(p, ip + 6), 0x3fff) ~= 0 end
local function is_first(p, ip) return bit.band(half(p, ip + 6), 0x1fff) == 0 end

-- Where the IP header is that counts: the packet's, or the one that an ICMP error
-- quotes; and the paint that goes with it. Nil if there is none.
local function header_of(self, p)
  local ip, last = p.note16[note.NETWORK_HEADER], p.data_off + p.length
  if ip == 0 or ip + 20 > last then return nil end
  if p.buf_addr[ip + 9] ~= ICMP or not self.options.ICMP or not is_first(p, ip) then
    return ip, 0
  end
  local icmp = p.note16[note.TRANSPORT_HEADER]
  if icmp == 0 or icmp + 28 > last or not ICMP_ERRORS[p.buf_addr[icmp]] then
    return nil
  end
  local length = bit.band(p.buf_addr[icmp + 8], 15) * 4
  if length < 20 or icmp + 8 + length > last then return nil end
  return icmp + 8, 2
end

-- Flows -----------------------------------------------------------------------------

-- The pair of hosts: made if it isn't there.
local function hosts_of(self, protocol, a, b)
  local by_a = self.hosts[protocol][a]
  if not by_a then
    by_a = {}
    self.hosts[protocol][a] = by_a
  end
  local hosts = by_a[b]
  if not hosts then
    hosts = {a = a, b = b, flows = {}, by_number = {}, waiting = {}, first = 1}
    by_a[b] = hosts
    table.insert(self.pairs[protocol], hosts)
  end
  return hosts
end

local address = wire.ip_text

local TRACE = "<flow aggregate='%d' src='%s' sport='%d' dst='%s' dport='%d' "
  .. "begin='%.6f' duration='%.6f'>\n  <stream dir='0' packets='%d' />"
  .. "<stream dir='1' packets='%d' />\n</flow>\n"

-- The flow has ended: say so, in the file too.
local function finish(self, hosts, flow)
  if self.hooks.over then self.hooks.over(flow.number) end
  if not self.hooks.trace then return end
  local high, low = math.floor(flow.ports / 65536), flow.ports % 65536
  local a, b, sport, dport = hosts.a, hosts.b, high, low
  if flow.reverse then a, b, sport, dport = b, a, low, high end
  self.hooks.trace:write(TRACE:format(flow.number, address(a), sport, address(b), dport,
    flow.first, flow.last - flow.first, flow.packets[0], flow.packets[1]))
end

local function begin(self, hosts, flow, reverse, p)
  flow.number, flow.reverse, flow.over = self.next, reverse, 0
  flow.first, flow.last = time_of(p), time_of(p)
  flow.packets = {[0] = 0, 0}
  hosts.by_number[flow.number] = flow
  self.next = self.next + 1
end

local function timeout_of(self, protocol, flow)
  if protocol == UDP then return self.options.UDP_TIMEOUT end
  return flow.over == BOTH_OVER and self.options.TCP_DONE_TIMEOUT
    or self.options.TCP_TIMEOUT
end

local function has_ended(self, protocol, flow, p)
  local age = math.floor(time_of(p)) - math.floor(flow.last)
  if age > timeout_of(self, protocol, flow) then return true end
  local ip, l4 = p.note16[note.NETWORK_HEADER], p.note16[note.TRANSPORT_HEADER]
  return flow.over == BOTH_OVER and p.buf_addr[ip + 9] == TCP
    and l4 + 14 <= p.data_off + p.length
    and bit.band(p.buf_addr[l4 + 13], SYN) ~= 0
end

-- The flow with these ports (the lower address's first); a new one if the old has
-- ended.
local function flow_of(self, protocol, hosts, ports, reverse, p)
  local flow = hosts.flows[ports]
  if not flow then
    flow = {ports = ports}
    hosts.flows[ports] = flow
    begin(self, hosts, flow, reverse, p)
  elseif has_ended(self, protocol, flow, p) then
    finish(self, hosts, flow)
    hosts.by_number[flow.number] = nil
    begin(self, hosts, flow, reverse, p)
  end
  return flow
end

-- The packet leaves: what it says of its flow.
local function account(p, flow)
  flow.last = time_of(p)
  local paint = p.note8[PAINT]
  if paint >= 2 then return end
  flow.packets[paint] = flow.packets[paint] + 1
  local ip, l4 = p.note16[note.NETWORK_HEADER], p.note16[note.TRANSPORT_HEADER]
  if p.buf_addr[ip + 9] ~= TCP or not is_first(p, ip)
      or l4 + 14 > p.data_off + p.length then
    return
  end
  local flags = p.buf_addr[l4 + 13]
  if bit.band(flags, RST) ~= 0 then
    flow.over = BOTH_OVER
  elseif bit.band(flags, FIN) ~= 0 then
    flow.over = bit.bor(flow.over, bit.lshift(1, paint))
  elseif bit.band(flags, SYN) ~= 0 then
    flow.over = 0
  end
end

-- Fragments -------------------------------------------------------------------------

local function same_datagram(self, p, q)
  local a, b = header_of(self, p), header_of(self, q)
  return half(p, a + 4) == half(q, b + 4)
end

-- Let the first of the waiting packets go: to where it belongs, if some fragment of the
-- same datagram says so.
local function send_first(self, hosts)
  local head = hosts.waiting[hosts.first]
  hosts.waiting[hosts.first] = nil
  hosts.first = hosts.first + 1
  local number, paint = head.note32[AGGREGATE], head.note8[PAINT]
  local i = hosts.first
  while hosts.waiting[i] do
    local p = hosts.waiting[i]
    if same_datagram(self, head, p) then
      if number > 0 then
        p.note32[AGGREGATE], p.note8[PAINT] = number, paint
      elseif p.note32[AGGREGATE] > 0 then
        number, paint = p.note32[AGGREGATE], p.note8[PAINT]
        break
      end
    end
    i = i + 1
  end
  if not hosts.waiting[hosts.first] then hosts.first = 1 end
  if number == 0 then return packet.free(head) end
  head.note32[AGGREGATE], head.note8[PAINT] = number, paint
  if hosts.by_number[number] then account(head, hosts.by_number[number]) end
  self.hooks.send(head)
end

-- Let go what needn't wait any more.
local function release(self, hosts, now)
  while true do
    local head = hosts.waiting[hosts.first]
    if not head then return end
    local old = math.floor(time_of(head)) < now - self.options.FRAGMENT_TIMEOUT
    if not old and is_fragment(head, (header_of(self, head))) then return end
    send_first(self, hosts)
  end
end

local function wait(self, hosts, p)
  local last = hosts.first
  while hosts.waiting[last] do last = last + 1 end
  hosts.waiting[last] = p
  self.now = math.floor(time_of(p))
  release(self, hosts, self.now)
  return "keep"
end

-- Packets ---------------------------------------------------------------------------

-- The pair of hosts that the header at `ip` is about, and whether it goes from the
-- higher address to the lower one.
local function hosts_at(self, p, ip, protocol)
  local a, b = word(p, ip + 12), word(p, ip + 16)
  if a == 0 and b == 0 then return nil end
  if self.options.SYMETRIC and a > b then
    return hosts_of(self, protocol, b, a), true
  end
  return hosts_of(self, protocol, a, b), false
end

local function swap_ports(ports)
  return ports % 65536 * 65536 + math.floor(ports / 65536)
end

--- Note the packet's flow. "send" it, "drop" it, or "keep": it waits here.
function Flows:handle(p)
  local ip, paint = header_of(self, p)
  local protocol = ip and p.buf_addr[ip + 9]
  if protocol ~= TCP and protocol ~= UDP then return "drop" end
  local hosts, back = hosts_at(self, p, ip, protocol)
  if not hosts then return "drop" end
  local flow
  if is_first(p, ip) then
    local l4 = ip + bit.band(p.buf_addr[ip], 15) * 4
    if l4 + 4 > p.data_off + p.length then return "drop" end
    local ports = word(p, l4)
    -- Between two ports of one host, the lower port is the first.
    if hosts.a == hosts.b and ports % 65536 < math.floor(ports / 65536) then
      back = not back
    end
    if back then ports = swap_ports(ports) end
    flow = flow_of(self, protocol, hosts, ports, back, p)
    if back ~= flow.reverse then paint = paint + 1 end
    p.note32[AGGREGATE] = flow.number
  else
    p.note32[AGGREGATE] = 0
    if back then paint = paint + 1 end
  end
  p.note8[PAINT] = paint
  if self.options.FRAGMENTS and is_fragment(p, ip) or hosts.waiting[hosts.first] then
    return wait(self, hosts, p)
  end
  if not flow then return "drop" end
  self.now = math.floor(time_of(p))
  account(p, flow)
  return "send"
end

-- Old flows -------------------------------------------------------------------------

local function reap_hosts(self, protocol, hosts, now)
  release(self, hosts, now)
  if hosts.waiting[hosts.first] then return end
  for ports, flow in pairs(hosts.flows) do
    if math.floor(flow.last) < now - timeout_of(self, protocol, flow) then
      finish(self, hosts, flow)
      hosts.flows[ports], hosts.by_number[flow.number] = nil, nil
    end
  end
end

--- Forget flows that are old at the time `now`, and send what has waited too long.
function Flows:reap(now)
  for protocol, list in pairs(self.pairs) do
    for _, hosts in ipairs(list) do reap_hosts(self, protocol, hosts, now) end
  end
end

--- Do so now and then.
function Flows:reap_if_due()
  if self.now < self.reap_at then return end
  if self.reap_at > 0 then self:reap(self.now) end
  self.reap_at = self.now + self.options.REAP
end

--- The end: complete the file, and free what waits.
function Flows:close()
  for _, list in pairs(self.pairs) do
    for _, hosts in ipairs(list) do
      for _, p in pairs(hosts.waiting) do packet.free(p) end
      for _, flow in pairs(hosts.flows) do finish(self, hosts, flow) end
    end
  end
  if self.hooks.trace then self.hooks.trace:write("</trace>\n") end
end

return Flows
