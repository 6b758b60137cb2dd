-- SPDX-License-Identifier: Apache-2.0
-- Elements that keep some wireless frames out: those that were sent, or came damaged
-- (FilterTX, FilterPhyErr, FilterFailures), and those that came before
-- (WifiDupeFilter).

local bit = require("bit")
local element = require("click.element")
local arp = require("click.net.arp")
local shared = require("click.net.wifi_elements")
local wifi = require("click.net.wifi")

local band = bit.band

-- By flags --------------------------------------------------------------------------

local function define_filter(name, summary, ports, reason, is_meant)
  local class = element.define{
    name = name, summary = summary, ports = ports, processing = "a/ah",
    division = "any", reads = {"WIFI_EXTRA"}, drops = {reason},
    handlers = {drops = element.data("dropped")},
  }

  function class:configure() self.dropped = 0 end

  function class:process(p)
    if not is_meant(p) then return p end
    self.dropped = self.dropped + 1
    if self.noutputs >= 2 then return p, 2 end
    return nil, 1
  end

  return class
end

local FilterTX = define_filter("FilterTX", "takes out what says that it was sent",
  "1/1-2", "was sent", function (p) return wifi.has_flag(p, wifi.TX) end)

local FilterPhyErr = define_filter("FilterPhyErr", "takes out what came damaged",
  "1/1-3", "came damaged", function (p) return wifi.has_flag(p, wifi.RX_BAD) end)

local FilterFailures = define_filter("FilterFailures",
  "takes out what couldn't be sent", "1/1-2", "wasn't sent", function (p)
    local _, words = wifi.extra(p)
    return band(words[1], wifi.TX_FAILED) ~= 0
  end)

-- WifiDupeFilter --------------------------------------------------------------------

local WifiDupeFilter = element.define{
  name = "WifiDupeFilter", summary = "drops wireless frames that came before",
  arguments = {shared.DEBUG},
  drops = {"came before"}, reads = {},
  notes = "What is repeated says so itself; it is dropped if the sender's last frame "
    .. "had the same number. The last frames of 4,096 senders are known.",
}

local MOST_SENDERS = 4096

function WifiDupeFilter:configure(a)
  self.debug = a.DEBUG
  self:forget()
end

function WifiDupeFilter:forget()
  self.senders, self.order, self.dupes = {}, {}, 0
end

-- What is known of the sender; a new one takes the place of the first.
local function sender_of(self, address)
  local known = self.senders[address]
  if known then return known end
  if #self.order >= MOST_SENDERS then
    self.senders[table.remove(self.order, 1)] = nil
  end
  known = {sequence = 0, fragment = 0, dupes = 0}
  self.senders[address], self.order[#self.order + 1] = known, address
  return known
end

function WifiDupeFilter:process(p)
  if p.length < wifi.HEADER then return p end
  local data = p.data
  if band(data[0], wifi.CONTROL) ~= 0 or arp.is_group(data + 4) then return p end
  local address = wifi.address(p, 2)
  local sequence, fragment = wifi.sequence(p)
  local sender = sender_of(self, address)
  local is_whole = fragment == 0 and band(data[1], wifi.MORE_FRAGMENTS) == 0
  if band(data[1], wifi.RETRY) ~= 0 and sequence == sender.sequence
    and (is_whole or fragment <= sender.fragment) then
    if self.debug then
      self:remark("dup seq %d frag %d src %s", sequence, fragment,
        wifi.eth_text(address))
    end
    sender.dupes, self.dupes = sender.dupes + 1, self.dupes + 1
    return nil, 1
  end
  sender.sequence, sender.fragment = sequence, fragment
  return p
end

WifiDupeFilter.handlers.debug = shared.debug()
WifiDupeFilter.handlers.dupes = element.data("dupes")
WifiDupeFilter.handlers.drops = element.data("dupes")
WifiDupeFilter.handlers.reset = element.command(WifiDupeFilter.forget)
WifiDupeFilter.handlers.stats = {read = function (self)
  local lines = {}
  for i, address in ipairs(self.order) do
    local one = self.senders[address]
    lines[i] = ("%s packets 0 dupes %d seq %d frag %d\n"):format(
      wifi.eth_text(address), one.dupes, one.sequence, one.fragment)
  end
  return table.concat(lines)
end}

return {FilterTX, FilterPhyErr, FilterFailures, WifiDupeFilter}
