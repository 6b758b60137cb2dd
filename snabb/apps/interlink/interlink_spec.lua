-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local app = require("core.app")
local config = require("core.config")
local link = require("core.link")
local packet = require("core.packet")
local Receiver = require("apps.interlink.receiver")
local shm = require("core.shm")
local Transmitter = require("apps.interlink.transmitter")
local worker = require("core.worker")

-- The transmitting process: numbered packets of all lengths, %d of them.
local SOURCE = [[
local Numbers = {}
function Numbers:new() return setmetatable({n = 0}, {__index = Numbers}) end
function Numbers:pull()
  local output = self.output.output
  for _ = 1, link.nwritable(output) do
    if self.n == %d then return end
    self.n = self.n + 1
    link.transmit(output, packet.from_string(self.n .. ("."):rep(self.n %% 3000)))
  end
end
local c = config.new()
config.app(c, "numbers", Numbers)
config.app(c, %q, require("apps.interlink.transmitter"))
config.link(c, "numbers.output -> %s.input")
engine.configure(c)
engine.main{duration = 60, no_report = true}
]]
local COUNT, QUEUE = 20000, "spec_apps"

local Check = {}
function Check:new() return setmetatable({n = 0, wrong = 0}, {__index = Check}) end
function Check:push()
  for _ = 1, link.nreadable(self.input.input) do
    local p = link.receive(self.input.input)
    self.n = self.n + 1
    local expected = self.n .. ("."):rep(self.n % 3000)
    if ffi.string(p.data, p.length) ~= expected then self.wrong = self.wrong + 1 end
    packet.free(p)
  end
end

describe("apps.interlink", function ()
  after_each(function ()
    app.configure(config.new())
    for name in pairs(worker.status()) do worker.stop(name) end
  end)

  it("brings packets from a process though the receiver pauses #slow", function ()
    worker.start("source", SOURCE:format(COUNT, QUEUE, QUEUE))
    local c = config.new()
    config.app(c, QUEUE, Receiver)
    config.app(c, "check", Check)
    config.link(c, QUEUE .. ".output -> check.input")
    app.configure(c)
    local check = app.app_table.check
    app.main{done = function () return check.n >= COUNT / 2 end, no_report = true}
    app.configure(config.new())
    -- `check` starts anew, but goes on counting where it was.
    local n = check.n
    app.configure(c)
    check = app.app_table.check
    check.n = n
    app.main{done = function () return check.n >= COUNT end, no_report = true}
    assert.equal(COUNT, check.n)
    assert.equal(0, check.wrong)
  end)

  it("leaves nothing behind", function ()
    local c = config.new()
    config.app(c, "a", Transmitter, {queue = "/spec_named"})
    config.app(c, "b", Receiver, {queue = "/spec_named", size = 1024})
    config.app(c, "source", require("apps.basic.basic_apps").Source)
    config.app(c, "sink", require("apps.basic.basic_apps").Sink)
    config.link(c, "source.output -> a.input")
    config.link(c, "b.output -> sink.input")
    app.configure(c)
    for _ = 1, 10 do app.breathe() end
    assert.is_true(shm.exists("/interlink/spec_named.interlink"))
    assert.is_true(shm.exists("interlink/receiver/spec_named.interlink"))
    local got = link.stats(app.app_table.sink.input.input).rxpackets
    assert.is_true(got > 500)
    app.configure(config.new())
    assert.is_false(shm.exists("/interlink/spec_named.interlink"))
    assert.is_false(shm.exists("interlink/receiver/spec_named.interlink"))
  end)

  it("refuses names that are paths", function ()
    for _, queue in ipairs{"a/b", "../a", "", "//a"} do
      local c = config.new()
      config.app(c, "a", Receiver, {queue = queue})
      config.app(c, "sink", require("apps.basic.basic_apps").Sink)
      config.link(c, "a.output -> sink.input")
      assert.is_false(pcall(app.configure, c))
      app.configure(config.new())
    end
  end)
end)
