-- SPDX-License-Identifier: Apache-2.0
-- The Port app: any port DPDK can drive, by its port string. Plugged when the
-- app starts, unplugged when it stops. Snabb's driver apps are aliases of it.

local C = require("core.native")
local absence = require("lib.port.absence")
local arguments = require("core.lib.arguments")
local check = require("lib.port.check")
local claims = require("lib.port.claims")
local failure = require("core.failure")
local kinds = require("lib.port.kinds")
local opened = require("lib.port.opened")
local plug = require("lib.port.plug")
local snabb_alarm = require("lib.snabb_alarm")
local share = require("lib.port.share")
local spec = require("lib.port.spec")
local statistics = require("apps.port.statistics")
local waking = require("core.idle.waking")
local tables = require("core.lib.tables")

require("lib.port.passing") -- to the process that takes over

local Port = {}
Port.__index = Port

--- Names its links may have; `rx` and `tx` are those of Snabb before 2016, as
--- seen from the app: it receives from `rx` what it sends to the wire.
Port.link_names = {
  input = {input = "input", rx = "input", input2 = "input2", input3 = "input3"},
  output = {output = "output", tx = "output"},
}

--- A fused region may receive from and send to `port` without a link, and bursts may go
--- straight to another port, past these methods.
Port.direct = Port

local ALIVE_SECONDS = 0.1
local QUIET_SECONDS = 1 -- between publishing statistics while no packet passes

-- What was sent last lies in memory shared with the peer until that takes it;
-- closing the port would take it away before.
local LINGER_SECONDS = 0.1

local function parsed(arg)
  if type(arg) ~= "table" then return spec.parse(arg) end
  if arg.port == nil then
    failure.usage("a Port's argument is a port string, a number, or a table "
      .. "with `port`")
  end
  local port = spec.parse(arg.port)
  port.receive_only = arg.receive_only or nil
  if not arg.queues then return port end
  return share.note(port, arg.queues, arg.queue or 0, arg.meets)
end

--- Any packet may come to any copy, each of which has a queue, if there are some.
Port.division = "any"

--- The argument for queue number `i` (from 0) of `n`, for config.replicate; nil if
--- the port can't spread flows over queues as `meets` (core.cpus.dividable; default
--- "nothing") says. With `meets` it may also be a port that each copy opens for itself.
function Port.split(arg, n, i, meets)
  local how = share.kind(parsed(arg), n, meets)
  if not how then return nil end
  local copy = tables.copy(type(arg) == "table" and arg or {port = arg})
  copy.queues, copy.queue, copy.meets = n, i, how == "own" and meets or nil
  return copy
end

-- Packets that one receive may bring, as the argument says.
local function burst_of(arg)
  local burst = type(arg) == "table" and arg.burst or C.PORT_BURST
  return arguments.whole("a Port's burst", burst, 1, C.PORT_BURST)
end

--- Check the argument before anything is opened; what the port would occupy, and what
--- `new` needn't find out again.
function Port.check_arg(arg)
  local description = parsed(arg)
  description.burst = burst_of(arg)
  check.ready(description, nil, opened.list())
  return claims.thing(description), description
end

--- Open what of the port can be opened beside another process that has it, for new()
--- later.
function Port.make_ready(arg)
  local description = parsed(arg)
  local prepare = kinds.of(description).prepare
  if prepare then prepare(description) end
end

local function takes_shared(description, kind, port)
  local takes = port.fast_free == 0 and kind.takes_shared or false
  return type(takes) == "function" and takes(description) or takes == true
end

-- Raise an alarm while the port's interface is away.
local function tell_alarm(self)
  local port = self.description
  if not port.away and not self.alarm then return end
  self.alarm = self.alarm or snabb_alarm.declare("port-interface", {
    severity = "critical", qualifier = port.text,
    description = "The kernel interface of a port is gone",
    text = ("The interface '%s' is gone. Packets sent to the port '%s' are dropped "
      .. "until it is back."):format(kinds.interface(port), port.text)})
  if port.away then self.alarm:raise() else self.alarm:clear() end
