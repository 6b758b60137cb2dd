-- SPDX-License-Identifier: Apache-2.0
-- Queues: from push to pull. What finds no room goes to output 2, or is dropped.
--
-- A ring of pointers holds the packets; `head` and `tail` only count up, a slot is a
-- counter modulo its size. (Pointers, in a C array: LuaJIT would make an object of each
-- packet in a table.)

local configure = require("click.router.configure")
local element = require("click.element")
local ffi = require("ffi")
local packet = require("core.packet")

local band = bit.band
local DEFAULT_CAPACITY = 1000
local MOST = 2 ^ 24

-- How many pulls in a row find nothing before a queue says that it is empty.
local SLEEPINESS = 9

local function ring_size(capacity)
  local size = 1
  while size < capacity do size = size * 2 end
  return size
end

-- Make the ring for `capacity` packets; what doesn't fit is freed.
local function make_room(self, capacity)
  local size = ring_size(capacity)
  local slots = ffi.new("struct packet *[?]", size)
  local kept = 0
  for i = self.head, self.tail - 1 do
    local p = self.slots[band(i, self.mask)]
    if kept < capacity then
      slots[kept], kept = p, kept + 1
    else
      packet.free(p)
    end
  end
  self.slots, self.mask, self.capacity = slots, size - 1, capacity
  self.head, self.tail = 0, kept
end

local function length(self) return self.tail - self.head end

local function reset_counts(self)
  self.overflows, self.highest = 0, length(self)
end

local HANDLERS = {
  length = {read = length},
  highwater_length = element.data("highest"),
  capacity = {read = element.data("capacity").read,
              write = configure.keyword("CAPACITY", 1)},
  drops = element.data("overflows"),
  reset_counts = element.command(reset_counts),
  reset = element.command(function (self)
    for _ = 1, length(self) do self:overflow(self:take()) end
  end),
}

-- SimpleQueue: tells nobody ------------------------------------------------

local SimpleQueue = element.define{
  name = "SimpleQueue", summary = "stores packets in a queue", ports = "1/1-2",
  division = "any",
  processing = "h/lh", live = true, emits = true, drops = {"queue full"},
  arguments = {
    {"CAPACITY", "unsigned", default = DEFAULT_CAPACITY},
    {"BLOCKING", "bool", default = false, keyword = true},
    {"NOUSELESS", "bool", default = false, keyword = true},
  },
  handlers = HANDLERS,
}

function SimpleQueue:configure(a)
  if a.CAPACITY > MOST then
    return self:error("CAPACITY: at most %d packets", MOST)
  end
  if not self.slots then
    self.head, self.tail, self.overflows, self.highest = 0, 0, 0, 0
    make_room(self, a.CAPACITY)
  elseif a.CAPACITY ~= self.capacity then
    make_room(self, a.CAPACITY)
  end
end

-- Packet `p` finds no room.
function SimpleQueue:overflow(p)
  if self.noutputs > 1 then self.emit(2, p) else packet.free(p) end
end

function SimpleQueue:process(p)
  local tail = self.tail
  local n = tail - self.head
  if n >= self.capacity then
    if self.overflows == 0 and n > 0 then self:remark("overflow") end
    self.overflows = self.overflows + 1
    if self.noutputs > 1 then return p, 2 end
    return nil, 1
  end
  self.slots[band(tail, self.mask)] = p
  self.tail = tail + 1
  if n >= self.highest then self.highest = n + 1 end
  return false
end

-- The first packet, or nil.
function SimpleQueue:take()
  local head = self.head
  if head == self.tail then return nil end
  self.head = head + 1
  return self.slots[band(head, self.mask)]
end

function SimpleQueue:pull() return self:take() end

--- Packets that it holds (click.router.run_out).
SimpleQueue.backlog = length

function SimpleQueue:take_state(old)
  if not old.slots then return end
  local lost = length(old) - self.capacity
  if lost > 0 then
    self:warning("some packets lost (old length %d, new capacity %d)", length(old),
      self.capacity)
  end
  self.slots, self.mask, self.head, self.tail = old.slots, old.mask, old.head, old.tail
  make_room(self, self.capacity)
  self.highest = length(self)
  old.head, old.tail = 0, 0
