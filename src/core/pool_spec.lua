-- SPDX-License-Identifier: Apache-2.0
-- The pool grows when packets run out, says so, and ends with a sentence. Each
-- case is a process of its own, because a pool never shrinks.

local testing = require("testing.support")

local C = require("core.native")
local packet = require("core.packet")
local pool = require("core.pool")

local TAKE = [[
  local pool, C = require("core.pool"), require("core.native")
  local packets = {}
  local function take(n)
    for _ = 1, n do packets[#packets + 1] = packet.allocate() end
  end
  local function distinct()
    local seen, n = {}, 0
    for _, p in ipairs(packets) do
      local key = tostring(p.buf_addr)
      if not seen[key] then n = n + 1 end
      seen[key] = true
    end
    return n
  end
]]

-- The few hugepages that there may be are in use by the specs' own process.
local PLAIN_MEMORY = {"--eal", "--no-huge"}

describe("the packet pool", function ()
  it("grows by doubling and says so", function ()
    local said, status = testing.script(TAKE .. [[
      take(20000)
      print(distinct(), C.pg_pool_size())
      for _, p in ipairs(packets) do packet.free(p) end
      print(C.pg_pool_available() + pool.freelist.nfree)]], PLAIN_MEMORY)
    assert.equal(0, status, said)
    local sizes = {}
    for from, to in said:gmatch("grown from (%d+) to (%d+) packets") do
      -- A few may fit less: none lies across two pages.
      assert.is_true(math.abs(to / from - 2) < 0.02)
      sizes[#sizes + 1] = tonumber(to)
    end
    assert.equal(2, #sizes)
    assert.matches("20000\t" .. sizes[2] .. "\n", said)
    assert.matches(sizes[2] .. "\n$", said)
  end)

  it("gives out every packet up to its limit, then a sentence", function ()
    local said, status = testing.script(TAKE .. [[
      take(10000)]], {"--packets", "9000"})
    assert.equal(1, status)
    assert.matches("grown from 8%d+ to ", said)
    assert.matches("perigee: the packet pool is empty: all of its 9000 packets are "
      .. "in use .* %-%-packets N\n$", said)
    assert.not_matches("traceback", said)
  end)

  it("grows by what there is memory for, and then says that it is short", function ()
    local said, status = testing.script(TAKE .. [[
      take(9000)
      print(#packets, distinct())
      take(20000)]], {"--eal", "--no-huge -m 160"})
    assert.equal(1, status)
    assert.matches("9000\t9000\n", said)
    assert.matches("perigee: the packet pool is empty: all of its %d+ packets are in "
      .. "use .* memory is short: give DPDK more MB, .* '%-%-no%-huge %-m 4096'\n$",
      said)
  end)

  it("works on once a packet is freed", function ()
    local said, status = testing.script(TAKE .. [[
      print(pcall(take, 5000))
      print(#packets, distinct())
      packet.free(table.remove(packets))
      take(1)
      print(#packets, pcall(take, 1))]], {"--packets", "1024"})
    assert.equal(0, status)
    assert.matches("false\tthe packet pool is empty", said)
    assert.matches("1024\t1024\n1024\tfalse\tthe packet pool", said)
  end)

  it("is refused when memory is short, with what to do", function ()
    local said, status = testing.script("packet.allocate()",
      {"--packets", "16777216", "--eal", "--no-huge -m 64"})
    assert.equal(1, status)
    assert.matches("ask for fewer with %-%-packets N, or add memory", said)
  end)

  it("has limits from 1024 on", function ()
    for _, n in ipairs{"0", "1023", "1e9", "x", "-5", "2000.5", "nan", ""} do
      local said, status = testing.script("", {"--packets", n})
      assert.equal(2, status, n)
      assert.matches("perigee: %-%-packets .*give a number from 1024 to", said)
    end
  end)

  it("gets back what is freed beyond the free list", function ()
    packet.free(packet.allocate())
    local fl = pool.freelist
    local function taken()
      return C.pg_pool_size() - C.pg_pool_available() - fl.nfree
    end
    local before, packets = taken(), {}
    for i = 1, 3000 do packets[i] = packet.allocate() end
    assert.equal(before + 3000, taken())
    for i = 1, 3000 do packet.free(packets[i]) end
    assert.equal(before, taken())
    assert.is_true(fl.nfree <= fl.max)
  end)

  it("begins small, and grows unsaid until it has what was usual", function ()
    local said, status = testing.script(TAKE .. [[
      take(1)
      print(C.pg_pool_size())
      take(4000)
      print(distinct(), C.pg_pool_size())]], PLAIN_MEMORY)
    assert.equal(0, status)
    assert.matches("^10%d%d\n4001\t8%d%d%d\n$", said)
  end)
end)
