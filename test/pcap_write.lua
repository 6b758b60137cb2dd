-- SPDX-License-Identifier: Apache-2.0
-- For test_pcap_files.py: write the packets that standard input describes, a line
-- "seconds nanoseconds original hex" each, to a savefile. Arguments: file, format,
-- resolution, snap length.

local writer = require("lib.pcap.writer")

local path, format, resolution, snaplen = ...
local file = writer.open(path, {format = format, resolution = resolution,
                                snaplen = tonumber(snaplen)})
for line in io.lines() do
  local seconds, ns, original, hex = line:match("^(%d+) (%d+) (%d+) (%x*)$")
  local bytes = hex:gsub("%x%x", function(digits)
    return string.char(tonumber(digits, 16))
  end)
  file:write(bytes, #bytes, tonumber(original),
             tonumber(seconds) * 1000000000LL + tonumber(ns))
end
file:close()
