-- SPDX-License-Identifier: Apache-2.0
-- An endpoint of C's from the argument of an app: checked, with defaults.

local C = require("core.declare")("net/tcp/connection.h")
local conversations = require("apps.connect.conversations")
local failure = require("core.failure")
local ffi = require("ffi")
local packet = require("core.packet")
local ranges = require("apps.connect.ranges")
local addresses = require("net.address.address")

local setup = {}

local TICK_S = 2^20 / 1e9
local MOST_HOPS = 65536
local OWN_MAC = {[false] = "02:00:00:00:00:01", [true] = "02:00:00:00:00:02"}
local IP_AND_UDP = {[4] = 28, [6] = 48}
local LEAST_MTU = {[4] = 576, [6] = 1280} -- RFC 791, RFC 8200
local ETHERNET, TAG = 14, 4

--- An app's argument (core.app's `config`).
setup.FIELDS = {
  clients = {kind = "string"}, servers = {required = true, kind = "string"},
  client_ports = {}, server_ports = {},
  mac = {}, peer_mac = {}, gateway = {}, vlan = {}, mtu = {}, http = {}, udp = {},
  request = {}, response = {}, requests = {}, think = {}, life = {}, time_wait = {},
  timeout = {}, idle = {}, least_rto = {}, window = {}, limit = {}, rate = {},
  count = {}, held = {}, seed = {kind = "count"}, host = {}, template = {},
}

local DEFAULTS = {
  client_ports = "1024..65535", mtu = 1500, request = 100, response = 1000,
  requests = 1,
  think = 0, life = 0, time_wait = 0.2, timeout = 10, idle = 600, least_rto = 0.2,
  window = 65535, limit = 1000000,
}

-- What is a number: the least, the most, and what it is called.
local NUMBERS = {
  mtu = {576, 10226, "the MTU"}, request = {1, 2^30, "a request's size in bytes"},
  response = {1, 2^30, "a response's size in bytes"},
  requests = {0, 2^32 - 1, "the requests of a connection"},
  think = {0, 86400, "the think time in seconds"},
  life = {0, 86400, "the life time in seconds"},
  time_wait = {0, 240, "the time of TIME-WAIT in seconds"},
  timeout = {0.1, 3600, "the timeout in seconds"},
  idle = {1, 86400, "the idle time in seconds"},
  least_rto = {0.001, 60, "the least retransmission timeout in seconds"},
  window = {1024, 2^30 - 1, "the window in bytes"},
  limit = {1, 2^25, "the limit of connections"}, vlan = {1, 4094, "a VLAN's number"},
  rate = {0.001, 1e9, "the rate of new connections a second"},
  count = {1, 2^53, "the count of connections"},
}
local WHOLE = {mtu = true, request = true, response = true, requests = true,
               window = true, limit = true, vlan = true, count = true}

local function check_numbers(arg)
  for name, of in pairs(NUMBERS) do
    local value = arg[name]
    if value ~= nil and (type(value) ~= "number" or value < of[1] or value > of[2]
      or WHOLE[name] and value % 1 ~= 0) then
      failure.usage("%s is a %snumber from %.10g to %.10g, not %s", of[3],
        WHOLE[name] and "whole " or "", of[1], of[2], tostring(value))
    end
  end
end

local function ticks(seconds) return math.floor(seconds / TICK_S + 0.5) end

-- The request or the answer: what stands in front of the filling.
local function http_head(server, arg)
  if server then
    return ("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
      .. "Content-Length: %d\r\n\r\n"):format(arg.response)
  end
  return ("GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: perigee\r\n\r\n"):format(arg.http,
    arg.host or addresses.text(arg.servers.first))
end

