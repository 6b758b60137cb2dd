-- SPDX-License-Identifier: Apache-2.0
-- What others ask about a wireless network: its name, channel and so on (WirelessInfo),
-- and the rates of stations (AvailableRates).

local arguments = require("click.arguments")
local element = require("click.element")
local shared = require("click.net.wifi_elements")
local wifi = require("click.net.wifi")

-- WirelessInfo ----------------------------------------------------------------------

local LONGEST_NAME, INTERVAL = wifi.LONGEST_SSID, 100

local WirelessInfo = element.define{
  name = "WirelessInfo", summary = "says what a wireless network's elements ask",
  ports = "0/0", division = "any",
  arguments = {
    {"SSID", "string", default = "", keyword = true},
    {"BSSID", "eth", default = wifi.NOBODY, keyword = true},
    {"CHANNEL", "int", default = -1, keyword = true},
    {"INTERVAL", "int", default = INTERVAL, keyword = true},
    {"WEP", "bool", default = false, keyword = true},
  },
  handlers = {
    ssid = element.data("ssid", "string"), bssid = shared.eth("bssid"),
    channel = element.data("channel", "int"),
    interval = element.data("interval", "int"),
    wep = element.data("wep", "bool"),
    reset = element.command(function (self) self:clear() end),
  },
  notes = "INTERVAL is that of beacons, in milliseconds.",
}

local function set(self, a)
  self.ssid, self.bssid, self.channel = a.SSID, a.BSSID, a.CHANNEL
  self.interval, self.wep = a.INTERVAL, a.WEP
end

function WirelessInfo:configure(a)
  if #a.SSID > LONGEST_NAME then
    return self:error("SSID has %d bytes; networks' names have at most %d", #a.SSID,
      LONGEST_NAME)
  end
  set(self, a)
end

--- Back to what holds without arguments.
function WirelessInfo:clear()
  set(self, {SSID = "", BSSID = wifi.NOBODY, CHANNEL = -1, INTERVAL = INTERVAL,
    WEP = false})
end

local write_ssid = WirelessInfo.handlers.ssid.write
function WirelessInfo.handlers.ssid.write(self, text)
  if #text > LONGEST_NAME then
    return ("ssid parameter must have at most %d bytes"):format(LONGEST_NAME)
  end
  return write_ssid(self, text)
end

-- AvailableRates --------------------------------------------------------------------

local AvailableRates = element.define{
  name = "AvailableRates", summary = "knows which rates stations can receive",
  ports = "0/0", division = "any",
  notes = "Each argument is an Ethernet address, or DEFAULT, with rates in 500 kbit/s: "
    .. "DEFAULT 2 4 11 22.",
}

local MOST_STATIONS = 4096

-- Take in "ADDRESS RATE...". What is wrong, or nil.
local function take(self, text)
  local words, rates = {}, {}
  for word in text:gmatch("%S+") do words[#words + 1] = word end
  if #words < 2 then return ("error param %s must have > 1 arg"):format(text) end
  local address = words[1] ~= "DEFAULT"
    and arguments.value(words[1], {"ETH", "eth"}, self)
  if address == nil then
    return ("error param %s: must start with ethernet address"):format(text)
  end
  for i = 2, #words do
    local rate = arguments.value(words[i], {"RATE", "unsigned", max = 0x7f}, self)
    if not rate then
      return ("error param %s: rates are from 0 to 127, in 500 kbit/s"):format(text)
    end
    rates[i - 1] = rate
  end
  if address then self:set(address, rates) else self.default = rates end
end

function AvailableRates:configure_raw(list)
  self.stations, self.order, self.default, self.debug = {}, {}, {}, false
  for _, text in ipairs(list) do
    local problem = take(self, text)
    if problem then return self:error("%s", problem) end
  end
end

--- The station has these rates. (New ones take the place of the first, if there are
--- too many.)
function AvailableRates:set(address, rates)
  if not self.stations[address] then
    if #self.order >= MOST_STATIONS then
      self.stations[table.remove(self.order, 1)] = nil
    end
    self.order[#self.order + 1] = address
  end
  self.stations[address] = rates
end

--- The station says that it has these rates: those of them that are among DEFAULT, if
--- there are such, hold.
function AvailableRates:insert(address, rates)
  if address == wifi.NOBODY then return end
  local own, known = {}, {}
  for _, rate in ipairs(self.default) do known[rate] = true end
  for _, rate in ipairs(rates) do
    if #self.default == 0 or known[rate] then own[#own + 1] = rate end
  end
  self:set(address, own)
end

--- The station's rates, a list.
function AvailableRates:lookup(address)
  if address == wifi.NOBODY then
    self:say("%s: lookup called with NULL eth!", self.name)
    return {}
  end
  return self.stations[address] or self.default
end

function AvailableRates:take_state(old)
  self.stations, self.order, self.default = old.stations, old.order, old.default
end

AvailableRates.handlers = {
  debug = element.data("debug", "bool"),
  rates = {read = function (self)
    local lines = {}
    local function add(name, rates)
      lines[#lines + 1] = ("%s  %s\n"):format(name, table.concat(rates, " "))
    end
    if #self.default > 0 then add("DEFAULT", self.default) end
    for _, address in ipairs(self.order) do
      add(wifi.eth_text(address), self.stations[address])
    end
    return table.concat(lines)
  end},
  insert = {write = take},
  remove = {write = function (self, text)
    local address = arguments.value(text, {"ETH", "eth"}, self)
    if not address then return "remove parameter must be ethernet address" end
    self.stations[address] = nil
    for i, known in ipairs(self.order) do
      if known == address then table.remove(self.order, i) end
    end
  end},
}

return {WirelessInfo, AvailableRates}
