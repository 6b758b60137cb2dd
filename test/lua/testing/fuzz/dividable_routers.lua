-- SPDX-License-Identifier: Apache-2.0
-- Random configurations of elements that copies of a router can divide, and packets for
-- them. What becomes of a packet follows from it and its flow's packets before it, but
-- for the ports and addresses that rewriters choose, and numbers of IP headers.

local routers = {}

-- Elements that give on what they take: text, what fills it in by chance (up to a
-- number, or one of a list), what they change by chance ("ends": addresses and ports,
-- "numbers": IP identification), and `of`: a router has some such elements (GROUPS),
-- since others can't be divided with them. `asks`: what they do follows from the ends,
-- so that they can't be behind what changes those by chance (SetTCPChecksum puts a sum
-- into the text of what isn't TCP). `once`: what it does follows from the order of
-- packets that are there twice: of fragments a, a, b, b it makes one datagram, of
-- a, b, a, b two. `is`: "fragmenter", "queue" or "ports" (it asks what a first fragment
-- alone has): a router with all of these has no order of a flow's packets, since some
-- wait in the queue that fragments don't come to.
local SIMPLE = {
  {"Null"}, {"Paint(%d)", 4}, {"SetIPDSCP(%d)", 60}, {"SetIPECN(ect1)"}, {"MarkIPCE"},
  {"DecIPTTL"}, {"IPMirror"}, {"Queue(2000) -> Unqueue", is = "queue"},
  {"CheckLength(1400)"},
  {"IPFilter(allow tcp, allow udp, drop all)"},
  {"IPFilter(deny dst port 80, allow all)"}, {"SetTCPChecksum", asks = true},
  {"SetIPChecksum"},
  {"AggregateIP(ip src/24)"}, {"AggregateLength"},
  {"IPFragmenter(600)", is = "fragmenter"},
  {"FixIPSrc(10.0.0.9)"}, {"IPReassembler", of = "fragments", once = true},
  {"StoreIPAddress(10.3.0.%d, src)", 200, of = "others"},
  {"UDPIPEncap(10.4.0.1, 4789, 10.4.0.2, 4789)", changes = "numbers", of = "others"},
  {"IPRewriter(pattern 192.0.2.%d 1024-65535 - - 0 0)", 4, changes = "ends",
    of = "answers"},
  {"UDPRewriter(pattern 192.0.2.7 2000-60000 - - 0 0)", changes = "ends",
    of = "answers"},
  {"ICMPPingRewriter(pattern 192.0.2.9 1024-65535 - - 0 0)", changes = "ends",
    of = "answers"},
  {"IPRewriter(keep 0 0)", of = "answers"}, {"TCPRewriter(keep 0 0)", of = "answers"},
  {"FlowIPManager -> FlowIPNAT(192.0.2.3)", changes = "ends", of = "answers"},
  {"FlowIPManager_DPDK -> FlowNAPTLoadBalancer(10.9.0.1, 10.9.0.2, "
    .. "SIP 10.8.0.1 10.8.0.2, STATE false, LB_MODE hash)", changes = "ends",
    of = "answers"},
  {"IPAddrPairRewriter(pattern 192.0.2.1-192.0.2.250 - 0 0)", changes = "ends",
    of = "pairs"},
  {"FlowIPManager -> FlowCounter"}, {"FlowIPManagerIMP -> FlowCounter"},
  {"FlowIPManagerHMP -> FlowIPLoadBalancer(VIP 10.0.0.1, DST 10.9.0.1 10.9.0.2 "
    .. "10.9.0.3, LB_MODE %s)", {"hash", "hash_crc"}, asks = true},
  {"IPLoadBalancer(VIP 10.0.0.1, DST 10.9.0.1, DST 10.9.0.2, LB_MODE hash_crc)",
    asks = true},
}

local GROUPS = {{answers = true}, {pairs = true, fragments = true},
  {fragments = true, others = true}}

