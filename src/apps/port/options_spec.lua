-- SPDX-License-Identifier: Apache-2.0
-- The Port app's arguments: links, bursts, queues of one device, DPDK's numbers.

local C = require("core.native")
local account = require("core.engine.account")
local basic = require("apps.basic.basic_apps")
local check = require("lib.port.check")
local config = require("core.config")
local counter = require("core.counter")
local dirent = require("posix.dirent")
local engine = require("core.app")
local link = require("core.link")
local pool = require("core.pool")
local port = require("apps.port.port")
local ports = require("testing.ports")
local testing = require("testing.support")

local Port = port.Port
local send = testing.send
local Idle, capture, configure = ports.Idle, ports.capture, ports.configure
local frames, printed_report = ports.frames, ports.printed_report
local refused = ports.refused

after_each(ports.clean_up)

describe("a Port", function ()
  it("may have its links under their old names", function ()
    local nic = configure({nic = {Port, "null"}, e = {Idle}},
      {"nic.tx -> e.x", "e.y -> nic.rx"}).nic
    nic:pull()
    assert.equal(256, link.nreadable(nic.output.tx))
    send(nic.input.rx, frames(1, 3))
    nic:push()
    assert.equal(3, nic:statistics().opackets)
  end)

  it("has no other links, and one each way", function ()
    assert.matches("app 'nic' has no input 'foo'; it has input, input2, input3, rx",
      refused({nic = {Port, "null"}, e = {Idle}}, {"e.y -> nic.foo"}))
    assert.matches("app 'nic' has no output 'rx'; it has output, tx",
      refused({nic = {Port, "null"}, e = {Idle}}, {"nic.rx -> e.x"}))
    assert.matches("share input 'input' of app 'nic'",
      refused({nic = {Port, "null"}, e = {Idle}},
        {"e.x -> nic.input", "e.y -> nic.rx"}))
  end)

  it("does nothing without links, and again after they went", function ()
    local nic = configure{nic = {Port, "null"}}.nic
    engine.breathe()
    assert.equal(0, nic:statistics().ipackets)
    configure({nic = {Port, "null"}, e = {Idle}}, {"nic.output -> e.x"})
    engine.breathe()
    configure{nic = {Port, "null"}}
    engine.breathe()
    assert.equal(nic, engine.app_table.nic)
    assert.equal(256, nic:statistics().ipackets)
  end)

  it("takes a port string, or a table with it, and nothing else", function ()
    configure{a = {Port, "null"}, b = {Port, {port = "null:size=64"}}}
    for _, arg in ipairs{{}, {name = "null"}, true, "nul", "", {port = {}}} do
      assert.matches("^app 'a': ", refused{a = {Port, arg}})
    end
    assert.matches("^app 'a': ", refused{a = {Port}})
    engine.configure(config.new())
    assert.matches("app 'a': port '7': DPDK has no ports", refused{a = {Port, 7}})
  end)

  it("receives no more at once than its burst", function ()
    for _, burst in ipairs{1, 3, 255} do
      local nic = configure({nic = {Port, {port = "null", burst = burst}}, e = {Idle}},
        {"nic.output -> e.x"}).nic
      engine.breathe()
      assert.equal(burst, link.nreadable(nic.output.output))
      engine.breathe()
      assert.equal(2 * burst, link.nreadable(nic.output.output))
      engine.configure(config.new())
    end
    for _, burst in ipairs{0, 257, 1.5, -1, "x"} do
      assert.matches("app 'a': a Port's burst is a whole number from 1 to 256, not '"
        .. tostring(burst):gsub("%-", "%%-") .. "'",
        refused{a = {Port, {port = "null", burst = burst}}})
    end
  end)

  it("isn't opened a second time by its number", function ()
    assert.matches("app 'b': port '0': that number is taken by 'null', which another "
      .. "app has open", refused{a = {Port, "null"}, b = {Port, 0}})
    local nic = configure{a = {Port, "null"}}.a
    refused{a = {Port, "null"}, b = {Port, 0}}
    assert.equal(nic, engine.app_table.a)
    assert.is_true(#printed_report(nic) >= 2)
  end)

  it("won't share a file to write to", function ()
    local out = capture()
    assert.matches("apps 'a' and 'b' both use file /tmp/",
      refused{a = {Port, "pcap:tx=" .. out}, b = {Port, "pcap:tx=" .. out}})
    configure{a = {Port, "pcap:tx=" .. out}}
    configure{b = {Port, "pcap:tx=" .. out}}
    assert.matches("both use", refused{b = {Port, "pcap:tx=" .. out},
      c = {Port, "pcap:tx=" .. out}})
  end)

  it("keeps running when a change to it is refused", function ()
    local nic = configure({nic = {Port, "null"}, e = {Idle}}, {"nic.output -> e.x"}).nic
    refused({nic = {Port, "pcap:rx=/no/such/file"}, e = {Idle}}, {"nic.output -> e.x"})
    engine.breathe()
    assert.equal(nic, engine.app_table.nic)
    assert.equal(256, nic:statistics().ipackets)
  end)

  it("looks at the machine once, before it is opened or changed", function ()
    local ready, looks = check.ready, 0
    check.ready = function (...)
      looks = looks + 1
      return ready(...)
    end
    local ok, err = pcall(function ()
      configure{a = {Port, "null"}, b = {Port, {port = "null:size=64", burst = 3}}}
      configure{a = {Port, "null"}, b = {Port, {port = "null:size=65", burst = 4}}}
    end)
    check.ready = ready
    assert(ok, err)
    assert.equal(3, looks) -- `a` stays as it is
    local b = engine.app_table.b
    assert.same({4, "null:size=65"}, {b.port.burst, b.description.text})
  end)

  it("publishes its counters", function ()
    configure({nic = {Port, "null"}}, {"nic.output -> nic.input"})
    for _ = 1, 5 do engine.breathe() end
    engine.app_table.nic.next_check = 0
    engine.app_table.nic:tick()
    counter.commit()
    local published = counter.open("apps/nic/rxpackets.counter")
    assert.equal(5 * 4 * 256, tonumber(counter.read(published)))
  end)

  it("reports DPDK's statistics, and its drops by name", function ()
    local nic = configure({nic = {Port, "pcap:rx=" .. capture{("x"):rep(10241)}},
      e = {Idle}}, {"nic.output -> e.x"}).nic
    engine.breathe()
    local lines = printed_report(nic)
    assert.matches("^  port pcap:rx=/tmp/%S+ %(pcap, link up%)$", lines[1])
    assert.matches("^  ipackets 1  ibytes 10,241  imissed 0  ierrors 0  rx_nombuf 0  "
      .. "opackets 0  obytes 0  oerrors 0$", lines[2])
    assert.equal("  1 dropped: rx_oversize (received longer than 10,240 bytes)",
      lines[3])
    assert.equal(3, #lines)
  end)

  it("tells bytes received where the driver counts none, or says so", function ()
    local app = configure({null = {Port, "null:size=100"}, a = {Port, "ring:x"},
      b = {Port, "ring:x"}, sink = {Port, "null"}},
      {"null.output -> a.input", "b.output -> sink.input"})
    for _ = 1, 3 do engine.breathe() end
    local s = app.null:statistics()
    assert.is_true(s.ipackets > 0)
    assert.equal(100 * s.ipackets, s.ibytes)
    assert.matches("ipackets [%d,]+  ibytes not counted  ", printed_report(app.b)[2])
    assert.matches("ipackets 0  ibytes 0  ", printed_report(app.a)[2])
  end)

  it("leaks nothing, plugged and unplugged 200 times #slow", function ()
    local rx, tx = capture(frames(1, 5)), capture()
    local graphs = {
      {{p = {Port, "null"}}, {"p.output -> p.input"}},
      {{a = {Port, "ring:x"}, b = {Port, "ring:x"}, s = {basic.Source}},
        {"s.x -> a.input"}},
      {{p = {Port, "pcap:rx=" .. rx .. ",tx=" .. tx}}, {"p.output -> p.input"}},
    }
    local function once(graph)
      configure(graph[1], graph[2])
      engine.breathe()
      engine.breathe()
      engine.configure(config.new())
    end
    local function state()
      collectgarbage()
      collectgarbage() -- what finalizers released
      return {packets = C.pg_pool_available() + pool.freelist.nfree,
        size = C.pg_pool_size(), descriptors = #dirent.dir("/proc/self/fd"),
        ports = C.pg_port_count(), held = account.packets({}).held}
    end
    for _, graph in ipairs(graphs) do once(graph) end
    local before = state()
    for i = 1, 200 do once(graphs[i % #graphs + 1]) end
    assert.same(before, state())
  end)
end)

describe("queues of one device", function ()
  it("each count their own, and the first what only the device counts", function ()
    local c, lines, plain_print = config.new(), {}, print
    for queue = 0, 1 do
      local name = "nic" .. queue
      config.app(c, name, Port,
        {port = "null", queues = 2, queue = queue, burst = 32 * (queue + 1)})
      config.link(c, ("%s.output -> %s.input"):format(name, name))
    end
    engine.configure(c)
    for _ = 1, 10 do engine.breathe() end
    rawset(_G, "print", function (text) lines[#lines + 1] = text end)
    for queue = 0, 1 do
      local nic = engine.app_table["nic" .. queue]
      local s, packets = nic:statistics(), 4 * 320 * (queue + 1)
      assert.same({packets, packets, 60 * packets}, {s.ipackets, s.opackets, s.obytes})
      nic:report()
    end
    rawset(_G, "print", plain_print)
    local text = table.concat(lines, "\n")
    assert.matches("port null, queue 0 of 2 %b()\n  ipackets 1,280  opackets 1,280  "
      .. "obytes 76,800\n  of all queues: ibytes 230,400  imissed 0  ierrors 0  "
      .. "rx_nombuf 0  oerrors 0\n", text)
    assert.matches("port null, queue 1 of 2 %b()\n  ipackets 2,560  opackets 2,560  "
      .. "obytes 153,600$", text)
  end)
end)

describe("a DPDK port's number", function ()
  it("has no more queues than its device, which may not spread flows", function ()
    local script = [[
      local c = config.new()
      config.app(c, "nic", require("apps.port.port").Port, {port = 0, queues = %d})
      engine.configure(c)]]
    local options = {"--eal", "--vdev=net_ring0"}
    local said, status = testing.script(script:format(2), options)
    assert.matches("port net_ring0: its driver, net_ring, doesn't spread flows by "
      .. "their hash %(RSS%): all packets may come by one queue\n", said)
    assert.equal(0, status)
    said, status = testing.script(script:format(64), options)
    assert.matches("port '0': the device has %d+ queues each way %(net_ring%), not 64",
      said)
    assert.equal(1, status)
  end)

  it("opens a device that --eal made, and again", function ()
    local said, status = testing.script([[
      local DPDKDevice = require("apps.dpdk_device.dpdk_device").DPDKDevice
      for _, arg in ipairs{1, "1", 0} do
        local c = config.new()
        config.app(c, "nic", DPDKDevice, arg)
        config.link(c, "nic.output -> nic.input")
        engine.configure(c)
        engine.breathe()
        local s = engine.app_table.nic:statistics()
        print(engine.app_table.nic.description.text, s.ipackets, s.opackets)
        engine.configure(config.new())
      end
      local c = config.new()
      config.app(c, "nic", DPDKDevice, 5)
      engine.configure(c)]],
      {"--eal", "--vdev=net_null0,size=64 --vdev=net_null1,size=64"})
    assert.matches("1\t1024\t1024\n1\t1024\t1024\n0\t1024\t1024\n", said)
    assert.matches("app 'nic': port '5': DPDK has only ports 0 to 1", said)
    assert.equal(2, status)
  end)
end)
