-- SPDX-License-Identifier: Apache-2.0
-- The savefile writer: exact bytes, random packets read back, and full disks.

local ffi = require("ffi")
local unistd = require("posix.unistd")
local failure = require("core.failure")
local writer = require("lib.pcap.writer")
local testing = require("testing.savefiles")

local KINDS = {
  {format = "pcap", resolution = "us"}, {format = "pcap", resolution = "ns"},
  {format = "pcapng", resolution = "us"}, {format = "pcapng", resolution = "ns"},
}
local TIME = 1700000000123456789LL

local host = testing.order(ffi.abi("le") and "little" or "big")
local path

local function raised(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.is_true(failure.is(err), tostring(err))
  return tostring(err)
end

local function write_file(options, packets)
  local file = writer.open(path, options)
  for _, p in ipairs(packets) do
    file:write(p.data, #p.data, p.original or #p.data, p.time or TIME)
  end
  file:close()
  return file
end

local function random_bytes(length)
  local bytes = {}
  for i = 1, length do
    bytes[i] = string.char(math.random(0, 255))
  end
  return table.concat(bytes)
end

local function random_packets(n)
  local packets = {}
  for i = 1, n do
    -- Short ones mostly, and the bounds.
    local length = math.random() < 0.95 and math.random(0, 200)
      or ({0, 1, 9000, 65535, 262144})[math.random(5)]
    local seconds = math.random(0, 2^32 - 1)
    packets[i] = {
      data = random_bytes(math.min(length, 300)) .. ("z"):rep(length - 300),
      original = length + math.random(0, 1) * math.random(0, 10000),
      time = seconds * 1000000000LL + math.random(0, 999999999),
    }
  end
  return packets
end

describe("lib.pcap.writer", function()
  before_each(function() path = os.tmpname() end)
  after_each(function() os.remove(path) end)

  it("writes pcap as the draft says", function()
    write_file({snaplen = 2000}, {{data = "abcde", original = 1514}})
    assert.are.equal(host:pcap_header{snaplen = 2000}
      .. host:record("abcde", {sec = 1700000000, fraction = 123456, original = 1514}),
      testing.load(path))
    write_file({resolution = "ns"}, {{data = "abcde"}})
    assert.are.equal(host:pcap_header{snaplen = 262144, magic = 0xa1b23c4d}
      .. host:record("abcde", {sec = 1700000000, fraction = 123456789}),
      testing.load(path))
  end)

  it("writes pcapng as the draft says", function()
    for resolution, exponent in pairs{us = "\6", ns = "\9"} do
      write_file({format = "pcapng", resolution = resolution, snaplen = 2000},
                 {{data = "abcde", original = 1514}})
      local units = resolution == "us" and TIME / 1000 or TIME
      assert.are.equal(host:section()
        .. host:interface{snaplen = 2000, options = host:option(9, exponent)
                                                  .. host:option(0, "")}
        .. host:enhanced("abcde", {original = 1514,
                                   high = tonumber(units / 0x100000000LL),
                                   low = tonumber(units % 0x100000000LL)}),
        testing.load(path))
    end
  end)

  it("pads pcapng blocks with zeros", function()
    local file = writer.open(path, {format = "pcapng", resolution = "ns"})
    file:write(("x"):rep(100), 100, 100, 0)
    file:flush()
    file:write("abcde", 5, 5, 0)
    file:close()
    local block = host:enhanced("abcde")
    assert.are.equal(block, testing.load(path):sub(-#block))
  end)

  it("gives back random packets in every format #slow", function()
    for round = 1, 10 do
      for _, kind in ipairs(KINDS) do
        local packets = random_packets(60)
        local file = write_file(kind, packets)
        assert.are.equal(60, (file:written()))
        local result = testing.packets(path)
        assert.are.equal(60, #result)
        local unit = kind.resolution == "us" and 1000 or 1
        for i, p in ipairs(packets) do
          local message = ("%s %s, round %d, packet %d"):format(
            kind.format, kind.resolution, round, i)
          assert.is_true(p.data == result[i].data, message)
          assert.are.equal(p.original, result[i].original, message)
          assert.is_true(p.time - p.time % unit == result[i].time, message)
        end
      end
    end
  end)

  it("cuts packets at the snap length", function()
    for _, kind in ipairs(KINDS) do
      write_file({format = kind.format, snaplen = 3}, {{data = "abcde"}, {data = "ab"}})
      local packets = testing.packets(path)
      assert.are.equal("abc", packets[1].data)
      assert.are.equal(5, packets[1].original)
      assert.are.equal("ab", packets[2].data)
    end
  end)

  it("appends to a file of the same kind", function()
    for _, kind in ipairs(KINDS) do
      write_file(kind, {{data = "one"}})
      kind = {format = kind.format, resolution = kind.resolution, append = true}
      local file = write_file(kind, {{data = "two"}, {data = "three"}})
      assert.are.equal(2, (file:written()))
      local packets = testing.packets(path)
      assert.are.equal(3, #packets)
      assert.are.equal("one", packets[1].data)
      assert.are.equal("three", packets[3].data)
      testing.save(path, "")
      write_file(kind, {{data = "first"}})
      assert.are.equal("first", testing.packets(path)[1].data)
      os.remove(path)
    end
  end)

  it("refuses to append to another kind or a cut file, and leaves it", function()
    write_file({resolution = "ns"}, {{data = "one"}})
    local before = testing.load(path)
    assert.matches("can't append pcap %(us%) to .*, which is pcap %(ns%)",
                   raised(writer.open, path, {append = true}))
    assert.are.equal(before, testing.load(path))
    testing.save(path, before:sub(1, -2))
    assert.matches("middle of packet 1",
                   raised(writer.open, path, {append = true, resolution = "ns"}))
    local other = testing.order(ffi.abi("le") and "big" or "little")
    testing.save(path, other:pcap_header())
    assert.matches("of the other byte order",
                   raised(writer.open, path, {append = true}))
  end)

  it("refuses wrong options without touching the file", function()
    testing.save(path, "precious")
    for pattern, options in pairs{
      ['no savefile format "erf"'] = {format = "erf"},
      ['no time resolution "ms"'] = {resolution = "ms"},
      ["snap length can't be 0"] = {snaplen = 0},
      ["snap length can't be 262145"] = {snaplen = 262145},
      ["snap length can't be 1.5"] = {snaplen = 1.5},
    } do
      assert.matches(pattern, raised(writer.open, path, options))
    end
    assert.are.equal("precious", testing.load(path))
    assert.matches("can't write /nonexistent/x: No such file",
                   raised(writer.open, "/nonexistent/x"))
  end)

  it("puts packets into the file at flush, before it is closed", function()
    local file = writer.open(path)
    file:write("abc", 3, 3, TIME)
    assert.are.equal(0, (file:written()))
    assert.are.equal(0, #testing.packets(path))
    file:flush()
    assert.are.equal(1, (file:written()))
    assert.are.equal("abc", testing.packets(path)[1].data)
    file:close()
    file:close()
    assert.matches("it is closed", raised(file.flush, file))
  end)

  it("says when the disk is full", function()
    assert.matches("can't write /dev/full: No space left",
                   raised(writer.open, "/dev/full"))
  end)

  -- A disk that takes `room` bytes and no more: the limit on a file's size, in a
  -- child whose SIGXFSZ is ignored.
  local function write_with_limit(options)
    local child = [[
      local writer = require("lib.pcap.writer")
      local file = writer.open(%q, {format = %q})
      local n, ok, err = 0, true, nil
      while ok and n < 10000 do
        n = n + 1
        ok, err = pcall(file.write, file, ("x"):rep(100), 100, 100, n)
      end
      print(ok, tostring(err))
      local again, message = pcall(file.flush, file)
      print(again, tostring(message) == tostring(err))
      file:close()
      local written, lost = file:written()
      -- The packet whose write raised is the caller's.
      print(written, lost, n - 1)
    ]]
    local script = os.tmpname()
    testing.save(script, child:format(path, options.format))
    local this = unistd.readlink("/proc/self/exe")
    local lua = this:match("/perigee$") and this .. " run" or this
    local command = ("trap '' XFSZ; ulimit -f 1000; LUA_PATH='%s' %s %s")
      :format(package.path, lua, script)
    local pipe = io.popen(('bash -c "%s" 2>&1'):format(command))
    local lines = {}
    for line in pipe:lines() do
      lines[#lines + 1] = line
    end
    pipe:close()
    os.remove(script)
    return lines
  end

  for _, format in ipairs{"pcap", "pcapng"} do
    it("loses nothing written to a full disk, in  #slow" .. format, function()
      local lines = write_with_limit{format = format}
      assert.matches("false\tcan't write .*: File too large", lines[1])
      assert.are.equal("false\ttrue", lines[2])
      local written, lost, accepted = lines[3]:match("(%d+)\t(%d+)\t(%d+)")
      assert.are.equal(tonumber(accepted), written + lost)
      assert.is_true(lost + 0 > 0)
      local packets = testing.packets(path)
      assert.are.equal(tonumber(written), #packets)
      for i, p in ipairs(packets) do
        assert.are.equal(("x"):rep(100), p.data)
        assert.is_true(p.time == i / 1000 * 1000LL)
      end
      local room = 1000 * 1024
      local record = format == "pcap" and 116 or 132
      assert.is_true(#testing.load(path) > room - record)
    end)
  end
end)
