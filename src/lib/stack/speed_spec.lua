-- SPDX-License-Identifier: Apache-2.0
-- The packet path: as fast as bytes set by hand, whatever slow code ran before or runs
-- between. Times are CPU time, compared within one process.

local testing = require("testing.support")

-- Cycles to set an IPv4 source in a ring of packets, by hand and through a stack; with
-- 100,000 calls of `slow` before, between, or none.
local MEASURED = [[
  local ffi = require("ffi")
  local C = require("core.native")
  local packet = require("core.packet")
  local stack = require("lib.stack")
  local as = stack.createStack("eth", "ip4", "udp")
  local asEth = stack.createStack("eth")
  local ring = ffi.new("struct packet *[64]")
  for i = 0, 63 do
    ring[i] = packet.allocate()
    as(ring[i]):fill{pktLength = 60}
  end
  local by_hand = [=[
    local ring, as = ...
    local cast, bswap, band = require("ffi").cast, bit.bswap, bit.band
    local word = require("ffi").typeof("uint32_t *")
    return function (n)
      for i = 1, n do cast(word, ring[band(i, 63)].data + 26)[0] = bswap(i) end
    end]=]
  local by_stack = [=[
    local ring, as = ...
    local band = bit.band
    return function (n)
      for i = 1, n do as(ring[band(i, 63)]).ip4.src:set(i) end
    end]=]
  local by_two_stacks = [=[
    local ring, as, asEth = ...
    local band = bit.band
    return function (n)
      for i = 1, n do as(asEth(ring[band(i, 63)])).ip4.src:set(i) end
    end]=]
  local function measure()
    local loops = {loadstring(by_hand)(ring), loadstring(by_stack)(ring, as),
      loadstring(by_two_stacks)(ring, as, asEth)}
    local best = {math.huge, math.huge, math.huge}
    for _ = 1, 7 do
      for i, loop in ipairs(loops) do
        local began = C.pg_cpu_seconds()
        loop(1e6)
        best[i] = math.min(best[i], C.pg_cpu_seconds() - began)
      end
    end
    return math.max(best[2], best[3]) / best[1]
  end
  local nowhere = {write = function () end}
  local slow = {
    fill = function (p, i) as(p):fill{ip4Src = i, udpDst = i % 100, pktLength = 80} end,
    get = function (p) return as(p):get() end,
    dump = function (p) as(p):dump(0, nowhere) end,
    verify = function (p) return as(p):verify() end,
    resolve = function (p) return stack.resolve(p):getString() end,
    text = function (p) return as(p).ip4:getTTL() .. as(p).ip4.src:getString() end,
    cast = function (p) return {as(stack.resolve(p)), as(asEth(p))} end,
    check = function (p) return {as.check(p), as(p).udp:getLength()} end,
  }
  local when, what = ...
  local before = when == "between" and measure() or 0
  if when ~= "none" then
    for i = 1, 1e5 do slow[what](ring[i % 64], i) end
  end
  print(before, measure())]]

local function measure(...) return testing.two_numbers(MEASURED, {...}) end

describe("a field set through a stack #slow", function ()
  it("costs what a store by hand costs", function ()
    local best = math.huge
    for _ = 1, 3 do best = math.min(best, select(2, measure("none"))) end
    assert.is_true(best < 1.3, ("%.2f times"):format(best))
  end)

  for _, what in ipairs{"fill", "get", "dump", "verify", "resolve", "text",
                         "cast", "check"} do
    it("costs so after many calls of " .. what, function ()
      local _, after = measure("before", what)
      if after > 2 then _, after = measure("before", what) end
      assert.is_true(after < 3, ("%.2f times"):format(after))
    end)
  end

  it("costs so when slow code ran between", function ()
    local before, after = measure("between", "fill")
    assert.is_true(before < 3 and after < 3, ("%.2f, %.2f"):format(before, after))
  end)
end)
