-- SPDX-License-Identifier: Apache-2.0
-- `perigee moongen`: runs a script of libmoon's or MoonGen's. Its master() runs in the
-- main thread, its tasks in threads of their own.

local failure = require("core.failure")

local M = {summary = "run a script of libmoon's or MoonGen's", own_cpus = true}

local USAGE = [[
Usage: perigee moongen [--port N=PORT]... [--tree DIR]... SCRIPT [ARGUMENTS]

Run a Lua script that was written for libmoon or MoonGen.

  --port N=PORT   what device number N is, such as 0=pcap:rx=a.pcap or 1=xdp:eth1;
                  without any, PCI devices are numbered by their addresses
  --tree DIR      look behind Perigee's modules for what a checkout of MoonGen
                  or libmoon has more
  -h, --help      show this

`SCRIPT --help` shows the script's own arguments, `perigee ports --kinds` what a
port can be. Links to perigee named moongen, MoonGen or libmoon run scripts, too.
]]

local OPTIONS = {
  ["--port"] = function (text) require("lib.port.spec").replace_option(text) end,
  ["--tree"] = function (text) require("moongen.script.paths").add_tree(text) end,
}

-- Take this program's own options off the front of `args`. True if one was all.
local function take_options(args)
  while args[1] and args[1]:match("^%-") do
    local word = table.remove(args, 1)
    if word == "-h" or word == "--help" then
      io.write(USAGE)
      return true
    end
    local name, value = word:match("^(%-%-%w+)=(.*)$")
    name = name or word
    local take = OPTIONS[name]
    if not take then
      failure.usage("moongen has no option '%s'; see `perigee moongen --help`", word)
    end
    value = value or table.remove(args, 1)
    if not value then failure.usage("option '%s' needs a value", name) end
    take(value)
  end
end

--- What `perigee ps` is to call it.
function M.title(args)
  for i = 1, #args do
    if args[i]:match("%.lua$") then return "moongen " .. args[i] end
  end
  return "moongen"
end

--- Run with the command line's arguments (a list of strings).
function M.run(args)
  if take_options(args) then return end
  local script = table.remove(args, 1)
  if not script then
    failure.usage("say which script to run; see `perigee moongen --help`")
  end
  require("moongen.script.master").run(script, args)
end

return M
