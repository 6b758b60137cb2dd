# SPDX-License-Identifier: Apache-2.0
"""Many packets leave Lua's heap and the packet pool as they were.

This takes long, as a leak has to outgrow what the heap varies by: LuaJIT's traces are
in it (TRACES_KB), and rare paths are compiled late. A leak of 8 bytes for each burst of
packets is found so. PERIGEE_LONG=1 sends ten times as many: an hour's worth for a slow
link, and 10,000 changes of a configuration."""

import os

from helpers.command import perigee
from helpers.report import account

WARM_UP = 2e6
PACKETS = 1e9 if os.environ.get("PERIGEE_LONG") else 1e8
CHANGES = 10_000 if os.environ.get("PERIGEE_LONG") else 700  # of a configuration
OPENINGS = 100  # of ports; a leak of 2 kB for each is found

# Rare paths are compiled late, and LuaJIT's traces are in its heap.
TRACES_KB = 512

MEASURE = """
local C = require("core.native")
local pool = require("core.pool")
local function measure()
  collectgarbage()
  collectgarbage()
  print(collectgarbage("count"), C.pg_pool_available() + pool.freelist.nfree,
    C.pg_pool_size())
end
"""

FORWARD = """
local fwd, port = require("apps.fwd.fwd"), require("apps.port.port")
local c = config.new()
config.app(c, "port", port.Port, "null")
for i = 1, 3 do config.app(c, "fwd" .. i, fwd.Fwd) end
config.link(c, "port.output -> fwd1.input")
config.link(c, "fwd1.output -> fwd2.input")
config.link(c, "fwd2.output -> fwd3.input")
config.link(c, "fwd3.output -> port.input")
engine.configure(c)
engine.busywait = true

local sent = engine.app_table.port.port
local function run(packets)
  engine.main{no_report = true,
    done = function() return tonumber(sent.txpackets) >= packets end}
  measure()
end
run(%d)
run(%d)
engine.report{showpackets = true}
"""


RECONFIGURE = """
local basic, port = require("apps.basic.basic_apps"), require("apps.port.port")
local function once(i)
  local c = config.new()
  config.app(c, "source", basic.Source, 60 + i)
  config.app(c, "null", port.Port, "null:size=" .. 60 + i)
  config.app(c, "one", port.Port, "ring:r" .. i)
  config.app(c, "two", port.Port, "ring:r" .. i)
  config.app(c, "sink", basic.Sink)
  config.link(c, "source.output -> one.input")
  config.link(c, "two.output -> null.input")
  config.link(c, "null.output -> sink.input")
  engine.configure(c)
  for _ = 1, 5 do engine.breathe() end
  if i %% 3 == 0 then engine.configure(config.new()) end
end
for _ = 1, 3 do
  for i = 1, %d do once(i) end
  engine.configure(config.new())
  jit.flush()
  measure()
end
engine.report{showpackets = true}
"""


# Changes a graph over and over, each time until LuaJIT has compiled its loops. LuaJIT's
# room for code is small here, so that it is full several times.
CODE_KB = 512
CHANGE = """
jit.opt.start("sizemcode=64", "maxmcode=%(code)d")
local basic, fwd = require("apps.basic.basic_apps"), require("apps.fwd.fwd")
local health = require("core.watch.health")

local function graph(i)
  local c, last = config.new(), "source"
  config.app(c, "source", basic.Source, 60 + i %% 7)
  for k = 1, 1 + i %% 5 do
    local name = ("fwd%%d_%%d"):format(k, i %% 11)
    config.app(c, name, fwd.Fwd)
    config.link(c, last .. ".output -> " .. name .. ".input")
    last = name
  end
  config.app(c, "sink", basic.Sink)
  config.link(c, last .. ".output -> sink.input")
  return c
end

-- LuaJIT's memory for code: the only kind that is executable and of no file.
local function code_kb()
  local sum = 0
  for line in io.lines("/proc/self/maps") do
    local from, to = line:match("^(%%x+)%%-(%%x+) r.xp 00000000 00:00 0%%s*$")
    if from then sum = sum + tonumber(to, 16) - tonumber(from, 16) end
  end
  return sum / 1024
end

local function resident_kb()
  for line in io.lines("/proc/self/status") do
    local kb = line:match("^VmRSS:%%s*(%%d+)")
    if kb then return kb end
  end
end

for i = 1, %(changes)d do
  engine.configure(graph(i))
  for _ = 1, 70 do engine.breathe() end
  if i %% 20 == 0 then
    collectgarbage()
    collectgarbage()
    print(health.flushes, code_kb(), collectgarbage("count"), resident_kb())
  end
end
"""


def test_code_is_a_bounded_sawtooth_over_reconfigurations(tmp_path):
    file = tmp_path / "script.lua"
    file.write_text(CHANGE % {"code": CODE_KB, "changes": CHANGES})
    result = perigee("run", file, timeout=1200)
    assert (result.returncode, result.stderr) == (0, "")
    rows = [list(map(float, line.split())) for line in result.stdout.splitlines()]
    flushes, code_kb, heap_kb, resident_kb = map(list, zip(*rows))
    print(f"{CHANGES} changes: room for code was full {flushes[-1]:.0f} times, "
          f"{max(code_kb):.0f} kB at most; heap {min(heap_kb):.0f} to {max(heap_kb):.0f} "
          f"kB; resident {max(resident_kb):.0f} kB")
    assert len(rows) == CHANGES // 20 and flushes[-1] >= 3
    assert max(code_kb) <= CODE_KB
    # The heap has the traces, and goes up and down with them.
    third = len(rows) // 3
    assert max(heap_kb[-third:]) < max(heap_kb[:-third]) + TRACES_KB
    assert max(resident_kb[-third:]) < max(resident_kb[:-third]) + TRACES_KB


def measured(tmp_path, script):
    """What the script measured each time: lists of kB, packets and pool sizes; and its
    account."""
    file = tmp_path / "script.lua"
    file.write_text(MEASURE + script)
    result = perigee("run", file, timeout=600)
    assert (result.returncode, result.stderr) == (0, "")
    lines = [line.split() for line in result.stdout.splitlines()]
    rows = [map(float, words) for words in lines if len(words) == 3 and words[2].isdigit()]
    return list(zip(*rows)), account(result.stdout)


def test_packets_leave_everything_as_it_was(tmp_path):
    (heap_kb, available, size), a = measured(
        tmp_path, FORWARD % (WARM_UP, WARM_UP + PACKETS))
    assert a["received"] == a["sent"] >= WARM_UP + PACKETS
    assert heap_kb[1] < heap_kb[0] + TRACES_KB
    assert available[0] == available[1]
    assert size[0] == size[1]


def test_ports_that_come_and_go_leave_everything_as_it_was(tmp_path):
    (heap_kb, available, size), a = measured(tmp_path, RECONFIGURE % OPENINGS)
    assert a["allocated"] > 5_000 and a["in links"] == 0
    # Without the traces. LuaJIT's own tables (of strings, of C types) still double now
    # and then, which takes some hundred kB, but hardly in both.
    assert min(heap_kb[1] - heap_kb[0], heap_kb[2] - heap_kb[1]) < 2 * OPENINGS
    assert len(set(available)) == 1
    assert len(set(size)) == 1
