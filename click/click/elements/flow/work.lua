-- SPDX-License-Identifier: Apache-2.0
-- FlowWorkPackage: work for the CPU and its caches that a packet's flow costs, to try
-- how flows are best divided among cores. It finds flows by itself. C does the work
-- (native/work.c).

local ffi = require("ffi")

local element = require("click.element")
local note = require("click.note")
local own_table = require("click.flow.own_table")

local C = require("core.declare")("native/work.h")

local cast = ffi.cast
local work_with = C.pg_work_flow
local NETWORK_HEADER = note.NETWORK_HEADER
local LARGEST, NUMBER = 2 ^ 26, 4
local number_pointer = ffi.typeof("uint32_t *")

local function times(name, default)
  return {name, "unsigned", default = default, max = 65535, keyword = true}
end

local FlowWorkPackage = element.define{
  name = "FlowWorkPackage", summary = "does work for each packet and for each flow",
  ports = "1-/=", processing = "h/h", flow = "#/#", division = "flow", lengthens = 0,
  reads = {"NETWORK_HEADER", "TRANSPORT_HEADER", "FLOW_ID"}, fills_cache = true,
  arguments = {
    times("PREAD", 1), times("PWRITE", 0), times("FREAD", 0), times("FWRITE", 1),
    {"F", "unsigned", default = 4, max = 65535, keyword = true},
    {"TABLE_SIZE", "unsigned", default = LARGEST, min = 1, max = LARGEST,
      keyword = true},
    {"SEQUENTIAL", "bool", default = false, keyword = true},
    {"ORDER", "int", default = -1, max = 65535, keyword = true},
    {"W", "unsigned", default = 0, keyword = true},
    {"ACTIVE", "bool", default = true, keyword = true},
  },
  notes = [[
It keeps F bytes of each flow, for up to TABLE_SIZE flows. A flow's first packet writes
them FWRITE times, from its IP header on, and reads them FREAD times; each packet reads
them PREAD times, draws W random numbers, and writes them PWRITE times. ACTIVE false: W
alone is done. With ORDER, the packet's 4 bytes from that one on, as NumberPacket writes
them, are to be no less than the flow's before: outoforder counts those that are.]],
  differs = "SEQUENTIAL changes nothing: a flow is with one core. What isn't IPv4 "
    .. "passes without work.",
  handlers = {outoforder = element.data("late")},
}

function FlowWorkPackage:configure(a)
  local work = ffi.new("struct flow_work")
  for _ = 1, 2 do
    work.random.state = work.random.state * 2 ^ 31 + math.random(1, 2 ^ 31 - 1)
  end
  work.random.draws, work.bytes = a.W, a.F
  work.flow_writes, work.flow_reads = a.FWRITE, a.FREAD
  work.packet_reads, work.packet_writes = a.PREAD, a.PWRITE
  self.work, self.order, self.late, self.limit = work, a.ORDER, 0, a.TABLE_SIZE
  if not a.ACTIVE then
    work.bytes, self.order = 0, -1
    return
  end
  self.table = own_table.new(a.TABLE_SIZE, NUMBER + a.F)
end

-- Is it in its flow's order? `area` begins with the number before.
local function see_order(self, p, area, first)
  if self.order + NUMBER > p.length then return end
  local before, now = cast(number_pointer, area),
    cast(number_pointer, p.data + self.order)[0]
  if not first and now < before[0] then self.late = self.late + 1 end
  before[0] = now
end

function FlowWorkPackage:process(p, i)
  if not self.table then
    work_with(self.work, nil, nil, 0, false)
    return p, i
  end
  local area, first = self.table:area(p)
  if not area then
    if first == "full" and not self.told then
      self.told = true
      self:say("Cannot add key (have %d items)!", self.table:count())
    end
    return p, i
  end
  if self.order >= 0 then see_order(self, p, area, first) end
  local at = p.note16[NETWORK_HEADER] - p.data_off
  work_with(self.work, area + NUMBER, p.data + at, p.length - at, first)
  return p, i
end

return {FlowWorkPackage}
