-- SPDX-License-Identifier: Apache-2.0
-- What elements have in common that receive from devices and send to them by way of
-- Perigee's ports (click.devices): their links, what they do with packets, handlers.

local devices = require("click.devices.device")
local element = require("click.element")
local ffi = require("ffi")
local C = require("core.native")
local link_layers = require("click.devices.link_layers")
local note = require("click.note")
local live_annotations = require("click.router.live_annotations")
local run_out = require("click.router.run_out")
local signals = require("click.router.signals")
local driver_handlers = require("click.devices.driver_handlers")

local device_elements = {}

local TYPE, TIMESTAMP = note.PACKET_TYPE, note.TIMESTAMP
local HOST, BROADCAST, MULTICAST = note.HOST, note.BROADCAST, note.MULTICAST
local OTHERHOST, PAINT, AGGREGATE = note.OTHERHOST, note.PAINT, note.AGGREGATE
local words_t, halves_t = ffi.typeof("const int32_t *"), ffi.typeof("const uint16_t *")
local ETHER = link_layers.number("ETHER")

-- Configuring -----------------------------------------------------------------------

--- The port of a kernel interface: "eth1", or FastClick's "netmap:eth1-0", one of its
--- rings.
function device_elements.interface_port(name)
  local interface = name:match("^netmap:(.-)%-%d+$") or name:match("^netmap:(.*)$")
  return "packet:" .. (interface or name)
end

-- Find the device, under a name of Click's or Perigee's; false if something is wrong.
local function find_device(self, text)
  local device, problem = devices.get(self.router, text)
  if not device then
    self:error("%s: Unknown or invalid PORT: %s", text, problem)
    return false
  end
  self.device, self.device_name = device, text
  return true
end

