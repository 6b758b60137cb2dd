-- SPDX-License-Identifier: Apache-2.0
-- `perigee example_replay FILE PORT`: a small program to read and to begin from: two
-- apps and a link.

local cli = require("lib.cli")
local config = require("core.config")
local engine = require("core.app")
local interfaces = require("lib.hardware.interfaces")
local PcapReader = require("apps.pcap.pcap").PcapReader
local Port = require("apps.port.port").Port

local M = {summary = "example: send a capture file to a port, once"}

-- A name of an interface, as in Snabb, is a port too.
local function port_of(text)
  return interfaces.exists(text) and "packet:" .. text or text
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local parser = cli.parser("example_replay", "Send the packets of a capture file to a "
    .. "port, once. Read its source: it is an example; `perigee replay` does more.")
  parser:argument("file", "A pcap or pcapng file.")
  parser:argument("port", "A port, or the name of an interface.")
  local options = cli.parse(parser, args)

  local c = config.new()
  config.app(c, "capture", PcapReader, options.file)
  config.app(c, "playback", Port, port_of(options.port))
  config.link(c, "capture.output -> playback.input")
  engine.configure(c)
  engine.main{report = {showlinks = true}, done = engine.finished}
end

return M
