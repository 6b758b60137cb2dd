-- SPDX-License-Identifier: Apache-2.0
-- Which server a new flow goes to, as FastClick's load balancers choose it, and what
-- they know of servers' loads. Servers are numbered from 0.

local bit = require("bit")
local ffi = require("ffi")

local chance = require("click.chance")
local note = require("click.note")
local wire = require("click.net.wire")

local balancer = {}

local C = require("core.declare")("native/flow_ends.h")
require("click.flow.areas") -- struct click_load
local tcp_flag = require("net.wire.tcp_flag")

local crc = C.pg_flow_crc
local band, bor, bxor, rol, rshift, lshift = bit.band, bit.bor, bit.bxor, bit.rol,
  bit.rshift, bit.lshift
local swap16, AGGREGATE = wire.swap16, note.AGGREGATE
local FIN, SYN, RST = tcp_flag.FIN, tcp_flag.SYN, tcp_flag.RST
local ADDRESSES, ENDS = 8, 12 -- bytes of a frame from 26 on: IPv4 behind Ethernet
local FRAME_AT = 26
local PLACES = 100 -- of a server on the ring
local MOST_WEIGHT, LEAST_WEIGHT = 30, 2
local HIGH_LOAD, LOW_LOAD = 80, 40

local MODES = {
  {"LB_MODE", "word", default = "rr", keyword = true},
  {"LST_MODE", "word", default = "conn", keyword = true},
  {"AWRR_TIME", "unsigned", default = 100, min = 1, keyword = true},
  {"AUTOSCALE", "bool", default = false, keyword = true},
  {"FORCE_TRACK_LOAD", "bool", default = false, keyword = true},
  {"NSERVER", "unsigned", default = 0, keyword = true},
  {"CST_BUCKETS", "unsigned", min = 1, max = 2 ^ 20, keyword = true},
  {"AWRR_ALPHA", "real", default = 0, keyword = true},
}

