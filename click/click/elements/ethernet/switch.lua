-- SPDX-License-Identifier: Apache-2.0
-- EtherSwitch learns which port an Ethernet address is behind; Hub doesn't. Ports count
-- from 0 where users see them, as in Click.
--
-- What goes to several ports is sent by functions written for that many: LuaJIT would
-- compile a loop in process() separately, at the cost of the loop around it.

local bit = require("bit")
local ffi = require("ffi")
local declare = require("core.declare")
local C, S = declare("net/flow/flow.h"), declare("native/stations.h")
local element = require("click.element")
local flow = require("net.flow.flow")
local front = require("click.net.front")
local news = require("core.cpus.news")
local note = require("click.note")
local types = require("click.arguments").types
local tables = require("net.keep.tables")
local text_of = require("click.language.text")
local wire_bytes = require("net.wire.bytes")
local wire = require("click.net.wire")

local ADDRESSES = 12 -- bytes
local GROUP = 0x01 -- in an address's first byte

-- A function of (emit, p) that sends copies to all of `outputs` but the last, and
-- returns that one's number; nil if there is none.
local function sender(outputs)
  local lines = {"local clone = ... return function (emit, p)"}
  for i = 1, #outputs - 1 do
    lines[#lines + 1] = ("emit(%d, clone(p))"):format(outputs[i])
  end
  lines[#lines + 1] = ("return %s end"):format(outputs[#outputs] or "nil")
  return loadstring(table.concat(lines, "\n"))(front.clone)
end

-- Hub ------------------------------------------------------------------------------

local Hub = element.define{
  name = "Hub", summary = "duplicates packets like a hub", emits = true,
  ports = "-/=", processing = "h/h", flow = "#/[^#]", drops = {"no other port"},
}

local function all_but(n, i)
  local outputs = {}
  for o = 1, n do
    if o ~= i then outputs[#outputs + 1] = o end
  end
  return outputs
end

function Hub:initialize()
  self.send = {}
  for i = 1, self.noutputs do self.send[i] = sender(all_but(self.noutputs, i)) end
end

function Hub:process(p, i)
  local last = self.send[i](self.emit, p)
  if last then return p, last end
  return nil, 1
end

-- EtherSwitch ----------------------------------------------------------------------

local EtherSwitch = element.define{
  name = "EtherSwitch", summary = "learning, forwarding Ethernet switch", emits = true,
  division = "any", -- copies tell each other where stations are
  ports = "2-/=", processing = "h/h", flow = "#/[^#]",
  arguments = {{"TIMEOUT", "seconds", default = 300, keyword = true}},
  drops = {"too short", "no other port", "filtered"},
}

local SECOND = 1e6 -- in the table's times: microseconds
local MOST = 65536 -- addresses, in up to 3 MiB

function EtherSwitch:configure(a)
  self.timeout = a.TIMEOUT
  self.flows = flow.new{key = "struct { uint8_t byte[6]; }", value = "uint16_t",
    limit = MOST, full = "evict", ages = {a.TIMEOUT * SECOND}} -- to a port's number
  self.passes = {} -- [input][output]: whether packets may go there
end

-- What is known is as old as it was, and goes so many seconds after it was seen.
local function set_timeout(e, seconds)
  local list, records = e.flows.table.list[0], e.flows.record
  local more = ffi.cast("int64_t", seconds * SECOND) - list.timeout
  list.timeout = list.timeout + more
  for n in e.flows:each() do
    local age = records[n].age
    age.expiry, age.queued = age.expiry + more, age.queued + more
  end
  e.timeout = seconds
end

local function write_senders(e)
  for i = 1, e.ninputs do
    local outputs = {}
    for o = 1, e.noutputs do
      if e.passes[i][o] then outputs[#outputs + 1] = o end
    end
    e.send[i] = sender(outputs)
  end
end

local function reset(e)
  e.send = {}
  for i = 1, e.ninputs do
    e.passes[i] = {}
    for o = 1, e.noutputs do e.passes[i][o] = o ~= i end
  end
  write_senders(e)
end

function EtherSwitch:initialize()
  reset(self)
  local copy = self.router.options and self.router.options.copy
  if copy and copy.of > 1 then
    self.news = news.open("EtherSwitch " .. self.name, copy.number)
    self.station = ffi.new("uint8_t[6]")
  end
end

function EtherSwitch:cleanup()
  if self.news then self.news:close() end
  self.news = nil
end

-- Learn what other copies have seen.
local function hear(self, now)
  local flows, station = self.flows, self.station
  for key, port in function () return self.news:next() end do
    wire_bytes.write48(station, key)
    local n = C.pg_flow_table_add(flows.table, station, 0, now)
    if n ~= 0 then flows.record[n].value = port end
  end
end

-- Tell the others that the station is behind the port: when that is new, and again as
-- long as it is seen, each eighth of the timeout (which the age's first byte counts).
local function tell(self, record, a, port, now)
  local noted = record.age.note
  local told = math.floor(now / (self.timeout * SECOND) * 8) % 255 + 1
  if record.value == port and noted[0] == told then return end
  noted[0] = told
  self.news:tell(wire_bytes.read48(a), port)
end

-- Note where the packet comes from; the port that its destination is behind, or nil.
local function learn(self, p, i)
  local flows = self.flows
  if self.timeout == 0 then return nil end
  local data, records, now = p.data, flows.record, note.time(p) * SECOND
  if self.news and self.news:waits() then hear(self, now) end
  local from = C.pg_flow_table_add(flows.table, data + 6, 0, now)
  if from ~= 0 then
    if self.news then tell(self, records[from], data + 6, i, now) end
    records[from].value = i
  end
  if bit.band(data[0], GROUP) ~= 0 then return nil end
  local to = C.pg_flow_table_find(flows.table, data)
  if to == 0 then return nil end
  if now < tonumber(records[to].age.expiry) then return records[to].value end
  C.pg_flow_table_remove(flows.table, to)
end

local function broadcast(self, p, i)
  local last = self.send[i](self.emit, p)
  if last then return p, last end
  return nil, 2
end

function EtherSwitch:process(p, i)
  if p.length < ADDRESSES then return nil, 1 end
  local to = learn(self, p, i)
  if to then
    if self.passes[i][to] then return p, to end
    return nil, 3
  end
  local q, o = broadcast(self, p, i)
  return q, o
end

--- What is known of ports that there still are.
function EtherSwitch:take_state(old)
  self.flows = old.flows
  for n in self.flows:each() do
    if self.flows.record[n].value > self.ninputs then self.flows:remove(n) end
  end
  set_timeout(self, self.timeout)
end

local GONE = "of a port that is gone"

--- Stations, for net.keep: of ports that there are.
function EtherSwitch:kept_state()
  local ports = self.ninputs
  local restore = tables.in_c(self.flows, S.pg_station_restore, function ()
    return ffi.new("struct click_stations", {self.flows.table, ports})
  end, {[S.STATION_PASSED] = tables.PASS, [S.STATION_GONE] = GONE})
  return tables.item{of = self.name, layout = "station 1", flows = self.flows,
    restore = restore,
    per_second = SECOND, now = function () return self.router:now() * SECOND end,
    check = function (record)
      if record.value == 0 then return tables.PASS end -- killed before it was noted
      if record.value > ports then return GONE end
      record.age.note[0] = 0 -- copies are told again
    end}
end

local function table_text(e)
  local lines = {}
  for n in e.flows:each() do
    local record = e.flows.record[n]
    lines[#lines + 1] = ("%s %d\n"):format(wire.eth_text(record.key.byte),
      record.value - 1)
  end
  table.sort(lines)
  return table.concat(lines)
end

local function forwarding_text(e)
  local lines = {}
  for i, passes in ipairs(e.passes) do
    local bits, weight = {}, 0
    for o = 1, #passes do
      bits[o] = passes[o] and "1" or "0"
      weight = weight + (passes[o] and 1 or 0)
    end
    lines[i] = ("weight: %d\t%d: %s\n"):format(weight, i - 1, table.concat(bits))
  end
  return table.concat(lines)
end

-- "0 1 2, 3 4": nothing goes from port 0 to 1 and 2 any more, nor from 3 to 4.
local function remove_forwarding(e, text)
  local removed = {}
  for _, group in ipairs(text_of.arguments(text)) do
    local ports = {}
    for k, word in ipairs(text_of.words(group)) do
      ports[k] = types.unsigned(word, {max = e.noutputs - 1})
      if not ports[k] then return "invalid port forwarding" end
    end
    if ports[1] and ports[1] >= e.ninputs then return "invalid port forwarding" end
    for k = 2, #ports do removed[#removed + 1] = {ports[1] + 1, ports[k] + 1} end
  end
  for _, way in ipairs(removed) do e.passes[way[1]][way[2]] = false end
  write_senders(e)
end

-- The stations that any copy knows, of which none is said twice.
local function join_tables(texts)
  local seen, lines = {}, {}
  for line in table.concat(texts):gmatch("[^\n]+\n") do
    local station = line:match("%S+")
    if not seen[station] then lines[#lines + 1] = line end
    seen[station] = true
  end
  table.sort(lines)
  return table.concat(lines)
end

EtherSwitch.handlers = {
  table = {read = table_text, join = join_tables},
  evicted = {read = function (e) return tostring(tonumber(e.flows.table.evicted)) end},
  timeout = {
    read = function (e) return ("%d"):format(e.timeout) end,
    write = function (e, text)
      local seconds = types.seconds(text, {})
      if not seconds then return "expected timeout (integer)" end
      set_timeout(e, math.floor(seconds))
    end,
  },
  port_forwarding = {read = forwarding_text},
  remove_port_forwarding = {write = remove_forwarding},
  reset_port_forwarding = {write = function (e) reset(e) end},
}

-- ListenEtherSwitch ----------------------------------------------------------------

local ListenEtherSwitch = element.define{
  name = "ListenEtherSwitch", extends = EtherSwitch, ports = "-/=+",
  summary = "learning, forwarding Ethernet switch with listening port",
}

function ListenEtherSwitch:process(p, i)
  if p.length < ADDRESSES then return nil, 1 end
  local to, listener = learn(self, p, i), self.noutputs
  if not to then
    local q, o = broadcast(self, p, i)
    return q, o
  end
  if to == i then return p, listener end
  self.emit(listener, front.clone(p))
  return p, to
end

return {Hub, EtherSwitch, ListenEtherSwitch}
