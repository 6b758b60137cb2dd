-- SPDX-License-Identifier: Apache-2.0
-- What flow managers have in common: C finds each packet's flow (flow_manager.c), and
-- its record has room for what the elements behind keep of it (click.flow.state).

local ffi = require("ffi")

local declare = require("core.declare")
local element = require("click.element")
local engine_time = require("click.rewriter.time")
local flow = require("net.flow.flow")
local kept = require("click.flow.kept")
local note = require("click.note")
local state = require("click.flow.state")

local C = declare("native/flow_manager.h")

local manager = {}

local MOST = tonumber(C.FLOW_MANAGERS_MOST)
local LARGEST = 2 ^ 26
local MILLISECONDS = 1000
local AT_ONCE = 1024 -- flows that end in a turn, at most
local MANY, FEW = 16384, 8192 -- flows from which on a core's own caches don't hold them
local NO_HEADER, FULL = 1, 2

local HEAD = ffi.sizeof("struct click_flow_head")

local manage = C.pg_flow_manage
local id_type = ffi.typeof("struct click_flow_id")

manager.CAPACITY = {"CAPACITY", "unsigned", default = 65536, max = LARGEST}
manager.RESERVE = {"RESERVE", "unsigned", default = 0, max = 65535, keyword = true}

--- A keyword that says how much is told.
function manager.verbose(default)
  return {"VERBOSE", "int", default = default, keyword = true}
end

local Manager = element.define{
  name = "flow manager",
  ports = "1/1", processing = "h/h", phase = 90, manages_flows = true,
  flow_moves = true,
  division = "flow",
  drops = {"no IPv4 header", "no room for its flow"},
  reads = {"NETWORK_HEADER", "TRANSPORT_HEADER"}, lengthens = 0, fills_cache = true,
}

local function power_of_two(n)
  local power = 1
  while power < n do power = 2 * power end
  return power
end

function Manager:configure(a)
  if a.CAPACITY == 0 then return self:error("CAPACITY: must be at least 1") end
  local copy = self.router.options and self.router.options.copy -- of several
  local capacity = copy and math.ceil(a.CAPACITY / copy.of) or a.CAPACITY
  self.capacity = self.class.any_capacity and capacity or power_of_two(capacity)
  self.copies = copy and copy.of or 1
  self.timeout = math.max(a.TIMEOUT or 0, 0)
  self.interval = math.max(a.RECYCLE_INTERVAL or 1, 0.001)
  self.verbose = a.VERBOSE
end

local last_number = 0 -- of managers; each router's are in a row

local function number_of(self)
  local n = 0
  for _, e in ipairs(self.router.elements) do
    if e.class.manages_flows then n = n + 1 end
  end
  if n > MOST then
    return self:error("a router has up to %d flow managers, not %d", MOST, n)
  end
  last_number = last_number % MOST + 1
  return last_number
end

function Manager:initialize()
  self.seconds = engine_time.of(self.router)
  local number = number_of(self)
  if not number then return end
  local own = state.bytes_of(self.class.own_state)
  local areas, bytes = state.lay_out(self, HEAD + own)
  self.table = flow.new{
    key = id_type, limit = math.min(self.capacity * self.copies, LARGEST),
    value = ffi.typeof(("struct { uint64_t tag, area[%d]; }"):format(
      (own + bytes) / 8)),
    ages = self:ages(),
  }
  -- Each copy has room for all flows, which may move to it, but begins only its part.
  self.table.table.limit = self.capacity
  state.attach(areas, self.table, number)
  self.areas, self.kept = areas, HEAD + own + bytes
  self.native = ffi.new("struct click_flow_manager")
  self.native.table = self.table.table
  self.native.tag = number * 2 ^ tonumber(C.FLOW_TAG_BITS)
  if self.timeout > 0 then self:start_timer() end
end

--- How long flows live, a list of milliseconds for the lists of net.flow; nil: for
--- ever.
function Manager:ages()
  return self.timeout > 0 and {self.timeout * MILLISECONDS} or nil
end

--- Milliseconds, by which flows live.
function Manager:time() return self.seconds() * MILLISECONDS end

function Manager:start_timer()
  local timer
  timer = self.router:timer(function ()
    timer:after(self:sweep(AT_ONCE) == AT_ONCE and 0 or self.interval)
  end)
  timer:after(self.interval)
