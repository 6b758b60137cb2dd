-- SPDX-License-Identifier: Apache-2.0
-- For specs of driver apps: puts capture files in the place of a PCI address, and runs
-- a network in which the app's output goes into its input.

local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")
local ports = require("testing.ports")
local spec = require("lib.port.spec")

local M = {}

--- The address that `run` replaces.
M.ADDRESS = "0000:fe:1f.7"

local function settled(name)
  if not engine.app_table[name]:ended() then return false end
  for _, l in pairs(engine.link_table) do
    if not link.empty(l) then return false end
  end
  return true
end

--- Run `class` with `arg` (in which the port is `ADDRESS`) and a link from its output
--- `from` to its input `to`, until the `frames` (an array of strings) are through.
--- `inspect(app)` is called before it stops. Returns the frames it sent.
function M.run(class, arg, from, to, frames, inspect)
  local rx, tx = ports.capture(frames), ports.capture()
  spec.replace(M.ADDRESS, ("pcap:rx=%s,tx=%s"):format(rx, tx))
  local ok, err = pcall(function()
    local c = config.new()
    config.app(c, "nic", class, arg)
    config.link(c, ("nic.%s -> nic.%s"):format(from, to))
    engine.configure(c)
    engine.main {done = function() return settled("nic") end, no_report = true}
    if inspect then inspect(engine.app_table.nic) end
  end)
  engine.configure(config.new()) -- closes the file
  spec.replace(M.ADDRESS, nil)
  local sent = ok and ports.captured(tx)
  ports.clean_up()
  if not ok then error(err, 0) end
  return sent
end

return M
