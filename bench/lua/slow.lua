-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/slow.lua CALLS: what the functions of stacks that aren't for
-- packet loops take, with 7 headers. Prints a line for each: its name and microseconds
-- of CPU time a call. createStack makes 200 new combinations of headers; the others are
-- called CALLS times.

local C = require("core.native")
local packet = require("core.packet")
local stack = require("lib.stack")

local NEW = 200
local calls = tonumber((...))

local function headers(i)
  return {"eth", {"ip4", name = "outer" .. i}, "udp", "vxlan",
    {"eth", name = "innerEth" .. i}, {"ip4", name = "inner" .. i}, "tcp"}
end

local function time(name, n, f)
  collectgarbage()
  local began = C.pg_cpu_seconds()
  for i = 1, n do f(i) end
  print(("%s %.4f"):format(name, (C.pg_cpu_seconds() - began) / n * 1e6))
end

local arguments = {}
for i = 1, NEW do arguments[i] = headers(i) end
time("createStack", NEW, function (i) stack.createStack(unpack(arguments[i])) end)

local pkt = stack.createStack(unpack(arguments[1]))(packet.allocate())
local values = {ethDst = "02:00:00:00:00:09", outer1Dst = "192.0.2.1", vxlanVNI = 42,
  inner1Dst = "10.0.0.7", tcpDst = 443, pktLength = 160}
pkt:fill(values)
pkt:calculateChecksums()
assert(pkt:verify())
local nowhere = {write = function () end}

time("fill", calls, function () pkt:fill(values) end)
pkt:calculateChecksums()
time("get", calls, function () return pkt:get() end)
time("getString", calls, function () return pkt:getString() end)
time("dump", calls, function () pkt:dump(nil, nowhere) end)
time("verify", calls, function () return pkt:verify() end)
time("resolve", calls, function () return stack.resolve(pkt.packet) end)
time("createStack-again", calls, function ()
  stack.createStack(unpack(arguments[1]))
end)
