-- SPDX-License-Identifier: Apache-2.0
-- ARPQuerier: puts Ethernet headers before IP packets, for the address in their
-- annotation; asks for those that aren't known (RFC 826), and keeps packets meanwhile.
-- The second input takes the answers.

local bit = require("bit")
local ether_type = require("net.wire.ether_type")
local ffi = require("ffi")
local arguments = require("click.arguments")
local arp = require("click.net.arp")
local arp_handlers = require("click.net.arp_handlers")
local arp_copies = require("click.net.arp_copies")
local cache = require("net.neighbor.cache")
local element = require("click.element")
local front = require("click.net.front")
local note = require("click.note")
local packet = require("core.packet")
local wire = require("click.net.wire")

local band, bor, tobit = bit.band, bit.bor, bit.tobit
local open = front.open
local words_t, halves_t = ffi.typeof("int32_t *"), ffi.typeof("uint16_t *")
local MAC, NETWORK, DST_IP = note.MAC_HEADER, note.NETWORK_HEADER, note.DST_IP
local TCI, TIMESTAMP = note.VLAN_TCI, note.TIMESTAMP
local HEADER = 14
local IP4 = wire.swap16(ether_type.IP4)
local ALL = ("\255"):rep(6)
local ALL_WORD, ALL_HALF, LIMITED_BROADCAST = -1, 0xffff, -1
local KNOWN, FULL, ASK = cache.KNOWN, cache.FULL, cache.ASK

local ARPQuerier = element.define{
  name = "ARPQuerier", live = true, emits = true,
  keeps_packets = true,
  division = "any", -- copies tell each other what is answered
  ports = "2/1-2", processing = "h/h", flow = "xy/x",
  context = {{"ip"}, {"arp", "20/0002"}},
  summary = "encapsulates IP packets in Ethernet headers found via ARP",
  drops = {"no room", "no address", "too long"},
}
local NO_ROOM, NO_ADDRESS, TOO_LONG = 1, 2, 3

-- Configuration --------------------------------------------------------------------

local KEYWORDS = {
  {"BROADCAST", "ip", keyword = true}, {"TABLE", "element", keyword = true},
  {"POLL_TIMEOUT", "seconds", default = 60, keyword = true},
  {"BROADCAST_POLL", "bool", default = false, keyword = true},
  {"CACHE", "bool", default = false, keyword = true},
}
for _, spec in ipairs(arp_handlers.arguments) do table.insert(KEYWORDS, spec) end

local POSITIONS = {
  {"IP", "ip_prefix", bare = true, required = true}, {"ETH", "eth", required = true},
}
ARPQuerier.arguments = {unpack(POSITIONS)}
for _, spec in ipairs(KEYWORDS) do table.insert(ARPQuerier.arguments, spec) end

local function parse(self, texts)
  local reader, a = arguments.reader(texts, self), {}
  for _, spec in ipairs(KEYWORDS) do a[spec[1]] = reader:read(spec) end
  local rest = reader:rest()
  if #rest == 1 then rest[2] = rest[1] end -- a name for both
  local positions = arguments.parse(POSITIONS, rest, self)
  if not (positions and reader.ok) then return nil end
  a.IP, a.ETH = positions.IP, positions.ETH
  return a
end

local function set_address(self, a)
  self.ip, self.eth = wire.word_of(a.IP.address), a.ETH
  self.source_half, self.source_word = wire.half(a.ETH), wire.word(a.ETH, 2)
  local broadcast = a.BROADCAST
  if not broadcast then
    broadcast = bor(a.IP.address, bit.bnot(a.IP.mask)) % 2 ^ 32
    if broadcast == a.IP.address then broadcast = 2 ^ 32 - 1 end
  end
  self.broadcast = wire.word_of(broadcast)
end

