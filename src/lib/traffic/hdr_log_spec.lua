-- SPDX-License-Identifier: Apache-2.0
-- test/test_histograms.py reads logs with HdrHistogram itself.

local hdr_log = require("lib.traffic.hdr_log")
local latency = require("lib.traffic.latency")

local function of(...)
  local h = latency.new()
  for _, value in ipairs{...} do latency.add(h, value) end
  return h
end

-- The bytes behind the header of 40: the counts.
local function counts(h)
  local pipe = io.popen("printf %s '" .. hdr_log.encoded(h) .. "' | base64 -d | "
    .. "od -An -v -tx1 | tr -d ' \\n'")
  local hex = pipe:read("*a")
  pipe:close()
  assert.equal("1c849314", hex:sub(1, 8))
  assert.equal("7801", hex:sub(17, 20)) -- zlib, at its fastest
  local plain = hex:sub(31, -9) -- behind a block's header, before the sum
  assert.equal("1c849313", plain:sub(1, 8))
  assert.equal("00000003" .. "0000000000000001", plain:sub(25, 48))
  assert.equal(tonumber(plain:sub(9, 16), 16), (#plain - 80) / 2)
  return plain:sub(81)
end

describe("A log of histograms", function ()
  it("has counts at the indexes of HdrHistogram", function ()
    assert.equal("02", counts(of(0)))
    assert.equal("0104", counts(of(1, 1)))
    assert.equal("ff1f02", counts(of(2048)))       -- 2,048 without, then 1
    assert.equal("fd1f0202", counts(of(2047, 2048)))
    -- 2^20 is at (20 - 10) * 1024 + 1024.
    assert.equal("ffaf0102", counts(of(2^20 + 100)))
  end)

  it("counts what is too long as the longest", function ()
    assert.equal(counts(of(latency.LONGEST)), counts(of(1e12)))
  end)

  it("has a line for each that isn't empty, with a tag that is one", function ()
    local text = hdr_log.text({
      {histogram = of(5000), start = 1000, seconds = 2, tag = "a,b c"},
      {histogram = of(), start = 1000, seconds = 2},
      {histogram = of(1, 2), start = 1003.5, seconds = 1}}, "1")
    assert.matches("#[StartTime: 1000.000 (seconds since epoch), 1970-01-01T00:16:40Z]",
      text, 1, true)
    assert.matches("\nTag=a_b_c,0.000,2.000,0.005003,HISTFAAAA", text, 1, true)
    assert.matches("\n3.500,1.000,0.000002,HISTFAAAA", text, 1, true)
    assert.equal(7, select(2, text:gsub("\n", "")))
    assert.matches("[BaseTime: 0.000", hdr_log.text({}, "1"), 1, true)
  end)
end)
