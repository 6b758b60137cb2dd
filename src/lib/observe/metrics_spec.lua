-- SPDX-License-Identifier: Apache-2.0
local metrics = require("lib.observe.metrics")

local function counter(n) return {kind = "counter", value = n} end

describe("metrics", function ()
  it("are told with labels that are escaped", function ()
    local text = metrics.text{{program = 'run "a\\b".lua', pid = 7, objects = {
      ["links/a.o -> b.i/txpackets"] = counter(5ULL),
      ["links/a.o -> b.i/rxpackets"] = counter(3ULL),
      ["apps/gw:nat/drop_no_port"] = counter(2ULL),
      ["apps/gw:nat/mtu"] = counter(1500ULL),
      ["workers/3/engine/jit/aborts"] = counter(1ULL),
      ["something/else"] = counter(1ULL),
    }}}
    local lines = {}
    for line in text:gmatch("[^\n]+") do
      if line:sub(1, 1) ~= "#" then lines[#lines + 1] = line end
    end
    assert.same({
      'perigee_info{program="run \\"a\\\\b\\".lua",name="",pid="7"} 1',
      'perigee_link_packets_total{link="a.o -> b.i"} 5',
      'perigee_link_waiting_packets{link="a.o -> b.i"} 2',
      'perigee_app_drops_total{app="gw/nat",reason="no_port"} 2',
      'perigee_app_value{app="gw/nat",name="mtu"} 1500',
      'perigee_jit_events_total{cpu="3",event="aborts"} 1',
    }, lines)
    assert.equal("# EOF\n", text:sub(-6))
  end)

  it("have the queues and tasks of a script, whose engine counts nothing", function ()
    local objects, lines = {["engine/frees"] = counter(0ULL)}, {}
    for name, value in pairs{["devices/0/rx/0/packets"] = 2ULL,
        ["devices/0/rx/0/bytes"] = 120ULL, ["devices/0/tx/0/packets"] = 3ULL,
        ["devices/0/tx/0/bytes"] = 180ULL, ["devices/1/tx/1/packets"] = 4ULL,
        ["devices/1/tx/1/bytes"] = 240ULL, ["devices/1/tx/1/dropped"] = 1ULL,
        ["devices/1/missed"] = 7ULL, ["tasks/2 send/cpu_ns"] = 1500000000ULL} do
      objects[name] = counter(value)
    end
    for line in metrics.text{{program = "moongen", pid = 7, objects = objects}}
      :gmatch("[^\n]+") do lines[line] = true end
    for _, line in ipairs{"perigee_packets_total 7", "perigee_bytes_total 420",
        'perigee_queue_packets_total{device="0",queue="0",way="rx"} 2',
        'perigee_queue_bytes_total{device="1",queue="1",way="tx"} 240',
        'perigee_queue_drops_total{device="1",queue="1",way="tx"} 1',
        'perigee_device_missed_packets_total{device="1"} 7',
        'perigee_task_cpu_seconds_total{task="2 send"} 1.5'} do
      assert.is_true(lines[line], line)
    end
    assert.is_nil(lines["perigee_packets_total 0"])
  end)

  it("have the sleeps of each engine", function ()
    local text = metrics.text{{program = "x", pid = 1, objects = {
      ["engine/sleeps"] = counter(5ULL), ["workers/3/engine/wakeups"] = counter(2ULL)}}}
    assert.truthy(text:find('perigee_sleeps_total{cpu="main"} 5\n', 1, true))
    assert.truthy(text:find('perigee_wakeups_total{cpu="3"} 2\n', 1, true))
  end)

  it("have the older format's names of types", function ()
    local text = metrics.text({{program = "x", pid = 1, cpu = 0.5, uptime = 2,
      objects = {}}}, true)
    assert.truthy(text:find("# TYPE perigee_info gauge\n", 1, true))
    assert.truthy(text:find("# TYPE perigee_cpu_seconds_total counter\n", 1, true))
    assert.is_nil(text:find("EOF", 1, true))
  end)
end)