--- A class's arguments: those of the list, then how servers are chosen.
function balancer.arguments(list)
  for _, more in ipairs(MODES) do list[#list + 1] = more end
  return list
end

balancer.notes = [[
LB_MODE says which server a new flow gets: rr (the next), wrr and awrr (the next, by
weights, which awrr takes from loads every AWRR_TIME ms), hash (by addresses and ports),
hash_crc (by these and the protocol, with CRC32c), hash_ip, chash and table (by bytes of
a frame's addresses; and ports), hash_agg and cst_hash_agg (by the aggregate annotation;
the latter on a ring of CST_BUCKETS slots), least (the least loaded), pow2 (the less
loaded of two at random). LST_MODE says what load is: conn (TCP connections, from a SYN
to a FIN or RST, or their flow's end), packets, bytes, or cpu, which is written to the
handler load (0:50,1:70). NSERVER: how many servers are in use at first (0: all); others
are when add_server is written or, with AUTOSCALE, the mean of cpu is above 80.]]

local METRICS = {
  conn = "connections", packets = "packets", bytes = "bytes", cpu = "cpu",
}
local BY_LOAD = {pow2 = true, least = true, wrr = true, awrr = true, table = true}

-- Choosing ---------------------------------------------------------------------------

local choose = {}

local function in_turn(self, list)
  local at = self.turn < #list and self.turn or 0
  self.turn = (at + 1) % #list
  return list[at + 1]
end

function choose.rr(self) return in_turn(self, self.active) end
function choose.wrr(self) return in_turn(self, self.weighted) end
choose.awrr = choose.wrr

-- A number of 32 bits, folded, as an index into the list.
local function folded(list, n)
  return list[bxor(rshift(n, 16), band(n, 0xffff)) % #list + 1]
end

--- FastClick's hash of a flow's addresses and ports (IPFlowID::hashcode), 32 bits.
function balancer.flow_hash(ends)
  local s, d = swap16(ends.sport), swap16(ends.dport)
  local h = bxor(rol(ends.source, s % 16 + 1), rol(ends.destination, 31 - d % 16))
  return bxor(h, bor(lshift(d, 16), s))
end

function choose.hash(self, _, ends)
  return folded(self.active, balancer.flow_hash(ends))
end

function choose.hash_crc(self, _, ends) return folded(self.active, crc(ends)) end
function choose.hash_agg(self, p) return folded(self.active, p.note32[AGGREGATE]) end
function choose.cst_hash_agg(self, p) return folded(self.ring, p.note32[AGGREGATE]) end

-- The sum of n bytes of the frame, from 0 to `most` - 1.
local function sum_of_bytes(p, n, most)
  if p.length < FRAME_AT + n then return 0 end
  local sum = 0
  for i = FRAME_AT, FRAME_AT + n - 1 do sum = sum + p.data[i] end
  if most == 2 or most == 4 or most == 8 then
    return band(bxor(sum, rshift(sum, 4)), most - 1)
  end
  return sum % most
end

function choose.hash_ip(self, p)
  return self.active[sum_of_bytes(p, ADDRESSES, #self.active) + 1]
end
function choose.chash(self, p)
  return self.active[sum_of_bytes(p, ENDS, #self.active) + 1]
end
function choose.table(self, p)
  return self.weighted[sum_of_bytes(p, ENDS, #self.weighted) + 1]
end

local function load_of(self, server) return self.loads[server][self.metric] end

function choose.least(self)
  local best = self.active[1]
  for _, server in ipairs(self.active) do
    local load, least = load_of(self, server), load_of(self, best)
    if load < least or load == least and server < best then best = server end
  end
  return best
end

local function any(list) return list[chance.number(#list - 1) + 1] end

function choose.pow2(self)
  local a, b = any(self.active), any(self.active)
  return load_of(self, a) > load_of(self, b) and b or a
end

-- Servers ----------------------------------------------------------------------------

-- Cantor's number of a pair.
local function pair(a, b) return (a + b) * (a + b + 1) / 2 + b end

-- Each active server's places; a place without one is that of the server before.
local function make_ring(self)
  local ring, n = {}, self.places
  for j = 0, math.floor((n - 1) / #self.active) do
    for _, server in ipairs(self.active) do ring[pair(server, j) % n + 1] = server end
  end
  local last = self.active[1]
  for i = 1, n do
    ring[i] = ring[i] or last
    last = ring[i]
  end
  self.ring = ring
end

local function servers_changed(self)
  if self.mode == "cst_hash_agg" then make_ring(self) end
end

local function add_server(self)
  local server = table.remove(self.spares, 1)
  if not server then return self:say("No server to add!") end
  table.insert(self.active, chance.number(#self.active - 1) + 1, server)
  servers_changed(self)
end

local function remove_server(self)
  if #self.active < 2 then return self:say("No server to remove!") end
  local at = chance.number(#self.active - 1) + 1
  table.insert(self.spares, table.remove(self.active, at))
  servers_changed(self)
end

-- Weights by load: ten for the mean, 2 to 30.
local function weigh(self)
  local total = 0
  for i = 0, self.servers - 1 do total = total + load_of(self, i) end
  local mean, list = math.floor(total / self.servers), {}
  for i = 0, self.servers - 1 do
    local load = load_of(self, i)
    local weight = load == 0 and MOST_WEIGHT
      or 10 * mean / ((1 - self.alpha) * load + self.alpha * mean)
    weight = math.max(LEAST_WEIGHT, math.min(MOST_WEIGHT, weight))
    for _ = 1, math.floor(weight) do
      table.insert(list, chance.number(#list) + 1, i)
    end
  end
  self.weighted = list
end

--- Read the arguments of that element for so many servers; false: one is wrong.
function balancer.configure(self, a, servers)
  if not choose[a.LB_MODE] then
    self:error("LB_MODE: '%s' is none of rr, wrr, awrr, hash, hash_crc, hash_ip, "
      .. "chash, table, hash_agg, cst_hash_agg, least and pow2", a.LB_MODE)
    return false
  elseif not METRICS[a.LST_MODE] then
    self:error("LST_MODE: '%s' is none of conn, packets, bytes and cpu", a.LST_MODE)
    return false
  elseif a.NSERVER > servers then
    self:error("NSERVER: %d of %d servers", a.NSERVER, servers)
    return false
  end
  self.tuple = ffi.new("struct click_flow_ends")
  self.servers, self.mode, self.metric = servers, a.LB_MODE, METRICS[a.LST_MODE]
  self.alpha, self.interval = a.AWRR_ALPHA, a.AWRR_TIME / 1000
  self.scales = a.AUTOSCALE
  self.tracks = a.FORCE_TRACK_LOAD or BY_LOAD[a.LB_MODE] and a.LST_MODE ~= "cpu"
  self.turn, self.places = 0, a.CST_BUCKETS or PLACES * servers
  self.loads = ffi.new("struct click_load[?]", servers)
  self.active, self.spares, self.weighted = {}, {}, {}
  local used = a.NSERVER > 0 and a.NSERVER or a.AUTOSCALE and 1 or servers
  for i = 0, servers - 1 do
    table.insert(i < used and self.active or self.spares, i)
    self.weighted[i + 1] = i
  end
  servers_changed(self)
  self.choose = choose[a.LB_MODE]
  return true
end

--- The same of one that gives packets the addresses of DST; its own is VIP, if there is
--- one.
function balancer.configure_ip(self, a)
  if not balancer.configure(self, a, #a.DST) then return false end
  self.own_address = a.VIP and wire.number_of(a.VIP)
  self.addresses = ffi.new("uint32_t[?]", #a.DST)
  for i, address in ipairs(a.DST) do self.addresses[i - 1] = wire.number_of(address) end
  return true
end

--- Let weights follow loads, where they do.
function balancer.start(self)
  if self.mode ~= "awrr" then return end
  local timer
  timer = self.router:timer(function ()
    weigh(self)
    timer:after(self.interval)
  end)
  timer:after(self.interval)
end

-- A connection begins (open: 1) or ends (0). Of a flow, `area.open` says whether it
-- counts already.
local function set_open(load, open, area)
  if area and area.open == open then return end
  if area then area.open = open end
  load.connections = math.max(load.connections + 2 * open - 1, 0)
end

--- A packet with these flags of TCP goes to the server. `area`: of its flow, if it is
--- known; its field `open` is 0 at first.
function balancer.track(self, p, server, flags, area)
  local load = self.loads[server]
  if band(flags, SYN) ~= 0 then
    set_open(load, 1, area)
  elseif band(flags, FIN + RST) ~= 0 then
    set_open(load, 0, area)
  end
  load.packets, load.bytes = load.packets + 1, load.bytes + p.length
end

--- The flow with this area goes to the server no more.
function balancer.leave(self, server, area) set_open(self.loads[server], 0, area) end

--- It has come from another copy: its connection counts here from now on.
function balancer.arrive(self, server, area)
  if area.open == 0 then return end
  local load = self.loads[server]
  load.connections = load.connections + 1
end

-- Handlers ---------------------------------------------------------------------------

local function loads_handler(what)
  return {read = function (self)
    local list = {}
    for i = 0, self.servers - 1 do list[i + 1] = ("%d"):format(self.loads[i][what]) end
    return table.concat(list, " ")
  end}
end

local function load_number(self, text)
  local i = tonumber(text)
  return i and i % 1 == 0 and i >= 0 and i < self.servers and self.loads[i] or nil
end

local function read_load(self, text)
  if text == "" then return loads_handler("cpu").read(self) end
  local load = load_number(self, text)
  return load and load.cpu or "unknown"
end

-- The load is over 80 or below 40, on average: one server more, or less.
local function scale(self)
  local total = 0
  for _, server in ipairs(self.active) do total = total + self.loads[server].cpu end
  local mean = total / #self.active
  if mean > HIGH_LOAD and #self.spares > 0 then
    add_server(self)
  elseif mean < LOW_LOAD and #self.active > 1 then
    remove_server(self)
  end
end

-- "SERVER:LOAD,...", all of it or nothing.
local function write_loads(self, text, set)
  local list = {}
  for word in text:gmatch("[^,%s]+") do
    local server, load = word:match("^(%d+):(%d+)$")
    if not server then return ("'%s' isn't SERVER:LOAD"):format(word) end
    local found = load_number(self, server)
    if not found then return ("Invalid server id %d"):format(tonumber(server)) end
    list[#list + 1] = {found, tonumber(load)}
  end
  for _, entry in ipairs(list) do set(entry[1], entry[2]) end
  if self.scales then scale(self) end
end

balancer.handlers = {
  load = {
    read = read_load, param = true,
    write = function (self, text)
      return write_loads(self, text, function (load, n) load.cpu = n end)
    end,
  },
  load_raw = {write = function (self, text)
    return write_loads(self, text, function (load, n)
      load.cpu, load.raw = n - load.raw, n
    end)
  end},
  nb_active_servers = {join = "first", read = function (self) return #self.active end},
  nb_total_servers = {join = "first", read = function (self) return self.servers end},
  load_conn = loads_handler("connections"), load_packets = loads_handler("packets"),
  load_bytes = loads_handler("bytes"),
  add_server = {write = add_server}, remove_server = {write = remove_server},
}

return balancer
