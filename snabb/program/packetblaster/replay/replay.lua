-- SPDX-License-Identifier: Apache-2.0
-- `perigee packetblaster replay`: a file's packets over and over, from memory.

local engine = require("core.app")
local config = require("core.config")
local link = require("core.link")
local log = require("core.lib.log")
local cli = require("lib.cli")
local packet_set = require("lib.pcap.packet_set")
local quiet = require("lib.quiet")
local Looper = require("apps.pcap.looper").Looper
local PcapReader = require("apps.pcap.pcap").PcapReader
local packetblaster = require("program.packetblaster.packetblaster")
local Spread = require("program.packetblaster.replay.spread").Spread

local M = {}

local function parser()
  local p = cli.parser("packetblaster replay",
    "Send the packets of a pcap or pcapng file to one or more ports over and over, as"
    .. " fast as they take them.")
  p:option("-D --duration", "Run for DURATION seconds (default: until stopped).")
    :argname("DURATION"):convert(cli.duration)
  p:flag("--no-loop", "Send the packets once (and wait a second at most for the"
         .. " ports to take them, unless there is a DURATION).")
  p:argument("file", "A pcap or pcapng file."):argname("PCAPFILE")
  p:argument("pci", "PCI addresses (Lua patterns) or ports, such as null.")
    :argname("PCI"):args("+")
  return p
end

local WAIT_S = 1

-- A function that tells whether the file has been sent once.
local function sent_once()
  local stuck
  return function()
    local reader = engine.app_table.pcap
    if not reader.done then
      return false
    end
    stuck = stuck or quiet.since_last(WAIT_S)
    local left = 0
    for _, l in pairs(engine.link_table) do left = left + link.nreadable(l) end
    return left == 0 or stuck:over(left)
  end
end

-- The app `source`, which sends the file's packets to each of its outputs: of a set in
-- memory, to send it for ever; or those that another app reads.
local function add_source(c, options)
  local loop = not options.no_loop
  local kept, why
  if loop then kept, why = packet_set.load(options.file, {any_link = true}) end
  if kept then return config.app(c, "source", Looper, {kept = kept}) end
  if why then log.info("%s: its packets are copied instead", why) end
  config.app(c, "pcap", PcapReader, options.file)
  config.app(c, "source", Spread, {loop = loop})
  config.link(c, "pcap.output -> source.input")
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local options = cli.parse(parser(), args)
  local c = config.new()
  add_source(c, options)
  packetblaster.blast(c, options.pci, options.duration,
                      options.no_loop and not options.duration and sent_once() or nil)
end

return M
