-- SPDX-License-Identifier: Apache-2.0
-- CheetahStateless sends TCP connections to servers, and keeps nothing of them: each
-- packet's timestamp says which server it is for (click.flow.cookie).

local bit = require("bit")
local ffi = require("ffi")

local balancer = require("click.flow.balancer")
local C = require("core.declare")("native/flow_ends.h")
local cookie = require("click.flow.cookie")
local element = require("click.element")
local note = require("click.note")
local tcp_flag = require("net.wire.tcp_flag")
local wire = require("click.net.wire")

local band, bxor = bit.band, bit.bxor
local read_ends, set_address = C.pg_flow_ends, C.pg_flow_set_address
local read_stamp, write_stamp, cookie_of = cookie.read, cookie.write, cookie.of
local SYN, RST, DST_IP, TCP = tcp_flag.SYN, tcp_flag.RST, note.DST_IP, 6
local NOT_TCP, NO_STAMP, NO_SERVER, UNKNOWN_SERVER = 1, 2, 3, 4
local KEPT = 0.6 -- of loads, when RESET_TIME is over
local stamp_type = ffi.typeof("struct click_tcp_timestamp")
-- The upper halves of a server's clock: the two that it had last, and which is newer.
local clocks_type = ffi.typeof("struct { uint32_t upper[2]; uint32_t version; }[?]")

local function flag(name, default)
  return {name, "bool", default = default, keyword = true}
end

local CheetahStateless = element.define{
  name = "CheetahStateless", ports = "2/2", processing = "h/h", flow = "#/#",
  summary = "sends TCP connections to servers by cookies in timestamps",
  division = "any",
  drops = {"no TCP over IPv4", "no timestamp", "no server of that cookie",
    "from an unknown server"}, lengthens = 0,
  reads = {"NETWORK_HEADER", "TRANSPORT_HEADER", "AGGREGATE"},
  arguments = balancer.arguments{
    {"BUCKETS", "unsigned", default = 256, min = 1, max = cookie.NUMBERS},
    {"VIP", "ip", required = true},
    {"DST", "ip", required = true, list = true, each = true, keyword = true},
    flag("HASH", false), flag("FIX_TS_ECR", false), flag("SET_TS_VAL", true),
    flag("FIX_IP", true), {"VERBOSE", "int", default = 0, keyword = true},
    {"RESET_TIME", "int", default = -1, keyword = true},
    {"HW", "element", keyword = true},
  },
  handlers = balancer.handlers,
  notes = [[
Clients' packets come to input 0, servers' to input 1. A SYN gets a server. With
SET_TS_VAL servers' packets get its number into the upper half of their TSval, which the
client sends back; with FIX_TS_ECR, too, the server gets its own upper half again, else
the cookie is in the SYN's TSecr, and servers put it into TSval themselves. FIX_IP:
servers' packets come from VIP. HASH: the cookie is hidden by a hash of the client's
address and the ports. BUCKETS, a power of two, is how many servers there can be.
Servers' clocks must not differ by connection (Linux: net.ipv4.tcp_timestamps=2), and
all segments need timestamps; a client's RST has none, and is dropped. RESET_TIME
seconds: loads sink to 0.6 of what they were. ]] .. balancer.notes,
  differs = "HASH is a hash of addresses and ports, not the aggregate annotation. HW "
    .. "changes nothing: servers are known by their addresses. Any order of TCP's "
    .. "options is understood. Checksums follow.",
}

--- Why there can't be copies, if so (program.click.copies).
function CheetahStateless.divided(e)
  return e.restores and "with FIX_TS_ECR, what a server's clock says has to be known "
    .. "where its clients' packets go" or nil
end

