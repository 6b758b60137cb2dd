-- SPDX-License-Identifier: Apache-2.0
-- libmoon's module `pipe`: slow pipes take any values, fast pipes pointers, packet
-- rings packets (as many as they have slots, or so many packets or bytes).

local arguments = require("moongen.arguments")
local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local eal = require("core.eal")
local libmoon = require("moongen.tasks.libmoon")
local locks = require("moongen.locks")
local integer = require("moongen.integer")
local queue = require("moongen.tasks.pointer_queue")
local serialize = require("moongen.tasks.serialize")
local sized_rings = require("moongen.tasks.sized_rings")

local pipe = {}

local DEFAULT_SIZE, STEP_US = 512, 10

local function address(pointer)
  return tonumber(ffi.cast("uintptr_t", ffi.cast("void *", pointer)))
end

local MOST = 2 ^ 26 -- places of a pipe or ring

-- Objects with one pointer, which go to other tasks as its address.
local function class(name, field, ctype)
  local Class = {}
  Class.__index = Class
  serialize.class("moongen.tasks.pipe", name, Class,
    function (self) return address(self[field]) end,
    function (at)
      return setmetatable({[field] = ffi.cast(ctype, ffi.cast("void *", at))}, Class)
    end)
  return Class
end

local SlowPipe = class("slowPipe", "pipe", "struct mg_pipe *")
local FastPipe = class("fastPipe", "pipe", "struct mg_pipe *")
local PacketRing = class("packetRing", "ring", "void *")
pipe.slowPipe, pipe.fastPipe, pipe.packetRing = SlowPipe, FastPipe, PacketRing

local function number(first, second)
  return type(first) == "number" and first or second
end

local function poll_on(take, self, wait)
  while wait >= STEP_US do
    wait = wait - STEP_US
    libmoon.sleepMicrosIdle(STEP_US)
    local value = take(self)
    if value ~= nil then return value end
  end
  return nil
end

-- Try to take something for up to `wait` microseconds. Mostly there is something, or
-- nobody waits: LuaJIT compiles callers' loops if there is no loop in this one.
local function poll(take, self, wait)
  local value = take(self)
  if value ~= nil or not wait or wait < STEP_US then return value end
  value = poll_on(take, self, wait)
  return value
end

-- Take something, or nothing when the script is to end.
local function wait_for(take, self)
  repeat
    local value = poll(take, self, STEP_US)
    if value ~= nil then return value end
  until not libmoon.running()
  return nil
end

local function count(self) return self.pipe.count end

-- Slow pipes: a message is its size and a serialized text, in memory of C's. ----------

local HEADER = ffi.sizeof("uint64_t")

--- A pipe for any values; any number of tasks may write and read.
function pipe.newSlowPipe()
  return setmetatable({pipe = queue.new(DEFAULT_SIZE)}, SlowPipe)
end

