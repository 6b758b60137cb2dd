-- SPDX-License-Identifier: Apache-2.0
-- Devices that elements of a router share: all that receive from one, and all that send
-- to it, are joined to one Port app (or, where several receive, to one for each queue).
--
-- A device's name in a configuration is an interface, a PCI address, any of Perigee's
-- port strings, or a number (DPDK's). The router's option `ports` says which port is to
-- take the place of the device of a name.

local claims = require("lib.port.claims")
local config = require("core.config")
local engine = require("core.app")
local failure = require("core.failure")
local kinds = require("lib.port.kinds")
local Port = require("apps.port.port").Port
local queue_room = require("click.devices.queue_room")
local spec = require("lib.port.spec")

local devices = {}

local Device = {}
Device.__index = Device

local function app_name(text)
  return "port@" .. text:gsub("[^%w_]", "_")
end

-- The text of the port string, as Perigee writes it; or nil and what is wrong with it.
local function canonical(text)
  local ok, port = pcall(spec.parse, text)
  if ok then return port.text end
  if failure.is(port) then return nil, tostring(port) end
  error(port, 0)
end

-- A name of its own for each device, also where two are spelt alike in letters.
local function unused_name(list, text)
  local base, n = app_name(text), 1
  local name = base
  while list.by_name[name] do
    n = n + 1
    name = base .. "_" .. n
  end
  list.by_name[name] = true
  return name
end

-- The router's devices: `by_text` by port string, or by what the configuration calls
-- it.
local function list_of(router)
  router.devices = router.devices or {by_text = {}, by_name = {}}
  return router.devices
end

-- Is there one of the port only, so that all names for it mean the same device? (Of a
-- file that is read, each may have it for itself.)
local function is_one(port) return claims.thing(spec.parse(port)) ~= nil end

local function new(router, fields)
  fields.name = unused_name(list_of(router), fields.text)
  fields.router, fields.receivers, fields.senders = router, {}, {}
  fields.queues = {} -- by receiver: the queue that it wants, if it says which
  return setmetatable(fields, Device)
end

--- A device that nobody else shares, called `text`; port() tells its port string when
--- it is about to be opened.
function devices.own(router, text, port)
  return new(router, {text = text, port = port})
end

--- The device that `text` names in the router; or nil and what is wrong.
function devices.get(router, text)
  local list = list_of(router)
  local ports = router.options and router.options.ports or {}
  local interface = text:match("^packet:(.*)$")
  local port, problem = canonical(ports[text] or ports[interface] or text)
  if not port then return nil, problem end
  local key = is_one(port) and port or text
  list.by_text[key] = list.by_text[key] or new(router,
    {text = port, called = interface or text})
  return list.by_text[key]
end

--- The element receives from the device. `options`: burst, packets at once; queue, the
--- number of the one that it wants.
function Device:add_receiver(element, options)
  table.insert(self.receivers, element)
  self.burst = options and options.burst or self.burst
  self.queues[element] = options and options.queue
end

--- Give each receiver its queue, once all are there: the one that it wants, if no other
--- has it, else the first that is left.
function Device:settle()
  if self.settled then return end
  self.settled = true
  local list, n = {}, #self.receivers
  local function place(element, i)
    if list[i] then return false end
    list[i] = element
    return true
  end
  local others = {}
  for _, element in ipairs(self.receivers) do
    local queue = self.queues[element]
    if not (queue and queue < n and place(element, queue + 1)) then
      others[#others + 1] = element
    end
  end
  for i = 1, n do list[i] = list[i] or table.remove(others, 1) end
  self.receivers = list
end

--- The element sends to it.
function Device:add_sender(element) table.insert(self.senders, element) end

-- Wiring ----------------------------------------------------------------------------

-- How configurations of Click, where a comma ends an argument, have force=1 (lib.port).
local function how_to_force(self, problem)
  local port = problem:match("write force=1 behind it %('([^']*)'%)")
  if not port then return "" end
  return (". For Click: the option --device %s=%s"):format(self.called or self.text,
    port)
end

--- Why the device can't be opened now, or nil. (One that the router before has open
--- can be.)
function Device:problem()
  if self.port or engine.app_table[self.name] or self:shared_number() then
    return nil
  end
  local n = #self.receivers
  if n > 1 and not Port.split({port = self.text}, n, 0) then
    return ("%d elements receive from '%s', and port '%s' has one queue. Give each a "
      .. "device of its own (FromDevice(a), FromDevice(b), and the options --device "
      .. "a=PORT --device b=PORT), or let one receive and a Tee or a switch follow")
      :format(n, self.called or self.text, self.text)
  end
  local ok, err = pcall(Port.check_arg, self:argument(1))
  if ok then return nil end
  if not failure.is(err) then error(err, 0) end
  return tostring(err) .. how_to_force(self, tostring(err))
end

--- What has to come to one copy of the router by the device, of what has to by others
--- (core.cpus.dividable): any queue will do to send.
function devices.has_to_meet(device, meets)
  return #device.receivers > 0 and meets or "flow"
end

-- The argument of the Port app for queue `i` (from 1).
function Device:argument(i)
  local argument = {port = self.port_text or self.text}
  local port = spec.parse(argument.port)
  local kind = kinds.of(port)
  if kind.full_bursts then -- element.at_once doesn't limit those
    argument.burst = self.burst
      or kind.reads and kind.reads(port) and queue_room.burst(self.router) or nil
  end
  if #self.senders == 0 then argument.receive_only = true end
  local copy = self.router.options.copy
  local n, first = #self.receivers, 0
  if copy then n, first = math.max(n, 1) * copy.of, copy.number * math.max(n, 1) end
  if n > 1 then
    argument.queues, argument.queue = n, first + i - 1
    argument.meets = copy and devices.has_to_meet(self, copy.meets)
  end
  return argument
end

-- The name of the Port app for queue `i`.
local function queue_name(self, i)
  return i == 1 and self.name or ("%s@%d"):format(self.name, i)
end

-- Several senders meet here, on their way to the one input that a Port has.
local Merge = {process = function (_, p) return p end, outputs = {"output"},
               bound = true, lengthens = 0}
Merge.__index = Merge
function Merge:new() return setmetatable({}, self) end

-- Where packets that this copy of the router sends to the device leave it, "app.port";
-- nil: it sends none.
local function way_out(self, c)
  local one = self.senders[1]
  if #self.senders < 2 then return one and one.name .. ".tx" end
  local merge = self.name .. "@merge"
  config.app(c, merge, Merge)
  for i, sender in ipairs(self.senders) do
    config.link(c, ("%s.tx -> %s.input%d"):format(sender.name, merge, i))
  end
  return merge .. ".output"
end

-- The device is another thread's, and the router's app has links for it.
local function wire_outside(self, c, number)
  local ends = self.router.device_ends or {inputs = {}, outputs = {}}
  self.router.device_ends = ends
  local receiver = self.receivers[1]
  ends.inputs["rx" .. number] = receiver and receiver.name .. ".rx"
  ends.outputs["tx" .. number] = way_out(self, c)
end

--- The number of the device among those that copies of the router have in common, and
--- whose packets come to each by its flows from the app device_NUMBER; nil: it has a
--- queue of its own.
function Device:shared_number()
  local copy = self.router.options and self.router.options.copy
  return copy and copy.shared and copy.shared[self.text]
end

--- Add the device, with links from and to its elements, to the engine's configuration.
function Device:wire(c)
  if self.wired == c then return end
  self.wired = c
  local shared = self:shared_number()
  if shared then return wire_outside(self, c, shared) end
  if self.port then self.port_text = self.port() end
  self:settle()
  for i = 1, math.max(#self.receivers, 1) do
    local name = queue_name(self, i)
    config.app(c, name, Port, self:argument(i))
    local receiver = self.receivers[i]
    if receiver then
      config.link(c, ("%s.output -> %s.rx"):format(name, receiver.name))
    end
  end
  local out = way_out(self, c)
  if out then config.link(c, ("%s -> %s.input"):format(out, self.name)) end
end

-- While it runs ---------------------------------------------------------------------

-- The engine's app of that name in the router's configuration.
local function app_of(self, name)
  return engine.app_table[(self.router.options.prefix or "") .. name]
end

--- The Port app of the element's queue (of the first, for one that sends); nil while it
--- isn't open, or if it is another CPU's.
function Device:app(element)
  local shared = self:shared_number()
  if shared then return engine.app_table["device_" .. shared] end
  for i, receiver in ipairs(self.receivers) do
    if receiver == element then return app_of(self, queue_name(self, i)) end
  end
  return app_of(self, self.name)
end

--- DPDK's statistics and Perigee's drops, as the Port app has them; zeros while it
--- isn't open.
function Device:statistics(element)
  local app = self:app(element)
  return app and app:statistics() or setmetatable({}, {__index = function ()
    return 0
  end})
end

--- Is a file that it reads still to be read? False when it has ended; nil if it reads
--- none that ends.
function Device:reads_file()
  if self:shared_number() then return nil end
  local app = self:app()
  if app and not (app:ends() and app:reads()) then return nil end
  return not app or not app:over()
end

--- Raise a failure if what it has read is damaged.
function Device:check_file()
  local app = self:app()
  if app and app:ends() then app:ended() end
end

return devices
