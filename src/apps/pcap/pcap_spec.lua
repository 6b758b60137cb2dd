-- SPDX-License-Identifier: Apache-2.0
-- PcapReader and PcapWriter in the engine.

local engine = require("core.app")
local config = require("core.config")
local counter = require("core.counter")
local ffi = require("ffi")
local link = require("core.link")
local packet = require("core.packet")
local basic = require("apps.basic.basic_apps")
local pcap = require("apps.pcap.pcap")
local testing = require("testing.savefiles")

local host = testing.order(ffi.abi("le") and "little" or "big")
local input, output

local function run(c, done)
  engine.configure(c)
  engine.main({done = done, no_report = true})
end

-- Run `from` -> `to`, PcapWriter arguments, until the file has been read and written.
local function copy_file(from, to)
  local c = config.new()
  config.app(c, "reader", pcap.PcapReader, from)
  config.app(c, "writer", pcap.PcapWriter, to)
  config.link(c, "reader.output -> writer.input")
  local breaths = 0
  run(c, function()
    breaths = breaths + 1
    assert(breaths < 100000, "the reader isn't done")
    local app = engine.app_table.reader
    return app.done and link.empty(app.output.output)
  end)
  return engine.app_table
end

-- What stands on stderr is part of what a damaged file causes.
local function with_stderr(f)
  local written, real = {}, io.stderr
  local function write(_, ...) table.insert(written, table.concat{...}) end
  rawset(io, "stderr", {write = write})
  local ok, err = pcall(f)
  rawset(io, "stderr", real)
  assert(ok, err)
  return table.concat(written)
end

describe("apps.pcap.pcap", function()
  before_each(function() input, output = os.tmpname(), os.tmpname() end)
  after_each(function()
    engine.stop()
    os.remove(input)
    os.remove(output)
  end)

  it("copies every packet, in order", function()
    local parts, expected = {host:pcap_header()}, {}
    for i = 1, 3000 do
      expected[i] = ("%d "):format(i):rep(1 + i % 50)
      parts[#parts + 1] = host:record(expected[i])
    end
    testing.save(input, table.concat(parts))
    local before = os.time()
    local apps = copy_file(input, output)
    local packets = testing.packets(output)
    assert.are.equal(3000, #packets)
    for i, p in ipairs(packets) do
      assert.are.equal(expected[i], p.data)
      local seconds = tonumber(p.time / 1000000000LL)
      assert.is_true(seconds >= before and seconds <= os.time())
    end
    assert.are.equal(3000, tonumber(counter.read(apps.reader.shm.packets)))
    assert.are.equal(3000, tonumber(counter.read(apps.writer.shm.packets)))
    assert.is_true(apps.reader.done)
  end)

  it("skips and counts packets that are too long", function()
    testing.save(input, host:pcap_header{snaplen = 0}
      .. host:record("a") .. host:record(("x"):rep(packet.max_payload))
      .. host:record(("x"):rep(packet.max_payload + 1)) .. host:record("b"))
    local apps = copy_file(input, output)
    local packets = testing.packets(output)
    assert.are.equal(3, #packets)
    assert.are.equal(packet.max_payload, #packets[2].data)
    assert.are.equal("b", packets[3].data)
    assert.are.equal(1, tonumber(counter.read(apps.reader.shm.oversize)))
  end)

  it("delivers what a snap length has left of a packet", function()
    testing.save(input, host:pcap_header() .. host:record("cut", {original = 1500}))
    copy_file(input, output)
    assert.are.equal("cut", testing.packets(output)[1].data)
  end)

  it("delivers all before a cut, says so, and is done", function()
    local bytes = host:pcap_header() .. host:record("whole")
    testing.save(input, bytes .. host:record("damaged"):sub(1, -2))
    local apps
    local said = with_stderr(function() apps = copy_file(input, output) end)
    assert.matches("ends in the middle of packet 2", said)
    assert.matches("ends in the middle of packet 2", apps.reader.failure)
    assert.are.equal(1, #testing.packets(output))
  end)

  it("loses nothing to an output without room", function()
    local parts = {host:pcap_header()}
    for i = 1, 5000 do
      parts[i + 1] = host:record("packet " .. i)
    end
    testing.save(input, table.concat(parts))
    -- Takes one packet a breath.
    local Slow = {}
    function Slow:new() return setmetatable({n = 0}, {__index = Slow}) end
    function Slow:push()
      if not link.empty(self.input.input) then
        packet.free(link.receive(self.input.input))
        self.n = self.n + 1
      end
    end
    local c = config.new()
    config.app(c, "reader", pcap.PcapReader, input)
    config.app(c, "slow", Slow)
    config.link(c, "reader.output -> slow.input")
    engine.configure(c)
    for _ = 1, 5001 do
      engine.breathe()
    end
    assert.are.equal(5000, engine.app_table.slow.n)
    assert.are.equal(0, link.stats(engine.app_table.slow.input.input).txdrop)
  end)

  it("refuses a file it can't read, and the old graph runs on", function()
    local c = config.new()
    config.app(c, "sink", basic.Sink)
    engine.configure(c)
    local bad = config.new()
    config.app(bad, "reader", pcap.PcapReader, "/nonexistent")
    local ok, err = pcall(engine.configure, bad)
    assert.is_false(ok)
    assert.matches("app 'reader': can't read /nonexistent", tostring(err), 1, true)
    assert.is_truthy(engine.app_table.sink)
  end)

  it("takes a mode, as in Snabb", function()
    testing.save(input, host:pcap_header() .. host:record("one"))
    copy_file(input, {output, "w"})
    engine.stop()
    copy_file(input, {output, "a"})
    assert.are.equal(2, #testing.packets(output))
    local c = config.new()
    config.app(c, "writer", pcap.PcapWriter, {output, "r"})
    local ok, err = pcall(engine.configure, c)
    assert.is_false(ok)
    assert.matches('in mode "r"; there are "w" and "a"', tostring(err), 1, true)
  end)

  it("writes no more than its limit, and counts the rest", function()
    testing.save(input, host:pcap_header() .. host:record("1") .. host:record("2")
      .. host:record("3"))
    local apps = copy_file(input, {filename = output, limit = 2, format = "pcapng"})
    assert.are.equal(2, #testing.packets(output))
    assert.are.equal(1, tonumber(counter.read(apps.writer.shm.over_limit)))
  end)

  it("raises when the disk is full, with the counts right", function()
    testing.save(input, host:pcap_header() .. host:record("1") .. host:record("2"))
    local c = config.new()
    config.app(c, "reader", pcap.PcapReader, input)
    config.app(c, "writer", pcap.PcapWriter, output)
    config.link(c, "reader.output -> writer.input")
    engine.configure(c)
    local writer = engine.app_table.writer
    -- Let the file be /dev/full from here on.
    local unistd, fcntl = require("posix.unistd"), require("posix.fcntl")
    local full = fcntl.open("/dev/full", fcntl.O_WRONLY)
    unistd.dup2(full, writer.file.output.guard.fd)
    unistd.close(full)
    local ok, err = pcall(engine.main, {done = function() end, no_report = true})
    assert.is_false(ok)
    assert.matches("can't write .*: No space left on device", tostring(err))
    assert.are.equal(0, tonumber(counter.read(writer.shm.packets)))
    assert.are.equal(2, tonumber(counter.read(writer.shm.not_written)))
  end)
end)
