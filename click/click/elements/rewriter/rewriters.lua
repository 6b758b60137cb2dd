-- SPDX-License-Identifier: Apache-2.0
-- Network address translation: elements that rewrite addresses and ports of flows, each
-- flow always alike, and of the replies to it.

local arguments = require("click.arguments")
local base = require("click.rewriter.base")
local C = require("core.declare")("native/flows.h")
local FlowSet = require("click.rewriter.flow_set")
local text_of = require("click.language.text")

local GUARANTEE = 5                            -- seconds: defaults
local TIMEOUT = 5 * 60
local ADDRESS_TIMEOUT = 2 * 60 * 60
local TCP_TIMEOUT, TCP_DONE_TIMEOUT = 24 * 60 * 60, 4 * 60
local TCP = 6

local function any() return true end

-- TCP -------------------------------------------------------------------------------

local TCP_TIMES = {
  {"TCP_NODATA_TIMEOUT", "of TCP flows without data, default 300"},
  {"TCP_GUARANTEE", "GUARANTEE of TCP flows, default 5"},
  {"TCP_TIMEOUT", "of TCP flows with data, default 86400"},
  {"TCP_DONE_TIMEOUT", "of TCP flows that have ended, default 240"},
}
local UDP_TIMES = {
  {"UDP_TIMEOUT", "of UDP flows, default 300"},
  {"UDP_STREAMING_TIMEOUT", "of UDP flows with packets both ways, default UDP_TIMEOUT"},
  {"UDP_GUARANTEE", "GUARANTEE of UDP flows, default 5"},
}

local function tcp_kind(self, set, a)
  return set:kind(C.REWRITE_TCP, a.GUARANTEE or a.TCP_GUARANTEE or GUARANTEE, {
    a.TCP_NODATA_TIMEOUT or TIMEOUT, a.TCP_TIMEOUT or a.TIMEOUT or TCP_TIMEOUT,
    a.TCP_DONE_TIMEOUT or TCP_DONE_TIMEOUT,
  }, self.counts)
end

-- "SADDR SPORT DADDR DPORT" of a TCP flow: what it becomes, in that form.
local LOOKUP_ARGUMENTS = {
  {"SADDR", "ip", required = true}, {"SPORT", "ip_port", required = true},
  {"DADDR", "ip", required = true}, {"DPORT", "ip_port", required = true},
}

local function lookup(self, text)
  local problem
  local a = arguments.parse(LOOKUP_ARGUMENTS, text_of.words(text), {
    error = function (_, format, ...) problem = format:format(...) end,
    router = self.router, name = self.name,
  })
  if not a then return nil, problem end
  local key = FlowSet.key(a.SADDR, a.SPORT, a.DADDR, a.DPORT)
  local number = self:find_flow(TCP, key)
  if not number then return "" end
  local source, sport, destination, dport = FlowSet.parts(self.set:rewritten(number))
  return ("%s %d %s %d"):format(FlowSet.address_text(source), sport,
    FlowSet.address_text(destination), dport)
end

local LOOKUP = {read = lookup, param = true}

local TCPRewriter = base.define{
  name = "TCPRewriter", summary = "rewrites TCP packets' addresses, ports, and numbers",
  how = C.REWRITE_TCP, accepts = any, times = TCP_TIMES, rewrites_tcp = true,
  handlers = base.handlers{
    table = base.table_handler("tcp"), mappings = base.table_handler("tcp"),
    lookup = LOOKUP,
  },
  make_kinds = function (self, set, r, a) r.tcp = tcp_kind(self, set, a) end,
}

-- UDP, and all that has ports -------------------------------------------------------

local UDPRewriter = base.define{
  name = "UDPRewriter", summary = "rewrites TCP/UDP packets' addresses and ports",
  how = C.REWRITE_PORTS, accepts = any,
  times = {{"STREAMING_TIMEOUT", "UDP_STREAMING_TIMEOUT, and goes first"},
           unpack(UDP_TIMES)},
  handlers = base.handlers{
    table = base.table_handler("other"), mappings = base.table_handler("other"),
  },
  make_kinds = function (self, set, r, a)
    local timeout = a.TIMEOUT or a.UDP_TIMEOUT or TIMEOUT
    local streaming = a.STREAMING_TIMEOUT or a.UDP_STREAMING_TIMEOUT or timeout
    r.other = set:kind(C.REWRITE_PORTS, a.GUARANTEE or a.UDP_GUARANTEE or GUARANTEE,
      {timeout, streaming}, self.counts)
  end,
}

local IPRewriter = base.define{
  name = "IPRewriter", summary = "rewrites TCP/UDP packets' addresses and ports",
  how = C.REWRITE_PORTS, accepts = any, rewrites_tcp = true,
  times = {UDP_TIMES[1], UDP_TIMES[2], UDP_TIMES[3], unpack(TCP_TIMES)},
  handlers = base.handlers{
    tcp_table = base.table_handler("tcp"), tcp_mappings = base.table_handler("tcp"),
    udp_table = base.table_handler("other"), udp_mappings = base.table_handler("other"),
    tcp_lookup = LOOKUP,
  },
  make_kinds = function (self, set, r, a)
    r.tcp = tcp_kind(self, set, a)
    local timeout = a.UDP_TIMEOUT or TIMEOUT
    r.other = set:kind(C.REWRITE_PORTS, a.UDP_GUARANTEE or GUARANTEE,
      {timeout, a.UDP_STREAMING_TIMEOUT or timeout}, self.counts)
  end,
}

-- Addresses -------------------------------------------------------------------------

local function make_other(timeout)
  return function (self, set, r, a)
    r.other = set:kind(self.class.how, a.GUARANTEE or GUARANTEE, {a.TIMEOUT or timeout},
      self.counts)
  end
end


local function table_handlers()
  return base.handlers{
    table = base.table_handler("other"), mappings = base.table_handler("other"),
  }
end

local IPAddrRewriter = base.define{
  name = "IPAddrRewriter", summary = "rewrites IP packets' addresses",
  how = C.REWRITE_SOURCE, any_protocol = true, handlers = table_handlers(),
  division = "none",
  undivided = "a flow is all packets of one address, whomever they are for",
  accepts = function (key)
    return key.sport == 0 and key.dport == 0 and key.destination == 0
  end,
  make_kinds = make_other(ADDRESS_TIMEOUT),
}

local IPAddrPairRewriter = base.define{
  name = "IPAddrPairRewriter", summary = "rewrites IP packets' addresses by pairs",
  how = C.REWRITE_ADDRESSES, any_protocol = true, handlers = table_handlers(),
  division = "pairs",
  accepts = function (key) return key.sport == 0 and key.dport == 0 end,
  make_kinds = make_other(ADDRESS_TIMEOUT),
}

-- Pings -----------------------------------------------------------------------------

local ICMPPingRewriter = base.define{
  name = "ICMPPingRewriter", summary = "rewrites ICMP echo requests and replies",
  how = C.REWRITE_PING, accepts = any, division = "within", handlers = table_handlers(),
  make_kinds = make_other(TIMEOUT),
}

return {IPRewriter, TCPRewriter, UDPRewriter, IPAddrRewriter, IPAddrPairRewriter,
        ICMPPingRewriter}
