# SPDX-License-Identifier: Apache-2.0
"""A graph with an app that uses packets wrongly. PROGRAM's lines have numbers that tests
know: what PUSH does begins at line 10, what PROCESS and BURST do at line 7."""

PROGRAM = """\
local basic = require("apps.basic.basic_apps")
local ffi = require("ffi")
local Bad = {outputs = {"output", "other"}, drops = {"odd"}}
Bad.__index = Bad
function Bad:new() return setmetatable({}, Bad) end
%(class)s
local c = config.new()
config.app(c, "source", basic.Source)
config.app(c, "before", {new = function ()
  return {process = function (_, p) return p end}
end})
config.app(c, "bad", Bad)
config.app(c, "after", {new = function ()
  return {process = function (_, p) return p end}
end})
config.app(c, "sink", basic.Sink)
config.link(c, "source.output -> before.input")
config.link(c, "before.output -> bad.input")
config.link(c, "bad.output -> after.input")
config.link(c, "after.output -> sink.input")
%(more)s
engine.configure(c)
local breaths = 0
engine.main{report = {showpackets = true, showapps = true}, done = function ()
  breaths = breaths + 1
  return breaths > 300
end}
"""

PUSH = """\
function Bad:push()
  local input, output = self.input.input, self.output.output
  for _ = 1, link.nreadable(input) do
    local p = link.receive(input)
    %s
  end
end"""

PROCESS = """\
function Bad:process(p)
  %s
end"""

BURST = """\
function Bad:process_burst(packets, n, route)
  %s
end"""
