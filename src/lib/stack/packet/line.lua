-- SPDX-License-Identifier: Apache-2.0
-- A packet on one line, in the words of tcpdump -n -S -t: addresses, ports, flags and
-- lengths, from the headers that resolving it finds (slow code).

local ffi = require("ffi")
local data_of = require("lib.stack.layout.data_of")
local walk = require("lib.stack.packet.walk")

local line = {}

local TCP_FLAGS = {{"Fin", "F"}, {"Syn", "S"}, {"Rst", "R"}, {"Psh", "P"}, {"Ack", "."},
  {"Urg", "U"}, {"Ece", "E"}, {"Cwr", "W"}}
local EXTENSIONS = {hopopts = "HBH ", destopts = "DSTOPT ", fragment = "frag ",
  routing = "srcrt ", srh = "srcrt "}
local WITH_PORTS = {tcp = true, udp = true, sctp = true}
local UNREACHABLE = 3 -- ICMP's type

local Header = {}

-- header.TTL is a field's value; its own members are item, pointer, size, stop.
Header.__index = function (self, name)
  return self.item.layout.slow["get" .. name](self.pointer)
end

-- The headers found, each with where it ends by the lengths below it (`ends`) and by
-- its own (`stop`), in bytes from its start.
local function headers_of(p, first)
  local list, offset, total = {}, 0, p.length
  for i, item in ipairs((walk.items(data_of(p), p.length, first))) do
    local at = data_of(p) + offset
    local ends = total - offset
    local stop = math.min(ends, walk.told(item.layout, at, item.size, ends))
    list[i] = setmetatable({item = item, name = item.protocol.name, size = item.size,
      pointer = ffi.cast(item.layout.slow_pointer, at), ends = ends, stop = stop},
      Header)
    total = offset + stop
    offset = offset + item.size
  end
  return list
end

local describe -- (headers, i): what header i and those behind it say

local function behind(headers, i, separator)
  return headers[i + 1] and separator .. describe(headers, i + 1) or ""
end

local printers = {}

function printers.eth(headers, i)
  if headers[i + 1] then return describe(headers, i + 1) end
  local eth = headers[i]
  return ("%s > %s, ethertype Unknown (0x%04x), length %d"):format(eth.SrcString,
    eth.DstString, eth.Type, eth.ends)
end

function printers.vlan(headers, i)
  return headers[i + 1] and describe(headers, i + 1) or "vlan " .. headers[i].VlanTag
end

function printers.arp(headers, i)
  local arp = headers[i]
  local what = ("Unknown (%d)"):format(arp.Operation)
  if arp.Operation == 1 then
    what = ("Request who-has %s tell %s"):format(arp.ProtoDstString,
      arp.ProtoSrcString)
  elseif arp.Operation == 2 then
    what = ("Reply %s is-at %s"):format(arp.ProtoSrcString, arp.HardwareSrcString)
  end
  return ("ARP, %s, length %d"):format(what, arp.ends)
end

-- "IP a > b: ", with ports where the headers behind have them.
local function ip(headers, i, name, number)
  local header, k, words = headers[i], i + 1, ""
  while headers[k] and EXTENSIONS[headers[k].name] do
    words, k = words .. EXTENSIONS[headers[k].name], k + 1
  end
  local upper, ports = headers[k], {"", ""}
  if upper and WITH_PORTS[upper.name] then
    ports = {"." .. upper.SrcPort, "." .. upper.DstPort}
  end
  local rest = upper and describe(headers, k)
    or ("ip-proto-%d, length %d"):format(number, header.stop - header.size)
  return ("%s %s%s > %s%s: %s%s"):format(name, header.SrcString, ports[1],
    header.DstString, ports[2], words, rest)
end

function printers.ip4(headers, i)
  return ip(headers, i, "IP", headers[i].Protocol)
end

function printers.ip6(headers, i)
  return ip(headers, i, "IP6", headers[i].NextHeader)
end

function printers.udp(headers, i)
  local udp = headers[i]
  if headers[i + 1] and headers[i + 1].name:find("^vxlan") then
    return describe(headers, i + 1)
  end
  return ("UDP, length %d"):format(udp.stop - udp.size)
end

function printers.vxlan(headers, i)
  return ("VXLAN, vni %d"):format(headers[i].VNI) .. behind(headers, i, ": ")
