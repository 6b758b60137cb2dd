-- SPDX-License-Identifier: Apache-2.0
-- The savefile reader, on files put together byte by byte.

local ffi = require("ffi")
local failure = require("core.failure")
local reader = require("lib.pcap.reader")
local testing = require("testing.savefiles")

local path

local function read_all(bytes)
  testing.save(path, bytes)
  local packets = {}
  local ok, err = pcall(function()
    local file = reader.open(path)
    while true do
      local data, captured, original, time = file:next()
      if not data then
        return file:close()
      end
      packets[#packets + 1] = {data = ffi.string(data, captured), original = original,
                               time = tostring(time)}
    end
  end)
  if not ok then
    assert.is_true(failure.is(err), tostring(err))
  end
  return packets, err and tostring(err)
end

local function data_of(packets)
  local data = {}
  for i, p in ipairs(packets) do
    data[i] = p.data
  end
  return data
end

local function assert_refused(pattern, bytes, delivered)
  local packets, err = read_all(bytes)
  assert.are.same(delivered or {}, data_of(packets))
  assert.is_truthy(err, "no error")
  assert.matches(pattern, err)
  assert.matches(path, err, 1, true)
end

local ETHERNET = ("\1\2\3\4\5\6\7\8\9\10\11\12\8\0")

