-- SPDX-License-Identifier: Apache-2.0
-- TCPStateIN: two of them, one in each direction, follow TCP connections from the first
-- segment to the last acknowledgement, and drop what belongs to none.

local bit = require("bit")
local ffi = require("ffi")
local element = require("click.element")
local ends_key = require("click.flow.ends_key")
local flow = require("net.flow.flow")
local ip_header = require("click.net.ip_header")
local state = require("click.flow.state")

local band = bit.band
local TCP, FLAGS, TCP_HEADER = 6, 13, 20 -- FLAGS: where they are in the header
local FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
local NOT_TCP, NO_FLOW, NO_SYN, OVER = 1, 2, 3, 4
local MOST = 2 ^ 24 -- connections that wait for a first packet back

-- What a flow has: the number of its connection, or 0; did it have one; did its FIN
-- come?
local area_type = ffi.typeof("struct { uint32_t number; uint16_t known, fin; }")

-- Connections by number: {uses = (flows, and 1 while it waits for the other side's),
-- closing = (has one side sent FIN?), waits = (the table in which it waits, or nil),
-- record = (its number there), establishes = (the element that completed it, or nil)}.
local connections, last = {}, 0

-- It waits in the table `waits`, if that has room, for what comes back with those ends.
local function new_connection(waits, ends)
  repeat last = last % (2 ^ 32 - 1) + 1 until not connections[last]
  local record = waits:add(ends)
  local c = {uses = 1, closing = false}
  if record ~= 0 then
    waits.record[record].value = last
    c.uses, c.waits, c.record = 2, waits, record
  end
  connections[last] = c
  return last
end

-- It waits for the other side no more.
local function stop_waiting(c)
  if not c.waits then return end
  c.waits:remove(c.record)
  c.waits = nil
end

-- The connection that waits in that table for a packet with those ends, or nil; its
-- number.
local function waiting(waits, ends)
  local record = waits:find(ends)
  if record == 0 then return nil end
  local number = waits.record[record].value
  return connections[number], number
end

local function release(area)
  local c = connections[area.number]
  if not c then return end
  if c.waits then
    stop_waiting(c)
    c.uses = c.uses - 1
  end
  c.uses = c.uses - 1
  if c.uses <= 0 then
    if c.establishes then c.establishes.established = c.establishes.established - 1 end
    connections[area.number] = nil
  end
  area.number = 0
end

local TCPStateIN = element.define{
  name = "TCPStateIN", summary = "follows TCP connections, with another one",
  ports = "1/1-2", processing = "h/h", flow_state = area_type,
  reads = {"NETWORK_HEADER", "FLOW_ID"},
  drops = {"not TCP", "no flow", "no SYN before", "its connection is over"},
  arguments = {
    {"RETURNNAME", "element", required = true, class = "TCPStateIN"},
    {"ACCEPT_NONSYN", "bool", default = true, keyword = true},
    {"VERBOSE", "int", default = 0, keyword = true},
  },
  notes = [[
Behind a flow manager; RETURNNAME is the one that the other direction passes. A
connection begins with a packet of either side, and is established with the first one
back. It is over for a side that has sent RST, and for both once both have sent FIN and
the second FIN is acknowledged. What a side sends after that, and with ACCEPT_NONSYN
false what comes before a SYN, leaves by output 2, or is dropped without it. Handlers:
`established` connections, and `map_size`, those that wait for a first packet back.]],
  differs = "A SYN on a connection that is over begins another one. A connection whose "
    .. "flow ends before an answer came waits no more. VERBOSE changes nothing.",
  handlers = {
    map_size = {read = function (e) return e.waiting:count() end},
    established = {read = function (e) return e.established end},
  },
}

function TCPStateIN:configure(a)
  self.back, self.only_syn = a.RETURNNAME, not a.ACCEPT_NONSYN
  self.waiting = flow.new{key = ends_key.type, value = "uint32_t", limit = MOST}
  self.established = 0
end

function TCPStateIN:initialize() self.area_of = state.of(self) end

function TCPStateIN.flow_ended(_, area) release(area) end

function TCPStateIN:cleanup()
  if rawget(self, "area_of") then state.end_all(self) end
end

local ends = ends_key.type()

-- The first packet of a flow, or of another connection: false if it is refused.
local function begin(self, area, ip, tcp, flags)
  ends_key.read(ends, ip, tcp)
  local c, number = waiting(self.back.waiting, ends)
  if c then
    stop_waiting(c) -- its use is this flow's from now on
    c.establishes, self.established = self, self.established + 1
  elseif self.only_syn and band(flags, SYN) == 0 then
    return false
  else
    ends_key.read_back(ends, ip, tcp)
    local same = waiting(self.waiting, ends)
    if same then -- another flow manager's flow of the same name
      stop_waiting(same)
      same.uses = same.uses - 1
    end
    number = new_connection(self.waiting, ends)
  end
  area.number, area.known, area.fin = number, 1, 0
  return true
end

-- What the segment says of the end of its connection.
local function follow(area, flags)
  local c = connections[area.number]
  if band(flags, RST) ~= 0 then
    release(area)
  elseif band(flags, FIN) ~= 0 then
    if area.fin ~= 0 then return end -- it comes again
    area.fin = 1
    if c.closing and band(flags, ACK) ~= 0 then
      release(area)
    else
      c.closing = true
    end
  elseif c.closing and area.fin ~= 0 and band(flags, ACK) ~= 0 then
    release(area)
  end
end

local function refuse(self, p, reason)
  if self.noutputs > 1 then return p, 2 end
  return nil, reason
end

function TCPStateIN:process(p)
  local ip, header, left = ip_header.whole(p)
  if not ip or ip[9] ~= TCP or left < header + TCP_HEADER
      or band(ip[6], 0x1f) ~= 0 or ip[7] ~= 0 then
    return nil, NOT_TCP
  end
  local area = self.area_of(p)
  if not area then return nil, NO_FLOW end
  local tcp = ip + header
  local flags = tcp[FLAGS]
  if area.number == 0 then
    if area.known ~= 0 and band(flags, SYN) == 0 then return refuse(self, p, OVER) end
    if not begin(self, area, ip, tcp, flags) then return refuse(self, p, NO_SYN) end
  end
  follow(area, flags)
  return p
end

return {TCPStateIN}
