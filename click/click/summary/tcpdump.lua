-- SPDX-License-Identifier: Apache-2.0
-- Makes packets of the lines of tcpdump's text, as tcpdump wrote them up to version 3
-- with -tt and -n:
--
--     977492832.61 10.0.0.1.33397 > 10.0.0.2.22: S 10:10(0) win 5840 (ttl 64, id 5)
--
-- What is behind the headers isn't in the text; it is noted as extra length.

local arguments = require("click.arguments")
local bit = require("bit")
local C = require("core.declare")("net/checksum/checksum.h")
local ffi = require("ffi")
local note = require("click.note")
local numbers = require("click.summary.options")
local packet = require("core.packet")
local tcp = require("click.summary.tcpdump_tcp")
require("click.classification.ip.named")

local Reader = {}
Reader.__index = Reader

local ICMP, TCP, UDP = 1, 6, 17
local IP_HEADER, UDP_HEADER, MOST_HEADER = 20, 8, 60
local TTL = 2 -- of packets whose line doesn't say it
local PORT_SPECS = {[TCP] = {protocol = "tcp"}, [UDP] = {protocol = "udp"}}
local DF, MF = 0x4000, 0x2000
local NOT_ECN, ECT0, ECT1, CE = 0xfc, 2, 1, 3 -- RFC 3168

local bytes_of = numbers.bytes

--- A reader of `lines` (click.summary.lines) for an element. Options: checksums, say as
--- in click.summary.reader.
function Reader.new(lines, element, options)
  return setmetatable({lines = lines, element = element, options = options,
    flows = tcp.new_flows()}, Reader)
end

--- Read the first line: is it such a text?
function Reader:begin()
  local line = self.lines:peek() or ""
  if self.lines.problem then return end -- next() tells
  if line:find("^%d") then return end
  self.options.say("warning", self.lines.name,
    "first line suspicious; is this a tcpdump output file?")
end

-- The line's parts ------------------------------------------------------------------

-- The protocol, as the first word behind the addresses tells.
local function protocol_of(rest)
  if rest:find("^i") then return ICMP end
  if rest:find("^u") or rest:find("^%[u") then return UDP end
  if rest:find("^[.A-Z]") or rest:find("^tcp") then return TCP end
  return 0
end

-- An address, and behind it a port if there is a protocol of ports.
local function endpoint(self, text, protocol)
  local spec, port = PORT_SPECS[protocol], 0
  if spec then
    local host, name = text:match("^(.+)[.:]([^.:]*)$")
    if not host then return nil end
    text, port = host, arguments.types.named_port(name, spec, self.element)
  end
  local address = arguments.types.ip(text, {}, self.element)
  return address and port and {address = address, port = port}
end

local function set_ecn(ip, value) ip.tos = bit.bor(bit.band(ip.tos, NOT_ECN), value) end

-- What may stand in brackets at the line's end: patterns, and what they say of the IP
-- header.
local ITEMS = {
  {"^tos 0x(%x+)", function (ip, hex) ip.tos = tonumber(hex, 16) % 256 end},
  {"^ECT%(([01])%)", function (ip, n) set_ecn(ip, n == "0" and ECT0 or ECT1) end},
  {"^CE()", function (ip) set_ecn(ip, CE) end},
  {"^DF()", function (ip) ip.flags = bit.bor(ip.flags, DF) end},
  {"^frag (%d+:%d+@%d+%+?)", function (ip, text)
    local id, length, at, more = text:match("(%d+):(%d+)@(%d+)(%+?)")
    ip.id, ip.payload = tonumber(id), tonumber(length)
    ip.offset = math.floor(tonumber(at) / 8)
    if more ~= "" then ip.flags = bit.bor(ip.flags, MF) end
  end},
  {"^ttl (%d+)", function (ip, n) ip.ttl = tonumber(n) % 256 end},
  {"^id (%d+)", function (ip, n) ip.id = tonumber(n) end},
  {"^len (%d+)", function (ip, n) ip.length = tonumber(n) end},
}

-- Take the item that the text begins with; the rest, or nil if it is none.
local function take_item(ip, text)
  for _, item in ipairs(ITEMS) do
    local value = text:match(item[1])
    if value then
      item[2](ip, value)
      return text:gsub(item[1], "", 1):match("^[,%s]*(.*)$")
    end
  end
end

