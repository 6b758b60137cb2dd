-- SPDX-License-Identifier: Apache-2.0
-- What the elements ARPTable and ARPQuerier share: both have an `arp_table`, a cache
-- (net.neighbor.cache) whose times are milliseconds, and IPv4 addresses words
-- (click.net.wire).

local arguments = require("click.arguments")
local arp_copies = require("click.net.arp_copies")
local cache = require("net.neighbor.cache")
local engine = require("core.app")
local kept = require("net.neighbor.kept")
local text_of = require("click.language.text")
local wire = require("click.net.wire")

local arp_handlers = {}

local BROADCAST = ("\255"):rep(6)
local SETTINGS = {
  timeout = 300e3, capacity = 2048, between = 100, early = 10, later = 2000,
  changed = function (e)
    local eth = e.mac or BROADCAST
    e.word, e.half = wire.word(eth), wire.half(eth, 4)
  end,
}

--- The settings of a table, with what they are if nothing is said; 0 is no limit.
arp_handlers.arguments = {
  {"CAPACITY", "unsigned", keyword = true},
  {"ENTRY_CAPACITY", "unsigned", keyword = true},
  {"ENTRY_PACKET_CAPACITY", "unsigned", keyword = true},
  {"CAPACITY_SLIM_FACTOR", "unsigned", keyword = true},
  {"TIMEOUT", "seconds", keyword = true},
}

--- Give the element what the parsed arguments say: a table, if it has none.
function arp_handlers.configure(e, a)
  local list = e.arp_table or cache.new(SETTINGS)
  e.arp_table, e.clock = list, e.clock or arp_handlers.clock(e.router)
  list.capacity = a.CAPACITY or list.capacity
  list:set_entry_capacity(a.ENTRY_CAPACITY or list.entry_capacity)
  list.entry_packets = a.ENTRY_PACKET_CAPACITY or list.entry_packets
  list.slim_factor = a.CAPACITY_SLIM_FACTOR or list.slim_factor
  if a.TIMEOUT then
    list.timeout = math.floor(a.TIMEOUT * 1000)
    for entry in list:each() do list:date(entry, entry.live_at) end
  end
end

--- A clock for tables: milliseconds; as of this breath's beginning, if time is real.
function arp_handlers.clock(router)
  if router.clock and router.clock.simulated then
    return function () return math.floor(router:steady() * 1000) end
  end
  return function () return engine.now() * 1000 end
end

-- Seconds to the first look for what has expired, nil if nothing does; the others come
-- after a second more.
local function first_look(list)
  return list.timeout ~= 0 and math.floor(list.timeout / 1000) or nil
end

--- Look for what has expired from time to time.
function arp_handlers.age(e)
  local after = first_look(e.arp_table)
  if not after then return end
  local timer
  timer = e.router:timer(function ()
    e.arp_table:slim(e.clock())
    timer:after((first_look(e.arp_table) or 60) + 1)
  end)
  timer:after(after)
end

--- Give the new element the old one's table, with the new one's settings.
function arp_handlers.swap(new, old) new.arp_table:swap(old.arp_table) end

--- For net.keep: what the element's own table knows.
function arp_handlers.kept_state(e)
  return kept.item(e.arp_table, {of = e.name, now = e.clock, scale = 1})
end

local INSERT = {{"IP", "ip", required = true}, {"ETH", "eth", required = true}}
local DELETE = {{"IP", "ip", required = true}}

-- Parse the words of a handler's text; the values, or nil and what is wrong.
local function parse(e, specs, text)
  local problems = {}
  local reporter = setmetatable({error = function (_, fmt, ...)
    problems[#problems + 1] = fmt:format(...)
  end}, {__index = e})
  local values = arguments.parse(specs, text_of.words(text), reporter)
  return values, table.concat(problems, "\n")
end

-- All stations' address says that none is known.
local function known(eth) return eth ~= BROADCAST and eth or nil end

local function insert(e, text)
  local a, problem = parse(e, INSERT, text)
  if not a then return problem end
  e.arp_table:insert(wire.word_of(a.IP), known(a.ETH), e.clock())
end

local function delete(e, text)
  local a, problem = parse(e, DELETE, text)
  if not a then return problem end
  e.arp_table:insert(wire.word_of(a.IP), nil, e.clock())
end

local function number(field, join)
  return {join = join, read = function (e) return ("%d"):format(e.arp_table[field]) end}
end

local function seconds_text(ms) return ("%.6f"):format(ms / 1000) end

-- A line for each entry: address, whether it is known, Ethernet address, age.
local function table_text(e)
  local now, lines = e.clock(), {}
  for _, entry in ipairs(e.arp_table:by_age()) do
    lines[#lines + 1] = ("%s %d %s %s\n"):format(wire.word_text(entry.ip),
      now <= entry.expires and 1 or 0, wire.eth_text(entry.mac or BROADCAST),
      seconds_text(now - entry.live_at))
  end
  return table.concat(lines)
end

--- Handlers about the table.
function arp_handlers.of_table()
  return {
    table = {read = table_text, join = arp_copies.join_tables},
    count = number("count", "most"), length = number("length"),
    insert = {write = insert}, delete = {write = delete},
    clear = {write = function (e) e.arp_table:clear() end},
  }
end

return arp_handlers
