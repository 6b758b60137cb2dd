-- SPDX-License-Identifier: Apache-2.0
-- Packets of several NUMA nodes. On a machine that has one, pg_numa_pretend makes more
-- of it: node 0 has the CPUs with even numbers, node 1 the others.

local affinity = require("core.cpus.affinity")
local script = require("testing.support").script

-- The first CPU with an even number that this process may use, and the first odd one.
local function first_with(remainder)
  for _, cpu in ipairs(affinity.cpus()) do
    if cpu % 2 == remainder then return cpu end
  end
end
local FIRST, SECOND = first_with(0), first_with(1)
if not FIRST or not SECOND then
  pending("NUMA nodes can't be made up of these CPUs", function () end)
  return
end

local NO_HUGE = {"--eal", "--no-huge"} -- the pools of two nodes take 180 MB

-- With `memory` a bit for each node that has some, and the node of all ports.
local function pretend(memory, ports)
  return ([[
    local C = require("core.native")
    C.pg_numa_pretend(2, %d, %d)
  ]]):format(memory, ports or -1)
end

-- Two flows of packets, from each of two CPUs to the other.
local EXCHANGE = ([[
  local testing = require("testing.flows")
  local FIRST, SECOND = %d, %d
  local c = config.new()
  for name, place in pairs{a = {FIRST, SECOND}, b = {SECOND, FIRST}} do
    config.app(c, name .. "_source", testing.Flows, {packets = 1e9, flows = 10})
    config.app(c, name .. "_check", testing.Check, {flows = 10})
    config.link(c, ("%%s_source.output -> %%s_check.input"):format(name, name))
    config.cpu(c, name .. "_source", place[1])
    config.cpu(c, name .. "_check", place[2])
  end
  engine.configure(c)
  engine.main{duration = 0.3}
]]):format(FIRST, SECOND)

-- How many packets each pool has; how many of them are of another. They are given back.
local COUNT = [[
  engine.configure(config.new())
  local ffi = require("ffi")
  local function list_of(pool)
    return ffi.new("struct freelist", {max = C.FREELIST_SIZE, node = -1, pool = pool})
  end
  for node = 0, 1 do
    local pool = C.pg_pool_of(node, 8192, 8192)
    local size, strange, n = C.pg_pool_room(pool), 0, 0
    local lists = {list_of(pool)}
    for _ = 1, C.pg_pool_left(pool) do
      local fl = lists[#lists]
      if C.pg_freelist_refill(fl, 1) == 0 then break end
      if fl.list[fl.nfree - 1].pool ~= pool then strange = strange + 1 end
      if fl.nfree == fl.max then lists[#lists + 1] = list_of(pool) end
    end
    for _, fl in ipairs(lists) do
      n = n + fl.nfree
      C.pg_freelist_spill(fl, fl.nfree)
    end
    print(("node %d: %d packets of %d, %d strange"):format(node, n, size, strange))
  end
]]

describe("On a machine of two NUMA nodes #slow", function ()
  it("each worker has its node's packets, which go back there", function ()
    local said, status = script(pretend(3) .. EXCHANGE .. COUNT, NO_HUGE)
    assert.equal(0, status)
    for _, cpu in ipairs{FIRST, SECOND} do
      assert.matches(("CPU %d: [^\n]*  memory of NUMA node %d\n"):format(cpu, cpu % 2),
        said)
    end
    assert.matches("held by apps 0\n", said)
    for node = 0, 1 do
      assert.matches(("node %d: (%%d+) packets of %%1, 0 strange\n"):format(node), said)
    end
  end)

  it("a worker has the packets of its port's node", function ()
    local said, status = script(pretend(3, 1) .. ([[
      local c = config.new()
      config.app(c, "port", require("apps.port.port").Port, "null")
      config.link(c, "port.output -> port.input")
      config.cpu(c, "port", %d)
      engine.configure(c)
      engine.main{duration = 0.05}
    ]]):format(FIRST), NO_HUGE)
    assert.equal(0, status)
    assert.matches("memory of NUMA node 1\n", said)
  end)

  it("a node without memory has another's packets, and that is told", function ()
    local said, status = script(pretend(1) .. EXCHANGE, NO_HUGE)
    assert.equal(0, status)
    assert.equal(1, select(2, said:gsub("perigee: NUMA node 1 has no memory for "
      .. "packets, so packets of NUMA node 0 take their place; reserve hugepages in "
      .. "/sys/devices/system/node/node1/hugepages\n", "")))
    assert.equal(2, select(2, said:gsub("  memory of NUMA node 0\n", "")))
  end)

  it("perigee plan tells the node", function ()
    local said, status = script(pretend(3) .. EXCHANGE,
      {"--eal", "--no-huge", "plan", "--no-source"})
    assert.equal(0, status)
    assert.matches(("on CPU %d %%(packets in memory of NUMA node %d%%): "):format(FIRST,
      FIRST % 2), said)
  end)
end)

describe("On a machine of one NUMA node #slow", function ()
  it("there is one pool, and no word of nodes", function ()
    local said, status = script('local C = require("core.native")' .. EXCHANGE .. [[
      print(C.pg_numa_nodes(), C.pg_pool_of(1, 8192, 8192) == C.pg_pool_of(0, 1, 1))
    ]], NO_HUGE)
    assert.equal(0, status)
    assert.matches("\n1\ttrue\n", said)
    assert.not_matches("NUMA", said)
  end)
end)