function ARPQuerier:configure_raw(texts)
  local a = parse(self, texts)
  if not a then return end
  if a.CAPACITY_SLIM_FACTOR == 0 then
    return self:error("CAPACITY_SLIM_FACTOR cannot be zero")
  end
  if a.TABLE and not a.TABLE.class.has_arp_table then
    return self:error("TABLE: element type mismatch, expected ARPTable")
  end
  local before, before_eth = self.ip, self.eth
  set_address(self, a)
  self.poll = a.POLL_TIMEOUT == 0 and math.huge or math.floor(a.POLL_TIMEOUT * 1000)
  self.broadcast_poll = a.BROADCAST_POLL
  if not self.queries then self.queries, self.responses, self.drops_here = 0, 0, 0 end
  self.shared = self.shared or a.TABLE
  if self.shared then return end
  arp_handlers.configure(self, a)
  if before and (before ~= self.ip or before_eth ~= self.eth) then
    self.arp_table:clear()
  end
end
ARPQuerier.has_arp_table = true -- it may be shared, too

function ARPQuerier:initialize()
  if self.shared then
    self.arp_table, self.clock = self.shared.arp_table, self.shared.clock
  else
    arp_handlers.age(self)
  end
  arp_copies.join(self)
end

function ARPQuerier:cleanup()
  arp_copies.leave(self)
  if not self.shared and self.arp_table then self.arp_table:clear() end
end

function ARPQuerier:take_state(old)
  if self.ip ~= old.ip or self.eth ~= old.eth or self.broadcast ~= old.broadcast then
    return
  end
  if not (self.shared or old.shared) then arp_handlers.swap(self, old) end
  self.queries, self.responses, self.drops_here =
    old.queries, old.responses, old.drops_here
end

--- For net.keep: an ARPTable keeps its own.
function ARPQuerier:kept_state()
  return not self.shared and arp_handlers.kept_state(self) or nil
end

-- Packets --------------------------------------------------------------------------

local function encapsulate(p, word, half, source_half, source_word)
  if not open(p, HEADER) then return false end
  local words, n, at = ffi.cast(words_t, p.data), p.note16, p.data_off
  local halves = ffi.cast(halves_t, words)
  words[0], halves[2], halves[3], words[2], halves[6] =
    word, half, source_half, source_word, IP4
  n[MAC], n[NETWORK] = at, at + HEADER
  return true
end

-- Ask for the address that the packet is to go to.
local function send_query(self, p, ip, to)
  if self.news and not arp_copies.may_ask(self, ip) then return end
  local q = packet.allocate()
  note.clear(q)
  q.note64[TIMESTAMP], q.note16[TCI] = p.note64[TIMESTAMP], p.note16[TCI]
  arp.request(q, self.eth, self.ip, ip, to)
  self.queries = self.queries + 1
  self.emit(self.noutputs, q)
end

local function lose(self, reason)
  self.drops_here = self.drops_here + 1
  return nil, reason
end

local function sent_to(self, p, word, half)
  if not encapsulate(p, word, half, self.source_half, self.source_word) then
    return lose(self, TOO_LONG)
  end
  return p
end

local function missing_address(self)
  if not self.warned then
    self.warned = true
    self:remark("would query for 0.0.0.0; missing dest IP addr annotation?")
  end
  return lose(self, NO_ADDRESS)
end

-- The Ethernet address of a multicast group (RFC 1112, section 6.4): its words.
local function group(ip)
  local number = wire.word_of(ip)
  local word = wire.word_of(bor(0x01005e00, band(bit.rshift(number, 16), 0x7f)))
  return word, wire.swap16(number)
end

local function is_group(ip)
  return band(wire.word_of(ip), 0xf0000000) == tobit(0xe0000000)
end