-- What the brackets at the end of `rest` say, from the last on.
local function read_ip(rest)
  local ip = {tos = 0, flags = 0, id = 0, ttl = TTL, offset = 0}
  local groups = {}
  while true do
    local front, group = rest:match("^(.-)%s*(%b())%s*$")
    if not front then front, group = rest:match("^(.-)%s*(%b[])%s*$") end
    if not front then break end
    groups[#groups + 1] = group:sub(2, -2)
    rest = front
  end
  for _, text in ipairs(groups) do
    while text and text ~= "" do text = take_item(ip, text) end
  end
  return ip
end

-- The packet --------------------------------------------------------------------------

local function flow_header(source, destination)
  return bytes_of(source.port, 2) .. bytes_of(destination.port, 2)
end

-- The header behind IP's, and how many bytes follow it, if that is said.
local function read_transport(self, protocol, rest, source, destination)
  if protocol == TCP then
    local header, length = tcp.read(self.flows, rest, source, destination)
    return flow_header(source, destination) .. header, length
  elseif protocol == UDP then
    local text = rest:gsub("^%[[^%]]*%]%s*", "")
    return flow_header(source, destination) .. ("\0"):rep(4),
      tonumber(text:match("^udp (%d+)"))
  end
  return ""
end

-- The header and the bytes behind it, as `len` and `frag` say they are.
local function fit(ip, protocol, header, data)
  if ip.payload then return header, math.max(ip.payload - #header, 0) end
  if not ip.length then return header, data or 0 end
  local own = IP_HEADER + #header
  if not data then return header, math.max(ip.length - own, 0) end
  local longer = ip.length - own - data
  -- Options that the line doesn't show.
  if protocol == TCP and longer > 0 and longer % 4 == 0
      and #header + longer <= MOST_HEADER then
    header = tcp.lengthen(header, longer)
  end
  return header, data
end

local function set_checksums(p, protocol, ip)
  local data, n = p.data, p.length - IP_HEADER
  local sum = C.pg_checksum(data, IP_HEADER, 0)
  data[10], data[11] = bit.rshift(sum, 8), bit.band(sum, 255)
  if PORT_SPECS[protocol] and ip.offset == 0 and bit.band(ip.flags, MF) == 0 then
    C.pg_ip4_l4_set(data, data + IP_HEADER, n, protocol)
  end
end

local function make(self, time, protocol, ip, ends, header, data)
  local total = (IP_HEADER + #header + data) % 65536
  if protocol == UDP and #header == UDP_HEADER then
    header = header:sub(1, 4) .. bytes_of((total - IP_HEADER) % 65536, 2) .. "\0\0"
  end
  local p = packet.from_string(string.char(0x45, ip.tos) .. bytes_of(total, 2)
    .. bytes_of(ip.id % 65536, 2) .. bytes_of(ip.flags + ip.offset % 0x2000, 2)
    .. string.char(ip.ttl, protocol) .. "\0\0" .. bytes_of(ends[1].address, 4)
    .. bytes_of(ends[2].address, 4) .. header)
  note.clear(p)
  p.note16[note.NETWORK_HEADER] = p.data_off
  p.note16[note.TRANSPORT_HEADER] = p.data_off + IP_HEADER
  p.note64[note.TIMESTAMP] = time
  p.note32[note.EXTRA_LENGTH] = data
  if self.options.checksums then set_checksums(p, protocol, ip) end
  return p
end

-- Nanoseconds of "977492832.612442", or nil.
local function parse_time(text)
  local seconds, fraction = text:match("^(%d+)%.?(%d*)$")
  if not seconds or #seconds > 10 then return nil end
  fraction = (fraction .. ("0"):rep(9)):sub(1, 9)
  return ffi.cast("uint64_t", tonumber(seconds)) * 1000000000ULL + tonumber(fraction)
end

-- The packet of a line, or nil.
local function build(self, line)
  local stamp, from, to, rest = line:match("^(%S+) (%S+) > ([^:]+): *(.*)$")
  local time = stamp and parse_time(stamp)
  if not time then return nil end
  local protocol, ip = protocol_of(rest), read_ip(rest)
  local ported = ip.offset == 0 and protocol -- later fragments have no ports
  local source, destination = endpoint(self, from, ported), endpoint(self, to, ported)
  if not source or not destination then return nil end
  local header, data = read_transport(self, ported, rest, source, destination)
  header, data = fit(ip, protocol, header, data)
  return make(self, time, protocol, ip, {source, destination}, header, data)
end

--- The next packet. Nil if the line isn't one; the second result is true at the end.
function Reader:next()
  local line, problem
  repeat
    line, problem = self.lines:next()
  until line ~= "" and not (line or ""):find("^#")
  if not line then
    if problem then
      C.pg_note_failure()
      self.options.say("error", self.lines:landmark(), problem)
    end
    return nil, true
  end
  local p = build(self, line)
  if not p and not self.complained and line:find("%S") then
    self.complained = true
    self.options.say("error", self.lines:landmark(), "packet parse error")
  end
  return p, false
end

return Reader