end

-- An app of the class for an open port, of which so many packets were lost before.
local function with_port(class, description, port, lost)
  local kind = kinds.of(description)
  port.burst = description.burst
  absence.begin(description, port)
  local app = setmetatable({
    description = description, kind = kind, port = port, can_wait = kind.can_wait,
    takes_shared = takes_shared(description, kind, port),
    next_check = 0, next_statistics = 0, token = check.token(description),
    stats = statistics.new(), notify = kind.notify and class.tell_peer or nil,
    lost = statistics.since(kind.lost, description, lost),
    shm = statistics.frame(kinds.interface(description)),
  }, class)
  tell_alarm(app)
  return app
end

--- Open the port `arg` names: a port string, a DPDK port number, or
--- {port = STRING, burst = N}. Raises a failure that says why it can't be had.
--- `checked` (optional) is what check_arg found of it.
function Port:new(arg, checked)
  local description = checked
  if not checked then
    local _
    _, description = Port.check_arg(arg)
  end
  check.unclaimed(description)
  return with_port(self, description, plug.open(description))
end

--- The open port, for another Lua state (core.move.transfer): it isn't closed.
function Port:hand_over()
  self:publish_counters()
  local data = plug.hand_over(self.description, self.port)
  data.token, data.lost = self.token, self.lost()
  return data
end

--- The app of an open port that another Lua state has handed over.
function Port:take_over(_, data)
  local description, port = plug.take_over(data)
  local app = with_port(self, description, port, data.lost)
  app.token = data.token
  return app
end

--- What can't be undone: a file is replaced.
function Port:begin()
  if self.kind.begin then self.kind.begin(self.port, self.description) end
end

--- The engine tells which links there are.
function Port:link()
  self.source = self.output.output or self.output.tx
  self.sink = self.input.input or self.input.rx
  self.sink2, self.sink3 = self.input.input2, self.input.input3
end
Port.unlink = Port.link

--- Receive nothing from now on, or again (core.move.intake).
function Port:hold_back(yes)
  self.port.burst = yes and 0 or self.description.burst
end

--- It can do without tick() for so long while no packet comes, in seconds.
Port.tick_seconds = 5 * ALIVE_SECONDS

--- The descriptors that are ready when there is something to receive; or nil and why
--- there are none (core.idle.waking).
function Port:wake_fds()
  if not (self.output.output or self.output.tx) then return {} end
  if self.port.gone ~= 0 then return {} end -- tick() sees that it is back
  local of = self.kind.wake_fds
  local fds = of and of(self.port, self.description)
  self.looked_at = not fds and not self.kind.reads
  if fds then return fds end
  return nil, ("port '%s' has no descriptor to wait for"):format(self.description.text)
end

