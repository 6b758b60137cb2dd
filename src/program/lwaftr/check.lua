-- SPDX-License-Identifier: Apache-2.0
-- `perigee lwaftr check`: packets from two files through an lwAFTR to two files, and
-- the counters that it should have after that.

local basic = require("apps.basic.basic_apps")
local cli = require("lib.cli")
local config = require("core.config")
local core_files = require("core.lib.files")
local engine = require("core.app")
local failure = require("core.failure")
local ends = require("apps.lwaftr.graph_ends")
local graph = require("apps.lwaftr.graph")
local pcap = require("apps.pcap.pcap")
local reader = require("apps.lwaftr.conf_reader")
local totals = require("apps.lwaftr.totals")

local M = {}

local SNAPLEN = 65535 -- bytes: what upstream's files say
local QUIET_BREATHS = 20 -- in which no app takes a packet: the last has come out

local function parse(args)
  local p = cli.parser("lwaftr check", "Send the packets of V4_IN and V6_IN through an "
    .. "lwAFTR, write those that come out to V4_OUT and V6_OUT, and compare its "
    .. "counters with those in the Lua file COUNTERS.")
  p:argument("conf", "the configuration")
  for _, name in ipairs{"v4_in", "v6_in", "v4_out", "v6_out"} do
    p:argument(name, "a pcap file")
  end
  p:argument("counters", "returns a table of counters; those that are 0 left out")
    :args("?")
  p:flag("-r --regen", "write COUNTERS rather than compare")
  p:flag("--on-a-stick", "with one interface for both")
  p:flag("--slow", "without the fast paths: all packets by the slow apps")
  p:option("-D --duration", "Run for at least this time: seconds, or 500ms, 2m.", 0.1)
    :argname("TIME"):convert(cli.duration)
  return cli.parse(p, args)
end

local function expected(path)
  local chunk, problem = loadfile(path)
  if not chunk then failure.usage("the counters can't be read: %s", problem) end
  local ok, result = pcall(setfenv(chunk, {}))
  if not ok or type(result) ~= "table" then
    failure.usage("the counters can't be read: %s doesn't return a table", path)
  end
  return result
end

local function sorted_names(...)
  local names, seen = {}, {}
  for _, t in ipairs{...} do
    for name in pairs(t) do
      if not seen[name] then names[#names + 1] = name end
      seen[name] = true
    end
  end
  table.sort(names)
  return names
end

local function write(path, counters)
  local lines = {"return {\n"}
  for _, name in ipairs(sorted_names(counters)) do
    lines[#lines + 1] = ('   ["%s"] = %.0f,\n'):format(name, counters[name])
  end
  core_files.exchange(path, table.concat(lines) .. "}\n")
end

local function compare(counters, wanted)
  local wrong = {}
  for _, name in ipairs(sorted_names(counters, wanted)) do
    local is, should = counters[name] or 0, wanted[name] or 0
    if is ~= should then
      wrong[#wrong + 1] = ("%s is %.0f, not %.0f"):format(name, is, should)
    end
  end
  if #wrong > 0 then
    failure.raise("counters did not match: %s", table.concat(wrong, "; "))
  end
end

-- Files that can be compared with others byte by byte.
local function timeless(path)
  return {filename = path, snaplen = SNAPLEN, timeless = true}
end

-- Frames of the two files to one interface, and what leaves it to two others.
local function on_a_stick(c)
  config.app(c, "stick", basic.Join)
  config.app(c, "splitter", ends.Divide)
  config.link(c, "capturev4.output -> stick.v4")
  config.link(c, "capturev6.output -> stick.v6")
  config.link(c, "splitter.v4 -> output_filev4.input")
  config.link(c, "splitter.v6 -> output_filev6.input")
  return {"stick.output", "splitter.input"}
end

--- The configuration's graph between files: names of apps as upstream has them.
function M.graph(conf, files, options)
  local c = config.new()
  config.app(c, "capturev4", pcap.PcapReader, files.v4_in)
  config.app(c, "capturev6", pcap.PcapReader, files.v6_in)
  config.app(c, "output_filev4", pcap.PcapWriter, timeless(files.v4_out))
  config.app(c, "output_filev6", pcap.PcapWriter, timeless(files.v6_out))
  local stick = options.on_a_stick and on_a_stick(c)
  graph.add(c, conf, {
    v4 = stick or {"capturev4.output", "output_filev4.input"},
    v6 = {"capturev6.output", "output_filev6.input"},
    on_a_stick = options.on_a_stick, fast = not options.slow,
  })
  return c
end

local function taken()
  local sum = 0
  for _, l in pairs(engine.link_table) do sum = sum + tonumber(l.read) end
  return sum
end

-- A function that tells whether that time (seconds) is over and nothing moves any more.
-- (On a busy machine much can be left to do when the time is over.)
local function ending(duration)
  local began, last, quiet = engine.now(), 0, 0
  return function ()
    local now_taken = taken()
    quiet, last = now_taken == last and quiet + 1 or 0, now_taken
    return quiet >= QUIET_BREATHS and engine.now() - began >= duration
  end
end

--- Run the command.
function M.run(args)
  local options = parse(args)
  -- So that the same packets give the same fragments.
  require("apps.ipv4.fragment").use_deterministic_first_fragment_id()
  require("apps.ipv6.fragment").use_deterministic_first_fragment_id()
  engine.configure(M.graph(reader.file(options.conf), options, options))
  local before = totals.read()
  engine.main{done = ending(options.duration), no_report = true}
  local counters = totals.differences(before, totals.read())
  if not options.counters then return end
  if options.regen then return write(options.counters, counters) end
  compare(counters, expected(options.counters))
end

return M
