-- SPDX-License-Identifier: Apache-2.0
-- `perigee packetblaster synth`: made-up packets of chosen sizes.

local config = require("core.config")
local cli = require("lib.cli")
local Synth = require("apps.test.synth").Synth
local packetblaster = require("program.packetblaster.packetblaster")

local M = {}

--- Converter: "64,128" to {64, 128}.
function M.sizes(text)
  local sizes = {}
  for size in (text .. ","):gmatch("([^,]*),") do
    local number = size:match("^%s*%d+%s*$") and tonumber(size)
    if not number then
      return nil, ("'%s' isn't a list of sizes such as 64 or 64,128,1500"):format(text)
    end
    sizes[#sizes + 1] = number
  end
  return sizes
end

local function parser()
  local p = cli.parser("packetblaster synth",
    "Send generated Ethernet frames to one or more ports, as fast as they take them.")
  p:option("-s --src", "Source MAC address (default 00:00:00:00:00:00).")
    :argname("SOURCE")
  p:option("-d --dst", "Destination MAC address (default 00:00:00:00:00:00).")
    :argname("DESTINATION")
  p:option("-S --sizes", "Packet sizes in bytes, sent in turn (default 64).")
    :argname("SIZES"):convert(M.sizes)
  p:option("-D --duration", "Run for DURATION seconds (default: until stopped).")
    :argname("DURATION"):convert(cli.duration)
  p:argument("pci", "PCI addresses (Lua patterns) or ports, such as null.")
    :argname("PCI"):args("+")
  return p
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local options = cli.parse(parser(), args)
  local c = config.new()
  config.app(c, "source", Synth, {sizes = options.sizes, src = options.src,
                                  dst = options.dst})
  packetblaster.blast(c, options.pci, options.duration)
end

return M
