-- SPDX-License-Identifier: Apache-2.0
-- `perigee trace INSTANCE`: the paths of single packets through a running graph.

local C = require("core.native")
local changes = require("lib.observe.changes")
local cjson = require("cjson")
local cli = require("lib.cli")
local client = require("lib.control.client")
local instances = require("lib.observe.instances")
local log = require("core.lib.log")

local M = {summary = "follow single packets through the graph of a running process"}

local LOOK_SECONDS = 0.2
local LAST_WORDS_SECONDS = 10

--- Why --cpus is refused.
M.one_cpu = "it runs no graph"

--- Why --sandbox is refused.
M.no_sandbox = "it handles no packets"

local function parser()
  local p = cli.parser("trace", "Follow single packets through the graph of a running "
    .. "process: each app that they meet, what it changes, and where they end: sent, "
    .. "dropped by whom and why, freed, or kept. Ends after --count packets, or with "
    .. "Ctrl-C.")
  p:argument("instance", "Process id, name or program; `perigee ps` lists them.")
  p:option("-f --filter", "Only packets that this expression accepts (pcap-filter(7)) "
    .. "where they are chosen."):argname("EXPR")
  cli.count_option(p, "So many packets (default 10).", "-n")
    :convert(cli.integer(1, 1e9))
  p:option("-a --app", "Choose packets where they come to this app, instead of where "
    .. "they come into the graph."):argname("APP")
  p:option("--rate", "At most so many packets a second (default 100)."):argname("N")
    :convert(cli.integer(1, 1000))
  p:flag("--json", "Print a line of JSON for each packet.")
  return p
end

-- A packet as text -------------------------------------------------------------------

local ENDS = {
  sent = "sent by %s", dropped = "dropped by %s: %s", freed = "freed by %s",
  kept = "kept by %s", waits = "waits for %s", ["handed on"] = "handed on to %s's CPU",
  ["left in a loop"] = "goes round a loop: left at %s",
}

local function end_of(record)
  local how = record["end"]
  return ENDS[how.what]:format(how.app, how.reason or "no reason given")
end

local function apps_of(spec)
  local from, _, to = config.parse_link(spec)
  return from, to
end

-- Call changed(hop, lines) for each hop, with what is different to the one before.
-- Returns what the packet was at first (lib.observe.changes).
local function each_change(record, changed)
  local first, now
  local function step(hop)
    local lines = {}
    if not now then
      now = changes.read(changes.bytes(hop.data), hop.length)
      first = now
    elseif hop.data then
      lines, now = changes.between(now, changes.bytes(hop.data), hop.length)
    end
    changed(hop, lines)
  end
  for _, hop in ipairs(record.hops) do step(hop) end
  if record["end"].data then step(record["end"]) end
  return first
end

--- The way of a packet (doc/control.md) as lines for people.
function M.text(record)
  local lines = {}
  local function add(fmt, ...) lines[#lines + 1] = fmt:format(...) end
  add("  from %s", (apps_of(record.hops[1].link)))
  local before -- the app that has what is changed
  local first = each_change(record, function (hop, list)
    local from, to
    if hop.link then from, to = apps_of(hop.link) end
    if before then add("  %s", before) end
    -- What an app keeps another may take from it, without a link (Click's queues).
    if before and from and from ~= before then add("  %s", from) end
    for _, line in ipairs(list) do add("    %s", line) end
    before = to
  end)
  add("  %s", end_of(record))
  table.insert(lines, 1, ("packet %d%s: %d bytes, %s"):format(record.number,
    record.cpu and (" on CPU %d"):format(record.cpu) or "", first.length, first.text))
  return table.concat(lines, "\n") .. "\n"
end

--- The same as a line of JSON: what it tells, and each hop's `changes`, if any.
function M.json(record)
  each_change(record, function (hop, list)
    if #list > 0 then hop.changes = list end
  end)
  return cjson.encode(record) .. "\n"
end

-- The program -----------------------------------------------------------

-- Print what comes until the end, or a signal, after which the end is waited for;
-- returns what that tells: nil if the process has ended, false if it says nothing.
local function print_all(connection, write)
  local patience
  while not patience or C.pg_monotonic() < patience do
    local line = connection:line(LOOK_SECONDS)
    if line == nil then return end
    if line and line["end"] then return line["end"] end
    if line and line.packet then
      io.write(write(line.packet))
      io.flush()
    end
    if C.pg_signal() ~= 0 and not patience then
      patience = C.pg_monotonic() + LAST_WORDS_SECONDS
      connection:send{["do"] = "stop"}
    end
  end
  return false
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local options = cli.parse(parser(), args)
  local instance = instances.find(instances.list(), options.instance)
  local connection = client.connect(instance)
  C.pg_catch_signals()
  connection:ask{["do"] = "trace", filter = options.filter, app = options.app,
                 count = options.count, rate = options.rate}
  local ended = print_all(connection, options.json and M.json or M.text)
  connection:close()
  C.pg_release_signals()
  if ended == nil then
    log.warning("the process has ended")
  elseif not ended then
    log.warning("the process hasn't said for 10 s what came last: its engine doesn't "
      .. "run now")
  elseif ended.lost > 0 then
    log.warning("%d packets more were followed than could be reported", ended.lost)
  end
end

return M
