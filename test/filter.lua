-- SPDX-License-Identifier: Apache-2.0
-- For test_filter.py, `perigee run test/filter.lua FILE FILTER...`: for each filter a
-- line of 0 and 1, one a packet of the savefile, or "refused".

local filter = require("lib.filter")
local reader = require("lib.pcap.reader")

local function verdicts(path, expression)
  local ok, match = pcall(filter.compile, expression)
  if not ok then return "refused" end
  local list, file = {}, reader.open(path)
  while true do
    local data, captured = file:next()
    if not data then break end
    list[#list + 1] = match(data, captured) and "1" or "0"
  end
  file:close()
  return table.concat(list)
end

local arguments = {...}
for i = 2, #arguments do print(verdicts(arguments[1], arguments[i])) end
