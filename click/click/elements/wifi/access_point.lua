-- SPDX-License-Identifier: Apache-2.0
-- What an access point says: beacons and answers to who looks for networks
-- (BeaconSource), to who wants to authenticate openly (OpenAuthResponder) and to
-- associate (AssociationResponder).

local bit = require("bit")
local element = require("click.element")
local shared = require("click.net.wifi_elements")
local wifi = require("click.net.wifi")

local DEBUG, INFO, NEEDED_INFO = shared.DEBUG, shared.INFO, shared.NEEDED_INFO
local RT = shared.RT
local DROPS = {"no such request", "not for this network", "not supported", "answered"}
local OTHER_KIND, OTHER_NETWORK, NOT_SUPPORTED, ANSWERED = 1, 2, 3, 4
local MOST_RATES = 15
local little16 = wifi.little16

local function define(name, summary, arguments)
  local class = element.define{
    name = name, summary = summary, arguments = arguments, processing = "h/h",
    emits = true, drops = DROPS, reads = {},
    handlers = {debug = shared.debug()},
  }
  function class:configure(a)
    self.debug, self.info, self.rates = a.DEBUG, a.WIRELESS_INFO, a.RT
  end
  return class
end

-- Is the frame such a request? If not, say so.
local function is_request(self, p, subtype, called)
  local refusal = wifi.refusal(p, subtype, called)
  if refusal then self:remark("%s", refusal) end
  return refusal == nil
end

local IGNORED_BUT = {[wifi.SSID] = true, [wifi.RATES] = true}

-- The elements from `at` on. With DEBUG, which of them nobody looks at.
local function elements_of(self, p, at)
  local list, all = wifi.elements(p, at)
  for _, one in ipairs(self.debug and all or {}) do
    if not IGNORED_BUT[one[1]] then
      self:remark("ignored element id %d %d ", unpack(one))
    end
  end
  return list
end

-- Does it ask for this network, or for any?
local function asks_for(self, name, own)
  if name == "" or name == own then return true end
  if self.debug then self:remark("other ssid %s wanted %s", name, own) end
  return false
end

-- BeaconSource ----------------------------------------------------------------------

local BeaconSource = define("BeaconSource",
  "sends beacons, and answers who looks for networks", {DEBUG, NEEDED_INFO, RT})

BeaconSource.division = "none"
BeaconSource.undivided = "it makes packets itself, in one row"

