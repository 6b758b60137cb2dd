-- SPDX-License-Identifier: Apache-2.0
-- Histograms of latencies (lib.traffic.latency) as a log that the tools of HdrHistogram
-- read: log format 1.3, histograms in format V2 (HdrHistogram's HistogramLogWriter and
-- AbstractHistogram.encodeIntoByteBuffer) in zlib's container (RFC 1950, 1951). Pure.

local bit = require("bit")
local latency = require("lib.traffic.latency")

local hdr_log = {}

local byte, char = string.byte, string.char
local floor, max, min = math.floor, math.max, math.min

-- Fields of format V2.
local PLAIN, COMPRESSED = 0x1c849313, 0x1c849314 -- cookies
local DIGITS = 3            -- that are significant: 2,048 counts of a width each
local LOWEST, HIGHEST = 1, 3600e9 -- ns
local HALF = 1024           -- of the counts of a width, above which the next begins

local NS_PER_MS = 1e6 -- the greatest value of a line is in ms

local function be32(n)
  return char(floor(n / 2^24) % 256, floor(n / 2^16) % 256, floor(n / 2^8) % 256,
    n % 256)
end

local function be64(n) return be32(floor(n / 2^32)) .. be32(n % 2^32) end

local ONE = "\63\240\0\0\0\0\0\0" -- the double 1.0

-- The index of HdrHistogram's count for a value.
local function index_of(value)
  local width, top = 0, value
  while top >= 2 * HALF do width, top = width + 1, floor(top / 2) end
  return width * HALF + top, width
end

-- A number of 0 or more in groups of 7 bits, the lowest first (LEB128).
local function varint(n)
  local bytes = {}
  while n >= 128 do
    bytes[#bytes + 1] = char(n % 128 + 128)
    n = floor(n / 128)
  end
  bytes[#bytes + 1] = char(n)
  return table.concat(bytes)
end

-- Counts, by index: n of them is 2n, a run of n without any 2n - 1 (ZigZag).
local function counts_of(h)
  local parts, next_index, pending, pending_index = {}, 0, 0, nil
  local function put()
    if not pending_index then return end
    if pending_index > next_index then
      parts[#parts + 1] = varint(2 * (pending_index - next_index) - 1)
    end
    parts[#parts + 1] = varint(2 * pending)
    next_index = pending_index + 1
  end
  latency.each(h, function (value, count)
    local index = index_of(floor(value))
    if index == pending_index then
      pending = pending + count
    else
      put()
      pending, pending_index = count, index
    end
  end)
  put()
  return table.concat(parts)
end

-- Adler-32 (RFC 1950, section 9).
local function adler32(text)
  local a, b = 1, 0
  for i = 1, #text do
    a = (a + byte(text, i)) % 65521
    b = (b + a) % 65521
  end
  return b * 65536 + a
end

local MOST_STORED = 65535 -- bytes of a block

-- zlib's format with blocks that are stored as they are (RFC 1951, section 3.2.4).
local function zlib(text)
  local parts, at = {"\120\1"}, 1
  repeat
    local part = text:sub(at, at + MOST_STORED - 1)
    at = at + #part
    local n = #part
    parts[#parts + 1] = char(at > #text and 1 or 0, n % 256, floor(n / 256),
      255 - n % 256, 255 - floor(n / 256)) .. part
  until at > #text
  return table.concat(parts) .. be32(adler32(text))
end

local DIGITS_64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

-- Base64 (RFC 4648, section 4).
local function base64(text)
  local parts = {}
  for i = 1, #text, 3 do
    local a, b, c = byte(text, i, i + 2)
    local n = a * 65536 + (b or 0) * 256 + (c or 0)
    for k = 0, 3 do
      local digit = bit.band(bit.rshift(n, 18 - 6 * k), 63) + 1
      parts[#parts + 1] = (k == 2 and not b or k == 3 and not c) and "="
        or DIGITS_64:sub(digit, digit)
    end
  end
  return table.concat(parts)
end

--- The histogram in format V2, compressed, in base 64. Values are nanoseconds.
function hdr_log.encoded(h)
  local counts = counts_of(h)
  local plain = be32(PLAIN) .. be32(#counts) .. be32(0) .. be32(DIGITS) .. be64(LOWEST)
    .. be64(HIGHEST) .. ONE .. counts
  local packed = zlib(plain)
  return base64(be32(COMPRESSED) .. be32(#packed) .. packed)
end

-- HdrHistogram's greatest value that is counted where `value` is.
local function greatest_like(value)
  local index, width = index_of(value)
  local top = width == 0 and index or index - width * HALF
  return (top + 1) * 2 ^ width - 1
end

--- The log of `entries`, a list of {histogram, start = seconds since 1970 when it was
--- begun, seconds = it took, tag = a name or nil}; empty histograms are left out.
--- `version` is Perigee's.
function hdr_log.text(entries, version)
  local began = math.huge
  for _, entry in ipairs(entries) do began = min(began, entry.start) end
  if began == math.huge then began = 0 end
  local lines = {
    ("#[Latencies in nanoseconds, logged by Perigee %s]"):format(version),
    "#[Histogram log format version 1.3]",
    ("#[StartTime: %.3f (seconds since epoch), %s]"):format(began,
      os.date("!%Y-%m-%dT%H:%M:%SZ", floor(began))),
    ("#[BaseTime: %.3f (seconds since epoch)]"):format(began),
    '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
  }
  for _, entry in ipairs(entries) do
    local h = entry.histogram
    if h.count > 0 then
      local most = greatest_like(floor(min(h.greatest, latency.LONGEST)))
      local tag = entry.tag and ("Tag=%s,"):format((entry.tag:gsub("[^%w_.:-]", "_")))
      lines[#lines + 1] = ("%s%.3f,%.3f,%.6f,%s"):format(tag or "",
        entry.start - began, max(entry.seconds, 0), most / NS_PER_MS,
        hdr_log.encoded(h))
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

return hdr_log