local function set_messages(e, server, arg)
  local out, head = e.out, arg.http and http_head(server, arg) or ""
  if #head > ffi.sizeof(out.head) then
    failure.usage("a request's path and host have up to %d bytes, not %d",
      ffi.sizeof(out.head) - 80, #head - 80)
  end
  ffi.copy(out.head, head, #head)
  out.head_length = #head
  local filling = server and arg.response or not server and not arg.http and arg.request
  out.length = #head + (filling or 0)
  e.in_length = server and arg.request or arg.response
end

-- The Ethernet address, or the address, that all is sent to where one is said. A server
-- answers the address that asks, but takes no wrong ones.
local function next_hop(arg)
  local mac = arg.peer_mac
    and addresses.station(arg.peer_mac, "the peer's MAC address")
  local gateway, family = nil, nil
  if arg.gateway then gateway, family = addresses.ip(arg.gateway) end
  if arg.gateway and (not gateway or family ~= arg.servers.family) then
    failure.usage("the gateway %s isn't an IPv%d address", failure.shown(arg.gateway),
      arg.servers.family)
  end
  return mac, gateway
end

-- Addresses whose MAC addresses a client sends to, and where C has them.
local function set_hops(e, arg, mac, gateway)
  local targets = {}
  local several = not gateway and not mac
  local count = several and arg.servers.count or 1
  if count > MOST_HOPS then
    failure.usage("there are %d servers, and more than %d aren't asked for one by one: "
      .. "give a gateway, or their MAC address", count, MOST_HOPS)
  end
  local hops = ffi.new("struct tcp_hop[?]", count)
  e.hops, e.hop_count = hops, count
  if mac then
    ffi.copy(hops[0].mac, mac, 6)
    hops[0].known = 1
  elseif gateway then
    targets[1] = gateway
  else
    for i = 1, count do targets[i] = ranges.address(arg.servers, i - 1) end
  end
  return targets, hops
end

-- Those of a capture, and where C has them.
local function set_conversations(e, given)
  local list = type(given) == "table" and given or conversations.read(tostring(given))
  if not list.turns then
    failure.usage("a template is a file, or what apps.connect.conversations reads")
  end
  local of = ffi.new("struct tcp_conversation[?]", #list)
  local turns = ffi.new("struct tcp_turn[?]", list.turns)
  local at = 0
  for i, conversation in ipairs(list) do
    of[i - 1].first, of[i - 1].turns = at, #conversation
    for _, turn in ipairs(conversation) do
      turns[at].request, turns[at].response = turn.request, turn.response
      turns[at].think = ticks(turn.think)
      at = at + 1
    end
  end
  e.turns, e.conversations, e.conversation_count = turns, of, #list
  return {of, turns, n = #list, turns = list.turns}
end

local function parse(server, given)
  local arg = setmetatable({}, {__index = function (_, name)
    if given[name] ~= nil then return given[name] end
    return DEFAULTS[name]
  end})
  check_numbers(arg)
  arg.servers = ranges.addresses("the servers' addresses", given.servers)
  if not server and not given.clients then
    failure.usage("a client needs the addresses that it connects from")
  end
  arg.clients = given.clients and ranges.addresses("the clients' addresses",
    given.clients) or arg.servers
  arg.client_ports = ranges.ports("the clients' ports", arg.client_ports)
  arg.server_ports = ranges.ports("the servers' ports",
    arg.server_ports or server and "0..65535" or "80")
  if arg.clients.family ~= arg.servers.family then
    failure.usage("clients and servers are of one family: not IPv%d and IPv%d",
      arg.clients.family, arg.servers.family)
  elseif arg.mtu < LEAST_MTU[arg.servers.family] then
    failure.usage("IPv%d's MTU is at least %d, not %d", arg.servers.family,
      LEAST_MTU[arg.servers.family], arg.mtu)
  elseif arg.vlan and arg.mtu + ETHERNET + TAG > packet.max_payload then
    failure.usage("with a VLAN's tag the MTU is at most %d, not %d",
      packet.max_payload - ETHERNET - TAG, arg.mtu)
  elseif arg.http and arg.udp then
    failure.usage("HTTP/1.1 is spoken over TCP, not over UDP")
  elseif arg.template and (arg.http or arg.udp) then
    failure.usage("a capture gives messages of TCP: it doesn't go with %s",
      arg.http and "HTTP's" or "UDP")
  elseif arg.http and not tostring(arg.http):match("^/[^%s%c]*$") then
    failure.usage("the path '%s' doesn't begin with /, or has blanks in it", arg.http)
  elseif arg.host and not tostring(arg.host):match("^[^%s%c]+$") then
    failure.usage("the host '%s' is empty, or has blanks in it", arg.host)
  end
  return arg
end

local function fill(e, server, arg)
  e.server, e.http, e.udp = server, arg.http ~= nil, arg.udp == true
  e.held = arg.held == true
  e.vlan, e.mtu, e.window = arg.vlan or 0, arg.mtu, arg.window
  e.limit, e.requests = arg.limit, arg.requests
  e.think, e.life = ticks(arg.think), ticks(arg.life)
  e.time_wait, e.give_up = ticks(arg.time_wait), ticks(arg.timeout)
  e.idle, e.least_rto = ticks(arg.idle), 1e6 * arg.least_rto
  ffi.copy(e.mac, addresses.station(arg.mac or OWN_MAC[server], "the MAC address"), 6)
  ranges.fill(e.clients, arg.clients)
  ranges.fill(e.servers, arg.servers)
  ranges.fill(e.client_ports, arg.client_ports)
  ranges.fill(e.server_ports, arg.server_ports)
  e.tuples = 1ULL * arg.clients.count * arg.servers.count * arg.client_ports.count
    * arg.server_ports.count
end

--- The endpoint for an app's argument, as a table: endpoint (struct tcp_endpoint), own
--- (its addresses), targets (those whose MAC addresses it needs), rate, count, most
--- (the highest limit that its table has room for).
function setup.new(server, given)
  local arg = parse(server, given)
  local records = math.min(2 * arg.limit + 2^21, 2^26) -- with those in TIME-WAIT
  local e = C.pg_tcp_new(records, arg.seed or 0, C.pg_monotonic_ns())
  if e == nil then
    failure.raise("there is no memory for %d connections", arg.limit)
  end
  local s = {endpoint = ffi.gc(e, C.pg_tcp_free), rate = arg.rate, count = arg.count,
             most = records / 2,
             own = server and arg.servers or arg.clients, targets = {}}
  fill(e, server, arg)
  set_messages(e, server, arg)
  local mac, gateway = next_hop(arg)
  if not server then s.targets, s.hops = set_hops(e, arg, mac, gateway) end
  s.conversations = arg.template and set_conversations(e, arg.template)
  setup.check_sizes(e, arg)
  return s
end

--- Messages must fit where they can't be divided.
function setup.check_sizes(e, arg)
  if e.udp and e.out.length > arg.mtu - IP_AND_UDP[arg.servers.family] then
    failure.usage("a datagram of %d bytes doesn't fit into an MTU of %d", e.out.length,
      arg.mtu)
  end
end

return setup