end

function printers.vxlangpe(headers, i)
  return ("VXLAN-GPE, vni %d"):format(headers[i].VNI) .. behind(headers, i, ": ")
end

function printers.tcp(headers, i)
  local tcp, flags, parts = headers[i], "", {}
  for _, flag in ipairs(TCP_FLAGS) do
    if tcp[flag[1]] then flags = flags .. flag[2] end
  end
  parts[1] = ("Flags [%s]"):format(flags == "" and "none" or flags)
  local length = tcp.stop - tcp.size
  if length > 0 then
    parts[2] = ("seq %.0f:%.0f"):format(tcp.SeqNumber,
      (tcp.SeqNumber + length) % 2^32)
  elseif tcp.Syn or tcp.Fin or tcp.Rst then
    parts[2] = ("seq %.0f"):format(tcp.SeqNumber)
  end
  if tcp.Ack then parts[#parts + 1] = ("ack %.0f"):format(tcp.AckNumber) end
  parts[#parts + 1] = "win " .. tcp.Window
  if tcp.Urg then parts[#parts + 1] = "urg " .. tcp.UrgentPointer end
  if tcp.size > 20 then
    parts[#parts + 1] = ("options [%s]"):format(tcp.OptionsString)
  end
  parts[#parts + 1] = "length " .. length
  return table.concat(parts, ", ")
end

local CODES = { -- of "destination unreachable"; %s is where the packet went
  [0] = "net %s unreachable", "host %s unreachable", "%s protocol %d unreachable",
  "%s %s port %d unreachable", "%s unreachable - need to frag (mtu %d)",
}

-- What of a packet's destination can't be reached, in the packet that is quoted.
local function unreachable(headers, i, code)
  local old, upper = headers[i + 2], headers[i + 3]
  local form = CODES[code]
  if not old or not form then return "type-#3, code " .. code end
  if code == 2 then return form:format(old.DstString, old.Protocol) end
  if code == 4 then return form:format(old.DstString, headers[i + 1].NextHopMtu) end
  if code == 3 then
    if not upper or not WITH_PORTS[upper.name] then return "type-#3, code 3" end
    return form:format(old.DstString, upper.name, upper.DstPort)
  end
  return form:format(old.DstString)
end

local function echo(headers, i, separator)
  local message = headers[i + 1]
  if not message or message.name ~= "echo" then return "" end
  return ("%sid %d, seq %d"):format(separator, message.Id, message.Sequence)
end

function printers.icmp(headers, i)
  local icmp = headers[i]
  local what = icmp.TypeString
  if icmp.Type == UNREACHABLE then what = unreachable(headers, i, icmp.Code)
  elseif icmp.Type == 11 then
    what = icmp.Code == 0 and "time exceeded in-transit"
      or "ip reassembly time exceeded"
  elseif what == tostring(icmp.Type) then what = "type-#" .. what end
  return ("ICMP %s%s, length %d"):format(what, echo(headers, i, ", "), icmp.stop)
end

function printers.icmp6(headers, i)
  local icmp6, next = headers[i], headers[i + 1]
  local what = icmp6.TypeString
  local more = echo(headers, i, ", ")
  if next and next.name == "ns" then more = ", who has " .. next.TargetString end
  if next and next.name == "na" then more = ", tgt is " .. next.TargetString end
  return ("ICMP6, %s%s, length %d"):format(what, more, icmp6.stop)
end

function printers.gre(headers, i)
  local gre, parts = headers[i], {"GREv0"}
  if gre.KeyPresent then parts[#parts + 1] = ("key=0x%x"):format(gre.Key) end
  if gre.SequencePresent then parts[#parts + 1] = ("seq %.0f"):format(gre.Sequence) end
  parts[#parts + 1] = "length " .. gre.stop
  return table.concat(parts, ", ") .. behind(headers, i, ": ")
end

function describe(headers, i)
  local header = headers[i]
  if printers[header.name] then return printers[header.name](headers, i) end
  return ("%s, length %d"):format(header.item.protocol.title, header.ends)
    .. behind(headers, i, ": ")
end

--- The packet on one line, its first header of protocol `first`.
function line.text(p, first)
  local headers = headers_of(p, first)
  if not headers[1] then return ("length %d"):format(p.length) end
  return describe(headers, 1)
end

return line
