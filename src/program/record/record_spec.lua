-- SPDX-License-Identifier: Apache-2.0

local options_of = require("program.record.options").parse
local summary = require("program.record.summary")

describe("perigee record", function ()
  it("takes memory for the time, with the shortest packets", function ()
    -- 1 Gbit/s: 1,488,095 packets of 84 bytes on the wire, 92 in the ring each
    local o = options_of{"--last", "10s", "--rate", "1Gbit", "null"}
    assert.equal(math.ceil(10 * 1e9 / 8 / 84 * 92), o.memory)
    assert.equal(10, o.before)
    assert.equal(2, options_of{"--last", "10s", "--rate", "1G", "--before", "2s",
      "null"}.before)
    assert.equal(64 * 1024 * 1024, options_of{"null"}.memory)
    assert.is_nil(options_of{"null"}.before)
  end)

  it("says what was lost, by name", function ()
    local ring = {packets = 10, bytes = 600, size = 4096, overwritten = 2, matches = 3,
      within = 1, refused = 1}
    local recorder = {ring = ring, results = {{packets = 4}},
      seconds = function () return 1.5 end}
    local stats = setmetatable({imissed = 7}, {__index = function () return 0 end})
    local figures = summary.figures(recorder, {{text = "packet:x",
      app = {statistics = function () return stats end}}})
    assert.equal("record: 10 packets received, 4 written to 1 files\n"
      .. "in memory: 8 packets of the last 1.500 s\n"
      .. "3 packets that the filter accepts\n"
      .. "1 of them in the time of a file that was open\n"
      .. "1 triggers without a file: as many as can be were open, or written\n"
      .. "not received from packet:x: 7 missed by the port\n", summary.text(figures))
  end)
end)
