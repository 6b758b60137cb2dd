-- SPDX-License-Identifier: Apache-2.0
-- What emulators of links use of libmoon's forks: rings of a size, losses in a gap,
-- bytes taken off a packet. Prints what it finds; argument 1 is the device's number.
local lm, device, memory, pipe = require "libmoon", require "device", require "memory",
  require "pipe"
local limiter = require "software-ratecontrol"

local function array(mem, ...)
  local lengths = {...}
  local bufs = mem:bufArray(#lengths)
  bufs:alloc(60)
  for i, length in ipairs(lengths) do bufs[i]:setSize(length) end
  return bufs
end

local function lengths(bufs, n)
  local list = {}
  for i = 1, n do list[i] = bufs[i]:getSize() end
  bufs:free(n)
  return table.concat(list, " ")
end

function receiver(ring, of_bytes)
  local bufs = memory.createBufArray(8)
  if of_bytes then
    return lengths(bufs, pipe:recvFromBytesizedRing(ring.ring, bufs, 8))
  end
  local first = lengths(bufs, pipe:recvFromPktsizedRing(ring, bufs))
  return first, lengths(bufs, ring:recv(bufs))
end

local function of_packets(mem)
  local ring = pipe:newPktsizedRing(3)
  local bufs = array(mem, 60, 61, 62, 63, 64)
  print("packets", pipe:sendToPktsizedRing(ring.ring, bufs, 5),
    pipe:countPktsizedRing(ring.ring), pipe:capacityPktsizedRing(ring.ring),
    ring:send(array(mem, 70)))
  print("taken", lm.startTask("receiver", ring, false):wait())
  print("left", ring:sendN(array(mem, 80, 81), 2))
end

local function of_bytes(mem)
  local ring = pipe:newBytesizedRing(300)
  -- 100 and 150 fit, 120 doesn't, 50 does.
  print("bytes", pipe:sendToBytesizedRing(ring.ring, array(mem, 100, 150, 120, 50)),
    pipe:countBytesizedRing(ring.ring), pipe:bytesusedBytesizedRing(ring.ring),
    pipe:capacityBytesizedRing(ring.ring))
  print("taken", lm.startTask("receiver", ring, true):wait())
  print("empty", pipe:bytesusedBytesizedRing(ring.ring))
  for i = 1, 1000 do -- beyond its size again and again
    local n = pipe:sendToBytesizedRing(ring.ring, array(mem, 100, 100, 100, 100))
    local got = pipe:recvFromBytesizedRing(ring.ring, mem.spare, 8)
    mem.spare:free(got)
    if n ~= 3 or got ~= 3 then return print("wrong at", i, n, got) end
  end
end

local function losses(mem, queue)
  local sent, wire = 0, 0
  local function on_wire(buf, delay) return delay + buf:getSize() + 24 end
  function queue.sendWithDelay(_, bufs, _, n)
    for i = 1, n do wire = wire + on_wire(bufs[i], tonumber(bufs[i].udata64)) end
    sent = sent + n
    bufs:free(n)
  end
  math.randomseed(1)
  local total = 0
  for i = 1, 400 do
    local bufs = array(mem, 60, 200, 1000, 61, 60, 80, 90, 100)
    for j, buf in ipairs(bufs) do
      buf:setDelay(i + j)
      total = total + on_wire(buf, i + j)
    end
    local loss = i < 400 and 0.25 or 0 -- the last take the time of those lost before
    if queue:sendWithDelayLoss(bufs, 1, loss) ~= 8 then print("wrong") end
  end
  print("sent", sent > 2300 and sent < 2500, "time", wire == total)
  print(pcall(queue.sendWithDelayLoss, queue, mem.spare, 1, 1.5))
end

local function bytes_off(mem)
  local buf = array(mem, 100)[1]
  local first = buf:getBytes()
  buf:removeFirst(14)
  buf:removeLast(6)
  print("shorter", buf:getSize(), buf:getBytes() - first, buf.pkt_len)
  print(pcall(buf.removeFirst, buf, 81))
  print(pcall(buf.removeLast, buf, -1))
  buf:free()
end

local function wrong(mem)
  local ring = pipe:newPktsizedRing(2)
  print(pcall(pipe.sendToPktsizedRing, pipe, nil, mem.spare))
  print(pcall(pipe.sendToPktsizedRing, pipe, pipe:newPacketRing(8).ring, mem.spare))
  print(pcall(pipe.recvFromPktsizedRing, pipe, ring.ring, {}))
  print(pcall(pipe.newBytesizedRing, pipe, 10))
  print(pcall(pipe.sendToPktsizedRing, pipe, ring.ring, mem:bufArray(2)))
end

function master(port)
  local dev = device.config{port = tonumber(port)}
  local pool = memory.createMemPool()
  local mem = {spare = memory.createBufArray(8)}
  function mem.bufArray(_, n) return pool:bufArray(n) end
  of_packets(mem)
  of_bytes(mem)
  losses(mem, dev:getTxQueue(0))
  bytes_off(mem)
  wrong(mem)
  print("counter", limiter:get_tsc_cycles() < limiter.get_tsc_cycles())
end
