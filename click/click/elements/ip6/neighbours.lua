-- SPDX-License-Identifier: Apache-2.0
-- Neighbour Discovery (RFC 4861): IP6NDAdvertiser answers who asks for its addresses,
-- IP6NDSolicitor puts Ethernet headers before packets, and asks for the addresses that
-- it doesn't know.

local ether_type = require("net.wire.ether_type")
local ffi = require("ffi")
local C = require("core.declare")("net/route/route.h")
local arp = require("click.net.arp")
local arp_handlers = require("click.net.arp_handlers")
local cache = require("net.neighbor.cache")
local element = require("click.element")
local front = require("click.net.front")
local kept = require("net.neighbor.kept")
local nd = require("net.neighbor.nd")
local note = require("click.note")
local packet = require("core.packet")
local table6 = require("net.route.table6")
local text_of = require("click.language.text")
local types = require("click.arguments").types
local wire = require("click.net.wire")

local barrier = wire.barrier
local halves_t, words_t = ffi.typeof("uint16_t *"), ffi.typeof("int32_t *")
local MAC, NETWORK, TRANSPORT =
  note.MAC_HEADER, note.NETWORK_HEADER, note.TRANSPORT_HEADER
local TO, ADDRESS = note.DST_IP6, 16
local NOBODY = ("\0"):rep(6)
local HEADER, ICMP = 14, 54 -- offset of IPv6, and of its payload
local IP6 = wire.swap16(ether_type.IP6)

-- A message (net.neighbor.nd) with annotations.
local function annotate(p)
  note.clear(p)
  p.note16[MAC], p.note16[NETWORK] = p.data_off, p.data_off + HEADER
  p.note16[TRANSPORT] = p.data_off + ICMP
  return p
end

-- IP6NDAdvertiser ------------------------------------------------------------------

local IP6NDAdvertiser = element.define{
  name = "IP6NDAdvertiser", aliases = {"NDAdv"},
  division = "any",
  summary = "answers IPv6 neighbor solicitations",
  drops = {"no answer"},
}

