-- SPDX-License-Identifier: Apache-2.0
-- CheetahStateful is a flow manager for TCP connections of a load balancer. Which flow
-- a segment is of is said by its timestamp (click.flow.cookie), so none is looked for.

local bit = require("bit")
local ffi = require("ffi")

local C = require("core.declare")("native/flow_ends.h")
local cookie = require("click.flow.cookie")
local manager = require("click.flow.manager")
local native = require("click.flow.areas")
local note = require("click.note")
local tcp_flag = require("net.wire.tcp_flag")

local band, cast = bit.band, ffi.cast
local read_ends, manage = C.pg_flow_ends, native.pg_flow_manage
local read_stamp, write_stamp, cookie_of = cookie.read, cookie.write, cookie.of
local FLOW_ID, TCP, SYN = note.FLOW_ID, 6, tcp_flag.SYN
local FULL, NOT_TCP, NO_STAMP, NO_FLOW = 2, 3, 4, 5
local LARGEST = 2 ^ 26

-- A block's cookies: which are free, a stack; and of each the number of its flow.
local block_type = ffi.typeof([[struct {
  uint32_t flow[$]; uint16_t free[$]; uint32_t n;
}]], cookie.NUMBERS, cookie.NUMBERS)
local head_pointer = ffi.typeof("const struct click_flow_head *")

local CheetahStateful = manager.define{
  name = "CheetahStateful", ports = "1-2/1-2", flow = "#/#", flow_moves = false,
  summary = "finds each TCP connection's flow by a cookie in its timestamps",
  own_state = ffi.typeof("struct { uint32_t block, cookie; }"), any_capacity = true,
  drops = {"no IPv4 header", "no room for its flow", "no TCP over IPv4",
    "no timestamp", "no flow of that cookie"},
  arguments = {
    {"BLOCKS", "unsigned", default = 256, min = 1, max = 65536},
    manager.verbose(0), manager.RESERVE,
    {"BACKWARD_RESERVE", "int", default = 0, keyword = true},
    {"TIMEOUT", "int", default = 0, keyword = true},
  },
  notes = [[
Packets from clients come to input 0, those from servers to input 1, if that is used. A
SYN begins a flow, whose cookie it gets as the upper half of its TSecr. The server puts
that into the upper half of its TSval, and the client sends it back: load balancers
behind find the flow without a look-up. A hash of the client's address and the ports
says which of BLOCKS blocks, a power of two, a cookie is of; each has 32768. Segments
whose flow has other ends than they are dropped, as are those without timestamps. A flow
ends when no packet has come for TIMEOUT seconds (0: never).]],
  differs = "Blocks follow from addresses and ports, not from the aggregate "
    .. "annotation. A SYN that comes again has the same cookie. TIMEOUT is Perigee's; "
    .. "in FastClick cookies are never given back, nor is it seen whose a cookie is. "
    .. "RESERVE and BACKWARD_RESERVE aren't needed.",
}

--- Why there can't be copies, if so (program.click.copies).
function CheetahStateful.divided(e)
  return e.ninputs > 1 and "servers' packets have other addresses than those of their "
    .. "clients, whose flows they need" or nil
end

function CheetahStateful:configure(a)
  if band(a.BLOCKS, a.BLOCKS - 1) ~= 0 then
    return self:error("nblocks must be pow2")
  end
  self.mask, self.blocks = a.BLOCKS - 1, {}
  self.tuple = ffi.new("struct click_flow_ends")
  self.stamp = ffi.new("struct click_tcp_timestamp")
  a.CAPACITY = math.min(a.BLOCKS * cookie.NUMBERS, LARGEST)
  manager.configure(self, a)
end

function CheetahStateful:initialize()
  manager.initialize(self)
  if self.table then self.own = manager.own(self) end
end

local function new_block()
  local block = block_type()
  block.n = cookie.NUMBERS
  for i = 0, cookie.NUMBERS - 1 do block.free[i] = i end
  return block
end

-- The hash of the packet's ends, by which its block is known.
local function block_of(self, from_server)
  return band(cookie.hash(self.tuple, from_server), self.mask)
end

-- Give the new flow a cookie; false: its block has none.
local function give(self, flow, number)
  local block = self.blocks[number] or new_block()
  self.blocks[number] = block
  if block.n == 0 then return false end
  block.n = block.n - 1
  local own = self.own(flow)
  own.block, own.cookie = number, block.free[block.n]
  block.flow[own.cookie] = flow
  return true
end

--- A flow has ended: its cookie is another one's to come.
function CheetahStateful:own_ended(number)
  local own = self.own(number)
  local block = self.blocks[own.block]
  if not block or block.flow[own.cookie] ~= number then return end
  block.flow[own.cookie] = 0
  block.free[block.n], block.n = own.cookie, block.n + 1
end

-- A SYN from a client: its flow, which it gets the cookie of.
local function begin(self, p)
  local block = block_of(self, false)
  local time = self:time()
  local flow = manage(self.native, p, time)
  if flow == 0 and self.timeout > 0 and self:sweep(1) == 1 then
    flow = manage(self.native, p, time)
  end
  if flow <= 0 then return nil, FULL end
  if self.native.added ~= 0 and not give(self, flow, block) then
    if self.verbose > 0 then self:say("No more buckets for block %d", block) end
    self:end_flow(flow)
    return nil, FULL
  end
  self.stamp.echo = cookie.put(0, self.own(flow).cookie, 0)
  write_stamp(p, self.stamp)
  return p, 1
end

-- Is that flow, of these ends, the packet's?
local function is_its(head, ends, from_server)
  local id = head.id
  if from_server then
    return id.source == ends.destination and id.sport == ends.dport
      and id.dport == ends.sport
  end
  return id.source == ends.source and id.sport == ends.sport
    and id.destination == ends.destination and id.dport == ends.dport
end

-- Any other segment: the flow of its cookie.
local function go_on(self, p, from_server)
  local ends, stamp = self.tuple, self.stamp
  local number = cookie_of(from_server and stamp.value or stamp.echo)
  local block = self.blocks[block_of(self, from_server)]
  local flow = block and block.flow[number] or 0
  if flow == 0 then return nil, NO_FLOW end
  local records = self.table.table.records
  local head = cast(head_pointer, records.record + flow * records.size)
  if not is_its(head, ends, from_server) then return nil, NO_FLOW end
  if self.timeout > 0 then self.table:touch(flow, self:time()) end
  p.note32[FLOW_ID] = head.tag
  return p, from_server and 2 or 1
end

function CheetahStateful:make_process()
  local ends, stamp = self.tuple, self.stamp
  return function (_, p, i)
    if not read_ends(p, ends) or ends.protocol ~= TCP then return nil, NOT_TCP end
    if not read_stamp(p, stamp) then return nil, NO_STAMP end
    if i == 2 then return go_on(self, p, true) end
    if band(ends.tcp_flags, SYN) ~= 0 then return begin(self, p) end
    return go_on(self, p, false)
  end
end

CheetahStateful.ahead = false -- nothing is looked up

return {CheetahStateful}