--- Send the values, as one message.
function SlowPipe:send(...)
  if type(self) ~= "table" or not self.pipe then
    arguments.without("send", self, "a pipe")
  end
  local text = serialize.encode(...)
  local m = locks.memory("char", HEADER + #text)
  ffi.cast("uint64_t *", m)[0] = #text
  ffi.copy(m + HEADER, text, #text)
  queue.put(self.pipe, m, true)
end

local function take_text(self)
  local m = queue.take(self.pipe)
  if m == nil then return nil end
  m = ffi.cast("char *", m)
  local text = ffi.string(m + HEADER, ffi.cast("uint64_t *", m)[0])
  locks.free(m)
  return text
end

local function values(text)
  if text then return serialize.decode(text) end
end

--- The values of the next message, waiting up to so many microseconds (default 0).
function SlowPipe:tryRecv(wait) return values(poll(take_text, self, wait)) end

--- The same, waiting for it; nothing when the script is to end.
function SlowPipe:recv() return values(wait_for(take_text, self)) end

SlowPipe.count = count

--- Throw away what is in it.
function SlowPipe:empty()
  while take_text(self) do end -- luacheck: ignore 542
end

function SlowPipe:delete()
  self:empty()
  queue.free(self.pipe)
end

-- Fast pipes --------------------------------------------------------------------------

--- A pipe for pointers. It grows from `size` (default 512) when send() finds it full.
function pipe.newFastPipe(first, size)
  size = integer("newFastPipe: size", number(first, size) or DEFAULT_SIZE, 1, MOST)
  return setmetatable({pipe = queue.new(size)}, FastPipe)
end

function FastPipe:send(pointer) queue.put(self.pipe, pointer, true) end

--- Send it unless the pipe is full: true or false.
function FastPipe:trySend(pointer) return queue.put(self.pipe, pointer, false) end

local function take_pointer(self)
  local pointer = queue.take(self.pipe)
  if pointer == nil then return nil end -- or a pointer to nothing was sent
  return pointer
end

--- The next pointer (void *), waiting up to so many microseconds (default 0); nil if
--- there is none.
function FastPipe:tryRecv(wait) return poll(take_pointer, self, wait) end

--- The same, waiting for it; nil when the script is to end.
function FastPipe:recv() return wait_for(take_pointer, self) end

FastPipe.count = count
function FastPipe:delete() queue.free(self.pipe) end

-- Packet rings ------------------------------------------------------------------------

--- A ring for `size` packets (default 512); one task sends, one receives.
function pipe.newPacketRing(first, size, socket)
  if type(first) == "number" then size, socket = first, size end
  size = integer("newPacketRing: size", size or DEFAULT_SIZE, 1, MOST)
  if socket ~= nil then integer("newPacketRing: socket", socket, -1, 1023) end
  eal.start()
  local ring = C.pg_packet_ring_new(size, socket or -1, false)
  if ring == nil then error("no memory for a packet ring", 2) end
  return setmetatable({ring = ring}, PacketRing)
end

function pipe.newPacketRingFromRing(first, ring)
  return setmetatable({ring = ring or first}, PacketRing)
end

local function put(ring, bufs, n)
  return C.pg_packet_ring_put(ring, bufs.array, n) > 0
end

--- Send all packets of the array, or none: true or false. They are the receiver's then.
function PacketRing:send(bufs) return put(self.ring, bufs, bufs.size) end
function PacketRing:sendN(bufs, n)
  return put(self.ring, bufs, math.min(tonumber(n), bufs.maxSize))
end

local function take(ring, bufs, n)
  C.mg_give_wanted_caches()
  return C.pg_packet_ring_take(ring, bufs.array, n)
end

--- Receive what is there: how many.
function PacketRing:recv(bufs) return take(self.ring, bufs, bufs.size) end
function PacketRing:recvN(bufs, n)
  return take(self.ring, bufs, math.min(tonumber(n), bufs.maxSize))
end

function PacketRing:count() return C.pg_packet_ring_count(self.ring) end
function PacketRing:freeCount() return C.pg_packet_ring_room(self.ring) end
function PacketRing:empty() return self:count() == 0 end
function PacketRing:full() return self:freeCount() == 0 end
function PacketRing:free() C.pg_packet_ring_free(self.ring) end

-- The `n` buffers of the array (default: as many as it has) that can be meant.
local function how_many(name, bufs, n)
  if not ffi.istype("struct mg_buffers", bufs) then
    arguments.refuse(name, 2, bufs, "an array of buffers (mem:bufArray())", 4)
  end
  return math.max(math.min(tonumber(n) or bufs.size, bufs.maxSize), 0)
end

-- Rings of a size in packets or bytes (sized_rings): newPktsizedRing, newBytesizedRing
-- and what is called with them.

local SizedRing = ffi.typeof("struct mg_sized_ring *")

-- The ring that is meant: scripts pass an object's `ring`, or the object.
local function sized(name, ring)
  if type(ring) == "table" then ring = ring.ring end
  if not ffi.istype(SizedRing, ring) then
    arguments.refuse(name, 1, ring, "a ring (`ring` of what pipe made)", 4)
  end
  return ring
end

local function add_sized(word, field, of_bytes)
  local Ring = class(field, "ring", "struct mg_sized_ring *")
  pipe[field] = Ring
  pipe["new" .. word .. "Ring"] = function (first, capacity, socket)
    if type(first) == "number" then capacity, socket = first, capacity end
    return setmetatable({ring = sized_rings.new("new" .. word .. "Ring", capacity,
      of_bytes, socket)}, Ring)
  end
  pipe["new" .. word .. "RingFromRing"] = function (first, ring)
    return setmetatable({ring = ring or first}, Ring)
  end

  -- Send what there is room for. The rest is lost.
  function Ring:send(bufs) return sized_rings.put(self.ring, bufs, bufs.size) > 0 end
  function Ring:sendN(bufs, n)
    return sized_rings.put(self.ring, bufs, how_many("sendN", bufs, n)) > 0
  end
  function Ring:recv(bufs) return sized_rings.take(self.ring, bufs, bufs.size) end
  arguments.methods(Ring, "a packet ring", "ring", {send = "buffers",
    sendN = "buffers, number", recv = "buffers"})

  local to, from = "sendTo" .. word .. "Ring", "recvFrom" .. word .. "Ring"
  pipe[to] = function (_, ring, bufs, n)
    return sized_rings.put(sized(to, ring), bufs, how_many(to, bufs, n))
  end
  pipe[from] = function (_, ring, bufs, n)
    return sized_rings.take(sized(from, ring), bufs, how_many(from, bufs, n))
  end
  local count_of, capacity_of = "count" .. word .. "Ring", "capacity" .. word .. "Ring"
  pipe[count_of] = function (_, ring)
    return C.pg_packet_ring_count(sized(count_of, ring).packets)
  end
  pipe[capacity_of] = function (_, ring) return sized(capacity_of, ring).capacity end
end

add_sized("Pktsized", "pktsizedRing", false)
add_sized("Bytesized", "bytesizedRing", true)

arguments.methods(SlowPipe, "a pipe", "pipe", {tryRecv = "number?", recv = "",
  count = "", empty = "", delete = ""})
arguments.methods(FastPipe, "a pipe", "pipe", {send = "pointer", trySend = "pointer",
  tryRecv = "number?", recv = "", count = "", delete = ""})
arguments.methods(PacketRing, "a packet ring", "ring", {send = "buffers",
  sendN = "buffers, number", recv = "buffers", recvN = "buffers, number", count = "",
  freeCount = "", empty = "", full = "", free = ""})

-- What scripts call for objects that came to them in others. --------------------------

function pipe.sendToPacketRing(_, ring, bufs, n)
  return put(ring, bufs, how_many("sendToPacketRing", bufs, n))
end

--- Receive up to `n` packets: how many.
function pipe.recvFromPacketRing(_, ring, bufs, n)
  return take(ring, bufs, how_many("recvFromPacketRing", bufs, n))
end

function pipe.countPacketRing(_, ring) return C.pg_packet_ring_count(ring) end

--- Bytes that are in a ring of a size in bytes.
function pipe.bytesusedBytesizedRing(_, ring)
  return sized_rings.bytes(sized("bytesusedBytesizedRing", ring))
end

function pipe.sendToSlowPipe(_, slow, ...)
  return SlowPipe.send({pipe = slow.pipe}, ...)
end

function pipe.sendToFastPipe(_, fast, pointer)
  return queue.put(type(fast) == "table" and fast.pipe or fast, pointer, false)
end

return pipe
