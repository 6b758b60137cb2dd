-- SPDX-License-Identifier: Apache-2.0
-- Runs Click's elements for streams on segments and datagrams given as lines.

local click = require("testing.click")
local harness = require("testing.harness")
local packet = require("core.packet")

local streams = {}

packet.free(packet.allocate()) -- so that the pool is there

--- What ToIPSummaryDump(SINKFILE, FIELDS ...) wrote, the lines; and the numbers that
--- the handlers named (with spaces between them) said, a list. Raises an error unless
--- all packets are given back.
function streams.run(fields, lines, text, names)
  local name, before = os.tmpname(), harness.free_packets()
  local r = click.run_dump(fields, lines, (text:gsub("SINKFILE", name)))
  local list, numbers = {}, {}
  for handler in (names or ""):gmatch("%S+") do
    numbers[#numbers + 1] = tonumber(tostring(assert(r:handler_read(handler))))
  end
  r:close()
  local kept = before - harness.free_packets()
  assert(kept == 0, kept .. " packets aren't given back")
  for line in io.lines(name) do
    if not line:find("^!") then list[#list + 1] = line end
  end
  os.remove(name)
  return list, numbers
end

return streams
