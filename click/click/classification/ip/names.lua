-- SPDX-License-Identifier: Apache-2.0
-- What the words of IP patterns stand for: kinds of primitives, protocols, services,
-- TCP flags and types of ICMP messages. Numbers are IANA's; /etc/protocols and
-- /etc/services add further names, and elements such as PortInfo add theirs.

local arguments = require("click.arguments")
local fields = require("click.classification.ip.fields")

local names = {}

--- Protocol numbers that aren't IANA's: TCP or UDP, and whatever is there.
names.TCP_OR_UDP, names.ANY = 256, 258
names.ICMP, names.TCP, names.UDP, names.DCCP = 1, 6, 17, 33

local KINDS = {
  host = "host", net = "net", proto = "proto", port = "port", opt = "tcpopt",
  frag = "frag", unfrag = "unfrag", ect = "ect", ce = "ce",
}
local SYNTAX = {src = true, dst = true, dest = true, ip = true, ether = true,
                ["not"] = true}

local PROTOCOLS = {
  icmp = 1, igmp = 2, ipip = 4, tcp = 6, udp = 17, dccp = 33, gre = 47, sctp = 132,
  payload = 259, tcpudp = names.TCP_OR_UDP, transp = names.ANY,
}

local PORTS = {
  echo = 7, discard = 9, daytime = 13, chargen = 19, ["ftp-data"] = 20, ftp = 21,
  ssh = 22, telnet = 23, smtp = 25, dns = 53, domain = 53, bootps = 67, bootpc = 68,
  tftp = 69, finger = 79, www = 80, pop3 = 110, sunrpc = 111, auth = 113, nntp = 119,
  ntp = 123, ["netbios-ns"] = 137, ["netbios-dgm"] = 138, ["netbios-ssn"] = 139,
  snmp = 161, ["snmp-trap"] = 162, irc = 194, imap3 = 220, https = 443, rip = 520,
  route = 520, imaps = 993, pop3s = 995, pptp = 1723,
}

local TCP_FLAGS = {fin = 1, syn = 2, rst = 4, psh = 8, ack = 16, urg = 32}

local ICMP_TYPES = {
  ["echo-reply"] = 0, unreachable = 3, sourcequench = 4, redirect = 5, echo = 8,
  routeradvert = 9, routersolicit = 10, timeexceeded = 11, parameterproblem = 12,
  timestamp = 13, ["timestamp-reply"] = 14, inforeq = 15, ["inforeq-reply"] = 16,
  maskreq = 17, ["maskreq-reply"] = 18,
}

local ICMP_CODES = { -- by type
  [3] = {[0] = "net", "host", "protocol", "port", "needfrag", "srcroutefail",
    "netunknown", "hostunknown", "isolated", "netprohibited", "hostprohibited",
    "tosnet", "toshost", "filterprohibited", "hostprecedence", "precedencecutoff"},
  [5] = {[0] = "net", "host", "tosnet", "toshost"},
  [11] = {[0] = "transit", "reassembly"},
  [12] = {[0] = "erroratptr", "missingopt", "length"},
}

--- The type of ICMP messages of that name, or nil.
function names.icmp_number(word) return ICMP_TYPES[word] end

--- The name of a type of ICMP messages, or nil.
function names.icmp_type(number)
  for name, n in pairs(ICMP_TYPES) do
    if n == number then return name end
  end
end

--- The name of a code that ICMP messages of a type have, or nil; and the other way.
function names.icmp_code(kind, code)
  return ICMP_CODES[kind] and ICMP_CODES[kind][code]
end

function names.icmp_code_number(kind, word)
  for code, name in pairs(ICMP_CODES[kind] or {}) do
    if name == word then return code end
  end
end

--- The name of a protocol that isn't only in /etc/protocols, or nil.
function names.protocol_name(number)
  for name, n in pairs(PROTOCOLS) do
    if n == number then return name end
  end
end

local system_protocols

local function read_protocols()
  system_protocols = {}
  local file = io.open("/etc/protocols")
  if not file then return end
  for line in file:lines() do
    local name, number, aliases = line:gsub("#.*", ""):match("^(%S+)%s+(%d+)%s*(.*)$")
    for word in ((name or "") .. " " .. (aliases or "")):gmatch("%S+") do
      system_protocols[word] = system_protocols[word] or tonumber(number)
    end
  end
  file:close()
end

--- The number of a protocol, or nil.
function names.protocol(word)
  if PROTOCOLS[word] then return PROTOCOLS[word] end
  if not system_protocols then read_protocols() end
  return system_protocols[word]
end

local function port(word, transport, element)
  if PORTS[word] then return PORTS[word] end
  return (arguments.types.ip_port(word, {protocol = transport}, element))
end

-- What the word may be: a list of {type, value, protocols it needs}.
local function meanings(word, element)
  local list = {}
  if tonumber(word) or word:find("^[%d.:/]*$") then return list end
  local function add(kind, value, ...)
    if value then list[#list + 1] = {kind = kind, value = value, protocols = {...}} end
  end
  add("proto", names.protocol(word))
  add("port", port(word, "tcp", element), names.TCP, names.TCP_OR_UDP)
  add("port", port(word, "udp", element), names.UDP, names.TCP_OR_UDP)
  add("tcpopt", TCP_FLAGS[word], names.TCP, names.TCP_OR_UDP)
  add(fields.ICMP_TYPE, ICMP_TYPES[word], names.ICMP)
  return list
end

local function fits(meaning, kind, transport)
  if kind and meaning.kind ~= kind then return false end
  if not transport or not meaning.protocols[1] then return true end
  for _, p in ipairs(meaning.protocols) do
    if p == transport then return true end
  end
  return false
end

-- Those that fit, and TCP's and UDP's port only once if they are the same.
local function fitting(list, kind, transport)
  local found = {}
  for _, m in ipairs(list) do
    local last = found[#found]
    local again = last and last.kind == "port" and m.kind == "port"
      and last.value == m.value
    if fits(m, kind, transport) and not again then found[#found + 1] = m end
  end
  return found
end

local function phrase(kind, transport, word)
  local parts = {}
  if kind then parts[1] = fields.kind_text(kind) end
  if transport then parts[#parts + 1] = fields.protocol_text(transport) end
  parts[#parts + 1] = word
  return table.concat(parts, " ")
end

--- The kind of primitive that the word names (a string, or a field of
--- click.classification.ip.fields); nil if it names none, or is syntax.
function names.kind(word) return KINDS[word] or fields.named[word] end

--- What a word means where a `kind` (nil: any) and a transport protocol (nil: any) are
--- given: its kind and its value. Nil if it means nothing; false if that isn't clear or
--- can't be, and what to say.
function names.find(word, kind, transport, element)
  if not kind and (SYNTAX[word] or names.kind(word)) then return nil end
  local list = meanings(word, element)
  if not list[1] then return nil end
  local found = fitting(list, kind, transport)
  if #found == 1 then return found[1].kind, found[1].value end
  local options = {}
  for i, m in ipairs(list) do
    options[i] = "'" .. phrase(m.kind, transport, word) .. "'"
  end
  return false, ("'%s' is %s; try %s"):format(phrase(kind, transport, word),
    found[1] and "ambiguous" or "meaningless", table.concat(options, ", "))
end

return names
