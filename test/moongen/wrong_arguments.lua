-- SPDX-License-Identifier: Apache-2.0
-- Wrong arguments of libmoon's API, in each place one after the other: the answer may
-- be a sentence or a default, never LuaJIT's own error or a crash. Prints what isn't.
-- Devices 0 and 1: null.

local barrier, device, hist = require "barrier", require "device", require "histogram"
local ffi, limiter, lock = require "ffi", require "limiter", require "lock"
local memory, mg, pipe = require "memory", require "moongen", require "pipe"
local stats, timer, ts = require "stats", require "timer", require "timestamping"

local RAW = {"attempt to ", "cannot convert", "bad argument", "has no member named",
  "cannot be indexed", "expected, got", "C type expected", "stack overflow"}
local VALUES = {
  {"nil"}, {"5", 5}, {"-1", -1}, {"1.5", 1.5}, {"NaN", 0 / 0}, {"1e300", 1e300},
  {"2^40", 2 ^ 40}, {"''", ""}, {"'x'", "x"}, {"true", true}, {"{}", {}},
  {"print", print}, {"5ULL", 5ULL}, {"a struct", ffi.new("struct { int a; }")},
  {"a thread", coroutine.create(print)},
}
local tried, raw = 0, 0

-- What is made anew for each call.
local function new(f) return {make = f} end

local function note(name, i, label, said)
  for _, words in ipairs(RAW) do
    if tostring(said):find(words, 1, true) then
      raw = raw + 1
      print("RAW", name, i, label, said)
    end
  end
end

local function try(name, f, ...)
  local right = {n = select("#", ...), ...}
  for i = 1, right.n do
    for _, entry in ipairs(VALUES) do
      local args = {}
      for k = 1, right.n do
        local value = right[k]
        args[k] = type(value) == "table" and value.make and value.make() or value
      end
      args[i] = entry[2]
      local ok, said = pcall(f, unpack(args, 1, right.n))
      if not ok then note(name, i, entry[1], said) end
      tried = tried + 1
    end
  end
end

local function try_all(object, names, ...)
  for name in names:gmatch("%S+") do try(name, object[name], ...) end
end

function nothing() end

local function of_memory(mem, buf, bufs)
  for _, key in ipairs{"n", "bufSize", "func", "socket"} do
    try("createMemPool: " .. key, function (x)
      local args = {n = 8}
      args[key] = x
      return memory.createMemPool(args)
    end, 50)
  end
  try_all(mem, "alloc bufArray", mem, 8)
  try("alloc", memory.alloc, "uint8_t *", 8)
  local array = bufs.make()
  try_all(array, "alloc resize free freeAfter setVlans", bufs, 2)
  try_all(array, "allocN offloadUdpChecksums offloadTcpChecksums offloadIPChecksums",
    bufs, 60, 2)
  try("slot", function (i, value)
    local b = bufs.make()
    b[i] = value
    return b[i]
  end, 1, buf)
  try_all(buf.make(), "setSize setRawPacket setVlan getVlan get getSize getData "
    .. "getBytes getTimestamp getSoftwareTxTimestamp offloadUdpChecksum "
    .. "offloadTcpChecksum offloadIPChecksum getUdpPacket getTcpPacket getIP4Packet "
    .. "setDelay setRate", buf, 5, 5)
end

local function of_queues(tx, rx, bufs)
  try_all(tx, "send sendN trySend sendSingle trySendSingle setRate getMacAddr "
    .. "sendWithTimestamp", tx, bufs, 2)
  try_all(rx, "recv tryRecv tryRecvIdle", rx, bufs, 1)
  try("limiter", function (...) return limiter:new(...) end, tx, "cbr", 1000)
  try("newTimestamper", function (...) return ts:newTimestamper(...) end, tx, rx)
end

local function of_devices(dev)
  try_all(dev, "setPromisc setMtu addMac removeMac getMac getTxQueue getRxQueue "
    .. "l2Filter fiveTupleFilter filterUdpTimestamps filterL2Timestamps setRate "
    .. "getRxStats getTxStats getStats getInfo getLinkStatus setRssQueues", dev, 1, 2)
  for _, key in ipairs{"srcIp", "dstPort", "proto", "priority", "srcIpMask",
                       "dstPortMask"} do
    try("fiveTupleFilter: " .. key, function (v)
      dev:fiveTupleFilter({[key] = v}, 1)
    end, 5)
  end
  for _, key in ipairs{"port", "rxQueues", "txQueues", "rxDescs", "rssQueues"} do
    try("config: " .. key, function (v)
      local args = {port = 1}
      args[key] = v
      return device.config(args)
    end, 1)
  end
  try_all(device, "config get waitForLinks", 1)
end

local function of_counters(dev, buf)
  try("newDevRxCounter", stats.newDevRxCounter, "n", dev, "plain", "/dev/null")
  try("newPktRxCounter", stats.newPktRxCounter, "n", "plain", "/dev/null")
  local shown = stats:newPktRxCounter("n", "plain", "/dev/null")
  try_all(shown, "update countPacket getStats", shown, buf)
  local told = stats:newManualTxCounter("n", "plain", "/dev/null")
  try_all(told, "update updateWithSize", told, 1, 60)
  for _, key in ipairs{"devices", "rxDevices", "txDevices"} do
    try("startStatsTask: " .. key, function (v)
      if v ~= nil and v ~= dev and type(v) ~= "table" then
        stats.startStatsTask{[key] = v}
        stats.startStatsTask{[key] = {v}}
      end
    end, dev)
  end
  local h = new(hist.new)
  try_all(hist, "update percentile print save", h, "/dev/null")
  try("merge", hist.merge, h, h)
end

local function of_tasks(bufs)
  try_all(barrier, "new", 2)
  local b, l, t = barrier.new(1), lock:new(), timer:new(1)
  try("reinit", b.reinit, b, 1)
  try("tryLock", function (a, us) l.tryLock(a, tonumber(us) and 1 or us) end, l, 1)
  try_all(t, "running expired timeLeft reset", t, 0)
  local fast, ring = pipe:newFastPipe(8), pipe:newPacketRing(8)
  try_all(fast, "trySend count", fast, new(function () return ffi.new("int[1]") end))
  try_all(ring, "sendN recvN count freeCount", ring, bufs, 1)
  try("send", ring.send, ring, bufs)
  try("startTaskOnCore", function (cpu, name) mg.startTaskOnCore(cpu, name):wait() end,
    0, "nothing")
  try_all(mg, "setRuntime running", new(function () return 100 end))
end

function master()
  local dev = device.config{port = 0, rxQueues = 2, txQueues = 2}
  device.config{port = 1}
  local mem = memory.createMemPool{n = 2 ^ 16}
  local buf = new(function () return mem:alloc(60) end)
  local bufs = new(function ()
    local array = mem:bufArray(4)
    array:alloc(60)
    return array
  end)
  of_memory(mem, buf, bufs)
  of_queues(dev:getTxQueue(0), dev:getRxQueue(0), bufs)
  of_devices(dev)
  of_counters(dev, buf)
  of_tasks(bufs)
  print(("tried %d, raw %d"):format(tried, raw))
  mg.stop()
end
