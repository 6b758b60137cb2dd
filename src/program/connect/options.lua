-- SPDX-License-Identifier: Apache-2.0
-- The command line of connect.

local cli = require("lib.cli")
local failure = require("core.failure")
local plot_file = require("lib.picture.plot_file")

local M = {}

local function parser()
  local p = cli.parser("connect",
    "Open TCP connections from many addresses, or serve them, and say what became of"
    .. " each: with --http, requests of HTTP/1.1; else messages of sizes that both"
    .. " sides are configured with.")
  p:argument("side", "client, server, or both: a client and a server in this process,"
             .. " joined by themselves or through two ports.")
    :choices{"client", "server", "both"}
  p:argument("ports", "The port of the client, and that of the server."):args("*")
  p:option("--clients", "The clients' addresses: LOW..HIGH, a prefix or one.")
    :argname("RANGE")
  p:option("--servers", "The servers' addresses."):argname("RANGE")
  p:option("--client-ports", "Ports to connect from (default 1024..65535).")
    :argname("PORTS")
  p:option("--server-ports", "Ports to connect to (default 80), or to serve (default:"
           .. " any)."):argname("PORTS")
  p:option("--gateway", "Send all to this next hop, which is asked for its Ethernet"
           .. " address (default: each server is asked)."):argname("ADDRESS")
  p:option("--peer-mac", "Send all to this Ethernet address, and ask for none.")
    :argname("MAC")
  p:option("--mac", "The own Ethernet address (default: the port's)."):argname("MAC")
  p:option("--vlan", "Send and take frames with this VLAN's tag (1 to 4094).")
    :argname("ID"):convert(cli.integer(1, 4094))
  p:option("--mtu", "The longest IP packet (default 1500).")
    :argname("BYTES"):convert(cli.integer(576, 10226))
  p:option("--http", "Speak HTTP/1.1; a client asks for PATH (a server answers any).")
    :argname("PATH")
  p:option("--host", "Whom a client asks for with --http (default: the first server's"
           .. " address)."):argname("NAME")
  p:flag("--udp", "Exchange UDP datagrams, one each way a request; a server answers"
         .. " each, and keeps nothing.")
  p:option("--request", "Bytes of a request, without --http (default 100).")
    :argname("BYTES"):convert(cli.bytes)
  p:option("--response", "Bytes of an answer (default 1000); what a server of --http"
           .. " sends behind its head."):argname("BYTES"):convert(cli.bytes)
  p:option("--template", "Take the sizes of requests and answers, and the times"
           .. " between them, from the TCP conversations of a capture file (both sides:"
           .. " the same one)."):argname("FILE")
  p:option("--requests", "Requests of a connection (default 1).")
    :argname("N"):convert(cli.count)
  p:option("--think", "Time between an answer and the next request (default 0).")
    :argname("TIME"):convert(cli.duration)
  p:option("--life", "Keep a connection open for so long, if its requests are answered"
           .. " before (default 0)."):argname("TIME"):convert(cli.duration)
  p:option("--rate", "New connections a second (default: as fast as possible).")
    :argname("N"):convert(cli.count)
  p:option("--concurrent", "The most connections that are open at once (default 1000;"
           .. " a server: 1000000)."):argname("N"):convert(cli.count)
  cli.count_option(p, "Open N connections (a server: end when N have ended).")
    :convert(cli.count)
  cli.duration_option(p, "Open connections (a server: serve) for this time.")
  p:option("--drain", "Then wait for those that are open, for this time at most"
           .. " (default 10s); what is open still is aborted."):argname("TIME")
    :convert(cli.duration)
  p:option("--timeout", "Give a connection up if nothing is acknowledged, or answered,"
           .. " for this time (default 10s)."):argname("TIME"):convert(cli.duration)
  p:option("--idle", "A server ends a connection on which nothing comes for so long"
           .. " (default 10m)."):argname("TIME"):convert(cli.duration)
  p:option("--time-wait", "Keep a closed connection's addresses from being used again"
           .. " for so long (default 200ms)."):argname("TIME"):convert(cli.duration)
  p:option("--least-rto", "The shortest retransmission timeout (default 200ms).")
    :argname("TIME"):convert(cli.duration)
  p:option("--window", "Bytes that the peer may send ahead (default 65535).")
    :argname("BYTES"):convert(cli.bytes)
  cli.json_option(p)
  plot_file.option(p, "connections over time, and how long they waited")
  return p
end

local PORTS = {client = {1, 1}, server = {1, 1}, both = {0, 2}}

local function check(options)
  local of, n = PORTS[options.side], #options.ports
  if n < of[1] or n > of[2] or options.side == "both" and n == 1 then
    failure.usage("connect %s takes %s, not %d", options.side,
      options.side == "both" and "two ports or none" or "one port", n)
  elseif not options.servers then
    failure.usage("connect %s needs --servers RANGE: the addresses %s", options.side,
      options.side == "client" and "to connect to" or "that are served")
  elseif not options.clients and options.side ~= "server" then
    failure.usage("connect %s needs --clients RANGE: the addresses to connect from",
      options.side)
  elseif options.rate == 0 or options.count == 0 or options.concurrent == 0 then
    failure.usage("--rate, --count and --concurrent are at least 1")
  elseif options.gateway and options.peer_mac then
    failure.usage("--gateway finds an Ethernet address, and --peer-mac gives it: one "
      .. "of them is enough")
  end
end

--- The parsed command line (an array of strings): a table as argparse makes it.
function M.parse(args)
  local options = cli.parse(parser(), args)
  check(options)
  return options
end

return M