end

--- End up to `most` flows whose time is over; how many there were.
function Manager:sweep(most)
  local time = self:time()
  for n = 1, most do
    local number = self.table:expired(time)
    if number == 0 then return n - 1 end
    self:end_flow(number)
  end
  return most
end

--- For net.keep: the flows, and what elements behind keep of them.
Manager.kept_state = kept.item

--- Go on with the flows of the manager whose place this one takes.
Manager.take_state, Manager.let_go = kept.take, kept.let_go

--- End the flow of that number: elements are told, and the class's own_ended(number).
function Manager:end_flow(number)
  local record = ffi.cast("uint8_t *", self.table.record + number)
  for _, area in ipairs(self.areas) do
    local e = area.element
    if e.flow_ended then e:flow_ended(ffi.cast(area.pointer, record + area.offset)) end
  end
  if self.own_ended then self:own_ended(number) end
  ffi.cast("struct click_flow_head *", record).tag = 0
  self.table:remove(number)
end

-- A packet of a flow that there is no room for.
local function without_room(self, p)
  if self.timeout > 0 and self:sweep(1) == 1
    and manage(self.native, p, self:time()) > 0 then
    return p
  end
  if self.verbose > 0 and not self.told then
    self.told = true
    self:say("%s: Cannot add key (have %d items)!", self.name, self.table:count())
  end
  return nil, FULL
end

local function tell(self, p)
  self:say(self.native.added ~= 0 and "New flow %d" or "Existing flow %d",
    state.number(p))
end

function Manager:make_process()
  local native, seconds, talks = self.native, self.seconds, self.verbose > 1
  return function (_, p)
    local number = manage(native, p, seconds() * MILLISECONDS)
    if number > 0 then
      if talks then tell(self, p) end
      return p
    end
    if number < 0 then return nil, NO_HEADER end
    local q, o = without_room(self, p)
    return q, o
  end
end

--- Ask the memory for the flows of these packets.
function Manager:ahead(packets, n) C.pg_flow_manage_ahead(self.native, packets, n) end

--- Is it better to ask?
function Manager:outgrows_cache()
  self.large = self.table:count() >= (self.large and FEW or MANY)
  return self.large
end

local function capacity(self) return self.capacity end
local function count(self) return self.table and self.table:count() or 0 end

local function room(self)
  return self.table and self.table.table.limit or self.capacity
end

Manager.handlers = {
  count = {read = count},
  count_fids = {read = function (self) return room(self) - count(self) end},
  capacity = {read = capacity}, total_capacity = {read = capacity},
}

local NOTES = [[
Elements behind, up to the next flow manager, keep what they need of each flow in its
record, which the annotation FLOW_ID leads them to. A flow is all packets with the same
addresses, protocol and ports (of TCP, UDP and DCCP; 0 for other packets and for
fragments behind the first). ]]

--- A function of a flow's number: what the manager itself keeps of it, a pointer to its
--- class's own_state. The number is one of a flow that is there.
function manager.own(self)
  local pointer = ffi.typeof("$ *", self.class.own_state)
  local first, size = self.table.table.records.record, self.table.table.records.size
  return function (number)
    return ffi.cast(pointer, first + number * size + HEAD)
  end
end

--- A function of a packet: the number of its flow, if that is one of this manager's
--- that is still there; else nil.
function manager.number_of(self)
  local records, tag = self.table.table.records, self.native.tag
  local head = ffi.typeof("const struct click_flow_head *")
  return function (p)
    local noted = p.note32[note.FLOW_ID]
    local number = noted - tag
    if number <= 0 or number >= records.top then return nil end
    local record = ffi.cast(head, records.record + number * records.size)
    return record.tag == noted and number or nil
  end
end

--- What every manager does, for those that do more.
manager.configure, manager.make_process = Manager.configure, Manager.make_process
manager.initialize = Manager.initialize

--- A class of flow managers from a table that has name, summary, arguments and notes,
--- which say how long flows live and how many there can be. `own_state`: a C type of
--- what the manager itself keeps of a flow, zeros at first; own(self) finds it.
function manager.define(class)
  class.extends, class.notes = Manager, NOTES .. class.notes
  return element.define(class)
end

return manager
