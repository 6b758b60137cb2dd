-- SPDX-License-Identifier: Apache-2.0
-- The datagram is laid out by hand from sflow_version_5.txt.

local ffi = require("ffi")
local sflow = require("lib.stack.body.sflow")

ffi.cdef("struct sflow_spec_header { uint8_t bytes[1]; };")
local pointer = ffi.typeof("struct sflow_spec_header *")
ffi.metatype("struct sflow_spec_header", {__index = {
  getAgentIpType = function (self) return self.bytes[7] end,
  getNumSamples = function (self)
    return self.bytes[self.bytes[7] == 2 and 39 or 27]
  end,
}})

local function words(...)
  local text = {}
  for i, word in ipairs{...} do
    text[i] = string.char(bit.band(bit.rshift(word, 24), 255),
      bit.band(bit.rshift(word, 16), 255), bit.band(bit.rshift(word, 8), 255),
      bit.band(word, 255))
  end
  return table.concat(text)
end

local FRAME = "\1\2\3\4\5\6\7\8\9\10\11\12\8\0\69\0"
local RAW = words(1, 32, 1, 1518, 4, 16) .. FRAME
local SWITCH = words(1001, 16, 10, 1, 20, 2)
local GATEWAY = words(1003, 4, 99)
local RECORDS = RAW .. SWITCH .. GATEWAY
local FLOW = words(1, 32 + #RECORDS, 7, 3, 400, 0xfffffff0, 5, 1, 2, 3) .. RECORDS
local COUNTERS = words(2, 12, 8, 4, 0)
local OTHER = words(4096 + 1, 8, 1, 2)

local function datagram(count, samples)
  return words(5, 1, 0x0a000001, 0, 1, 1000, count) .. samples
end

-- Iterates over a copy of `text` and returns what getString says, in order.
local function read(text, bytes)
  local buffer = ffi.new("uint8_t[?]", #text + 1, text)
  local lines = {}
  for i, sample in sflow.samples(ffi.cast(pointer, buffer), bytes or #text) do
    lines[#lines + 1] = i .. " " .. sample:getString()
    for j, record in sample:iterateEntries() do
      local line = i .. "." .. j .. " " .. record:getString()
      if record:getType() == 1 and record.getData then
        line = line .. " [" .. ffi.string(record:getData()) .. "]"
      end
      lines[#lines + 1] = line
    end
  end
  return lines, buffer
end

describe("lib.stack.body.sflow", function ()
  it("walks samples and records", function ()
    assert.same({
      "1 Flow sample: Type 1, Len 108, Seq 7, SourceId 3, SamplingRate 400, "
        .. "SamplePool 4294967280, Drops 5, InputPort 1, OutputPort 2, NumEntries 3",
      "1.1 Raw packet: Type 1, Len 32, Proto 1, PacketLen 1518, StrippedBytes 4, "
        .. "HeaderSize 16 [" .. FRAME .. "]",
      "1.2 Extended switch data: Type 1001, Len 16, SrcVlan 10, SrcPrio 1, "
        .. "DstVlan 20, DstPrio 2",
      "1.3 unknown: Type 1003, Len 4",
      "2 Counters sample: Type 2, Len 12, Seq 8, SourceId 4, NumEntries 0",
      "3 unknown: Type 4097, Len 8",
    }, (read(datagram(3, FLOW .. COUNTERS .. OTHER))))
  end)

  it("does so behind an IPv6 agent address", function ()
    local text = words(5, 2, 1, 2, 3, 4, 0, 1, 1000, 1) .. COUNTERS
    assert.same({"1 Counters sample: Type 2, Len 12, Seq 8, SourceId 4, NumEntries 0"},
      (read(text)))
  end)

  it("stops at the count, though more follows", function ()
    assert.equal(1, #read(datagram(1, COUNTERS .. OTHER)))
  end)

  it("stops where the packet ends", function ()
    local text = datagram(3, FLOW .. COUNTERS .. OTHER)
    local whole = #datagram(1, FLOW)
    for bytes = 0, #text do
      local lines = read(text, bytes)
      assert.equal(bytes == #text and 6 or bytes >= whole + #COUNTERS and 5
        or bytes >= whole and 4 or 0, #lines)
    end
  end)

  it("takes no sample or record for longer than it is", function ()
    assert.same({"1 unknown: Type 1, Len 4"}, (read(datagram(1, words(1, 4, 0)))))
    local huge = datagram(2, words(1, 0xffffffff, 0, 0, 0, 0, 0, 0, 0, 0))
    assert.same({}, (read(huge)))
    local record = words(1, 40, 7, 3, 400, 0, 5, 1, 2, 0xffffffff) .. words(1, 64)
    local lines = read(datagram(1, record .. ("x"):rep(64)))
    assert.equal(1, #lines) -- its record would reach past the sample
  end)

  it("gives no more of a sampled packet than there is", function ()
    local raw = words(1, 20, 1, 1518, 4, 5000) .. "abcd"
    local flow = words(1, 32 + #raw, 7, 3, 400, 0, 5, 1, 2, 1) .. raw
    assert.equal("[abcd]", read(datagram(1, flow))[2]:match("%[.*%]"))
  end)

  it("sets what it gets", function ()
    local _, buffer = read(datagram(1, FLOW))
    for _, sample in sflow.samples(ffi.cast(pointer, buffer), 28 + #FLOW) do
      sample:setSamplingRate(0xfedcba98)
      assert.equal(0xfedcba98, sample:getSamplingRate())
      assert.equal("\254\220\186\152", ffi.string(buffer + 28 + 16, 4))
    end
  end)
end)
