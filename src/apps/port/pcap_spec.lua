-- SPDX-License-Identifier: Apache-2.0
-- The Port app on capture files.

local account = require("core.engine.account")
local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local engine = require("core.app")
local process = require("core.lib.process")
local port = require("apps.port.port")
local ports = require("testing.ports")
local testing = require("testing.support")

local Port = port.Port
local send, take = testing.send, testing.take
local Idle, captured, capture = ports.Idle, ports.captured, ports.capture
local configure, frames, little = ports.configure, ports.frames, ports.little

after_each(ports.clean_up)

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
    assert.is_true(process.succeeds(("truncate -s 24 %s"):format(name)))
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

  it("that is only written doesn't end the run", function ()
    local apps = configure({nic = {Port, "pcap:tx=" .. capture()}, e = {Idle}},
      {"e.x -> nic.input"})
    engine.breathe()
    assert.is_false(apps.nic:ends())
    assert.is_false(apps.nic:ended())
    assert.is_false(engine.finished())
  end)

  it("takes packets from 0 to 10,240 bytes", function ()
    local out = capture()
    local list = {"", "a", ("x"):rep(59), ("y"):rep(10240)}
    local nic = configure({nic = {Port, "pcap:tx=" .. out}, e = {Idle}},
      {"e.x -> nic.input"}).nic
    send(nic.input.input, list)
    nic:push()
    assert.equal(4, nic:statistics().opackets)
    engine.configure(config.new())
    assert.same(list, captured(out))
  end)
end)