describe("lib.pcap.reader", function()
  before_each(function() path = os.tmpname() end)
  after_each(function() os.remove(path) end)

  for _, order in ipairs{"little", "big"} do
    local b = testing.order(order)

    describe("of a " .. order .. "-endian pcap file", function()
      it("gives bytes, lengths and microseconds", function()
        local packets, err = read_all(b:pcap_header()
          .. b:record(ETHERNET .. "one", {sec = 4294967295, fraction = 999999})
          .. b:record("", {sec = 1})
          .. b:record("cut", {sec = 2, original = 1500}))
        assert.is_nil(err)
        assert.are.same({
          {data = ETHERNET .. "one", original = 17, time = "4294967295999999000LL"},
          {data = "", original = 0, time = "1000000000LL"},
          {data = "cut", original = 1500, time = "2000000000LL"},
        }, packets)
      end)

      it("gives nanoseconds", function()
        local packets = read_all(b:pcap_header{magic = 0xa1b23c4d}
          .. b:record("x", {sec = 1700000000, fraction = 123456789}))
        assert.are.equal("1700000000123456789LL", packets[1].time)
      end)

      it("delivers all before a cut, wherever the cut is", function()
        local whole = b:pcap_header() .. b:record("first") .. b:record("second")
        local first_ends, second_ends = 24 + 16 + 5, 24 + 16 + 5 + 16 + 6
        assert.are.equal(second_ends, #whole)
        for length = 24, #whole do
          local packets, err = read_all(whole:sub(1, length))
          local n = length >= second_ends and 2 or length >= first_ends and 1 or 0
          assert.are.equal(n, #packets)
          if length == 24 or length == first_ends or length == second_ends then
            assert.is_nil(err)
          else
            assert.matches(("in the middle of packet %d, which begins at offset %d")
              :format(n + 1, n == 0 and 24 or first_ends), err, 1, true)
          end
        end
      end)

      it("takes a header with a frame check length", function()
        local packets = read_all(b:pcap_header{linktype = 0x14000001} .. b:record("x"))
        assert.are.same({"x"}, data_of(packets))
      end)

      it("refuses impossible lengths", function()
        local header = b:pcap_header{snaplen = 0} .. b:record("good")
        for _, length in ipairs{262145, 0x7fffffff, 0xffffffff} do
          assert_refused("packet 2 at offset 44 claims " .. length,
                         header .. b:record("bad", {captured = length}), {"good"})
        end
        assert_refused("claims 101 bytes, but at most 100",
                       b:pcap_header{snaplen = 100} .. b:record(("x"):rep(101)))
        assert_refused("middle of packet 1",
                       b:pcap_header() .. b:record("bad", {captured = 4}))
      end)

      it("refuses other link types and versions, and a cut header", function()
        assert_refused("link type 113; only Ethernet", b:pcap_header{linktype = 113})
        assert_refused("version 2.2; version 2.4", b:pcap_header{minor = 2})
        assert_refused("file header %(23 of 24 bytes%)", b:pcap_header():sub(1, 23))
      end)
    end)

    describe("of a " .. order .. "-endian pcapng file", function()
      local start = b:section() .. b:interface()

      it("gives packets of all three blocks and skips others", function()
        local packets, err = read_all(b:section() .. b:block(0x0bad, "unknown")
          .. b:interface() .. b:block(4, ("names"):rep(100000))
          .. b:enhanced("enhanced", {high = 2, low = 3, original = 100,
                                     options = b:option(1, "comment")})
          .. b:simple("simple") .. b:block(5, "statistics")
          .. b:obsolete("old", {drops = 7, high = 0, low = 9}))
        assert.is_nil(err)
        assert.are.same({
          {data = "enhanced", original = 100, time = "8589934595000LL"},
          {data = "simple", original = 6, time = "0LL"},
          {data = "old", original = 3, time = "9000LL"},
        }, packets)
      end)

      -- if_tsresol, high and low words of the time, nanoseconds.
      for _, case in ipairs{
        {0, 0, 5, "5000000000LL"},
        {3, 0, 5, "5000000LL"},
        {9, 395812094, 1032178965, "1700000000123456789LL"},
        {12, 0, 5999, "5LL"},
        {0x80, 0, 7, "7000000000LL"},
        {0x80 + 10, 0, 1536, "1500000000LL"},
        {0x80 + 32, 7, 0x80000000, "7500000000LL"},
        {0x80 + 40, 0x3c0, 0, "3750000000LL"},
        {0x80 + 63, 0x40000000, 0, "500000000LL"},
      } do
        it(("reads times in the unit 0x%02x"):format(case[1]), function()
          local options = b:option(9, string.char(case[1])) .. b:option(0, "")
          local packets, err = read_all(b:section() .. b:interface{options = options}
            .. b:enhanced("x", {high = case[2], low = case[3]}))
          assert.is_nil(err)
          assert.are.equal(case[4], packets[1].time)
        end)
      end

      it("adds the interface's time offset", function()
        local options = b:option(2, "eth0") .. b:option(14, b:u64(1000))
        local packets = read_all(b:section() .. b:interface{options = options}
          .. b:enhanced("x", {low = 1}))
        assert.are.equal("1000000001000LL", packets[1].time)
      end)

      it("gives each interface its unit, and each section its interfaces", function()
        local ns = b:interface{options = b:option(9, "\9")}
        local packets, err = read_all(start .. ns
          .. b:enhanced("us", {low = 1}) .. b:enhanced("ns", {low = 1, interface = 1})
          .. b:section() .. ns .. b:enhanced("second", {low = 1}))
        assert.is_nil(err)
        assert.are.equal("1000LL", packets[1].time)
        assert.are.equal("1LL", packets[2].time)
        assert.are.equal("1LL", packets[3].time)
      end)

      it("cuts simple packets at the interface's snap length", function()
        local packets, err = read_all(b:section() .. b:interface{snaplen = 5}
                                      .. b:simple("12345", 60))
        assert.is_nil(err)
        assert.are.same({{data = "12345", original = 60, time = "0LL"}}, packets)
      end)

      it("delivers all before a cut, wherever the cut is", function()
        local head = start .. b:enhanced("first")
        local whole = head .. b:block(77, "skipped") .. b:enhanced("second")
        for length = #start + 1, #whole - 1 do
          local packets, err = read_all(whole:sub(1, length))
          assert.are.equal(length >= #head and 1 or 0, #packets)
          if length == #head or length == #head + 20 then
            assert.is_nil(err)
          else
            assert.matches("ends in the middle of a block", err)
          end
        end
      end)

      it("refuses impossible lengths", function()
        local good = start .. b:enhanced("good")
        for _, length in ipairs{0, 4, 28, 33, 0xfffffffe} do
          assert_refused("impossible length " .. length,
                         good .. b:block(6, ("x"):rep(40), length), {"good"})
        end
        for _, length in ipairs{0, 8, 13} do
          assert_refused("impossible length " .. length,
                         good .. b:block(99, "", length), {"good"})
        end
        assert_refused("claims 16777220 bytes", good .. b:block(6, "", 16777220),
                       {"good"})
        assert_refused("captured bytes, but at most 8", start
          .. b:enhanced("12345678", {captured = 9}))
        assert_refused("captured bytes, but at most 8", start
          .. b:enhanced("12345678", {captured = 0xffffffff}))
        assert_refused("captured bytes, but at most 4", b:section()
          .. b:interface{snaplen = 4} .. b:enhanced("12345"))
        assert_refused("two lengths, 32 and 33",
                       start .. b:enhanced(""):sub(1, 28) .. b:u32(33))
      end)

      it("refuses what it can't make sense of", function()
        assert_refused("is of interface 0, but the section has described 0",
                       b:section() .. b:enhanced("x"))
        assert_refused("is of interface 3, but the section has described 1",
                       start .. b:obsolete("x", {interface = 3}))
        assert_refused("interface of link type 105", b:section()
          .. b:interface{linktype = 105})
        assert_refused("section of version 2", b:section{major = 2})
        assert_refused("time unit 0xff", b:section()
          .. b:interface{options = b:option(9, "\255")})
        assert_refused("option 9 of 5000 bytes", b:section()
          .. b:interface{options = b:u16(9) .. b:u16(5000)})
        assert_refused("byte order mark", (b:section():gsub("\26", "\27")))
      end)
    end)
  end

  it("follows a section of the other byte order", function()
    local little, big = testing.order("little"), testing.order("big")
    local packets, err = read_all(
      little:section() .. little:interface() .. little:enhanced("little")
      .. big:section() .. big:interface() .. big:enhanced("big"))
    assert.is_nil(err)
    assert.are.same({"little", "big"}, data_of(packets))
  end)

  it("reads records longer than its window", function()
    local b = testing.order("little")
    local long = ("0123456789abcdef"):rep(262144 / 16)
    local packets, err = read_all(b:pcap_header{snaplen = 262144} .. b:record("a")
      .. b:record(long) .. b:record("b") .. b:record(long))
    assert.is_nil(err)
    assert.are.equal(4, #packets)
    assert.is_true(packets[2].data == long and packets[4].data == long)
  end)

  it("goes back to the first packet", function()
    local b = testing.order("big")
    for _, kilobytes in ipairs{0, 200} do
      for _, bytes in ipairs{
        b:pcap_header{snaplen = 0} .. b:record("first")
          .. b:record(("x"):rep(1000 * kilobytes)),
        b:section() .. b:interface() .. b:enhanced("first")
          .. b:enhanced(("x"):rep(1000 * kilobytes)),
      } do
        testing.save(path, bytes)
        local file = reader.open(path)
        for _ = 1, 3 do
          local data, length = file:next()
          assert.are.equal("first", ffi.string(data, length))
          data, length = file:next()
          assert.are.equal(("x"):rep(1000 * kilobytes), ffi.string(data, length))
          assert.is_nil(file:next())
          assert.are.equal(2, file:packets())
          file:rewind()
        end
        file:close()
      end
    end
  end)

  it("has at hand what it would read, in any section, and after going back", function()
    local b, other = testing.order("little"), testing.order("big")
    local fine = b:option(9, "\9") .. b:option(0, "")
    local many = b:enhanced(("y"):rep(1500)):rep(200)
    for _, bytes in ipairs{
      b:pcap_header() .. b:record("a") .. b:record(("x"):rep(3000)):rep(100),
      other:pcap_header() .. other:record("a", {original = 70}):rep(9000),
      b:section() .. b:interface() .. b:enhanced("a") .. b:interface{options = fine}
        .. b:enhanced("b", {interface = 1}) .. b:block(5, "statistics") .. many
        .. b:simple("c") .. b:obsolete("d") .. other:section() .. other:interface()
        .. other:enhanced("e"),
    } do
      testing.save(path, bytes)
      local file = reader.open(path)
      local function each(next_packet)
        local list = {}
        while true do
          local data, length, original, time = next_packet()
          if not data then return list end
          list[#list + 1] = ("%s %d %s"):format(ffi.string(data, length), original,
            tostring(time))
        end
      end
      local function at_hand()
        local data, length, original, time = file:quick()
        if data then return data, length, original, time end
        file:refill()
        data, length, original, time = file:quick()
        if data then return data, length, original, time end
        return file:next()
      end
      local expected = each(function() return file:next() end)
      for _ = 1, 2 do
        file:rewind()
        assert.same(expected, each(at_hand))
      end
      assert.is_true(#expected > 100)
      file:close()
    end
  end)

  it("refuses what isn't a savefile", function()
    assert_refused("is empty", "")
    assert_refused("can't read /tmp/lua_%w+: %a", "\31\139\8\0 zipped")
    assert_refused("can't read /tmp/lua_%w+: %a", "\40\181\47\253 zipped")
    assert_refused("begins with the bytes 68 69", "hi")
  end)

  it("refuses what it can't read", function()
    for name, pattern in pairs{
      ["/nonexistent/a.pcap"] = "can't read /nonexistent/a.pcap: No such file",
      ["/"] = "can't read /: Is a directory",
    } do
      local ok, err = pcall(reader.open, name)
      assert.is_false(ok)
      assert.is_true(failure.is(err))
      assert.matches(pattern, tostring(err), 1, true)
    end
  end)

  it("says the same again when asked again", function()
    local b = testing.order("little")
    testing.save(path, b:pcap_header() .. b:record("bad", {captured = 9}))
    local file = reader.open(path)
    local _, first = pcall(file.next, file)
    local _, second = pcall(file.next, file)
    assert.are.equal(tostring(first), tostring(second))
    file:close()
    file:close()
    assert.is_nil(file:next())
  end)
end)