function CheetahStateless:configure(a)
  if band(a.BUCKETS, a.BUCKETS - 1) ~= 0 then
    return self:error("BUCKETS: %d is no power of two", a.BUCKETS)
  elseif #a.DST > a.BUCKETS then
    return self:error("%d servers are more than BUCKETS, %d", #a.DST, a.BUCKETS)
  elseif not balancer.configure_ip(self, a) then
    return
  end
  self.buckets, self.hides, self.restores = a.BUCKETS, a.HASH, a.FIX_TS_ECR
  self.sets, self.changes_source, self.verbose = a.SET_TS_VAL, a.FIX_IP, a.VERBOSE
  self.reset_time = a.RESET_TIME
  self.stamp, self.clocks, self.server_of = stamp_type(), clocks_type(#a.DST), {}
  for i = 0, #a.DST - 1 do self.server_of[self.addresses[i]] = i end
end

local function fade(self)
  for i = 0, self.servers - 1 do
    local load = self.loads[i]
    load.connections = math.floor(load.connections * KEPT)
    load.packets = math.floor(load.packets * KEPT)
    load.bytes = math.floor(load.bytes * KEPT)
  end
end

function CheetahStateless:initialize()
  balancer.start(self)
  if self.reset_time <= 0 then return end
  local timer
  timer = self.router:timer(function ()
    fade(self)
    timer:after(self.reset_time)
  end)
  timer:after(self.reset_time)
end

-- The cookie that stands for the server in packets of the connection, or back.
local function hidden(self, number, from_server)
  if not self.hides then return number end
  return bxor(number, cookie.hash(self.tuple, from_server))
end

-- A SYN has come: its server. Where servers answer with the cookie, they get it.
local function begin(self, p)
  local server = self.choose(self, p, self.tuple)
  if self.verbose > 1 then self:say("New connection with bucket %d", server) end
  if not self.restores then
    self.stamp.echo = cookie.put(0, hidden(self, server, false), 0)
    write_stamp(p, self.stamp)
  end
  return server
end

-- The server that the packet's cookie stands for, or nil.
local function go_on(self, p)
  local stamp = self.stamp
  local number, version = cookie_of(stamp.echo)
  number = hidden(self, number, false) % self.buckets
  if number >= self.servers then return nil end
  if self.restores then
    stamp.echo = cookie.with_upper(stamp.echo, self.clocks[number].upper[version])
    write_stamp(p, stamp)
  end
  return number
end

local function from_client(self, p)
  local ends = self.tuple
  if not read_ends(p, ends) or ends.protocol ~= TCP then return nil, NOT_TCP end
  if not read_stamp(p, self.stamp) then
    if self.verbose > 0 then self:say("From client: no timestamp, dropped") end
    return nil, NO_STAMP
  end
  local flags = ends.tcp_flags
  local is_new = band(flags, SYN) ~= 0
  local server = (is_new and begin or go_on)(self, p)
  if not server then return nil, NO_SERVER end
  local address = self.addresses[server]
  set_address(p, true, address)
  p.note32[DST_IP] = address
  if self.tracks then balancer.track(self, p, server, flags) end
  return p, 1
end

-- The cookie of the server into the packet's TSval, in the place of its upper half.
local function set_cookie(self, p, server)
  local stamp, version = self.stamp, 0
  if self.restores then
    local clocks, upper = self.clocks[server], cookie.upper(stamp.value) % 2 ^ 32
    version = clocks.version
    if clocks.upper[version] ~= upper then
      version = 1 - version
      clocks.upper[version], clocks.version = upper, version
    end
  end
  stamp.value = cookie.put(stamp.value, hidden(self, server, true), version)
  write_stamp(p, stamp)
end

local function from_server(self, p)
  local ends = self.tuple
  if not read_ends(p, ends) or ends.protocol ~= TCP then return nil, NOT_TCP end
  if self.sets and band(ends.tcp_flags, RST) == 0 then
    local server = self.server_of[ends.source]
    if not server then
      if self.verbose > 0 then
        self:say("unknown source IP %s: are the inputs the wrong way round?",
          wire.word_text(ends.source))
      end
      return nil, UNKNOWN_SERVER
    end
    if not read_stamp(p, self.stamp) then return nil, NO_STAMP end
    set_cookie(self, p, server)
  end
  if self.changes_source then set_address(p, false, self.own_address) end
  return p, 2
end

function CheetahStateless:make_process()
  return function (_, p, i)
    if i == 1 then return from_client(self, p) end
    return from_server(self, p)
  end
end

return {CheetahStateless}
