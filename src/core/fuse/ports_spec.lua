-- SPDX-License-Identifier: Apache-2.0
-- Regions that receive from and send to ports without a link.

local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")
local pcap = require("lib.pcap.pcap")
local port = require("apps.port.port")
local texts = require("testing.texts")

local held, run, send, take = texts.held, texts.run, texts.send, texts.take
local totals = texts.totals

local Port = port.Port
local Idle = {new = function () return {} end}

local function class(fields)
  function fields.new(self) return setmetatable({}, {__index = self}) end
  return fields
end

local Pass = class{process = function (_, p) return p end}

local function breathe(n)
  for _ = 1, n or 5 do engine.breathe() end
end

local function frames(from, to)
  local list = {}
  for i = from, to do list[#list + 1] = ("frame %010d"):format(i) end
  return list
end

describe("a region between ports", function ()
  local before

  before_each(function ()
    packet.free(packet.allocate())
    before = held()
  end)

  after_each(function ()
    engine.fuse = true
    engine.configure(config.new())
    assert.equal(before, held())
  end)

  describe("of pcap files", function ()
    local names

    local function file(name)
      names[name] = names[name] or os.tmpname()
      return names[name]
    end

    local function bytes(name)
      local f = assert(io.open(file(name), "rb"))
      local text = f:read("*a")
      f:close()
      return text
    end

    local function frames_of(name)
      local list = {}
      for frame in pcap.records(file(name)) do list[#list + 1] = frame end
      return list
    end

    before_each(function () names = {} end)

    after_each(function ()
      for _, name in pairs(names) do os.remove(name) end
    end)

    -- `count` frames of all lengths from 14 to 1514.
    local function write(name, count)
      local f = assert(io.open(file(name), "wb"))
      pcap.write_file_header(f)
      for i = 1, count do
        local frame = (("%08d"):format(i)):rep(200):sub(1, 14 + i * 7 % 1501)
        pcap.write_record(f, frame, #frame)
      end
      f:close()
    end

    local function until_ended(app)
      local breaths = 0
      repeat
        engine.breathe()
        breaths = breaths + 1
      until app:ended() or breaths == 1000
      breathe()
    end

    local function copied(links, apps)
      write("in", 2000)
      apps["in"] = {Port, "pcap:rx=" .. file("in")}
      apps.out = {Port, "pcap:tx=" .. file("out")}
      local started = run(apps, links)
      until_ended(started["in"])
      assert.equal(2000, link.stats(engine.link_table[links[1]]).rxpackets)
      engine.configure(config.new())
      assert.same(frames_of("in"), frames_of("out"))
      return bytes("out")
    end

    it("passes every byte, in order, and knows the end", function ()
      copied({"in.output -> a.i", "a.output -> b.i", "b.output -> out.input"},
        {a = {Pass}, b = {Pass}})
    end)

    it("does so when only one end is fused", function ()
      copied({"in.output -> s.i", "s.output -> a.i", "a.output -> out.input"},
        {a = {Pass}, s = {basic.Join}})
      copied({"in.output -> a.i", "a.output -> s.i", "s.output -> out.input"},
        {a = {Pass}, s = {basic.Join}})
    end)

    -- Bursts all of one length, of several, and of changed ones.
    for period, what in pairs{[0] = "no", [1] = "all", [3] = "some"} do
      it(("sends the lengths of packets of which %s are changed"):format(what),
        function ()
          local at, sent, bytes_sent = 0, {}, 0
          local Longer = class{process = function (_, p)
            at = at + 1
            return at % period == 0 and packet.append(p, "tail", 4) or p
          end}
          local f = assert(io.open(file("in"), "wb"))
          pcap.write_file_header(f)
          for i, frame in ipairs(frames(1, 600)) do
            pcap.write_record(f, frame, #frame)
            sent[i] = frame .. (i % period == 0 and "tail" or "")
            bytes_sent = bytes_sent + #sent[i]
          end
          f:close()
          local started = run({["in"] = {Port, "pcap:rx=" .. file("in")},
            a = {Longer}, out = {Port, "pcap:tx=" .. file("out")}},
            {"in.output -> a.i", "a.output -> out.input"})
          until_ended(started["in"])
          assert.same({600, 9600, 600, 9600, 0}, totals("in.output -> a.i"))
          assert.equal(bytes_sent, totals("a.output -> out.input")[2])
          assert.equal(bytes_sent, tonumber(started.out.port.txbytes))
          engine.configure(config.new())
          assert.same(sent, frames_of("out"))
        end)
    end
  end)

  it("takes up to four full bursts in a breath, where all go to ports", function ()
    local links = {"port.output -> a.i", "a.output -> port.input"}
    local function passed()
      engine.breathe()
      return tonumber(engine.app_table.port.port.rxpackets)
    end
    run({port = {Port, "null"}, a = {Pass}}, links)
    assert.equal(4 * 256, passed())
    run({port = {Port, {port = "null", burst = 255}}, a = {Pass}}, links)
    assert.equal(255, passed())
    run({port = {Port, "null"}, a = {Pass}, s = {basic.Sink}},
      {links[1], "a.output -> s.input"})
    assert.equal(256, passed())
  end)

  it("sends what it has taken at once before it takes more", function ()
    local nic, sent
    local look = class{process = function (_, p)
      sent[#sent + 1] = tonumber(nic.txpackets)
      return p
    end}
    local function sent_in_a_breath(at_once, arg, to)
      look.at_once = at_once
      run({port = {Port, arg}, a = {look}, to = {Port, to or "null:size=64"}},
        {"port.output -> a.i", "a.output -> to.input"})
      nic, sent = engine.app_table.to.port, {}
      engine.breathe()
      assert.equal(#sent, tonumber(nic.txpackets))
      engine.configure(config.new())
      return sent
    end
    local function assert_lots(n)
      assert.equal(math.ceil(4 * 256 / n) * n, #sent)
      for i, before_it in ipairs(sent) do
        assert.equal(math.floor((i - 1) / n) * n, before_it)
      end
    end
    for _, at_once in ipairs{1, 32, 100, 256} do
      sent_in_a_breath(at_once, "null")
      assert_lots(at_once)
    end
    assert.equal(20, #sent_in_a_breath(32, {port = "null", burst = 20}))
    local path = os.tmpname()
    sent_in_a_breath(32, "null", "pcap:tx=" .. path)
    os.remove(path)
    assert_lots(256) -- a port that would like full bursts
  end)

  local function rings(n)
    return {near = {Port, "ring:fa"}, port = {Port, "ring:fa"}, feed = {Idle},
            got = {Idle}, back = {Port, "ring:fb"}, far = {Port, "ring:fb"},
            a = {Pass}, b = {Pass}},
      {"feed.x -> near.input", "port.output -> a.i", "a.output -> b.i",
       "b.output -> back.input", n ~= 0 and "far.output -> got.x" or nil}
  end

  it("keeps what the device doesn't take, then drops it as link full", function ()
    run(rings(0))
    local sent = 0
    for _ = 1, 40 do
      send("feed.x -> near.input", frames(sent + 1, sent + 100))
      sent = sent + 100
      breathe(1)
    end
    breathe()
    local exit = link.stats(engine.link_table["b.output -> back.input"])
    local waiting = exit.txpackets - exit.rxpackets
    assert.equal(link.max, waiting)
    assert.is_true(exit.txdrop > 0)
    assert.equal(sent, exit.txpackets + exit.txdrop)
    assert.equal(16 * sent, link.stats(engine.link_table["a.output -> b.i"]).rxbytes)
    assert.equal(sent, link.stats(engine.link_table["port.output -> a.i"]).rxpackets)
    -- Once it is taken away, what waited leaves, though nothing new comes.
    run(rings())
    local got = {}
    for _ = 1, 20 do
      breathe(1)
      for _, text in ipairs(take("far.output -> got.x")) do got[#got + 1] = text end
    end
    assert.same(frames(1, exit.txpackets), got)
    assert.same({exit.txpackets, 16 * exit.txpackets, exit.txpackets,
                 16 * exit.txpackets, exit.txdrop}, totals("b.output -> back.input"))
  end)

  it("sends what waited in its links before what comes", function ()
    engine.fuse = false
    local apps, links = rings()
    run(apps, links)
    send(links[2], frames(1, 600))
    send(links[3], frames(601, 700))
    engine.fuse = true
    run(apps, links)
    send(links[1], frames(701, 800))
    local got = {}
    for _ = 1, 10 do
      breathe(1)
      for _, text in ipairs(take(links[5])) do got[#got + 1] = text end
    end
    -- Further down the chain is further ahead.
    local expected = frames(601, 700)
    for _, text in ipairs(frames(1, 600)) do expected[#expected + 1] = text end
    for _, text in ipairs(frames(701, 800)) do expected[#expected + 1] = text end
    assert.same(expected, got)
    assert.same({800, 12800, 800, 12800, 0}, totals(links[4]))
  end)

  it("goes on where it was after an error", function ()
    local Bad = class{process = function (_, p)
      if p.data[15] == 53 then -- "5"
        packet.free(p)
        error("five")
      end
      return p
    end}
    local apps, links = rings()
    apps.b = {Bad}
    run(apps, links)
    send(links[1], frames(1, 10))
    send(links[1], frames(11, 18))
    local errors = 0
    for _ = 1, 10 do
      if not pcall(engine.breathe) then errors = errors + 1 end
    end
    assert.equal(2, errors)
    local expected = frames(1, 18)
    table.remove(expected, 15)
    table.remove(expected, 5)
    assert.same(expected, take(links[5]))
    for i = 1, 3 do assert.same({18, 288, 18, 288, 0}, totals(links[i])) end
    assert.same({16, 256, 16, 256, 0}, totals(links[4]))
  end)

  it("may begin and end at the same port", function ()
    run({near = {Port, "ring:fa"}, port = {Port, "ring:fa"}, feed = {Idle},
         got = {Idle}, a = {Pass}},
      {"feed.x -> near.input", "near.output -> got.x", "port.output -> a.i",
       "a.output -> port.input"})
    send("feed.x -> near.input", frames(1, 100))
    breathe()
    assert.same(frames(1, 100), take("near.output -> got.x"))
    assert.same({100, 1600, 100, 1600, 0}, totals("port.output -> a.i"))
    assert.same({100, 1600, 100, 1600, 0}, totals("a.output -> port.input"))
  end)

  it("counts what the port can't send", function ()
    local Odd = class{process = function (_, p)
      local i = p.data[15] - 48
      return packet.resize(p, i == 0 and 3 or i == 1 and 10240 or p.length)
    end}
    local apps, links = rings()
    apps.a, apps.back = {Odd}, {Port, "null"}
    apps.far = nil
    links[5] = nil
    local started = run(apps, links)
    started.back.port.min_frame, started.back.port.max_frame = 14, 1514
    send(links[1], frames(1, 100))
    breathe()
    local stats = started.back:statistics()
    assert.equal(10, stats.tx_runt)
    assert.equal(10, stats.tx_oversize)
    assert.equal(80, tonumber(started.back.port.txpackets))
    assert.same({100, 80 * 16 + 30 + 102400, 100, 80 * 16 + 30 + 102400, 0},
      totals(links[4]))
  end)

  it("leaves a port alone whose output isn't fused", function ()
    local apps, links = rings()
    apps.s = {basic.Join}
    links[2], links[6] = "port.output -> s.i", "s.output -> a.i"
    run(apps, links)
    send(links[1], frames(1, 10))
    breathe()
    assert.same(frames(1, 10), take(links[5]))
    assert.same({10, 160, 10, 160, 0}, totals("port.output -> s.i"))
  end)

  it("makes its code anew when a port is opened anew", function ()
    local apps, links = rings()
    run(apps, links)
    send(links[1], frames(1, 10))
    breathe()
    assert.same(frames(1, 10), take(links[5]))
    apps.back, apps.far = {Port, "ring:fc"}, {Port, "ring:fc"}
    run(apps, links)
    send(links[1], frames(11, 20))
    breathe()
    assert.same(frames(11, 20), take(links[5]))
    assert.same({20, 320, 20, 320, 0}, totals(links[4]))
  end)
end)
