-- SPDX-License-Identifier: Apache-2.0
-- perigee run test/fuzz_click_packets.lua COUNT [SEED [FILE...]]: sends so many
-- malformed packets of SEED (else a new one) through each of the FILEs, Click
-- configurations (the router, the address translation and the firewall of
-- examples/click). The exit status is 1 if a packet was lost without a trace, or an
-- error was raised.

local root = require("core.main").root
package.path = root .. "/test/lua/?.lua;" .. package.path

local click_packets = require("testing.fuzz.click_packets")
local failure = require("core.failure")

local words = {...}
local options = require("testing.fuzz.arguments")(words[1], words[2])
local files = {unpack(words, 3)}
for i, name in ipairs(files[1] and {} or {"router", "nat", "firewall"}) do
  files[i] = ("%s/examples/click/%s.click"):format(root, name)
end
local lost = 0
for _, file in ipairs(files) do
  local result = click_packets.run{count = options.count, seed = options.seed,
    file = file}
  print(("%s: seed %d, %d sent, %d arrived, %d are missing"):format(
    file:match("[^/]*$"), options.seed, result.sent, result.arrived, result.held))
  lost = lost + math.abs(result.held)
end
if lost > 0 then failure.raise("%d packets are missing", lost) end
