-- SPDX-License-Identifier: Apache-2.0
-- For test_pcap_files.py: print each packet of a savefile as "time original hex".

local ffi = require("ffi")
local reader = require("lib.pcap.reader")

local file = reader.open((...))
while true do
  local data, captured, original, time = file:next()
  if not data then break end
  local hex = ffi.string(data, captured):gsub(".", function(c)
    return ("%02x"):format(c:byte())
  end)
  print(("%s %d %s"):format(tostring(time):match("%d+"), original, hex))
end
file:close()
