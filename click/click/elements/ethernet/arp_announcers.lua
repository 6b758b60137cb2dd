-- SPDX-License-Identifier: Apache-2.0
-- ARP replies that nobody asked for, again and again: ARPFaker sends one, ARPAdvertiser
-- those of a table.

local arguments = require("click.arguments")
local arp = require("click.net.arp")
local element = require("click.element")
local note = require("click.note")
local packet = require("core.packet")
local wire = require("click.net.wire")

local FIRST_AFTER, EVERY = 1, 10 -- seconds

-- Send what the entry says: to DSTIP, DSTETH that SRCIP is at SRCETH.
local function send(self, entry)
  local p = packet.allocate()
  note.clear(p)
  arp.reply(p, entry.SRCETH, wire.word_of(entry.SRCIP), entry.DSTETH,
    wire.word_of(entry.DSTIP))
  self.emit(1, p)
end

local function begin(self)
  local timer
  timer = self.router:timer(function ()
    for _, entry in ipairs(self.entries) do send(self, entry) end
    timer:after(EVERY)
  end)
  timer:after(FIRST_AFTER)
end

-- ARPFaker -------------------------------------------------------------------------

local NEEDED = {
  {"DSTIP", "ip", required = true}, {"DSTETH", "eth", required = true},
  {"SRCIP", "ip", required = true}, {"SRCETH", "eth", required = true},
}

local ARPFaker = element.define{
  name = "ARPFaker", ports = "0/1", processing = "/h", emits = true,
  summary = "periodically generates fake ARP responses", arguments = NEEDED,
}

function ARPFaker:configure(a) self.entries = {a} end
ARPFaker.initialize = begin

-- ARPAdvertiser --------------------------------------------------------------------

local MOST_ENTRIES = 4096

local ARPAdvertiser = element.define{
  name = "ARPAdvertiser", ports = "0/1", processing = "/h", emits = true,
  summary = "periodically sends ARP replies for the addresses of a table",
  arguments = {
    {"DSTIP", "ip"}, {"DSTETH", "eth"}, {"SRCIP", "ip"}, {"SRCETH", "eth"},
    {"CAPACITY", "unsigned", default = 10, keyword = true},
  },
  notes = "`insert` and `delete` take DSTIP DSTETH SRCIP SRCETH: to whom, and which "
    .. "address is where. The table grows to 4,096 entries.",
}

function ARPAdvertiser:configure(a)
  if a.CAPACITY == 0 then
    return self:error("ARP table capacity must be a positive integer")
  end
  self.capacity, self.entries = a.CAPACITY, {}
  local given = 0
  for _, spec in ipairs(NEEDED) do given = given + (a[spec[1]] and 1 or 0) end
  if given == #NEEDED then
    self.entries[1] = a
  elseif given > 0 then
    self:error("an entry needs DSTIP, DSTETH, SRCIP and SRCETH")
  end
end

ARPAdvertiser.initialize = begin

-- The entry that the text says, or nil.
local function entry_of(self, text)
  local entry, i = {}, 0
  for word in text:gmatch("%S+") do
    i = i + 1
    local spec = NEEDED[i]
    local value = spec and arguments.value(word, {spec[1], spec[2]}, self)
    if value == nil or value == false then return nil end
    entry[spec[1]] = value
  end
  return i == #NEEDED and entry or nil
end

local function find(self, entry)
  for i, one in ipairs(self.entries) do
    local same = true
    for _, spec in ipairs(NEEDED) do same = same and one[spec[1]] == entry[spec[1]] end
    if same then return i end
  end
end

local function changing(change)
  return {write = function (self, text)
    local entry = entry_of(self, text)
    if not entry then
      return "ARP table requires 4 space-separated arguments: DSTIP DSTETH SRCIP SRCETH"
    end
    return change(self, entry, text)
  end}
end

local function insert(self, entry, text)
  if find(self, entry) then return ("Already present ARP entry: %s"):format(text) end
  if #self.entries >= MOST_ENTRIES then
    return ("the ARP table is full: it has %d entries"):format(MOST_ENTRIES)
  end
  self.entries[#self.entries + 1] = entry
  self.capacity = math.max(self.capacity, #self.entries)
end

local function delete(self, entry, text)
  local i = find(self, entry)
  if not i then return ("Cannot find ARP entry: %s"):format(text) end
  table.remove(self.entries, i)
end

local LINE = "[Dst IP %17s, Dst MAC %17s] --> [Adv IP %17s, Adv MAC %17s]\n"

local function colons(mac) return (wire.eth_text(mac):gsub("-", ":")) end

ARPAdvertiser.handlers = {
  insert = changing(insert), delete = changing(delete),
  clear = element.command(function (self) self.entries = {} end),
  capacity = element.data("capacity"),
  count = {read = function (self) return ("%d"):format(#self.entries) end},
  table = {read = function (self)
    local lines = {}
    for i, one in ipairs(self.entries) do
      lines[i] = LINE:format(wire.ip_text(one.DSTIP), colons(one.DSTETH),
        wire.ip_text(one.SRCIP), colons(one.SRCETH))
    end
    return table.concat(lines)
  end},
}

return {ARPFaker, ARPAdvertiser}