--- Say which of these arguments were given, which change nothing here.
function device_elements.warn_of_ignored(self, a, names)
  local given = {}
  for _, name in ipairs(names) do
    if a[name] ~= nil then given[#given + 1] = name end
  end
  if #given > 0 then
    self:warning("%s: %s no effect here", table.concat(given, ", "),
      #given == 1 and "it has" or "they have")
  end
end

--- Say which of these switches, which change nothing here, are to be on.
function device_elements.warn_of_wanted(self, a, names)
  local on = {}
  for _, name in ipairs(names) do on[name] = a[name] or nil end
  device_elements.warn_of_ignored(self, on, names)
end

--- Add specifications of arguments, by their names, that are taken as they are written.
function device_elements.ignored(list, names)
  for _, name in ipairs(names) do
    list[#list + 1] = {name, "argument", keyword = true}
  end
  return list
end

-- Find out whether the device can be opened. With ALLOW_NONEXISTENT, an element whose
-- device can't does nothing.
local function check_existence(self)
  local device = self.device
  if device.checked == nil then device.checked = device:problem() or false end
  if not device.checked then return end
  if self.allow_nonexistent then
    self.device = nil
  elseif not device.reported then
    device.reported = true
    self:error("%s", device.checked)
  end
end

local function wire(self, c)
  if self.device then self.device:wire(c) end
end

-- Statistics ------------------------------------------------------------------------

local function statistic(name)
  return {read = function (self)
    return self.device and self.device:statistics(self)[name] or 0
  end}
end

-- What the device says of itself by f(port): nil while it isn't open.
local function ask(self, f)
  local app = self.device and self.device:app(self)
  return app and f(app.port)
end

local function mac_of(self)
  return ask(self, function (port)
    local mac = ffi.new("uint8_t[6]")
    return C.pg_port_mac(port, mac) == 0 and ffi.string(mac, 6) or nil
  end)
end

local function mac_text(self)
  local mac = mac_of(self)
  return mac and (("%02X-"):rep(5) .. "%02X"):format(mac:byte(1, 6)) or ""
end

local function link_field(field)
  return {join = "most", read = function (self)
    return ask(self, function (port)
      local link = ffi.new("struct port_link")
      return C.pg_port_link(port, link) == 0 and tonumber(link[field]) or 0
    end) or 0
  end}
end

-- Packets that have passed: those that the engine counts, and those that don't come by
-- its links.
local function count(self)
  return self.device and self.count + self:arrivals() or 0
end

local function reset(self) self.count = -self:arrivals() end

local function with_common(handlers)
  handlers.count = {read = count}
  handlers.device = element.data("device_name")
  handlers.mac = {read = mac_text}
  handlers.speed, handlers.carrier = link_field("speed"), link_field("up")
  handlers.duplex = link_field("full_duplex")
  handlers.reset_counts = element.command(reset)
  return handlers
end

local function receiver_handlers()
  return with_common{
    active = element.data("active", "bool"),
    hw_count = statistic("ipackets"), hw_bytes = statistic("ibytes"),
    hw_dropped = statistic("imissed"), hw_errors = statistic("ierrors"),
    nombufs = statistic("rx_nombuf"), kernel_drops = statistic("imissed"),
    encap = {read = function () return "ETHER" end},
    xstats = driver_handlers.xstats(ask),
    queue_count = driver_handlers.queue_count(ask),
    nb_rx_queues = {read = function (self)
      return self.device and #self.device.receivers or 0
    end},
  }
end

local function sender_handlers()
  return with_common{
    hw_count = statistic("opackets"), hw_bytes = statistic("obytes"),
    hw_errors = statistic("oerrors"), xstats = driver_handlers.xstats(ask),
    dropped = {read = function (self)
      if not self.device then return 0 end
      local s = self.device:statistics(self)
      return s.oerrors + s.tx_oversize + s.tx_runt + s.tx_unplugged
    end},
  }
end

-- Receiving -------------------------------------------------------------------------

-- The time of this turn: packets of one burst have one time.
local function turn_stamp(self)
  local router = self.router
  if self.stamped ~= router.turned then
    self.stamped, self.stamp = router.turned, router:nanoseconds()
  end
  return self.stamp
end

-- To whom the frame is sent, by its destination.
local function packet_type(self, data)
  local word, half = ffi.cast(words_t, data)[0], ffi.cast(halves_t, data)[2]
  if bit.band(data[0], 1) == 0 then
    if self.own_mac and (word ~= self.own_word or half ~= self.own_half) then
      return OTHERHOST
    end
    return HOST
  end
  if word ~= -1 or half ~= 0xffff then return MULTICAST end
  return BROADCAST
end

local Receiving = {
  ports = "0/1", processing = "/h", more_inputs = {"rx"}, wire = wire,
  drops = {"inactive", "not IP"}, reads = {}, lengthens = 0,
}

-- What is noted of packets, but where the header is.
local function look_closely(self, p)
  if self.timestamps then p.note64[TIMESTAMP] = turn_stamp(self) end
  if self.typed then p.note8[TYPE] = packet_type(self, p.data) end
  if self.paint then p.note8[PAINT] = self.paint end
  if self.hashed then p.note32[AGGREGATE] = C.pg_rss_hash(p) end
  if self.force_ip and not link_layers.find_ip(p, ETHER) then
    if self.noutputs > 1 then return p, 2 end
    return nil, 2
  end
  return p
end

function Receiving:make_process()
  if not self.active then return function () return nil, 1 end end
  local closely = self.timestamps or self.typed or self.paint or self.hashed
    or self.force_ip
  local clear = live_annotations.clearer(self.router)
  if not closely then
    if not clear then return function (_, p) return p end end
    return function (_, p)
      clear(p)
      return p
    end
  end
  return function (_, p)
    if clear then clear(p) end
    local q, o = look_closely(self, p)
    return q, o
  end
end

--- Is a file still to be read (click.router.run_out)?
function Receiving:reads_file()
  if not self.device then return nil end
  return self.device:reads_file()
end

--- Raise a failure if what has been read is damaged.
function Receiving:check_file()
  if self.device then self.device:check_file() end
end

local CACHED = 32 -- packets that the first cache holds, with their annotations

-- How many packets it takes at once, unless BURST says; nil: a full burst.
local function usual_burst(router)
  for _, e in ipairs(router.elements) do
    if e.fills_cache then return nil end
  end
  return CACHED
end

function Receiving:initialize()
  check_existence(self)
  if not self.device then return end
  self.at_once = self.at_once or usual_burst(self.router)
  run_out.watch(self.router)
  if not self.typed then return end
  self.router:poll(self, function ()
    local mac = mac_of(self)
    if not mac then return end
    self.own_mac = ffi.new("uint8_t[8]", mac:byte(1, 6))
    self.own_word = ffi.cast(words_t, self.own_mac)[0]
    self.own_half = ffi.cast(halves_t, self.own_mac)[2]
    self.router:poll(self, nil)
  end)
end

function Receiving:cleanup() self.router:poll(self, nil) end

local function define(base, class)
  for name, member in pairs(base) do
    if class[name] == nil then class[name] = member end
  end
  return element.define(class)
end

--- A class of elements that receive. Fields of its instances: timestamps, typed (the
--- packet's type is noted), paint, hashed (the RSS hash is), force_ip.
function device_elements.define_receiver(class)
  class.handlers = receiver_handlers()
  return define(Receiving, class)
end

--- What initialize() of all receivers does.
device_elements.initialize_receiver = Receiving.initialize

local LEAST_BURST, MOST_BURST = 4, 256

--- The element, whose arguments are `a`, receives from the device of that name.
function device_elements.receive_from(self, a, text)
  self.count, self.active = 0, a.ACTIVE
  self.allow_nonexistent = a.ALLOW_NONEXISTENT
  if not find_device(self, text) then return end
  local burst = a.BURST and math.max(LEAST_BURST, math.min(a.BURST, MOST_BURST))
  self.at_once = burst
  local queue = a.QUEUE and a.QUEUE >= 0 and a.QUEUE or nil
  self.device:add_receiver(self, {burst = burst, queue = queue})
end

-- Sending ---------------------------------------------------------------------------

local Sending = {
  ports = "1/0-1", processing = "a/h", more_outputs = {"tx"}, wire = wire,
  drops = {"no such device"}, reads = {}, lengthens = 0,
}

function Sending:make_process()
  if not self.device then return function () return nil, 1 end end
  local o = self.noutputs + 1
  return function (_, p) return p, o end
end

function Sending:initialize()
  check_existence(self)
  if self.processing.inputs == "l" then
    self.upstream = self.router:signals(self, 1)
    self:schedule()
  end
end

local function send_some(self, most)
  local emit, pull, out = self.emit, self.pull_from[1], self.noutputs + 1
  for i = 1, most do
    local p = pull()
    if not p then return i - 1 end
    emit(out, p)
  end
  return most
end

function Sending:task()
  local n = self.device and send_some(self, self.burst) or 0
  self.count = self.count + n
  if n == 0 and not signals.any(self.upstream) then self:unschedule() end
  return n > 0
end

--- A class of elements that send.
function device_elements.define_sender(class)
  class.handlers = sender_handlers()
  return define(Sending, class)
end

--- The element, whose arguments are `a`, sends to the device of that name.
function device_elements.send_to(self, a, text)
  self.count, self.burst = 0, math.max(1, math.min(a.BURST or 32, MOST_BURST))
  self.allow_nonexistent = a.ALLOW_NONEXISTENT
  if find_device(self, text) then self.device:add_sender(self) end
end

return device_elements
