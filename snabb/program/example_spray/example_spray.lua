-- SPDX-License-Identifier: Apache-2.0
-- `perigee example_spray IN OUT`: a small program to read and to begin from, with an
-- app of its own (sprayer.lua).

local cli = require("lib.cli")
local config = require("core.config")
local engine = require("core.app")
local pcap = require("apps.pcap.pcap")
local Sprayer = require("program.example_spray.sprayer").Sprayer

local M = {summary = "example: drop every other packet of a capture file"}

--- Run the program: `args` as in its usage.
function M.run(args)
  local parser = cli.parser("example_spray", "Write every other packet of a capture "
    .. "file to another. Read its source: it is an example.")
  parser:argument("input", "A pcap or pcapng file.")
  parser:argument("output", "The file to write; one that exists is replaced.")
  local options = cli.parse(parser, args)

  local c = config.new()
  config.app(c, "capture", pcap.PcapReader, options.input)
  config.app(c, "spray_app", Sprayer)
  config.app(c, "output_file", pcap.PcapWriter, options.output)
  config.link(c, "capture.output -> spray_app.input")
  config.link(c, "spray_app.output -> output_file.input")
  engine.configure(c)
  engine.main{report = {showlinks = true, showapps = true}, done = engine.finished}
end

return M
