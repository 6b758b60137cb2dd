-- SPDX-License-Identifier: Apache-2.0
-- What a station of a wireless network does: it looks for networks (ProbeRequester,
-- BeaconScanner, BeaconTracker), authenticates (OpenAuthRequester) and associates
-- (AssociationRequester).

local element = require("click.element")
local note = require("click.note")
local shared = require("click.net.wifi_elements")
local wifi = require("click.net.wifi")

local DEBUG, INFO, NEEDED_INFO = shared.DEBUG, shared.INFO, shared.NEEDED_INFO
local RT, ETH = shared.RT, shared.ETH
local FIXED, RATE_BYTES, MOST_RATES = 12, 8, 15
local PRIVACY = 0x10
local little16 = wifi.little16

local function is_beacon(kind, subtype)
  return kind == wifi.MANAGEMENT
    and (subtype == wifi.BEACON or subtype == wifi.PROBE_RESPONSE)
end

-- BeaconScanner ---------------------------------------------------------------------

local BeaconScanner = element.define{
  name = "BeaconScanner", summary = "keeps a list of the access points that it hears",
  arguments = {DEBUG, INFO, RT}, reads = {"WIFI_EXTRA"},
  handlers = {debug = shared.debug()},
  notes = "It knows the last 1,024.",
}

local MOST_POINTS = 1024

function BeaconScanner:configure(a)
  self.debug, self.info, self.rates = a.DEBUG, a.WIRELESS_INFO, a.RT
  self:forget()
end

function BeaconScanner:forget() self.points, self.order = {}, {} end

