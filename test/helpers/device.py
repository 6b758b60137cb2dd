# SPDX-License-Identifier: Apache-2.0
"""A device under test whose limit is known."""

from helpers.command import PERIGEE

# Sends back what comes, but drops what is above `limit` bits a second on the wire, beyond
# a burst of what it lets through in `burst` seconds.
DUT = """
local limit, burst = %g, %g
local Policer = {drops = {"over the limit"}}
Policer.__index = Policer
function Policer:new() return setmetatable({tokens = 0, since = engine.now()}, Policer) end
function Policer:process(p)
  local now = engine.now()
  self.tokens = math.min(limit * burst, self.tokens + (now - self.since) * limit)
  self.since = now
  local bits = 8 * (math.max(p.length, 60) + 24)
  if self.tokens < bits then return nil, 1 end
  self.tokens = self.tokens - bits
  return p
end
local Port = require("apps.port.port").Port
local c = config.new()
config.app(c, "policer", Policer)
local from, to = ...
config.app(c, "from", Port, from)
config.link(c, "from.output -> policer.input")
if to then config.app(c, "to", Port, to) end
config.link(c, "policer.output -> " .. (to and "to" or "from") .. ".input")
engine.configure(c)
engine.main{duration = 100, no_report = true}
"""


def device(folder, limit, *ports, burst=0.02):
    """What runs a device of this limit, in bits a second, at one port or from one to
    another. Its script is put into the folder."""
    script = folder / "device.lua"
    script.write_text(DUT % (limit, burst))
    return [PERIGEE, "run", script, *ports]