-- For what isn't just known: what process() returns.
local function deliver(self, p, ip)
  if self.ip == 0 then return lose(self, NO_ADDRESS) end
  local list = self.arp_table
  local now, e = self.clock(), list:find(ip)
  if e and now <= e.expires then
    list:use(e)
    if now >= e.live_at + self.poll and list:poll(e, now) then
      send_query(self, p, ip, self.broadcast_poll and ALL or e.mac)
    end
    return sent_to(self, p, e.word, e.half)
  elseif ip == LIMITED_BROADCAST or ip == self.broadcast then
    return sent_to(self, p, ALL_WORD, ALL_HALF)
  elseif is_group(ip) then
    return sent_to(self, p, group(ip))
  elseif ip == 0 then
    return missing_address(self)
  end
  local what = list:append(ip, p, now)
  if self.news then arp_copies.wait(self) end
  if what == KNOWN then return deliver(self, p, ip) end
  if what == FULL then return nil, NO_ROOM end
  if what == ASK then send_query(self, p, ip, ALL) end
  return false
end

-- Send packets that have waited.
local function send_waiting(self, packets)
  for i = 1, #packets do
    local p = packets[i]
    local q = deliver(self, p, tobit(p.note32[DST_IP]))
    if q then self.emit(1, q) elseif q == nil then packet.free(p) end
  end
end

-- The address is at `eth`, as this copy has heard or another.
local function learn(self, ip, eth)
  local list = self.arp_table
  send_waiting(self, list:take(list:insert(ip, eth, self.clock())))
end

--- Learn what other copies have heard.
function ARPQuerier:hear() arp_copies.hear(self, learn) end

--- Packets that a copy is to send by what others have heard.
function ARPQuerier:backlog()
  return self.news and self.news:waits() and self.arp_table.length or 0
end

local function take_answer(self, p)
  if p.length >= arp.FRAME then
    self.responses = self.responses + 1
    local data = p.data
    if arp.operation(data, p.length) == arp.REPLY then
      local ip = ffi.cast(words_t, data + arp.SENDER_IP)[0]
      local eth = ffi.string(data + arp.SENDER_MAC, 6)
      learn(self, ip, eth)
      if self.news then arp_copies.tell(self, ip, eth) end
    end
  end
  packet.free(p)
end

-- What a copy does for each packet, beside `process`.
local function in_copies(self, process)
  local news = self.news
  return function (e, p, i)
    if news:waits() then self:hear() end
    local q, o = process(e, p, i)
    return q, o
  end
end

function ARPQuerier:make_process()
  local half, word, poll = self.source_half, self.source_word, self.poll
  local function process(_, p, i)
    if i == 2 then
      take_answer(self, p)
      return false
    end
    local ip = tobit(p.note32[DST_IP])
    local e = self.arp_table:find(ip)
    if e and e.in_use then
      local now = self.clock()
      if now <= e.expires and now < e.live_at + poll
        and encapsulate(p, e.word, e.half, half, word) then
        return p
      end
    end
    local q, o = deliver(self, p, ip)
    return q, o
  end
  return self.news and in_copies(self, process) or process
end

-- Handlers -------------------------------------------------------------------------

ARPQuerier.handlers = arp_handlers.of_table()
local handlers = ARPQuerier.handlers

local function number(field)
  return {read = function (e) return ("%d"):format(e[field]) end}
end

local function address(field)
  return {
    read = function (e) return wire.word_text(e[field]) end,
    write = function (e, text)
      local value = arguments.types.ip(text, {}, e)
      if not value then return "expected IP address" end
      e[field] = wire.word_of(value)
    end,
  }
end

handlers.queries, handlers.responses = number("queries"), number("responses")
handlers.drops = number("drops_here")
handlers.ipaddr, handlers.broadcast = address("ip"), address("broadcast")
handlers.ipaddr.join, handlers.broadcast.join = "first", "first"
handlers.stats = {join = arp_copies.sum_lines, read = function (e)
  return ("%d packets killed\n%d ARP queries sent\n"):format(
    e.drops_here + e.arp_table.drops, e.queries)
end}
handlers.clear = {write = function (e)
  e.queries, e.responses, e.drops_here = 0, 0, 0
  e.arp_table:clear()
end}

return {ARPQuerier}
