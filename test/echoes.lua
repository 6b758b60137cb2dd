-- SPDX-License-Identifier: Apache-2.0
-- perigee run test/echoes.lua PORT...: each port sends back what it receives.

local Port = require("apps.port.port").Port

local c = config.new()
for i, text in ipairs {...} do
  local name = "port" .. i
  config.app(c, name, Port, text)
  config.link(c, ("%s.output -> %s.input"):format(name, name))
end
engine.configure(c)
print("echoing")
io.stdout:flush()
engine.main{report = {showlinks = true, showapps = true, showpackets = true}}
