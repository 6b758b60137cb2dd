-- SPDX-License-Identifier: Apache-2.0
-- The Port app over the kinds of port that need nothing of the machine: null,
-- ring and pcap. Kernel interfaces are tried in test/ and in the drivers' specs.

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
local testing = require("testing.support")

local Port = port.Port
local send, take = testing.send, testing.take
local Idle = {new = function () return {} end}

local function configure(apps, links)
  local c = config.new()
  for name, app in pairs(apps) do config.app(c, name, unpack(app)) end
  for _, spec in ipairs(links or {}) do config.link(c, spec) end
  engine.configure(c)
  return engine.app_table
end

local function refused(...)
  local ok, err = pcall(configure, ...)
  assert.is_false(ok)
  return tostring(err)
end

-- The lines that the app's report() prints.
local function printed_report(app)
  local lines, before = {}, print
  rawset(_G, "print", function (text) lines[#lines + 1] = text end)
  local ok, err = pcall(app.report, app)
  rawset(_G, "print", before)
  assert(ok, err)
  return lines
end

local function frames(from, to)
  local list = {}
  for i = from, to do list[#list + 1] = ("%04d"):format(i):rep(15) .. ("x"):rep(i) end
  return list
end

-- Capture files, by hand: little-endian pcap of microseconds (see pcap-savefile).
local files = {}

local function little(n, bytes)
  if bytes == 0 then return "" end
  return string.char(n % 256) .. little(math.floor(n / 256), bytes - 1)
end

local function capture(list)
  local name = os.tmpname()
  files[#files + 1] = name
  local file = assert(io.open(name, "wb"))
  file:write("\212\195\178\161", little(2, 2), little(4, 2), little(0, 8),
    little(262144, 4), little(1, 4))
  for i, frame in ipairs(list or {}) do
    file:write(little(i, 4), little(0, 4), little(#frame, 4), little(#frame, 4), frame)
  end
  file:close()
  return name
end

local function number(text, at)
  local a, b, c, d = text:byte(at, at + 3)
  return a + b * 256 + c * 65536 + d * 16777216
end

local function captured(name)
  local file = assert(io.open(name, "rb"))
  local text, list, at = file:read("*a"), {}, 25
  file:close()
  while at < #text do
    local length = number(text, at + 8)
    list[#list + 1] = text:sub(at + 16, at + 15 + length)
    at = at + 16 + length
  end
  return list
end

after_each(function ()
  engine.configure(config.new())
  while #files > 0 do os.remove(table.remove(files)) end
end)

describe("the null port", function ()
  it("receives packets of its size, and counts what it sends", function ()
    local app = configure({nic = {Port, "null:size=123"}, e = {Idle}},
      {"nic.output -> e.x", "e.y -> nic.input"}).nic
    local received, sent = pool.freelist.received, pool.freelist.sent
    app:pull()
    local l = app.output.output
    assert.equal(256, link.nreadable(l))
    assert.equal(256, tonumber(pool.freelist.received - received))
    assert.equal(123, #take(l)[256])
    send(app.input.input, frames(1, 7))
    app:push()
    assert.is_true(link.empty(app.input.input))
    assert.equal(7, tonumber(pool.freelist.sent - sent))
    local stats = app:statistics()
    assert.equal(256, stats.ipackets)
    assert.equal(7, stats.opackets)
    assert.is_false(app:ended())
  end)

  it("sends from a link that is put in by hand", function ()
    local app = configure({nic = {Port, "null"}}).nic
    local sent = pool.freelist.sent
    app:push() -- without any
    local l = link.new("by_hand")
    send(l, frames(1, 3))
    app.input.rx = l
    app:push()
    assert.is_true(link.empty(l))
    assert.equal(3, tonumber(pool.freelist.sent - sent))
    link.free(l, "by_hand")
  end)

  it("receives no more than the link has room for", function ()
    local app = configure({nic = {Port, "null"}, e = {Idle}}, {"nic.output -> e.x"}).nic
    for _ = 1, 10 do app:pull() end
    local l = app.output.output
    assert.is_true(link.nreadable(l) > 1023 - 32 and link.nreadable(l) <= 1023)
    assert.equal(link.nreadable(l), app:statistics().ipackets)
    assert.equal(0, link.stats(l).txdrop)
  end)

  it("keeps the rings' order wherever their cursors wrap", function ()
    local app = configure({nic = {Port, "null"}, e = {Idle}},
      {"nic.output -> e.x", "e.y -> nic.input"}).nic
    for _, start in ipairs{2 ^ 31 - 100, 2 ^ 32 - 100, 1000} do
      for _, l in ipairs{app.output.output, app.input.input} do
        l.read, l.write, l.limit = start, bit.tobit(start), bit.tobit(start)
      end
      app:pull()
      assert.equal(256, #take(app.output.output))
      local before = app:statistics().opackets
      send(app.input.input, frames(1, 300))
      app:push()
      assert.is_true(link.empty(app.input.input))
      assert.equal(300, app:statistics().opackets - before)
      assert.equal(start + 300, tonumber(app.input.input.read))
    end
  end)
end)

describe("a ring", function ()
  it("carries packets both ways, unchanged and in order", function ()
    local apps = configure({a = {Port, "ring:x"}, b = {Port, "ring:x"}, e = {Idle}},
      {"e.a -> a.input", "e.b -> b.input", "a.output -> e.c", "b.output -> e.d"})
    local there, back = frames(0, 99), frames(200, 220)
    send(apps.a.input.input, there)
    send(apps.b.input.input, back)
    engine.breathe()
    engine.breathe()
    assert.same(there, take(apps.b.output.output))
    assert.same(back, take(apps.a.output.output))
  end)

  it("keeps in the link what doesn't fit, and loses nothing", function ()
    local apps = configure({a = {Port, "ring:x"}, b = {Port, "ring:x"}, e = {Idle}},
      {"e.a -> a.input", "b.output -> e.d"})
    local all = {}
    for round = 1, 3 do
      local list = frames(round, round + 500)
      for _, text in ipairs(list) do all[#all + 1] = text end
      send(apps.a.input.input, list)
      apps.a:push()
    end
    assert.is_true(link.nreadable(apps.a.input.input) > 0)
    local got = {}
    for _ = 1, 20 do
      apps.b:pull()
      for _, text in ipairs(take(apps.b.output.output)) do got[#got + 1] = text end
      apps.a:push()
    end
    assert.same(all, got)
  end)

  it("has two ends", function ()
    assert.matches("app 'c': port 'ring:x': both ends of this ring are in use",
      refused{a = {Port, "ring:x"}, b = {Port, "ring:x"}, c = {Port, "ring:x"}})
    configure{a = {Port, "ring:x"}, b = {Port, "ring:x"}}
  end)

  it("is empty when both ends have been unplugged", function ()
    local apps = configure({a = {Port, "ring:x"}, b = {Port, "ring:x"}, e = {Idle}},
      {"e.a -> a.input"})
    send(apps.a.input.input, frames(1, 50))
    apps.a:push()
    engine.configure(config.new())
    apps = configure({a = {Port, "ring:x"}, b = {Port, "ring:x"}, e = {Idle}},
      {"a.output -> e.a", "b.output -> e.b"})
    apps.a:pull()
    apps.b:pull()
    assert.same({}, take(apps.a.output.output))
    assert.same({}, take(apps.b.output.output))
  end)
end)

describe("a capture file", function ()
  local function run_to_end(app)
    local breaths = 0
    repeat
      engine.breathe()
      breaths = breaths + 1
    until app:ended() or breaths == 1000
    assert.is_true(app:ended())
  end

  it("is received whole, and then has ended", function ()
    local list = frames(1, 700)
    local out = capture()
    local nic = configure({nic = {Port, "pcap:rx=" .. capture(list) .. ",tx=" .. out}},
      {"nic.output -> nic.input"}).nic
    assert.is_false(nic:ended())
    run_to_end(nic)
    engine.breathe()
    local stats = nic:statistics()
    assert.equal(700, stats.ipackets)
    assert.equal(700, stats.opackets)
    engine.configure(config.new())
    assert.same(list, captured(out))
  end)

  it("starts again with loop=1, and never ends", function ()
    local nic = configure({nic = {Port, "pcap:rx=" .. capture(frames(1, 3))
      .. ",loop=1"}, sink = {basic.Sink}}, {"nic.output -> sink.input"}).nic
    for _ = 1, 5 do engine.breathe() end
    assert.is_true(nic:statistics().ipackets > 3)
    assert.is_false(nic:ended())
  end)

  it("without packets ends at once", function ()
    local nic = configure({nic = {Port, "pcap:rx=" .. capture()}, e = {Idle}},
      {"nic.output -> e.x"}).nic
    engine.breathe()
    assert.is_true(nic:ended())
  end)

  it("that is cut short is an error at its end, after its whole packets", function ()
    local name = capture(frames(1, 10))
    local file = io.open(name, "ab")
    file:write(little(11, 4), little(0, 4), little(90, 4), little(90, 4), "only this")
    file:close()
    local nic = configure({nic = {Port, "pcap:rx=" .. name}, e = {Idle}},
      {"nic.output -> e.x"}).nic
    for _ = 1, 3 do engine.breathe() end
    assert.same(frames(1, 10), take(nic.output.output))
    local ok, err = pcall(nic.ended, nic)
    assert.is_false(ok)
    assert.matches("ends in the middle of packet 11, which", tostring(err))
  end)

  it("may be cut while it is read: it ends there", function ()
    local list = {}
    for i = 1, 20000 do list[i] = ("%05d"):format(i):rep(12) end
    local name = capture(list)
    local nic = configure({nic = {Port, "pcap:rx=" .. name}, e = {Idle}},
      {"nic.output -> e.x"}).nic
    nic:pull()
    assert.is_true(os.execute(("truncate -s 24 %s"):format(name)) == 0)
    local got = take(nic.output.output)
    for _ = 1, 1000 do
      nic:pull()
      for _, text in ipairs(take(nic.output.output)) do got[#got + 1] = text end
    end
    assert.is_true(#got < #list)
    for i, text in ipairs(got) do assert.equal(list[i], text) end
    local ok, ended = pcall(nic.ended, nic)
    assert.is_true(ended == true or not ok)
  end)

  it("has named drops for what no packet holds, and the sum holds", function ()
    local longest, too_long = ("l"):rep(10240), ("t"):rep(10241)
    local list = {"short", longest, too_long, ("x"):rep(20000), longest}
    local held = account.packets(engine.link_table).held
    local nic = configure({nic = {Port, "pcap:rx=" .. capture(list)}, e = {Idle}},
      {"nic.output -> e.x"}).nic
    run_to_end(nic)
    local stats = nic:statistics()
    assert.equal(5, stats.ipackets)
    assert.equal(2, stats.rx_oversize)
    assert.equal(held, account.packets(engine.link_table).held)
    assert.same({"short", longest, longest}, take(nic.output.output))
  end)

  it("takes packets from 0 to 10,240 bytes", function ()
    local out = capture()
    local list = {"", "a", ("x"):rep(59), ("y"):rep(10240)}
    local nic = configure({nic = {Port, "pcap:tx=" .. out}, e = {Idle}},
      {"e.x -> nic.input"}).nic
    send(nic.input.input, list)
    nic:push()
    assert.equal(4, nic:statistics().opackets)
    assert.is_true(nic:ended())
    engine.configure(config.new())
    assert.same(list, captured(out))
  end)
end)

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
    assert.matches("app 'nic' has no input 'foo'; it has input, rx",
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

  it("looks at the machine once, before anything is changed", function ()
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
    assert.equal(4, looks)
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
    assert.equal(1280, tonumber(counter.read(published)))
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

  it("leaks nothing, plugged and unplugged 200 times", function ()
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
      local s, packets = nic:statistics(), 320 * (queue + 1)
      assert.same({packets, packets, 60 * packets}, {s.ipackets, s.opackets, s.obytes})
      nic:report()
    end
    rawset(_G, "print", plain_print)
    local text = table.concat(lines, "\n")
    assert.matches("port null, queue 0 of 2 %b()\n  ipackets 320  opackets 320  "
      .. "obytes 19,200\n  of all queues: ibytes %d+  imissed 0  ierrors 0  "
      .. "rx_nombuf 0  oerrors 0\n", text)
    assert.matches("port null, queue 1 of 2 %b()\n  ipackets 640  opackets 640  "
      .. "obytes 38,400$", text)
  end)
end)

describe("a DPDK port's number", function ()
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
    assert.matches("1\t256\t256\n1\t256\t256\n0\t256\t256\n", said)
    assert.matches("app 'nic': port '5': DPDK has only ports 0 to 1", said)
    assert.equal(2, status)
  end)
end)

describe("an alias", function ()
  local Card = port.alias{
    name = "Card",
    config = {pciaddr = {required = true}, size = {default = 64}},
    port = function (arg) return arg.pciaddr .. ":size=" .. arg.size end,
  }

  it("is a Port whose argument is its own", function ()
    local nic = configure{nic = {Card, {pciaddr = "null"}}}.nic
    assert.equal("null:size=64", nic.description.text)
    assert.equal(Port.statistics, nic.statistics)
    assert.matches("^app 'nic': .*pciaddr", refused{nic = {Card, {}}})
    assert.matches("^app 'nic': .*mtu",
      refused{nic = {Card, {pciaddr = "null", mtu = 1}}})
    assert.matches("app 'nic' has no input 'x'",
      refused({nic = {Card, {pciaddr = "null"}}, e = {Idle}}, {"e.x -> nic.x"}))
  end)

  it("restarts with another argument", function ()
    local first = configure{nic = {Card, {pciaddr = "null"}}}.nic
    local second = configure{nic = {Card, {pciaddr = "null", size = 99}}}.nic
    assert.not_equal(first, second)
    assert.equal("null:size=99", second.description.text)
  end)
end)
