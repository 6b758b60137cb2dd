-- SPDX-License-Identifier: Apache-2.0
-- Queues of packets from one process to another, by name (a path in core.shm).
-- Packets stay in their process, so what the queue holds is their bytes
-- (snabb/native/interlink.c).
--
--    receiver: attach_receiver  empty  extract  pull  detach_receiver
--    transmitter: attach_transmitter  full  insert  push  detach_transmitter
--
-- What was inserted is seen by the receiver after push(), the room of what was
-- extracted by the transmitter after pull(). Either side may come first, leave, and be
-- followed by another; what is in the queue stays there until both have left. A side
-- whose process died is taken to have left as soon as somebody wants its side. To a
-- side that has seen wrong cursors of the other, the queue is empty or full, for ever.

local ffi = require("ffi")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")
local C = require("core.declare")("native/snabb.h")
local arguments = require("core.lib.arguments")
local failure = require("core.failure")
local folders = require("core.shm.process_folders")
local owner = require("core.shm.owner")
local packet = require("core.packet")
local shm = require("core.shm")
local sync = require("core.sync")

local interlink = {}

-- States. A queue that is DOWN never comes up again: a new one is made of its name.
local INIT, CONF, FREE, RXUP, TXUP, DXUP, DOWN = 0, 1, 2, 3, 4, 5, 6
local NAMES = {[INIT] = "being initialized", [CONF] = "being configured",
  [FREE] = "free to attach", [RXUP] = "waiting for transmitter",
  [TXUP] = "waiting for receiver", [DXUP] = "in active use", [DOWN] = "deallocating"}

local LIES = {[C.INTERLINK_CURSOR] = "how many packets there are",
  [C.INTERLINK_LENGTH] = "a packet's length"}

-- The two sides: from which states a side attaches, where detaching leads to.
local RECEIVER = {pid = "receiver", space = "receiver_space", alone = RXUP,
  other = TXUP, first = true}
local TRANSMITTER = {pid = "transmitter", space = "transmitter_space", alone = TXUP,
  other = RXUP, first = false}

local MOST_SLOTS = 5 -- of one packet, as in snabb/native/interlink.c
local HEADER = ffi.offsetof("struct interlink", "ring")
local MOST = 2^20 -- packets
local RETRY_S, STALE_S = 0.001, 1
local queue_p = ffi.typeof("struct interlink *")
local side_t = ffi.typeof("struct interlink_side")
local istype = ffi.istype

local function slots_for(size) return size + MOST_SLOTS + 2 end

local function bytes_of(slots) -- behind the last slot, room for the rest of a packet
  return HEADER + (slots + MOST_SLOTS) * C.INTERLINK_SLOT
end

local function map(name, slots)
  local array = ffi.typeof("uint8_t[$]", bytes_of(slots))
  return ffi.cast(queue_p, shm.create(name, array))
end

local function change(r, from, to)
  return sync.cas(ffi.cast("int32_t *", r), from, to) -- `state` is its first field
end

-- Whoever is first lays the queue out.
local function configure(r, size)
  if not change(r, INIT, CONF) then return end
  r.size, r.slots = size, slots_for(size)
  change(r, CONF, FREE)
end

local function take_place(r, side)
  if not (change(r, FREE, side.alone) or change(r, side.other, DXUP)) then
    return false
  end
  shm.mkdir(shm.resolve("engine")) -- other namespaces see by it that this one lives
  r[side.space] = tonumber(owner.myself().namespace)
  r[side.pid] = unistd.getpid()
  return true
end

-- Give the side's place up: whether it was taken, and whether nobody is left.
local function leave(r, side)
  r[side.pid] = 0
  if change(r, DXUP, side.other) then return true, false end
  return change(r, side.alone, DOWN), true
end

local function is_near(r, side)
  return tostring(r[side.space]) == owner.myself().namespace
end

-- Gone, or a zombie, that its parent hasn't asked for (proc(5)).
local function is_dead(r, side)
  local pid = r[side.pid]
  if not is_near(r, side) then
    return not folders.is_running(shm.root, pid, tostring(r[side.space]))
  end
  if owner.no_process(pid) then return true end
  local file = io.open(("/proc/%d/stat"):format(pid))
  local state = file and file:read("*a"):match("^.*%) (%a)")
  if file then file:close() end
  return state == "Z" or state == "X"
end

-- Has the process another file mapped than the queue's, having got the number of one
-- that died? False if that can't be known.
local function is_another(pid, name)
  local file = io.open(("/proc/%d/maps"):format(pid))
  local found = file and stat.stat(shm.path(name))
  local maps = found and file:read("*a") or ""
  if file then file:close() end
  return maps ~= "" and not maps:find((" %d "):format(found.st_ino), 1, true)
end

-- Does a process that died hold the side? `wait` says how long it has been so.
local function is_held_by_dead(r, name, side, wait)
  if r.state ~= DXUP and r.state ~= side.alone then return false end
  local pid = r[side.pid]
  if pid == 0 then -- killed, perhaps, between taking the place and saying so
    wait.unsaid[side] = wait.unsaid[side] or wait.seconds
    return wait.seconds - wait.unsaid[side] > STALE_S
  end
  wait.unsaid[side] = nil
  return is_dead(r, side) or wait.looks and is_near(r, side) and is_another(pid, name)
end

-- Put an end to what dead processes hold of the queue.
local function bury(r, name, wait)
  for _, side in ipairs{RECEIVER, TRANSMITTER} do
    if is_held_by_dead(r, name, side, wait) then
      local left, last = leave(r, side)
      if left and last then shm.unlink(name) end
    end
  end
end

