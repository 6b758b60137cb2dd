# SPDX-License-Identifier: Apache-2.0
"""Shared memory that is full, before a run or in it: packets go on, configurations are
applied whole, and one sentence says that other programs don't see all counters."""

import os
import re
import signal

import pytest

from helpers.command import PERIGEE, run, running
from helpers.report import account

PROGRAM = """
local basic = require("apps.basic.basic_apps")
local Odd = {drops = {"odd"}}
Odd.__index = Odd
function Odd:new() return setmetatable({n = 0}, Odd) end
function Odd:process(p)
  self.n = self.n + 1
  if self.n % 2 == 0 then return nil, 1 end
  return p
end

local c = config.new()
config.app(c, "source", basic.Source)
config.app(c, "odd", Odd)
config.app(c, "sink", basic.Sink)
config.link(c, "source.output -> odd.input")
config.link(c, "odd.output -> sink.input")
engine.configure(c)
engine.main{duration = 0.1, no_report = true}
local before = engine.drops("odd").odd
for i = 1, 20 do
  config.app(c, "tee" .. i, basic.Tee)
  config.link(c, ("tee%d.o -> tee%d.i"):format(i, i))
end
engine.configure(c)
engine.main{duration = 0.1, report = {showpackets = true}}
local links = 0
for _ in pairs(engine.link_table) do links = links + 1 end
print(links, before > 0, engine.drops("odd").odd > before)
engine.stop()
print("stopped")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system: wants root")
@pytest.mark.parametrize("limit", ["size=4k", "size=40k", "size=100k", "size=200k",
                                   "size=1m,nr_inodes=20", "size=1m,nr_inodes=100"])
def test_full_shared_memory_stops_nothing(limit, tmp_path):
    script, small = tmp_path / "program.lua", tmp_path / "small"
    script.write_text(PROGRAM)
    small.mkdir()
    result = run("unshare", "--mount", "sh", "-c",
                 f"mount -t tmpfs -o {limit} tmpfs {small} && SNABB_SHM_ROOT={small} "
                 f"exec {PERIGEE} run {script}")
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("22\ttrue\ttrue\nstopped\n")
    sums = account(result.stdout)
    assert sums["allocated"] > 0 and sums["held by apps"] <= 1
    assert len(re.findall("other programs won't see all counters: .*No space left",
                          result.stderr)) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system: wants root")
def test_a_type_that_needs_shared_memory_is_refused_before_anything_changes(tmp_path):
    script, small = tmp_path / "program.lua", tmp_path / "small"
    script.write_text(PROGRAM.replace("engine.stop()", """
      local Measured = {new = function ()
        return {shm = {latency = {require("core.histogram"), 1, 100}}}
      end}
      config.app(c, "measured", Measured)
      print(pcall(engine.configure, c))
      print(engine.app_table.measured, engine.app_table.odd ~= nil)"""))
    small.mkdir()
    result = run("unshare", "--mount", "sh", "-c",
                 f"mount -t tmpfs -o size=100k tmpfs {small} && SNABB_SHM_ROOT={small} "
                 f"exec {PERIGEE} run {script}")
    assert result.returncode == 0, result.stderr
    assert re.search(r"^false\tapp 'measured': can't reserve 4096 bytes for .*latency\."
                     r"histogram: No space left on device\nnil\ttrue$", result.stdout,
                     re.MULTILINE)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system: wants root")
def test_an_lwaftr_needs_no_shared_memory_for_its_mirror(tmp_path):
    script, small = tmp_path / "program.lua", tmp_path / "small"
    script.write_text('require("apps.lwaftr.V4V6") print("loaded")')
    small.mkdir()
    result = run("unshare", "--mount", "sh", "-c",
                 f"mount -t tmpfs -o size=4k tmpfs {small} && cat /dev/zero >{small}/full; "
                 f"SNABB_SHM_ROOT={small} exec {PERIGEE} run {script}")
    assert (result.returncode, result.stdout) == (0, "loaded\n"), result
    assert re.search(r"`perigee lwaftr monitor` can't reach this process: .*No space left",
                     result.stderr), result.stderr


FLOWS = """
FastUDPFlows(0, 60000, 60, 2:2:2:2:2:2, 10.0.0.1, 3:3:3:3:3:3, 10.0.0.2, 60000, 1, STOP true)
  -> Strip(14) -> CheckIPHeader
  -> nat :: IPRewriter(pattern 192.0.2.1-192.0.2.9 1024-65535 - - 0 1, drop);
