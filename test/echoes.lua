-- SPDX-License-Identifier: Apache-2.0
-- perigee run test/echoes.lua PORT...: each port sends back what it receives; one that
-- is written cpuN:PORT on CPU N.

local Port = require("apps.port.port").Port

local c = config.new()
for i, text in ipairs {...} do
  local name = "port" .. i
  local cpu, port = text:match("^cpu(%d+):(.*)$")
  config.app(c, name, Port, port or text)
  if cpu then config.cpu(c, name, tonumber(cpu)) end
  config.link(c, ("%s.output -> %s.input"):format(name, name))
end
engine.configure(c)
print("echoing")
io.stdout:flush()
engine.main{report = {showlinks = true, showapps = true, showpackets = true}}