--- Let the peer tell of packets by the descriptors (the app's notify()), or no more.
--- The descriptors may be others now.
function Port:tell_peer(on)
  local version = self.kind.notify(self.port, on)
  if version ~= self.version then
    self.version = version
    waking.changed()
  end
end

--- Receive a burst from the device.
function Port:pull()
  local source = self.source
  if source then C.pg_receive(self.port, source) end
end

--- Send what waits in the links. (Tests of Snabb's give an app links behind the
--- engine's back, and push.)
function Port:push()
  if not self.sink then Port.link(self) end
  if self.sink then C.pg_transmit(self.port, self.sink) end
  if self.sink2 then C.pg_transmit(self.port, self.sink2) end
  if self.sink3 then C.pg_transmit(self.port, self.sink3) end
end

--- Look now and then whether the device is still there; publish counters.
function Port:tick()
  local now = C.pg_monotonic()
  if now < self.next_check then return end
  self.next_check = now + ALIVE_SECONDS
  plug.let_go(self.description, self.port)
  local change = absence.look(self.description, self.port, self.token)
  if change then
    tell_alarm(self)
    waking.changed()
  end
  if change == "back" then
    self.token = check.token(self.description)
    self.lost = statistics.since(self.kind.lost, self.description, self.lost())
  end
  local passed = self.port.rxpackets + self.port.txpackets
  if passed == self.passed and now < self.next_statistics and not change then return end
  self.passed, self.next_statistics = passed, now + QUIET_SECONDS
  self:publish_counters()
end

--- Bring the counters in shared memory up to date.
Port.publish_counters = statistics.publish

--- Does it read a file that ends? One that is only sent to does not.
function Port:ends()
  return self.kind.ends ~= nil and self.kind.ends(self.description)
end

--- Would an app of that argument begin a file again if it were started a second time?
function Port.begins_anew(arg) return kinds.of(parsed(arg)).begins_anew == true end

--- Has a port that reads a file come to its end? Raises a failure when the file
--- is damaged; what was read before has been delivered.
function Port:ended()
  return self:ends() and self.kind.ended(self.port, self.description)
end

--- The same, but raises nothing: a damaged file has its end there. What it brought may
--- be on its way still.
function Port:over()
  return self:ends() and self.kind.over(self.port)
end

--- The file that it reads, or nil.
function Port:reads()
  return self.kind.reads and self.kind.reads(self.description) or nil
end

--- DPDK's statistics of the port, a table of numbers (rte_eth_stats_get), and
--- Perigee's own drops by name.
Port.statistics = statistics.of

--- Print the statistics.
function Port:report()
  statistics.print(self.description.text, self.port, self:statistics())
  if self.looked_at then
    print("  without a descriptor to wait for: looked at every 100 us or so when idle")
  end
end

--- Unplug the device.
function Port:stop()
  local lingers = self.kind.lingers
  if self.port.txpackets > 0 and lingers
      and (lingers == true or lingers(self.port)) then
    C.pg_sleep(LINGER_SECONDS)
  end
  self:publish_counters()
  plug.close(self.description, self.port)
end

local M = {Port = Port}

local QUEUE = "queue_of_port" -- in arguments of such apps

--- A class for a driver app of Snabb's: `name`, `config` (lib.parse's
--- specification of its argument) and `port`, a function from the argument to
--- a port string. The class's port_argument(arg) is the Port's argument.
function M.alias(definition)
  local class = setmetatable({}, {__index = Port})
  class.__index = class
  class.config, class.alias_name = definition.config, definition.name
  local needs = definition.needs
  -- The Port's argument, where `arg` may have got a queue by split().
  local function port_of(arg)
    if not needs and arg == nil then
      failure.usage("%s's argument is a port string, or a table", definition.name)
    end
    if needs and (type(arg) ~= "table" or not arg[needs]) then
      failure.usage("%s's argument is a table with `%s`", definition.name, needs)
    end
    local port = definition.port and definition.port(arg) or arg[needs]
    local queue = type(arg) == "table" and arg[QUEUE]
    return queue and {port = port, queues = queue.queues, queue = queue.queue,
                      meets = queue.meets} or port
  end
  class.port_argument = port_of
  function class.check_arg(arg) return Port.check_arg(port_of(arg)) end
  function class.make_ready(arg) return Port.make_ready(port_of(arg)) end
  function class.begins_anew(arg) return Port.begins_anew(port_of(arg)) end
  function class.split(arg, n, i, meets)
    local of_port = type(arg) == "table" and Port.split(port_of(arg), n, i, meets)
    if not of_port then return nil end
    local copy = tables.copy(arg)
    copy[QUEUE] = {queues = of_port.queues, queue = of_port.queue,
                   meets = of_port.meets}
    return copy
  end
  class.take_over = Port.take_over
  function class:new(arg, checked)
    return Port.new(self, not checked and port_of(arg) or nil, checked)
  end
  return class
end

return M