nat[0] -> Discard; nat[1] -> Discard; Idle -> [1] nat;
DriverManager(wait_stop, print $(nat.size));
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system: wants root")
def test_no_room_for_kept_records_is_told(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    result = run("unshare", "--mount", "sh", "-c",
                 f"mount -t tmpfs -o size=3m tmpfs {small} && PERIGEE_KEEP_ROOT={small} "
                 f"{PERIGEE} --keep t click -e '{FLOWS}' && PERIGEE_KEEP_ROOT={small} "
                 f"exec {PERIGEE} keep check t")
    assert result.returncode == 0, result.stderr
    assert 10000 < int(result.stdout.split()[0]) < 60000
    assert result.stderr.count(
        "--keep t: there is no room for more records (No space left on device): new ones "
        "are refused, as by a full table") == 1, result.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system: wants root")
def test_an_upgrade_without_room_is_refused_at_once(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    environment = {**os.environ, "SNABB_SHM_ROOT": f"{small}/shm"}
    with running("unshare", "--mount", "sh", "-c",
                 f'mount -t tmpfs -o size=4m tmpfs {small} && exec "$@"', "sh", PERIGEE,
                 "--keep", "x", "click", "-e", "RatedSource(RATE 10) -> Discard",
                 env=environment) as old:
        old.wait_for_engine()

        def there(*words):
            return run("nsenter", "-m", "-r", "-t", old.pid, *words, env=environment)
        there("sh", "-c", f"cat /dev/zero >{small}/more")
        refused = there(PERIGEE, "upgrade", "x")
        assert refused.returncode == 1, refused
        assert re.search(rf"^perigee: upgrade x: the file system of {small}/shm/\S+ has room "
                         r"for \d+ kB more, and another process may need \d+ kB, until the old "
                         rf"one ends: make room there; process {old.pid} runs on$",
                         refused.stderr, re.M), refused
        there("sh", "-c", f"rm {small}/more")
        done = there(PERIGEE, "upgrade", "x")
        assert done.returncode == 0, done.stderr
        assert old.process.wait(60) == 0, old.read()
        old.read()
        assert old.said.count("stands by") == 1, old.said  # there was no other one
        new = re.search(r"process (\d+) has taken over", done.stderr)[1]
        os.kill(int(new), signal.SIGTERM)


# Takes as many of the process's mappings as there may be (vm.max_map_count), but for a few.
FEW = """
local ffi = require("ffi")
ffi.cdef "void *mmap(void *at, size_t size, int how, int flags, int fd, long offset);"
ffi.cdef "int munmap(void *at, size_t size);"
local taken = {}
for i = 1, 1e6 do -- neighbours of different protection aren't joined
  local page = ffi.C.mmap(nil, 4096, i % 2, 0x22, -1, 0)
  if ffi.cast("intptr_t", page) == -1 then break end
  taken[i] = page
end
for i = #taken - LEFT, #taken do ffi.C.munmap(taken[i], 4096) end
assert(#taken > 1000)
"""


def skip_many_mappings():
    with open("/proc/sys/vm/max_map_count", encoding="ascii") as limit:
        if int(limit.read()) > 500_000:
            pytest.skip("vm.max_map_count is too large to be used up quickly")


@pytest.mark.parametrize("left", [3, 60, 75, 90])
def test_no_mapping_left_stops_nothing(left, tmp_path):
    skip_many_mappings()
    script = tmp_path / "program.lua"
    few = FEW.replace("LEFT", str(left))
    script.write_text(PROGRAM.replace("for i = 1, 20 do", few + "for i = 1, 20 do"))
    result = run(PERIGEE, "run", script)
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("22\ttrue\ttrue\nstopped\n"), result.stdout
    sums = account(result.stdout)
    assert sums["allocated"] > 0 and sums["held by apps"] <= 1
    assert len(re.findall("other programs won't see all counters: .*max_map_count",
                          result.stderr)) == 1, result.stderr


# Small areas of machine code lie side by side: to the kernel, one mapping. As LuaJIT writes
# to one of them that mapping is split, while there are as many as there may be.
COMPILES = """
local ffi = require("ffi")
ffi.cdef "void *mmap(void *at, size_t size, int how, int flags, int fd, long offset);"
ffi.cdef "int munmap(void *at, size_t size);"
local function compile(count)
  for n = 1, count do
    local f = load("local s = 0 for i = 1, 200 do s = s + i * " .. n .. " end return s")
    assert(f() == 20100 * n)
  end
end
jit.flush()
jit.opt.start("sizemcode=32")
compile(1000)
collectgarbage()
local taken, count = ffi.new("void *[500000]"), 0
while count < 500000 do
  local page = ffi.C.mmap(nil, 4096, count % 2, 0x22, -1, 0)
  if ffi.cast("intptr_t", page) == -1 then break end
  taken[count] = page
  count = count + 1
end
compile(40)
for i = 0, count - 1 do ffi.C.munmap(taken[i], 4096) end
compile(1000)
print("went on", count > 1000)
"""


def test_machine_code_is_written_while_no_mapping_is_left(tmp_path):
    skip_many_mappings()
    script = tmp_path / "program.lua"
    script.write_text(COMPILES)
    result = run(PERIGEE, "run", script)
    assert (result.returncode, result.stdout) == (0, "went on\ttrue\n"), result
