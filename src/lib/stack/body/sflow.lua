-- SPDX-License-Identifier: Apache-2.0
-- The samples in an sFlow version 5 datagram and the records in them (sflow.org/
-- sflow_version_5.txt, section 5): typed pointers into the packet with getters in host
-- byte order. Nothing is read past the record's bytes, whatever the lengths in them
-- say; a sample or record that would be is where the iteration ends.

local ffi = require("ffi")

local sflow = {}

local HEAD = 8 -- bytes of each sample and record before its body: type, length

-- Types from the enterprise 0, in the order of their 32-bit words.
local SAMPLES = {
  [1] = {"FlowSample", "Flow sample", "Seq", "SourceId", "SamplingRate", "SamplePool",
    "Drops", "InputPort", "OutputPort", "NumEntries"},
  [2] = {"CountersSample", "Counters sample", "Seq", "SourceId", "NumEntries"},
  [3] = {"ExpandedFlowSample", "Expanded flow sample", "Seq", "SourceIdType",
    "SourceId", "SamplingRate", "SamplePool", "Drops", "InputFormat", "InputPort",
    "OutputFormat", "OutputPort", "NumEntries"},
  [4] = {"ExpandedCountersSample", "Expanded counters sample", "Seq", "SourceIdType",
    "SourceId", "NumEntries"},
}
local RECORDS = {
  [1] = {"RawPacket", "Raw packet", "Proto", "PacketLen", "StrippedBytes",
    "HeaderSize"},
  [1001] = {"ExtSwitchData", "Extended switch data", "SrcVlan", "SrcPrio", "DstVlan",
    "DstPrio"},
}
local UNKNOWN = {"Unknown", "unknown"}

local function word(number)
  return bit.bswap(number) % 2^32
end

local function to_string(format)
  local names = {"Type", "Len"}
  for i = 3, #format do names[#names + 1] = format[i] end
  return function (self)
    local parts = {}
    for i, name in ipairs(names) do
      parts[i] = ("%s %d"):format(name, self["get" .. name](self))
    end
    return format[2] .. ": " .. table.concat(parts, ", ")
  end
end

local function none() end

local walk

-- The pointer type of a sample or record, with a getter and a setter a word.
local function define(format)
  local members, methods = {"type", "len"}, {}
  for i = 3, #format do members[#members + 1] = "word" .. i end
  for i, member in ipairs(members) do
    local name = i == 1 and "Type" or i == 2 and "Len" or format[i]
    methods["get" .. name] = function (self) return word(self[member]) end
    methods["set" .. name] = function (self, value)
      self[member] = bit.bswap(bit.tobit(value))
    end
  end
  methods.getString = to_string(format)
  local type_name = "struct perigee_sflow_" .. format[1]
  ffi.cdef(("%s { uint32_t %s; uint8_t payload[]; } __attribute__((packed));")
    :format(type_name, table.concat(members, ", ")))
  format.size = ffi.sizeof(type_name, 0)
  format.pointer = ffi.typeof(type_name .. " *")
  --- Its records, as (number, record). Only after the sample came from samples().
  methods.iterateEntries = methods.getNumEntries and function (self)
    local bytes = self:getLen() + HEAD - format.size
    return walk(self.payload, bytes, self:getNumEntries(), RECORDS)
  end or function () return none end
  if format[1] == "RawPacket" then
    --- The sampled packet's first bytes (uint8_t *), and how many are there.
    function methods:getData()
      local room = self:getLen() + HEAD - format.size
      return ffi.cast("uint8_t *", self.payload), math.min(self:getHeaderSize(), room)
    end
  end
  ffi.metatype(type_name, {__index = methods})
end

for _, formats in ipairs{SAMPLES, RECORDS, {UNKNOWN}} do
  for _, format in pairs(formats) do define(format) end
end

-- Iterator over at most `count` of `formats` in the `bytes` from `start` on.
function walk(start, bytes, count, formats)
  local at = ffi.cast("uint8_t *", start)
  local number = 0
  return function ()
    if number >= count or bytes < HEAD then return nil end
    local head = ffi.cast(UNKNOWN.pointer, at)
    local length = HEAD + head:getLen()
    if length > bytes then return nil end
    local format = formats[head:getType()]
    if not format or length < format.size then format = UNKNOWN end
    local item = ffi.cast(format.pointer, at)
    number, at, bytes = number + 1, at + length, bytes - length
    return number, item
  end
end

--- The samples of a datagram, as (number, sample), for a `for` loop. `header` is the
--- typed sflow header, `bytes` how many the packet has from the header's start on.
function sflow.samples(header, bytes)
  local size = header:getAgentIpType() == 2 and 40 or 28
  if bytes < size then return none end
  return walk(ffi.cast("uint8_t *", header) + size, bytes - size,
    header:getNumSamples(), SAMPLES)
end

return sflow
