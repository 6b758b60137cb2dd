-- SPDX-License-Identifier: Apache-2.0
-- Answers to ARP requests (RFC 826).

local bit = require("bit")
local ffi = require("ffi")
local C = require("core.declare")("native/ip.h")
local arp = require("click.net.arp")
local arguments = require("click.arguments")
local element = require("click.element")
local note = require("click.note")
local packet = require("core.packet")
local standby = require("core.outside.standby")
local text_of = require("click.language.text")
local wire = require("click.net.wire")

local types = arguments.types
local words_t = ffi.typeof("uint32_t *")
local table_t = ffi.typeof("struct ip4_neighbours[?]")
local TCI = note.VLAN_TCI
local ALL, ONE_ADDRESS = ("\255"):rep(6), 2 ^ 32 - 1

-- The table: entries {address=, mask=, eth=}, the more special first -----------------

-- The entries of "IP/MASK IP/MASK ETH" appended to the list; or what is wrong.
local function add_entries(list, text, e)
  local words, prefixes, eth = text_of.words(text), {}, nil
  for _, word in ipairs(words) do
    local prefix = types.ip_prefix(word, {bare = true}, e)
    local address = not prefix and types.eth(word, {}, e)
    if prefix then
      prefixes[#prefixes + 1] = prefix
    elseif not address then
      return "expected IP/MASK ETH"
    elseif eth then
      return "more than one ETH"
    else
      eth = address
    end
  end
  -- One word may stand for both.
  for _, word in ipairs(words) do eth = eth or types.eth(word, {}, e) end
  if #prefixes == 0 then return "missing IP/MASK" end
  if not eth then return "missing ETH" end
  for _, prefix in ipairs(prefixes) do
    list[#list + 1] = {address = bit.band(prefix.address, prefix.mask) % 2 ^ 32,
                       mask = prefix.mask, eth = eth}
  end
end

local function same(a, b) return a.address == b.address and a.mask == b.mask end

-- Is all that `b` covers covered by `a`?
local function covers(a, b)
  return bit.band(b.address, a.mask) % 2 ^ 32 == a.address
end

-- Of entries for the same prefix, only the last; more special ones before those that
-- cover them; otherwise in order. `warn(entry)` is told what is left out.
local function normalized(list, warn)
  local kept = {}
  for i, entry in ipairs(list) do
    local again
    for j = i + 1, #list do again = again or same(entry, list[j]) end
    if not again then
      local place = #kept + 1
      for k, other in ipairs(kept) do
        if covers(other, entry) and k < place then place = k end
      end
      table.insert(kept, place, entry)
    elseif warn then
      warn(entry)
    end
  end
  return kept
end

-- ARPResponder ---------------------------------------------------------------------

local ARPResponder = element.define{
  name = "ARPResponder", live = true, ports = "1/1-2", processing = "a/ah",
  division = "any", emits = true,
  summary = "generates responses to ARP queries", context = {{"arp", "20/0001"}},
  drops = {"no answer"},
}

local function use(e, list)
  local entries = table_t(math.max(#list, 1))
  for i, entry in ipairs(list) do
    local to = entries[i - 1]
    to.prefix, to.mask = wire.word_of(entry.address), wire.word_of(entry.mask)
    ffi.copy(to.eth, entry.eth, 6)
  end
  e.list, e.entries, e.n = list, entries, #list
end

function ARPResponder:configure_raw(texts)
  local list, failed = {}, false
  for i, text in ipairs(texts) do
    local problem = add_entries(list, text, self)
    if problem then
      self:error("argument %d: %s", i - 1, problem)
      failed = true
    end
  end
  if failed then return end
  for _, entry in ipairs(list) do
    if arp.is_group(entry.eth) then
      self:warning("%s is a group's address, which nobody believes %s to have",
        wire.eth_text(entry.eth), wire.prefix_text(entry.address, entry.mask))
    end
  end
  use(self, normalized(list, function (entry)
    self:warning("multiple entries for %s", wire.prefix_text(entry.address, entry.mask))
  end))
end

-- Say to all where the addresses are now (RFC 5227, section 3: an announcement).
local function announce(self)
  for _, entry in ipairs(self.list) do
    if entry.mask == ONE_ADDRESS and not arp.is_group(entry.eth) then
      local p, word = packet.allocate(), wire.word_of(entry.address)
      note.clear(p)
      arp.request(p, entry.eth, word, word, ALL)
      self.emit(1, p)
    end
  end
end

function ARPResponder:initialize()
  if not self:is_pushing() then return end
  standby.at_takeover(function ()
    self.router:timer(function () announce(self) end):after(0)
  end)
end

function ARPResponder:process(p)
  if arp.operation(p.data, p.length) == arp.REQUEST then
    local target = ffi.cast(words_t, p.data + arp.TARGET_IP)[0]
    local i = C.pg_ip4_neighbours_find(self.entries, self.n, target)
    if i >= 0 then
      local tci = p.note16[TCI]
      note.clear(p)
      p.note16[TCI] = tci
      arp.answer(p, self.entries[i].eth)
      return p
    end
  end
  if self.noutputs == 2 then return p, 2 end
  return nil, 1
end

local function table_text(e)
  local lines = {}
  for i, entry in ipairs(e.list) do
    lines[i] = ("%s %s\n"):format(wire.prefix_text(entry.address, entry.mask),
      wire.eth_text(entry.eth))
  end
  return table.concat(lines)
end

local function look_up(e, text)
  local address = types.ip(text, {}, e)
  if not address then return nil, "expected IP address" end
  local i = C.pg_ip4_neighbours_find(e.entries, e.n, wire.word_of(address))
  return i >= 0 and wire.eth_text(e.entries[i].eth) or ""
end

local function add(e, text)
  local list = {}
  for i, entry in ipairs(e.list) do list[i] = entry end
  local problem = add_entries(list, text, e)
  if problem then return problem end
  use(e, normalized(list))
end

local function remove(e, text)
  local prefix = types.ip_prefix(text, {bare = true}, e)
  if not prefix then return "expected IP/MASK" end
  local wanted = {address = bit.band(prefix.address, prefix.mask) % 2 ^ 32,
                  mask = prefix.mask}
  local list, found = {}, false
  for _, entry in ipairs(e.list) do
    if not found and same(entry, wanted) then found = true
    else list[#list + 1] = entry end
  end
  if not found then
    return wire.prefix_text(wanted.address, wanted.mask) .. " not found"
  end
  use(e, list)
end

ARPResponder.handlers = {
  table = {read = table_text}, lookup = {read = look_up, param = true},
  add = {write = add}, remove = {write = remove},
}

return {ARPResponder}