-- And those that give packets on in several ways, with what has to be in `front`.
-- Behind a Tee a flow's packets, which are twice there, have no order.
local BRANCHES = {
  {"IPClassifier(tcp, udp, -)", 3},
  {"IPClassifier(icmp type echo, -)", 2, is = "ports"},
  {"IPClassifier(src net 10.0.1.0/24, -)", 2, asks = true},
  {"IPClassifier(dst port < 2020, -)", 2, asks = true, is = "ports"},
  {"HashSwitch(12, 4)", 2, asks = true}, {"Tee(2)", 2, changes = "order"},
  {"StaticIPLookup(10.0.0.0/8 0, 198.51.0.0/16 1, 0/0 2)", 3, asks = true},
  {"RadixIPLookup(198.51.100.0/25 0, 0/0 1)", 2, asks = true}, {"PaintSwitch", 2},
  {"FlowSwitch(LB_MODE hash)", 2, asks = true, is = "ports",
    front = "FlowIPManager -> "},
}

local function filled(random, entry)
  local what = entry[2]
  if not what then return entry[1] end
  return entry[1]:format(type(what) == "table" and what[random(#what)] or random(what))
end

local chain

-- (Numbers of a header are known to differ only in the outermost one.)
local function fits(g, entry)
  return (not entry.of or g.group[entry.of])
    and not (entry.changes == "numbers" and g.changes.numbers)
    and not (entry.asks and g.changes.ends)
    and not (entry.once and g.changes.order)
end

local function simple(g, from, name)
  local entry
  repeat entry = SIMPLE[g.random(#SIMPLE)] until fits(g, entry)
  if entry.changes then g.changes[entry.changes] = true end
  if entry.is then g.has[entry.is] = true end
  g:say("%s -> %s -> %s :: Counter;", from, filled(g.random, entry), name)
  table.insert(g.counters, name)
  return name
end

local function branches(g, from, name, depth)
  local kind = BRANCHES[g.random(#BRANCHES)]
  if kind.asks and g.changes.ends then return simple(g, from, name) end
  if kind.changes then g.changes[kind.changes] = true end
  if kind.is then g.has[kind.is] = true end
  local all = name .. "all"
  g:say("%s :: %s; %s -> %s%s; %s :: Counter;", name, kind[1], from, kind.front or "",
    name, all)
  table.insert(g.counters, all)
  for i = 0, kind[2] - 1 do
    g:say("%s -> %s;", chain(g, ("%s [%d]"):format(name, i), depth + 1), all)
  end
  return all
end

-- Up to four elements behind `from`; the last one's name.
function chain(g, from, depth)
  for _ = 1, g.random(4) do
    g.n = g.n + 1
    local name = "e" .. g.n
    from = depth < 2 and g.random(4) == 1 and branches(g, from, name, depth)
      or simple(g, from, name)
  end
  return from
end

--- A random configuration by random(n), a number from 1 to n: its text; the names of
--- its counters; and what chance changes, a set of "ends", "numbers" and "order".
--- Packets come from the device `in`, and leave by `out` and `other`.
function routers.new(random)
  local lines = {}
  local g = {random = random, n = 0, group = GROUPS[random(#GROUPS)],
    counters = {}, changes = {}, has = {},
    say = function (_, ...) lines[#lines + 1] = string.format(...) end}
  g:say("FromDevice(in) -> kinds :: Classifier(12/0800, -);")
  g:say("kinds [1] -> ToDevice(other);")
  g:say("kinds [0] -> Strip(14) -> ip :: CheckIPHeader;")
  local last = chain(g, "ip", 0)
  g:say("%s -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2) -> ToDevice(out);", last)
  if g.has.fragmenter and g.has.queue and g.has.ports then g.changes.order = true end
  return table.concat(lines, "\n") .. "\n", g.counters, g.changes
end

-- Packets --------------------------------------------------------------------------

local function be16(n) return string.char(math.floor(n / 256) % 256, n % 256) end

local function sum_of(bytes)
  local sum = 0
  if #bytes % 2 == 1 then bytes = bytes .. "\0" end
  for i = 1, #bytes, 2 do sum = sum + bytes:byte(i) * 256 + bytes:byte(i + 1) end
  while sum > 65535 do sum = sum % 65536 + math.floor(sum / 65536) end
  return be16(65535 - sum)
end

local ETHERNET = "\2\0\0\0\0\1\2\0\0\0\0\2\8\0"

local function ip(h, rest)
  local header = "\x45\0" .. be16(20 + #rest) .. be16(h.id) .. be16(h.fragment or 0)
    .. string.char(h.ttl, h.protocol) .. "\0\0" .. h.source .. h.destination
  return ETHERNET .. header:sub(1, 10) .. sum_of(header) .. header:sub(13) .. rest
end

local function tcp_or_udp(h, text)
  local ports = be16(h.sport) .. be16(h.dport)
  local pseudo = h.source .. h.destination .. "\0" .. string.char(h.protocol)
  if h.protocol == 17 then
    local size = be16(8 + #text)
    local sum = sum_of(pseudo .. size .. ports .. size .. "\0\0" .. text)
    return ports .. size .. sum .. text
  end
  local front, back = "\0\0\0\1\0\0\0\1\x50\x10\1\0", "\0\0"
  local sum = sum_of(pseudo .. be16(20 + #text) .. ports .. front .. "\0\0" .. back
    .. text)
  return ports .. front .. sum .. back .. text
end

local ICMP = 1

local function icmp(h, text)
  local body = be16(h.sport) .. "\0\1" .. text
  return "\8\0" .. sum_of("\8\0\0\0" .. body) .. body
end

local FLOWS, FRAGMENTED = 40, 7
local PROTOCOLS = {6, 17, 6, 17, ICMP}

-- The frames of a flow's packet number k, which ends with both numbers; one flow of
-- FRAGMENTED sends fragments.
local function packets_of(random, flow, k, back)
  local h = {protocol = PROTOCOLS[flow % #PROTOCOLS + 1], id = k, ttl = flow % 9 + 1,
    source = "\10\0" .. string.char(flow % 3, flow % 11),
    destination = "\198\51\100" .. string.char(flow % 5 * 50),
    sport = 2000 + flow, dport = flow % 4 == 0 and 80 or 53}
  if back and h.protocol ~= ICMP then
    h.source, h.destination = h.destination, h.source
    h.sport, h.dport = h.dport, h.sport
  end
  local fragmented = flow % FRAGMENTED == 1
  local size = (fragmented and 40 or 0) + random(random(3) == 1 and 900 or 30)
  local text = ("x"):rep(size) .. ("%03d %06d"):format(flow + (back and 500 or 0), k)
  local rest = (h.protocol == ICMP and icmp or tcp_or_udp)(h, text)
  if not fragmented then return {ip(h, rest)} end
  local cut = 8 * random(math.floor((#rest - 11) / 8))
  h.fragment = 0x2000
  local first = ip(h, rest:sub(1, cut))
  h.fragment = cut / 8
  return {first, ip(h, rest:sub(cut + 1))}
end

--- About `n` frames: flows both ways, some of fragments, and some that aren't IP.
function routers.frames(random, n)
  local frames = {}
  for k = 1, n do
    if random(20) == 1 then
      frames[#frames + 1] = ETHERNET:sub(1, 12) .. "\x88\xb5" .. ("%040d %03d %06d")
        :format(0, 999, k)
    else
      for _, s in ipairs(packets_of(random, random(FLOWS) - 1, k, random(3) == 1)) do
        frames[#frames + 1] = s
      end
    end
  end
  return frames
end

-- What came of them ------------------------------------------------------------------

local IP_AT, TAG = 15, "%d%d%d %d%d%d%d%d%d$" -- of the frame's bytes, from 1
local BEHIND = IP_AT + 20 -- an address's last byte may be a digit, too

-- The frame without what chance changes: with "ends" its size, protocol and end are
-- left; with "numbers" identification and checksum are taken out.
local function plain(s, changes)
  if s:sub(13, 14) ~= "\8\0" then return s end
  if changes.ends then
    return ("%d %d "):format(#s, s:byte(IP_AT + 9)) .. (s:match(TAG, BEHIND) or "")
  elseif changes.numbers then
    return s:sub(1, IP_AT + 3) .. s:sub(IP_AT + 6, IP_AT + 9) .. s:sub(IP_AT + 12)
  end
  return s
end

--- What two runs are to have in common: {all = how often there is which frame,
--- FLOW = its packets' numbers in their order}.
function routers.summary(frames, changes)
  local result, all = {}, {}
  for _, s in ipairs(frames) do
    local frame = plain(s, changes):gsub("[^ -~]", function (byte)
      return ("\\x%02x"):format(byte:byte())
    end)
    all[frame] = (all[frame] or 0) + 1
    local flow, number = s:match("(%d%d%d) (%d%d%d%d%d%d)$", BEHIND)
    if flow and flow ~= "999" and not changes.order then
      result[flow] = (result[flow] or "") .. number .. " "
    end
  end
  result.all = all
  return result
end

return routers
