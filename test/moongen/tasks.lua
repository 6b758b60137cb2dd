-- SPDX-License-Identifier: Apache-2.0
-- Tasks, their arguments and results, and what they share. Prints a line for each.

local barrier = require "barrier"
local lm = require "libmoon"
local lock = require "lock"
local memory = require "memory"
local namespaces = require "namespaces"
local pipe = require "pipe"

local ffi = require "ffi"
ffi.cdef "struct counter { uint8_t active; uint32_t count; };"

SEEN = "top level"
local ns = namespaces:get()

local Point = {}
Point.__index = Point
function Point:__serialize()
  return ("return setmetatable({x = %d}, POINT)"):format(self.x), true
end
POINT = Point

function echo(...) return select("#", ...), ... end

function change(point)
  return getmetatable(point) == POINT, point.x, SEEN
end

function send(slow, fast, counter)
  slow:send("a", nil, {1, 2})
  counter.count = counter.count + 1
  fast:send(counter)
end

function hold(l)
  l:lock()
  ns.held = (ns.held or 0) + 1
  l:unlock()
end

function meet(b)
  b:wait()
  return true
end

function fail() error("on purpose") end

function master(...)
  print("arguments", ...)
  print("results", lm.startTask("echo", nil, "two", {three = {3}}, nil):wait())
  SEEN = "changed"
  print("object", lm.startTask("change", setmetatable({x = 7}, Point)):wait())
  local loop = {1}
  loop.self = loop
  local _, back = lm.startTask("echo", loop):wait()
  print("loop", back.self == back, back[1])

  local slow, fast = pipe:newSlowPipe(), pipe:newFastPipe()
  local counter = memory.alloc("struct counter *", ffi.sizeof("struct counter"))
  counter.count = 41
  lm.startTask("send", slow, fast, counter)
  local a, b, c = slow:recv()
  print("slow pipe", a, b, #c, slow:tryRecv(0))
  print("fast pipe", ffi.cast("struct counter *", fast:recv()).count)

  local l = lock:new()
  l:lock()
  local holder = lm.startTask("hold", l)
  print("held", ns.held, holder:isRunning())
  l:unlock()
  holder:wait()
  print("held", ns.held)

  local two = barrier:new(2)
  local first, second = lm.startTask("meet", two), lm.startTask("meet", two)
  print("met", first:wait(), second:wait())

  print("failed", lm:startTask("fail"):wait())
  ns.key, ns.other = {1, "x"}, 2
  ns.forEach(ns, function (key) print("key", key) end)
  local many = {}
  for i = 1, 5 do many[i] = lm.startSharedTask("echo", i) end
  local sum = 0
  for i = 1, 5 do sum = sum + select(2, many[i]:wait()) end
  lm.waitForTasks()
  print("sum", sum)
end
