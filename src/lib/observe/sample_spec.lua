-- SPDX-License-Identifier: Apache-2.0
local sample = require("lib.observe.sample")

local function at(time, counters)
  local objects = {}
  for name, value in pairs(counters) do
    objects[name] = {kind = "counter", value = value}
  end
  return {time = time, cpu = 0, uptime = time, objects = objects}
end

describe("A sample's difference", function ()
  -- In shared memory the "/" of names is ":" (core.shm.part).
  it("has names as their graph has them", function ()
    local counters = {
      ["apps/gw:nat/drop_no_port"] = 2, ["apps/gw:nat/rxpackets"] = 5,
      ["links/gw:nat.0 -> out.0/txpackets"] = 7, ["links/gw:nat.0 -> out.0/txdrop"] = 1,
      ["engine/cycles/packets"] = 1, ["engine/cycles/send"] = 3,
      ["engine/cycles/tasks/gw:nat+2"] = 4,
      ["workers/3/engine/cycles/tasks/gw:nat"] = 9,
    }
    local d = sample.difference(at(0, {}), at(1, counters))
    local function rows(list, ...)
      local found = {}
      for _, row in ipairs(list) do
        local values = {row.name}
        for _, key in ipairs{...} do values[#values + 1] = tostring(row[key]) end
        found[#found + 1] = table.concat(values, ", ")
      end
      table.sort(found)
      return found
    end
    assert.same({"gw/nat", "out"}, rows(d.apps))
    assert.same({"gw/nat.0 -> out.0"}, rows(d.links))
    assert.same({"gw/nat.0 -> out.0: link full, nil, link full",
      "gw/nat: no port, gw/nat, no port"}, rows(d.drops, "owner", "reason"))
    assert.same({"gw/nat: rxpackets, gw/nat, rxpackets"},
      rows(d.others, "owner", "what"))
    assert.same({"cpu 3: gw/nat, 3, nil, gw/nat", "gw/nat+2, nil, nil, gw/nat+2",
      "send, nil, send, nil"}, rows(d.cycles, "cpu", "part", "task"))
    assert.equal(3, sample.dropped(d))
  end)

  it("has a packet that an lwAFTR drops once", function ()
    local counters = {}
    for name, value in pairs{["drop-all-ipv4-iface-packets"] = 2,
        ["drop-all-ipv4-iface-bytes"] = 160, ["drop-ttl-zero-ipv4-packets"] = 2,
        ["drop-ttl-zero-ipv4-bytes"] = 160} do
      counters["apps/lwaftr/" .. name] = value
    end
    local d = sample.difference(at(0, {}), at(1, counters))
    assert.equal(2, sample.dropped(d))
    assert.equal(1, #d.drops)
    assert.equal("ttl zero ipv4", d.drops[1].reason)
    assert.equal(3, #d.others)
  end)
end)
