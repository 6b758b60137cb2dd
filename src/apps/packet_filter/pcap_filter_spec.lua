-- SPDX-License-Identifier: Apache-2.0

local app = require("core.app")
local config = require("core.config")
local conntrack = require("apps.packet_filter.conntrack")
local counter = require("core.counter")
local link = require("core.link")
local packet = require("core.packet")
local PcapFilter = require("apps.packet_filter.pcap_filter").PcapFilter

local MACS = "\2\0\0\0\0\1\2\0\0\0\0\2\8\0"
-- UDP, 10.0.0.1:1024 to 10.0.0.2:53, and the answer; then ARP
local QUERY = MACS .. "\x45\0\0\x1c\0\0\0\0\x40\x11\0\0\10\0\0\1\10\0\0\2"
  .. "\4\0\0\x35\0\8\0\0"
local ANSWER = MACS .. "\x45\0\0\x1c\0\0\0\0\x40\x11\0\0\10\0\0\2\10\0\0\1"
  .. "\0\x35\4\0\0\8\0\0"
local ARP = MACS:sub(1, 12) .. "\8\6" .. ("\0"):rep(46)

-- Sends what is in `frames` once.
local Feed = {}
function Feed:new(frames) return setmetatable({frames = frames}, {__index = Feed}) end
function Feed:pull()
  for _, bytes in ipairs(self.frames) do
    link.transmit(self.output.output, packet.from_string(bytes))
  end
  self.frames = {}
end

local Keep = {}
function Keep:new() return setmetatable({got = {}}, {__index = Keep}) end
function Keep:push()
  for _ = 1, link.nreadable(self.input.input) do
    local p = link.receive(self.input.input)
    table.insert(self.got, require("ffi").string(p.data, p.length))
    packet.free(p)
  end
end

-- What filters with the arguments, one behind another, let pass; and the first app.
local function run(frames, arguments, input, output)
  local c = config.new()
  config.app(c, "feed", Feed, frames)
  config.app(c, "keep", Keep)
  local from = "feed.output"
  for i, arg in ipairs(arguments) do
    config.app(c, "filter" .. i, PcapFilter, arg)
    config.link(c, ("%s -> filter%d.%s"):format(from, i, input or "input"))
    from = ("filter%d.%s"):format(i, output or "output")
  end
  config.link(c, from .. " -> keep.input")
  app.configure(config.new())
  app.configure(c)
  app.breathe()
  return app.app_table.keep.got, app.app_table.filter1
end

local function count(name, filter) return tonumber(counter.read(filter.shm[name])) end

describe("PcapFilter", function ()
  before_each(conntrack.clear)
  after_each(function () app.configure(config.new()) end)

  it("passes on what the filter accepts, and counts the rest", function ()
    local got, filter = run({QUERY, ARP, ANSWER, ARP}, {{filter = "dst port 53"}})
    assert.same({QUERY}, got)
    assert.equal(3, count("rxerrors", filter))
    assert.equal(3, app.drops("filter1").rejected)
    assert.equal(0, count("sessions_established", filter))
  end)

  it("passes on answers with a state table", function ()
    local arg = {filter = "dst port 53", state_table = "a", native = true}
    local got, filter = run({ANSWER, QUERY, ANSWER, ARP, QUERY}, {arg})
    assert.same({QUERY, ANSWER, QUERY}, got)
    assert.equal(2, count("rxerrors", filter))
    assert.equal(1, count("sessions_established", filter))
  end)

  it("shares a state table by its name", function ()
    run({QUERY}, {{filter = "dst port 53", state_table = "a"}})
    assert.same({ANSWER}, (run({ANSWER, ARP}, {{filter = "1 = 2", state_table = "a"}})))
    assert.same({}, (run({ANSWER, ARP}, {{filter = "1 = 2", state_table = "b"}})))
  end)

  it("stands in a chain, under Snabb's other port names", function ()
    local chain = {{filter = "udp"}, {filter = "src host 10.0.0.2"}}
    assert.same({ANSWER}, (run({QUERY, ANSWER, ARP}, chain)))
    assert.same({ANSWER}, (run({QUERY, ANSWER, ARP}, chain, "rx", "tx")))
  end)

  it("refuses what is no filter, before it changes anything", function ()
    local c = config.new()
    config.app(c, "filter", PcapFilter, {filter = "udp and"})
    local ok, err = pcall(app.configure, c)
    assert.is_false(ok)
    assert.matches("'udp and' is no packet filter", tostring(err))
    assert.is_false(pcall(config.app, c, "filter", PcapFilter, {}))
  end)
end)
