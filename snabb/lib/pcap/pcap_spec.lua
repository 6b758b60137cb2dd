-- SPDX-License-Identifier: Apache-2.0
-- Snabb's API of lib.pcap.pcap.

local ffi = require("ffi")
local pcap = require("lib.pcap.pcap")
local testing = require("testing.savefiles")

local host = testing.order(ffi.abi("le") and "little" or "big")
local other = testing.order(ffi.abi("le") and "big" or "little")
local path

describe("lib.pcap.pcap", function()
  before_each(function() path = os.tmpname() end)
  after_each(function() os.remove(path) end)

  it("writes headers and records to a Lua file", function()
    local file = io.open(path, "w")
    pcap.write_file_header(file)
    pcap.write_record(file, ffi.cast("const char *", "abcdef"), 5)
    pcap.write_record_header(file, 2)
    file:write("xy")
    file:close()
    assert.are.equal(host:pcap_header() .. host:record("abcde") .. host:record("xy"),
                     testing.load(path))
  end)

  it("reads headers and objects from a Lua file", function()
    testing.save(path, host:pcap_header{snaplen = 77} .. host:u32(42) .. "..")
    local file = io.open(path)
    local header = pcap.read_file_header(file)
    assert.are.equal(77, header.snaplen)
    assert.are.equal(4, header.version_minor)
    local number = ffi.typeof("struct { uint32_t n; }")
    assert.are.equal(42, pcap.readc(file, number).n)
    assert.has_error(function() pcap.readc(file, number) end)
    assert.is_nil(pcap.readc(file, number))
    file:close()
    testing.save(path, other:pcap_header())
    file = io.open(path)
    local ok, err = pcall(pcap.read_file_header, file)
    assert.is_false(ok)
    assert.matches("begins with 0xd4c3b2a1", tostring(err))
    file:close()
  end)

  it("iterates over the records of any savefile", function()
    testing.save(path, other:pcap_header{magic = 0xa1b23c4d}
      .. other:record("one", {sec = 4, fraction = 5999, original = 60})
      .. other:record("two"))
    local packets, records = {}, {}
    for packet, record in pcap.records(path) do
      packets[#packets + 1], records[#records + 1] = packet, record
    end
    assert.are.same({"one", "two"}, packets)
    local first = records[1]
    assert.are.same({4, 5, 3, 60},
                    {first.ts_sec, first.ts_usec, first.incl_len, first.orig_len})
  end)

  it("iterates over records of any link type", function()
    local raw_ip = 101 -- LINKTYPE_RAW
    testing.save(path, other:pcap_header{linktype = raw_ip} .. other:record("ip"))
    for packet in pcap.records(path) do assert.equal("ip", packet) end
    local app = require("apps.pcap.pcap").PcapReader:new(path)
    assert.equal(2, select(2, app:next_packet()))
    app:stop()
  end)

  it("says which file can't be read", function()
    local ok, err = pcall(pcap.records, "/nonexistent")
    assert.is_false(ok)
    assert.matches("can't read /nonexistent", tostring(err), 1, true)
  end)
end)