end

function SimpleQueue:cleanup()
  if not self.slots then return end
  for _ = 1, length(self) do packet.free(self:take()) end
end

-- NotifierQueue: says when it is empty -------------------------------------

local NotifierQueue = element.define{
  name = "NotifierQueue", extends = SimpleQueue, notifies = "empty",
  summary = "a queue that wakes who pulls",
}

function NotifierQueue:process(p)
  local kept, o = SimpleQueue.process(self, p)
  if kept == false and not self.signal.active then self.signal:set(true) end
  return kept, o
end

-- A pull found nothing.
local function find_nothing(self)
  local times = (self.sleepiness or 0) + 1
  self.sleepiness = times
  if times > SLEEPINESS then self.signal:set(false) end
end

function NotifierQueue:pull()
  local p = self:take()
  if p then
    self.sleepiness = 0
  else
    find_nothing(self)
  end
  return p
end

function NotifierQueue:take_state(old)
  SimpleQueue.take_state(self, old)
  if length(self) > 0 then self.signal:set(true) end
end

-- Queue: says when it is full as well --------------------------------------

local Queue = element.define{
  name = "Queue", extends = NotifierQueue, notifies = "both",
  aliases = {"FullNoteQueue", "ThreadSafeQueue", "MSQueue"},
  summary = "a queue that wakes who pulls and who pushes",
}

function Queue:process(p)
  local kept, o = SimpleQueue.process(self, p)
  if kept == false then
    if not self.signal.active then self.signal:set(true) end
    if self.tail - self.head >= self.capacity then self.full_signal:set(false) end
  end
  return kept, o
end

function Queue:pull()
  local p = self:take()
  if p then
    self.sleepiness = 0
    if not self.full_signal.active then self.full_signal:set(true) end
  else
    find_nothing(self)
  end
  return p
end

function Queue:reconfigured()
  if length(self) < self.capacity then self.full_signal:set(true) end
end

-- QuickNoteQueue: says at once that it is empty ----------------------------

local QuickNoteQueue = element.define{
  name = "QuickNoteQueue", extends = Queue, notifies = "both",
  summary = "a queue that signals at once that it is empty",
}

function QuickNoteQueue:pull()
  local p = self:take()
  if p and not self.full_signal.active then self.full_signal:set(true) end
  if self.head == self.tail then self.signal:set(false) end
  return p
end

-- FrontDropQueue: the oldest makes room ------------------------------------

local FrontDropQueue = element.define{
  name = "FrontDropQueue", extends = NotifierQueue,
  summary = "a queue that drops its oldest packets",
}

function FrontDropQueue:process(p)
  if self.capacity > 0 and self.tail - self.head >= self.capacity then
    if self.overflows == 0 then
      self:remark("overflow")
    end
    self.overflows = self.overflows + 1
    self:overflow(self:take())
  end
  return NotifierQueue.process(self, p)
end

-- MixedQueue: input 1 to the back, input 2 to the front --------------------

local MixedQueue = element.define{
  name = "MixedQueue", extends = NotifierQueue, ports = "2/1-2",
  summary = "a queue whose second input puts packets in front",
}

-- Room for a packet in front: the last one has to go.
local function drop_last(self)
  self.tail = self.tail - 1
  if self.overflows == 0 then
    self:remark("overflow")
  end
  self.overflows = self.overflows + 1
  self:overflow(self.slots[band(self.tail, self.mask)])
end

function MixedQueue:process(p, i)
  if i == 1 or self.capacity == 0 then return NotifierQueue.process(self, p) end
  if self.tail - self.head >= self.capacity then drop_last(self) end
  self.head = self.head - 1
  self.slots[band(self.head, self.mask)] = p
  self.highest = math.max(self.highest, self.tail - self.head)
  if not self.signal.active then self.signal:set(true) end
  return false
end

return {SimpleQueue, NotifierQueue, Queue, QuickNoteQueue, FrontDropQueue, MixedQueue}
