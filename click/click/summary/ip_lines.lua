-- SPDX-License-Identifier: Apache-2.0
-- A line about an IP packet, as tcpdump writes it, from a view (click.summary.view) of
-- which no header has been checked; the IP header has 20 bytes at least.

local bit = require("bit")

local names = require("click.classification.ip.names")

local lines = {}

local TCP, UDP, ICMP = 6, 17, 1
local ETHERNET = 14
local ECHO_REPLY, UNREACHABLE, ECHO = 0, 3, 8
local PROTOCOL, PORT, NEEDS_FRAGMENTS = 2, 3, 4 -- codes of unreachable

local function address(view, at)
  return ("%d.%d.%d.%d"):format(view:byte(at), view:byte(at + 1), view:byte(at + 2),
    view:byte(at + 3))
end

local function source(view) return address(view, view.net + 12) end
local function destination(view) return address(view, view.net + 16) end

local function pair(view) return source(view) .. " > " .. destination(view) end

local function pair_with_ports(view)
  local at = view.transport
  return ("%s.%d > %s.%d: "):format(source(view), view:half(at), destination(view),
    view:half(at + 2))
end

local function header_length(view, at) return view:byte(at) % 16 * 4 end

-- Is a port there?
local function without_ports(view, length, name)
  if not view:is_first() then return pair(view) .. ": " .. name end
  if length < 4 then return pair(view) .. ": truncated-" .. name end
end

-- TCP: flags, sequence numbers, (bytes of payload, of the packet, of the IP packet)

local FLAGS = {{2, "S"}, {1, "F"}, {4, "R"}, {8, "P"}} -- SYN, FIN, RST, PSH
local SYN, FIN, ACK, PRINTED = 2, 1, 16, 15

local function tcp_flags(flags)
  local text = ""
  for _, flag in ipairs(FLAGS) do
    if bit.band(flags, flag[1]) ~= 0 then text = text .. flag[2] end
  end
  return bit.band(flags, PRINTED) == 0 and "." or text
end

local function tcp(view, length)
  local at = view.transport
  local short = without_ports(view, length, "tcp")
  if short then return short end
  if length < 14 then return pair_with_ports(view) .. "truncated-tcp" end
  local flags, ip_length = view:byte(at + 13), view:half(view.net + 2)
  local payload = ip_length - header_length(view, view.net)
    - math.floor(view:byte(at + 12) / 16) * 4
  if bit.band(flags, SYN) ~= 0 then payload = payload + 1 end
  if bit.band(flags, FIN) ~= 0 then payload = payload + 1 end
  local sequence = view:word(at + 4)
  local text = ("%s%s %.0f:%.0f(%d,%d,%d)"):format(pair_with_ports(view),
    tcp_flags(flags), sequence, (sequence + payload) % 2 ^ 32, payload, view.p.length,
    ip_length)
  if bit.band(flags, ACK) ~= 0 then
    text = ("%s ack %.0f"):format(text, view:word(at + 8))
  end
  if length < 16 then return text .. "truncated-tcp" end
  return ("%s win %d"):format(text, view:half(at + 14))
end

local function udp(view, length)
  local short = without_ports(view, length, "udp")
  if short then return short end
  if length < 8 then return pair_with_ports(view) .. "truncated-udp" end
  return ("%sudp %d"):format(pair_with_ports(view), view:half(view.transport + 4))
end

-- ICMP ------------------------------------------------------------------------------

local function echo(view, length, name, swap)
  if length < 8 then return name .. " truncated-icmp" end
  local at = view.transport
  local id, sequence = view:half(at + 4), view:half(at + 6)
  if not swap then
    id, sequence = bit.rshift(bit.bswap(id), 16), bit.rshift(bit.bswap(sequence), 16)
  end
  return ("%s (%d, %d)"):format(name, id, sequence)
end

-- About the packet that couldn't be delivered, which is quoted.
local function unreachable(view, length)
  local at = view.transport
  local code, quoted = view:byte(at + 1), at + 8
  local name = names.icmp_code(UNREACHABLE, code) or "code " .. code
  if length < 28 then return ("icmp unreachable %s truncated-icmp"):format(name) end
  local text = ("icmp %s unreachable %s"):format(address(view, quoted + 16), name)
  local protocol = view:byte(quoted + 9)
  if code == PROTOCOL then
    return ("%s %s"):format(text, names.protocol_name(protocol) or protocol)
  elseif code == PORT then
    text = ("%s %s"):format(text, names.protocol_name(protocol)
      or "protocol " .. protocol)
    local port = quoted + header_length(view, quoted) + 2
    if port + 2 > at + length then return text .. "truncated-icmp" end
    return ("%s/%d"):format(text, view:half(port))
  elseif code == NEEDS_FRAGMENTS and view:half(at + 6) > 0 then
    return ("%s (mtu %d)"):format(text, view:half(at + 6))
  end
  return text
end

local function other(kind, code)
  local text = "icmp " .. (names.icmp_type(kind) or "type " .. kind)
  local name = names.icmp_code(kind, code)
  if name then return text .. " " .. name end
  return code > 0 and ("%s code %d"):format(text, code) or text
end

local function icmp(view, length, swap)
  local front = pair(view) .. ": "
  if not view:is_first() then return front .. "icmp" end
  if length < 2 then return front .. "truncated-icmp" end
  local kind, code = view:byte(view.transport), view:byte(view.transport + 1)
  if kind == ECHO or kind == ECHO_REPLY then
    local name = kind == ECHO and "icmp echo" or "icmp echo-reply"
    return front .. echo(view, length, name, swap)
  end
  if kind == UNREACHABLE then return front .. unreachable(view, length) end
  return front .. other(kind, code)
end

-- All -------------------------------------------------------------------------------

local function fragment(view, payload)
  local word = view:half(view.net + 6)
  if bit.band(word, 0x3fff) == 0 then return "" end
  return (" (frag %d:%d@%d%s)"):format(view:half(view.net + 4), payload,
    bit.band(word, 0x1fff) * 8, bit.band(word, 0x2000) ~= 0 and "+" or "")
end

local PROTOCOLS = {[TCP] = tcp, [UDP] = udp, [ICMP] = icmp}

--- The line. ICMP's numbers are read in network order, unless `swap` is false.
function lines.ip(view, swap)
  view.transport = view.transport or view.net + header_length(view, view.net)
  local payload = view:half(view.net + 2) - header_length(view, view.net)
  local length = math.min(view:transport_length(), payload)
  local protocol = view:byte(view.net + 9)
  local show = PROTOCOLS[protocol]
  local text = show and show(view, length, swap)
    or ("%s: ip-proto-%d"):format(pair(view), protocol)
  return text .. fragment(view, payload)
end

local function ether_address(view, at)
  local bytes = {}
  for i = 0, 5 do bytes[i + 1] = ("%02X"):format(view:byte(at + i)) end
  return table.concat(bytes, "-")
end

--- The Ethernet header's addresses, if it is before the IP header.
function lines.ethernet(view)
  local at = view.ether
  if not at or at + ETHERNET > math.min(view.net, view.finish) then return "" end
  return ("%s > %s: "):format(ether_address(view, at + 6), ether_address(view, at))
end

--- Where the payload begins.
function lines.payload(view)
  local protocol = view:byte(view.net + 9)
  if view:is_first() and protocol == UDP then return view.transport + 8 end
  if view:is_first() and protocol == TCP and view:transport_length() > 12 then
    return view.transport + math.floor(view:byte(view.transport + 12) / 16) * 4
  end
  return view.transport
end

return lines