local function check_size(name, size)
  if type(size) ~= "number" or size < 2 or size > MOST or size % 1 ~= 0
     or bit.band(size, size - 1) ~= 0 then
    failure.usage("interlink %s: its size can't be %s; give a power of two from 2 "
      .. "to %d", name, tostring(size), MOST)
  end
end

-- One attempt; the queue, or nil.
local function try(name, size, side, wait)
  local r = map(name, slots_for(size))
  configure(r, size)
  if r.size ~= size and r.state > CONF and r.state < DOWN then
    local found = r.size
    shm.unmap(r)
    failure.raise("interlink %s is there already, with the size %d rather than %d",
      name, found, size)
  end
  if take_place(r, side) then
    local attached = side_t{shared = r, size = size, slots = slots_for(size)}
    C.pg_interlink_attach(attached, side.first)
    return attached
  end
  if r.state == CONF and wait.seconds > STALE_S then change(r, CONF, INIT) end
  bury(r, name, wait)
  if r.state == DOWN and wait.seconds > STALE_S then shm.unlink(name) end
  shm.unmap(r)
end

local function attach(name, size, side)
  local wait = {seconds = 0, unsaid = {}}
  while true do
    local r = try(name, size, side, wait)
    if r then return r end
    if wait.seconds == 0 then
      print(("interlink: waiting for %s to become available..."):format(name))
    end
    if C.pg_signal() ~= 0 then
      failure.raise("interlink %s: interrupted, waiting for it", name)
    end
    C.pg_sleep(RETRY_S)
    local before = wait.seconds
    wait.seconds = before + RETRY_S
    wait.looks = math.floor(wait.seconds / STALE_S) > math.floor(before / STALE_S)
  end
end

-- A signal ends the waiting.
local function attach_or_end(name, size, side)
  check_size(name, size)
  C.pg_catch_signals()
  local ok, result = pcall(attach, name, size, side)
  C.pg_release_signals()
  if not ok then error(result, 0) end
  return result
end

--- Attach to the queue `name` as its receiver; it is made if there is none. Waits while
--- another receiver is attached. `size`, a power of two, is the same on both sides: it
--- holds size - 1 packets, or fewer that are longer than 2,108 bytes.
function interlink.attach_receiver(name, size)
  return attach_or_end(name, size, RECEIVER)
end

--- The same as its transmitter.
function interlink.attach_transmitter(name, size)
  return attach_or_end(name, size, TRANSMITTER)
end

--- What the other side has been seen to lie about, in words; nil if it hasn't.
function interlink.lie(r) return LIES[r.lie] end

local function detach(attached, name, side)
  local r = attached.shared
  local left, last = leave(r, side)
  if interlink.lie(attached) then -- a new queue is to be made
    r.state, left, last = DOWN, true, true
  end
  if left and last then shm.unlink(name) end -- and with it what it holds
  shm.unmap(r)
end

--- Leave the queue, which must not be used any more. After a lie there will be another
--- of its name.
function interlink.detach_receiver(r, name) detach(r, name, RECEIVER) end
function interlink.detach_transmitter(r, name) detach(r, name, TRANSMITTER) end

local function no_side(name, value)
  arguments.refuse("interlink." .. name, 1, value,
    "what interlink.attach_receiver or attach_transmitter returned", 4)
end

-- The function of C, with a test that compiled loops don't have.
local function of_side(name)
  local f = C["pg_interlink_" .. name]
  return function (r)
    if not istype(side_t, r) then no_side(name, r) end
    return f(r)
  end
end

--- Is there no room? / is there nothing?
interlink.full, interlink.empty = of_side("full"), of_side("empty")

--- Put the packet into the queue, which must not be full. It is no longer the caller's;
--- it isn't counted as freed (packet.account_free).
function interlink.insert(r, p)
  if not istype(side_t, r) then no_side("insert", r) end
  C.pg_interlink_insert(r, p)
  packet.free_internal(p)
end

--- Take a packet out of the queue, which must not be empty. It has no bytes if the
--- transmitter lied about its length.
function interlink.extract(r)
  if not istype(side_t, r) then no_side("extract", r) end
  local p = packet.allocate()
  C.pg_interlink_extract(r, p)
  return p
end

--- Let the receiver see what was inserted / the transmitter use the room.
interlink.push, interlink.pull = of_side("push"), of_side("pull")

interlink.type = shm.register("interlink", interlink)

--- Map the existing queue `name`, to look at it.
function interlink.open(name, readonly)
  local header = shm.open(name, "struct interlink", "readonly")
  local slots = header.slots
  shm.unmap(header)
  local array = ffi.typeof("uint8_t[$]", bytes_of(slots))
  return ffi.cast(queue_p, shm.open(name, array, readonly))
end

local function text_of(packets, size, state)
  return ("%d/%d (%s)"):format(packets, size, NAMES[state] or "in no known state")
end

local function text_of_ours(r)
  return text_of(tonumber(r.write_packets - r.read_packets), r.size, r.state)
end

ffi.metatype("struct interlink", {__tostring = text_of_ours})
ffi.metatype(side_t, {__tostring = function (s) return text_of_ours(s.shared) end})

-- How a queue between processes of Snabb's begins.
local snabb_p = ffi.typeof("struct { uint32_t read, write, size, state; } *")

local function text_of_snabb(r)
  local fill = r.write >= r.read and r.write - r.read or r.write + r.size - r.read
  return text_of(fill, r.size, r.state)
end

--- For core.shm.view: text. A queue of Perigee's is known by its slots.
interlink.view = {
  bytes = 16,
  read = function (bytes)
    local start = ffi.cast("const char *", bytes)
    local r = ffi.cast(queue_p, start)
    if #bytes >= HEADER and r.slots == slots_for(r.size) then return text_of_ours(r) end
    return text_of_snabb(ffi.cast(snabb_p, start))
  end,
}

return interlink