-- The entries {address=, length=, eth=} of "IP6/MASK ... ETH"; or nil, and what is
-- wrong.
local function parse_entries(e, text, number)
  local list, eth = {}, nil
  for _, word in ipairs(text_of.words(text)) do
    local prefix = types.ip6_prefix(word, {bare = true}, e)
    local address = not prefix and types.eth(word, {}, e)
    if prefix then
      list[#list + 1] = prefix
    elseif not address then
      return nil, ("argument %d should be 'IP6/MASK ETHADDR'"):format(number)
    elseif eth then
      return nil, ("argument %d has more than one Ethernet address"):format(number)
    else
      eth = address
    end
  end
  if #list == 0 then
    return nil, ("argument %d had no IP6 address and masks"):format(number)
  end
  for _, prefix in ipairs(list) do prefix.eth = eth or NOBODY end
  return list
end

function IP6NDAdvertiser:configure_raw(texts)
  local all, failed = {}, false
  for i, text in ipairs(texts) do
    local list, problem = parse_entries(self, text, i - 1)
    if not list then
      self:error("%s", problem)
      failed = true
    end
    for _, entry in ipairs(list or {}) do table.insert(all, entry) end
  end
  if failed then return end
  self.list, self.table = all, table6.new(all)
  for _, entry in ipairs(all) do
    if arp.is_group(entry.eth) then
      self:warning("%s is a group's address, which nobody believes %s/%d to have",
        wire.eth_text(entry.eth), wire.ip6_text(entry.address), entry.length)
    end
  end
end

function IP6NDAdvertiser:process(p)
  local data = p.data
  local asked = nd.kind(data, p.length) == nd.SOLICITATION
    and nd.read(data, nd.SOLICITATION)
  if not asked then return nil, 1 end
  local i = C.pg_ip6_table_look_up(self.table, data + nd.TARGET)
  if i == 0 then return nil, 1 end
  local eth = self.list[i].eth
  local q = annotate(nd.advertisement(eth, data + nd.TARGET, data, nd.ROUTER))
  packet.free(p)
  return q
end

-- IP6NDSolicitor -------------------------------------------------------------------

local IP6NDSolicitor = element.define{
  name = "IP6NDSolicitor", emits = true,
  summary = "encapsulates IPv6 packets in Ethernet headers found via discovery",
  ports = "2/1-2", processing = "h/h", flow = "xy/x",
  arguments = {{"IP", "ip6", required = true}, {"ETH", "eth", required = true}},
  drops = {"too long", "not an answer"},
}
local LOOK_EVERY = 15 -- seconds
-- Milliseconds, as FastClick's: it is asked for again every 15 s after a minute. One
-- packet waits, the newest (RFC 4861, section 7.2.2).
local SETTINGS = {
  timeout = 120e3, reachable = 60e3, between = 15e3, entry_packets = 1, newest = true,
  changed = function (e)
    if e.mac then e.word, e.half = wire.word(e.mac), wire.half(e.mac, 4) end
  end,
}

function IP6NDSolicitor:configure(a)
  self.ip, self.eth = a.IP, a.ETH
  self.source_half, self.source_word = wire.half(a.ETH), wire.word(a.ETH, 2)
  self.cache, self.queries = cache.new(SETTINGS), 0
end

function IP6NDSolicitor:initialize()
  self.clock = arp_handlers.clock(self.router)
  local timer
  timer = self.router:timer(function ()
    self.cache:slim(self.clock())
    timer:after(LOOK_EVERY)
  end)
  timer:after(LOOK_EVERY)
end

function IP6NDSolicitor:cleanup()
  if self.cache then self.cache:clear() end
end

function IP6NDSolicitor:take_state(old)
  if self.ip ~= old.ip or self.eth ~= old.eth then return end
  self.cache, old.cache = old.cache, self.cache
end

--- For net.keep.
function IP6NDSolicitor:kept_state()
  return kept.item(self.cache, {of = self.name, now = self.clock, scale = 1})
end

local function send_query(self, ip)
  self.queries = self.queries + 1
  self.emit(self.noutputs, annotate(nd.solicitation(self.eth, self.ip, ip)))
end

local function encapsulate(self, p, word, half)
  if not front.open(p, HEADER) then return nil, 1 end
  local words, n, at = ffi.cast(words_t, p.data), p.note16, p.data_off
  local halves = ffi.cast(halves_t, words)
  words[0], halves[2], halves[3], words[2], halves[6] =
    word, half, self.source_half, self.source_word, IP6
  barrier()
  n[MAC], n[NETWORK] = at, at + HEADER
  return p
end

local function deliver(self, p)
  local list, now = self.cache, self.clock()
  local e = list:find_at(p.note8 + TO, ADDRESS)
  if e and now <= e.expires then
    list:use(e)
    if now - e.live_at >= list.reachable and list:poll(e, now) then
      send_query(self, e.ip)
    end
    local q, o = encapsulate(self, p, e.word, e.half)
    return q, o
  end
  local ip = ffi.string(p.note8 + TO, ADDRESS)
  list:append(ip, p, now)
  send_query(self, ip) -- with each packet, as FastClick
  return false
end

local function take_answer(self, p)
  local data = p.data
  local is_answer = nd.kind(data, p.length) == nd.ADVERTISEMENT
  local at = is_answer and nd.read(data, nd.ADVERTISEMENT)
  local e = at and self.cache:find_at(data + nd.TARGET, ADDRESS)
  if not e then return nil, 2 end
  local eth = ffi.string(data + at, 6)
  if e.known and e.mac ~= eth then
    self:say("IP6NDSolicitor overwriting an entry")
  end
  self.cache:insert(e.ip, eth, self.clock())
  packet.free(p)
  local waiting = self.cache:take(e)[1]
  if not waiting then return false end
  local q = encapsulate(self, waiting, e.word, e.half)
  if q then return q end
  packet.free(waiting)
  return false
end

function IP6NDSolicitor:process(p, i)
  if i == 2 then
    local q, o = take_answer(self, p)
    return q, o
  end
  local q, o = deliver(self, p)
  return q, o
end

IP6NDSolicitor.handlers = {
  table = {read = function (e)
    local lines = {}
    for entry in e.cache:each() do
      lines[#lines + 1] = ("%s %d %s\n"):format(wire.ip6_text(entry.ip),
        entry.known and 1 or 0, wire.eth_text(entry.mac or NOBODY))
    end
    table.sort(lines)
    return table.concat(lines)
  end},
  stats = {read = function (e)
    return ("%d packets killed\n%d ND Solicitation Message sent\n"):format(
      e.cache.drops, e.queries)
  end},
}

return {IP6NDAdvertiser, IP6NDSolicitor}