local function point_of(self, bssid)
  local known = self.points[bssid]
  if known then return known end
  if #self.order >= MOST_POINTS then
    self.points[table.remove(self.order, 1)] = nil
  end
  known = {name = ""}
  self.points[bssid], self.order[#self.order + 1] = known, bssid
  return known
end

local WATCHED = {[0] = true, true, true, true, [5] = true, [6] = true, [42] = true,
  [50] = true, [133] = true, [150] = true, [221] = true}

local function learn(self, p)
  local list, all = wifi.elements(p, wifi.HEADER + FIXED)
  for _, one in ipairs(self.debug and all or {}) do
    if not WATCHED[one[1]] then
      self:remark("ignored element id %d %d ", unpack(one))
    end
  end
  local channel, wanted = (list[wifi.CHANNEL] or ""):byte(), self.info
  if wanted and wanted.channel > 0 and channel and channel ~= wanted.channel then
    return
  end
  local bssid, name = wifi.address(p, 3), wifi.ssid(list)
  local point = point_of(self, bssid)
  if name ~= "" then point.name = name end
  point.channel, point.signal = channel or -1, (wifi.extra(p))[wifi.RSSI]
  point.capability = wifi.number(p, wifi.HEADER + 10)
  point.interval, point.heard = wifi.number(p, wifi.HEADER + 8), self.router:now()
  point.rates = wifi.rates(list[wifi.RATES], RATE_BYTES)
  wifi.rates(list[wifi.MORE_RATES], RATE_BYTES, point.rates)
  self.rates:insert(bssid, point.rates.all)
end

function BeaconScanner:process(p)
  if self.info and self.info.channel < 0 then return p end
  if is_beacon(wifi.kind(p)) then learn(self, p) end
  return p
end

BeaconScanner.handlers.reset = element.command(BeaconScanner.forget)
BeaconScanner.handlers.scan = {read = function (self)
  local lines, now = {}, self.router:now()
  for i, bssid in ipairs(self.order) do
    local one = self.points[bssid]
    lines[i] = ("%s channel %d rssi %d ssid %s beacon_interval %d last_rx %s [ %s] "
      .. "( { %s} %s)\n"):format(wifi.eth_text(bssid), one.channel, one.signal,
      one.name == "" and "(none)" or one.name, one.interval,
      note.time_text((now - one.heard) * 1e9),
      wifi.spaced(wifi.capabilities(one.capability)), wifi.spaced(one.rates.basic),
      wifi.spaced(one.rates.others))
  end
  return table.concat(lines)
end}

-- BeaconTracker ---------------------------------------------------------------------

local BeaconTracker = element.define{
  name = "BeaconTracker", summary = "counts the beacons of a network that come in time",
  arguments = {DEBUG, NEEDED_INFO, {"TRACK", "unsigned", default = 10, keyword = true}},
  reads = {}, drops = {"no beacon", "of another network"},
  handlers = {debug = shared.debug(), track = element.data("track"),
    beacon_interval = element.data("interval")},
  notes = "`stats` is how many of the last TRACK beacons came, in percent.",
}

function BeaconTracker:configure(a)
  self.debug, self.info = a.DEBUG, a.WIRELESS_INFO
  self.track, self.interval = a.TRACK, 0
  self.times = {}
end

function BeaconTracker:initialize() self:restart() end
function BeaconTracker:restart() self.begun, self.times = self.router:now(), {} end

local function trim(self)
  local earliest = self.router:now() - self.track * self.interval / 1000
  while self.times[1] and self.times[1] < earliest do table.remove(self.times, 1) end
end

function BeaconTracker:process(p)
  local kind, subtype = wifi.kind(p)
  if not is_beacon(kind, subtype) then
    self:remark("%s", wifi.refusal(p) or ("received subtype %d packet"):format(subtype))
    return nil, 1
  end
  if wifi.address(p, 3) ~= self.info.bssid then return nil, 2 end
  self.interval = wifi.number(p, wifi.HEADER + 8)
  self.times[#self.times + 1] = tonumber(p.note64[note.TIMESTAMP]) * 1e-9
  trim(self)
  return p
end

BeaconTracker.handlers.reset = element.command(BeaconTracker.restart)
BeaconTracker.handlers.stats = {read = function (self)
  trim(self)
  local passed = math.floor((self.router:now() - self.begun) * 1000)
  local expected = math.min(passed, self.track)
  return ("%d"):format(expected > 0 and #self.times * 100 / expected or 0)
end}

-- Requests --------------------------------------------------------------------------

local function define(name, summary, arguments, fields)
  fields.name, fields.summary, fields.arguments = name, summary, arguments
  fields.emits, fields.reads = true, {"WIFI_EXTRA"}
  fields.handlers = {debug = shared.debug(), eth = shared.eth("eth")}
  local class = element.define(fields)
  function class:configure(a)
    self.debug, self.info, self.rates, self.eth = a.DEBUG, a.WIRELESS_INFO, a.RT, a.ETH
  end
  return class
end

local function bssid_of(self) return self.info and self.info.bssid or wifi.NOBODY end
local function name_of(self) return self.info and self.info.ssid or "" end

local function rate_elements(self, address)
  local rates = self.rates:lookup(address)
  return wifi.rate_elements(rates, self.info and self.info.channel), #rates
end

local ProbeRequester = define("ProbeRequester", "asks which networks there are",
  {DEBUG, INFO, ETH, RT}, {ports = "0/1", processing = "h/h"})

ProbeRequester.handlers.send_probe = element.command(function (self)
  self.emit(1, wifi.management(wifi.PROBE_REQUEST, wifi.ALL, self.eth, wifi.ALL,
    wifi.element(wifi.SSID, name_of(self)) .. rate_elements(self, self.eth)))
end)

local ANSWERS = {"no such answer", "not supported", "answer"}
local OTHER_KIND, NOT_SUPPORTED, ANSWER = 1, 2, 3

local OpenAuthRequester = define("OpenAuthRequester", "asks to authenticate, openly",
  {DEBUG, ETH, INFO}, {processing = "h/h", drops = ANSWERS})

local OPEN, FIRST = 0, 1

function OpenAuthRequester:process(p)
  local refusal = wifi.refusal(p, wifi.AUTHENTICATION, "probe-req")
  if refusal then
    self:remark("%s", refusal)
    return nil, OTHER_KIND
  end
  local algorithm = wifi.number(p, wifi.HEADER)
  if algorithm ~= OPEN then
    self:remark("auth %d from %s not supported", algorithm,
      wifi.eth_text(wifi.address(p, 2)))
    return nil, NOT_SUPPORTED
  end
  if self.debug then
    self:remark("auth %d seq %d status %d", algorithm, wifi.number(p, wifi.HEADER + 2),
      wifi.number(p, wifi.HEADER + 4))
  end
  return nil, ANSWER
end

OpenAuthRequester.handlers.send_auth_req = element.command(function (self)
  local bssid = bssid_of(self)
  self.emit(1, wifi.management(wifi.AUTHENTICATION, bssid, self.eth, bssid,
    little16(OPEN) .. little16(FIRST) .. little16(0)))
end)

-- AssociationRequester --------------------------------------------------------------

local AssociationRequester = define("AssociationRequester", "asks to associate",
  {DEBUG, ETH, INFO, RT}, {processing = "h/h", drops = ANSWERS})

local RESPONSE_RATES = 6 -- where a response's rates are, behind the header

local function take_response(self, p)
  local status = wifi.number(p, wifi.HEADER + 2)
  local list = wifi.elements(p, wifi.HEADER + RESPONSE_RATES)
  local bssid, rates = wifi.address(p, 3), wifi.rates(list[wifi.RATES], MOST_RATES)
  if self.debug then
    self:remark("response %s +%d [ %s] status %d associd %d ( { %s} %s)",
      wifi.eth_text(bssid), (wifi.extra(p))[wifi.RSSI],
      wifi.spaced(wifi.capabilities(wifi.number(p, wifi.HEADER))), status,
      wifi.number(p, wifi.HEADER + 4), wifi.spaced(rates.basic),
      wifi.spaced(rates.others))
  end
  self.rates:insert(bssid, rates.all)
  if status == 0 then self.associated = true end
end

local function take_leave(self, p)
  local bssid = wifi.address(p, 3)
  local is_own = self.info and self.info.bssid == bssid
  self:say("%s :: %s %sdisassociation from %s reason %d", self.name, self.class.name,
    is_own and "" or "BAD ", wifi.eth_text(bssid), wifi.number(p, wifi.HEADER))
  if is_own then self.associated = false end
end

function AssociationRequester:process(p)
  local refusal = wifi.refusal(p)
  local _, subtype = wifi.kind(p)
  if not refusal and subtype == wifi.ASSOCIATION_RESPONSE then
    take_response(self, p)
  elseif not refusal and subtype == wifi.DISASSOCIATION then
    take_leave(self, p)
  else
    self:remark("%s", refusal or "received non-assoc response packet")
    return nil, OTHER_KIND
  end
  return nil, ANSWER
end

AssociationRequester.handlers.associated = {read = function (self)
  return tostring(self.associated == true)
end}

AssociationRequester.handlers.send_assoc_req = element.command(function (self)
  local bssid, info = bssid_of(self), self.info
  local rates, n = rate_elements(self, bssid)
  if n == 0 then self:remark("couldn't lookup rates for %s", wifi.eth_text(bssid)) end
  self.associated = false
  self.emit(1, wifi.management(wifi.ASSOCIATION_REQUEST, bssid, self.eth, bssid,
    little16(wifi.ESS + (info and info.wep and PRIVACY or 0))
      .. little16(info and info.interval or 1)
      .. wifi.element(wifi.SSID, name_of(self)) .. rates))
end)

return {BeaconScanner, BeaconTracker, ProbeRequester, OpenAuthRequester,
  AssociationRequester}
