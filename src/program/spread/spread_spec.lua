-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local C = require("core.native")
local balance = require("core.cpus.balance")
local link = require("core.link")
local packet = require("core.packet")
local simulation = require("program.spread.simulation")
local testing = require("testing.support")
local traffic = require("program.spread.traffic")

local function made(more)
  local o = {every = 5000, zipf = 1, flows = 2000, elephant = 0, packets = 50000,
             seed = 4}
  for key, value in pairs(more) do o[key] = value end
  return traffic.made(o)
end

describe("perigee spread", function ()
  it("loads each CPU with what Distribute would hand to it", function ()
    math.randomseed(3)
    local n, owner, load = 5, balance.in_turn(C.FLOW_BUCKETS, 5), {}
    for bucket = 0, C.FLOW_BUCKETS - 1 do load[bucket] = 0 end
    local from, outputs = link.new("from"), ffi.new("struct link *[?]", n)
    local to = {}
    for i = 0, n - 1 do
      to[i] = link.new("to" .. i)
      outputs[i] = to[i]
    end
    for _ = 1, 500 do
      local ends = {}
      for i = 1, 12 do ends[i] = string.char(math.random(0, 255)) end
      local p = packet.from_string(("\2"):rep(12) .. "\8\0\x45" .. ("\0"):rep(8)
        .. "\x11\0\0" .. table.concat(ends))
      local bucket = C.pg_bucket_of(C.pg_flow_hash(p))
      load[bucket] = load[bucket] + 1
      link.transmit(from, p)
    end
    C.pg_distribute(from, outputs, n, C.FLOWS_BY_PORTS)
    local sums = balance.sums(owner, load, n)
    for i = 0, n - 1 do
      assert.equal(link.nreadable(to[i]), sums[i])
      link.free(to[i], "to" .. i)
    end
    link.free(from, "from")
  end)

  it("counts all packets and flows, for any number of CPUs", function ()
    for _, zipf in ipairs{0.8, 1, 1.2} do
      local periods, counted = made{zipf = zipf}
      assert.equal(50000, counted.packets)
      assert.equal(10, #periods)
      for _, n in ipairs{2, 7, 64} do
        local r = simulation.run(periods, n)
        assert.is_true(r.balance.most_flows <= counted.flows)
        assert.is_true(r.bound <= r.stay.all + 1e-9)
        assert.is_true(r.balance.all < r.stay.all)
      end
    end
  end)

  it("gets near to what an elephant leaves possible", function ()
    local periods = made{elephant = 0.4, zipf = 0.8}
    local r = simulation.run(periods, 2)
    assert.is_true(r.stay.all > 1.2 and r.balance.worst < 1.15)
    r = simulation.run(periods, 4)
    assert.is_true(r.bound > 1.5 and r.balance.worst < r.bound * 1.1)
  end)

  it("leaves no CPU with over 1.15 of what buckets allow after ten looks", function ()
    for _, n in ipairs{2, 4, 8} do
      for seed = 1, 4 do
        local periods = made{elephant = seed / 10, zipf = 0.7 + seed / 10, seed = seed,
          every = 1000 * n, packets = 20000 * n} -- the fewest that are looked at
        local r, sum = simulation.run(periods, n), 0
        for i = 11, 20 do sum = sum + r.balance.series[i] end
        assert.is_true(sum / 10 <= 1.15 * r.bound)
        assert.is_true(r.stay.all > 1.15 * r.bound or n == 8)
      end
    end
  end)

  it("prints a table, and draws", function ()
    local path = os.tmpname()
    local said, status = testing.perigee{"spread", "--packets", "20000", "--every",
      "5000", "--on", "2,4", "--plot", path}
    assert.equal(0, status)
    assert.matches("^20000 packets, %d+ flows; of others: 0\n", said)
    assert.matches("\n   4 +%d%.%d%d +%d%.%d%d ", said)
    local file = assert(io.open(path))
    assert.matches("4, %-%-balance", (file:read("*a")))
    file:close()
    os.remove(path)
  end)
end)
