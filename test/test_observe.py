# SPDX-License-Identifier: Apache-2.0
"""Programs that look into other processes: ps, shm, top."""

import json
import os
import struct

import pytest

from helpers.command import PERIGEE, perigee, running, wait_until

NAMED = """
engine.claim_name(%r)
local basic = require("apps.basic.basic_apps")
local Half = {drops = {"not wanted"}}
Half.__index = Half
function Half:new() return setmetatable({n = 0}, Half) end
function Half:process(p)
  self.n = self.n + 1
  if self.n %% 2 == 0 then return nil, 1 end
  return p
end
local c = config.new()
config.app(c, "source", basic.Source)
config.app(c, "half", Half)
config.app(c, "sink", basic.Sink)
config.link(c, "source.output -> half.input")
config.link(c, "half.output -> sink.input")
engine.configure(c)
engine.Hz = 1000
engine.main{duration = 50, no_report = true}
"""


@pytest.fixture
def instance(tmp_path):
    """A running graph: half of what `source` sends, `half` drops by name."""
    name = f"observed-{os.getpid()}"
    script = tmp_path / "graph.lua"
    script.write_text(NAMED % name)
    with running(PERIGEE, "run", script) as process:
        process.name = name
        process.wait_for_engine()
        wait_until(lambda: values(process.pid).get("engine/breaths", 0) > 10, "breaths")
        yield process


def values(pid):
    result = perigee("shm", "--json", pid)
    return json.loads(result.stdout) if result.returncode == 0 else {}


def test_ps_lists_it(instance):
    listed = {i["pid"]: i for i in json.loads(perigee("ps", "--json").stdout)}
    mine = listed[instance.pid]
    assert (mine["name"], mine["program"]) == (instance.name, "run")
    assert 0 < mine["cpu"] <= mine["uptime"] + 1
    lines = [line for line in perigee("ps").stdout.splitlines()
             if line.split()[0] == str(instance.pid)]
    assert instance.name in lines[0]


def test_shm_prints_what_is_in_the_files(instance):
    instance.send(19)  # SIGSTOP: the counters stand still
    said = perigee("shm", f"{instance.name}/engine").stdout
    directory = json.loads(perigee("ps", "--json").stdout)
    directory = next(i["directory"] for i in directory if i["pid"] == instance.pid)
    with open(f"{directory}/engine/frees.counter", "rb") as file:
        frees = struct.unpack("<Q", file.read(8))[0]
    assert frees > 0 and f"\nfrees: {frees:,}\n" in said
    assert values(instance.pid)["engine/frees"] == frees


def test_shm_of_what_has_ended(instance):
    assert instance.interrupt() == 0
    result = perigee("shm", instance.pid)
    assert result.returncode == 2
    assert f"there is no running instance '{instance.pid}'" in result.stderr
