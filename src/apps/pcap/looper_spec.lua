-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local Looper = require("apps.pcap.looper").Looper
local Port = require("apps.port.port").Port
local account = require("core.engine.account")
local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")
local packet_set = require("lib.pcap.packet_set")
local taps = require("lib.control.taps")
local testing = require("testing.savefiles")

local host = testing.order(ffi.abi("le") and "little" or "big")

-- Writes into each packet, and frees it.
local Spoiler = {}
Spoiler.__index = Spoiler
function Spoiler.new() return setmetatable({seen = {}}, Spoiler) end
function Spoiler:process(p)
  self.seen[#self.seen + 1] = ffi.string(p.data, p.length)
  ffi.fill(p.data, p.length, 33)
  return nil
end

describe("apps.pcap.looper", function ()
  local path, out

  before_each(function ()
    path, out = os.tmpname(), os.tmpname()
  end)
  after_each(function ()
    engine.configure(config.new())
    os.remove(path)
    os.remove(out)
  end)

  local function save(n)
    local parts, texts = {host:pcap_header()}, {}
    for i = 1, n do
      texts[i] = ("%04d"):format(i):rep(15)
      parts[i + 1] = host:record(texts[i])
    end
    testing.save(path, table.concat(parts))
    return texts
  end

  local function configure(arg, more)
    local c = config.new()
    config.app(c, "source", Looper, arg)
    config.app(c, "port", Port, "pcap:tx=" .. out)
    config.link(c, "source.output -> port.input")
    if more then more(c) end
    engine.configure(c)
    return engine.app_table
  end

  local function run()
    local ends = engine.now() + 10
    engine.main{no_report = true, done = function ()
      return engine.finished() or engine.now() > ends
    end}
  end

  local function written()
    engine.configure(config.new())
    local texts = {}
    for i, p in ipairs(testing.packets(out)) do texts[i] = p.data end
    return texts
  end

  local function looped(texts, n)
    local list = {}
    for i = 1, n do list[i] = texts[(i - 1) % #texts + 1] end
    return list
  end

  it("sends packets so many times, past the link, and accounts for them", function ()
    local texts = save(100)
    local app = configure{filename = path, loops = 30}
    local before = account.packets(engine.link_table)
    run()
    local after = account.packets(engine.link_table)
    assert.equal(3000, after.sent - before.sent)
    assert.equal(3000, after.allocated - before.allocated)
    assert.equal(before.held, after.held)
    assert.equal(before.freed, after.freed)
    assert.same({3000, 180000, 3000 * 84 * 8},
      {app.source.packets, app.source.bytes, app.source.bits})
    assert.equal(3000, link.stats(app.source.output.output).txpackets)
    assert.is_true(app.source.done)
    assert.same(looped(texts, 3000), written())
  end)

  it("stops at its limit", function ()
    local texts = save(7)
    local app = configure{filename = path, limit = 17}
    run()
    assert.equal(17, app.source.packets)
    assert.same(looped(texts, 17), written())
  end)

  it("gives apps copies, and ports what is unchanged", function ()
    local texts = save(5)
    local app = configure({filename = path, loops = 8}, function (c)
      config.app(c, "spoiler", Spoiler)
      config.link(c, "source.other -> spoiler.input")
    end)
    run()
    assert.same(looped(texts, 40), app.spoiler.seen)
    assert.same(looped(texts, 40), written())
  end)

  it("gives copies to ports that pass packets on", function ()
    local texts = save(5)
    local app = configure({filename = path, loops = 3}, function (c)
      config.app(c, "there", Port, "ring:looper")
      config.app(c, "here", Port, "ring:looper")
      config.app(c, "spoiler", Spoiler)
      config.link(c, "source.other -> there.input")
      config.link(c, "here.output -> spoiler.input")
    end)
    for _ = 1, 10 do engine.breathe() end
    assert.same(looped(texts, 15), app.spoiler.seen)
    assert.same(looped(texts, 15), written())
  end)

  it("lets taps see all packets, and goes on where it was", function ()
    local texts, seen = save(10), 0
    local app = configure{filename = path}
    local tap = {wants = function () return true end, seen = function () end,
      lost = function () end, kept = function () end, after = function () end}
    function tap:burst(_, _, n) seen = seen + n end
    engine.breathe()
    local before = app.source.packets
    taps.attach(tap)
    engine.breathe()
    engine.breathe()
    local tapped = app.source.packets - before
    taps.detach(tap)
    engine.breathe()
    local all = app.source.packets
    assert.is_true(before > 0 and tapped > 0 and all > before + tapped)
    assert.equal(tapped, seen)
    assert.same(looped(texts, all), written())
  end)

  it("goes on with another port when the graph changes", function ()
    save(10)
    local app = configure{filename = path}
    engine.breathe()
    local source, before = app.source, app.source.packets
    local c = config.new()
    config.app(c, "source", Looper, {filename = path})
    config.app(c, "sink", basic.Sink)
    config.app(c, "null", Port, "null")
    config.link(c, "source.output -> sink.input")
    config.link(c, "source.other -> null.input")
    engine.configure(c)
    assert.equal(source, engine.app_table.source)
    engine.breathe()
    assert.is_true(engine.app_table.null.port.txpackets > 0)
    assert.is_true(source.packets > before)
    engine.configure(config.new())
    assert.is_nil(account.at_end())
  end)

  it("is started again, though the packets it was given are freed", function ()
    local texts = save(5)
    local kept = packet_set.load(path, {any_link = true})
    configure{kept = kept, loops = 2}
    engine.configure_anew(engine.configuration, {source = "restart"})
    assert.is_true(kept.set == nil)
    run()
    assert.same(looped(texts, 10), written())
    os.remove(path)
    assert.matches(path, tostring(select(2, pcall(Looper.new, Looper, {kept = kept}))),
      1, true)
  end)

  it("refuses what it can't keep", function ()
    for _, case in ipairs{
      {"", "is empty"}, {"nothing known", "is neither a pcap"},
      {host:pcap_header(), "that can be kept"},
    } do
      testing.save(path, case[1])
      local ok, err = pcall(Looper.new, Looper, {filename = path})
      assert.is_false(ok)
      assert.matches(case[2], tostring(err), 1, true)
    end
  end)
end)