local function send_beacon(self, subtype, to)
  local info = self.info
  local body = ("\0"):rep(8) .. little16(info.interval) .. little16(wifi.ESS)
    .. wifi.element(wifi.SSID, info.ssid)
  local rates = wifi.rate_elements(self.rates:lookup(info.bssid))
  local first = rates:sub(1, 2 + rates:byte(2))
  body = body .. first .. wifi.element(wifi.CHANNEL, string.char(info.channel % 256))
    .. wifi.element(wifi.TIM, "\0\1\0\0") .. rates:sub(#first + 1)
  self.emit(1, wifi.management(subtype, to, info.bssid, info.bssid, body))
end

function BeaconSource:initialize()
  if self.info.interval <= 0 then return self:error("INTERVAL must be >0") end
  self.timer = self.router:timer(function (timer)
    send_beacon(self, wifi.BEACON, wifi.ALL)
    timer:after(math.max(self.info.interval, 1) / 1000)
  end)
  self.timer:after(self.info.interval / 1000)
end

-- The rates in words, those that stations must know with a star.
local function rates_text(contents)
  local text = ""
  for k = 1, math.min(#(contents or ""), MOST_RATES) do
    local rate = contents:byte(k)
    text = text .. (rate >= 128 and " * " or " ") .. rate % 128
  end
  return text
end

function BeaconSource:process(p)
  if not is_request(self, p, wifi.PROBE_REQUEST, "probe-req") then
    return nil, OTHER_KIND
  end
  local list = elements_of(self, p, wifi.HEADER)
  local name, from = wifi.ssid(list), wifi.address(p, 2)
  if not asks_for(self, name, self.info.ssid) then return nil, OTHER_NETWORK end
  if self.debug then
    self:remark("ProbeReq: %s ssid %s rates {%s }", wifi.eth_text(from), name,
      rates_text(list[wifi.RATES]))
  end
  send_beacon(self, wifi.PROBE_RESPONSE, from)
  return nil, ANSWERED
end

-- OpenAuthResponder -----------------------------------------------------------------

local OpenAuthResponder = define("OpenAuthResponder",
  "lets stations authenticate that ask for it openly", {DEBUG, NEEDED_INFO})

local OPEN, FIRST, SECOND, SUCCESS = 0, 1, 2, 0

function OpenAuthResponder:process(p)
  if not is_request(self, p, wifi.AUTHENTICATION, "probe-req") then
    return nil, OTHER_KIND
  end
  local algorithm = wifi.number(p, wifi.HEADER)
  local step, from = wifi.number(p, wifi.HEADER + 2), wifi.address(p, 2)
  if algorithm ~= OPEN then
    self:remark("auth %d from %s not supported", algorithm, wifi.eth_text(from))
    return nil, NOT_SUPPORTED
  elseif step ~= FIRST then
    self:remark("auth %d weird sequence number %d", algorithm, step)
    return nil, NOT_SUPPORTED
  end
  if self.debug then
    self:remark("auth %d seq %d status %d", algorithm, step,
      wifi.number(p, wifi.HEADER + 4))
  end
  local bssid = self.info.bssid
  self.emit(1, wifi.management(wifi.AUTHENTICATION, from, bssid, bssid,
    little16(OPEN) .. little16(SECOND) .. little16(SUCCESS)))
  return nil, ANSWERED
end

-- AssociationResponder --------------------------------------------------------------

local AssociationResponder = define("AssociationResponder",
  "lets stations associate that ask for it", {DEBUG, INFO, RT})

AssociationResponder.division = "none"
AssociationResponder.undivided = "it numbers stations in one row"

local NUMBERS, BOTH_HIGH_BITS = 0x4000, 0xc000 -- of associations

local function request_text(p, list)
  local rates = wifi.rates(list[wifi.RATES], MOST_RATES)
  return ("src %s dst %s bssid %s[ %s]  listen_int %d ( { %s} %s)"):format(
    wifi.eth_text(wifi.address(p, 2)), wifi.eth_text(wifi.address(p, 1)),
    wifi.eth_text(wifi.address(p, 3)),
    wifi.spaced(wifi.capabilities(wifi.number(p, wifi.HEADER))),
    wifi.number(p, wifi.HEADER + 2), wifi.spaced(rates.basic),
    wifi.spaced(rates.others))
end

local FIXED = 4 -- bytes of a request before its elements

function AssociationResponder:process(p)
  if not is_request(self, p, wifi.ASSOCIATION_REQUEST, "association-req") then
    return nil, OTHER_KIND
  end
  local list, info = elements_of(self, p, wifi.HEADER + FIXED), self.info
  if not asks_for(self, wifi.ssid(list), info and info.ssid or "") then
    return nil, OTHER_NETWORK
  end
  self:remark("request %s", request_text(p, list))
  local number = self.count or 0
  self.count = (number + 1) % NUMBERS
  local id, from = bit.bor(BOTH_HIGH_BITS, number), wifi.address(p, 2)
  if self.debug then
    self:remark("association %s associd %d", wifi.eth_text(from), id)
  end
  local bssid = info and info.bssid or wifi.NOBODY
  self.emit(1, wifi.management(wifi.ASSOCIATION_RESPONSE, from, bssid, bssid,
    little16(wifi.ESS) .. little16(SUCCESS) .. little16(id)
      .. wifi.rate_elements(self.rates:lookup(bssid))))
  return nil, ANSWERED
end

return {BeaconSource, OpenAuthResponder, AssociationResponder}
