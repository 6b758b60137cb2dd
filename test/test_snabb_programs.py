# SPDX-License-Identifier: Apache-2.0
"""Programs written for Snabb (test/snabb), outside Perigee's tree, unchanged."""

import collections
import os
import pathlib
import random
import re
import shutil

import pytest

from helpers.capture import load, save
from helpers.command import PERIGEE, ROOT, perigee, run, running
from helpers.network import Wire, veth
from helpers.report import account, numbers

CARD = "0000:01:00.0"
CPU = str(max(os.sched_getaffinity(0)))


@pytest.fixture
def tree(tmp_path):
    """The programs, in a directory of their own."""
    here = pathlib.Path(__file__).resolve().parent
    return shutil.copytree(here / "snabb", tmp_path / "somebody's programs")


def packets(count):
    rng = random.Random(count)
    return [rng.randbytes(rng.randint(60, 1514)) for _ in range(count)]


# All in pull() ------------------------------------------------------------------


@pytest.mark.fast
def test_an_app_that_only_pulls(tree, tmp_path):
    sent = packets(5000)
    a, b = save(tmp_path / "a.pcap", sent), tmp_path / "b.pcap"
    result = perigee("-p", tree, "--port", f"{CARD}=pcap:rx={a},tx={b}",
                     "relay_chain", CARD, 12, 1)
    assert result.returncode == 0, result.stderr
    assert list(load(b)) == sent
    for i in range(1, 13):
        assert result.stdout.count(f"relay{i} relayed 5000 packets\n") == 2
    assert account(result.stdout)["sent"] == 5000


def test_an_app_that_only_pulls_on_null(tree):
    result = perigee("-p", tree, "--port", f"{CARD}=null", "relay_chain", CARD, 3, 0.2)
    assert result.returncode == 0, result.stderr
    a = account(result.stdout)
    assert a["received"] > 10_000
    assert a["received"] == a["sent"] + a["in links"]


# Intel82599 and a chain of apps -------------------------------------------------


def test_chains_one_after_another(tree, tmp_path):
    sent = packets(2000)
    a, b = save(tmp_path / "a.pcap", sent), tmp_path / "b.pcap"
    result = perigee("-p", tree, "--port", f"{CARD}=pcap:rx={a},tx={b}",
                     "nic_chain", CARD, CPU, 0.3, 3, 1, 10)
    assert result.returncode == 0, result.stderr
    assert f"Cpus_allowed_list:\t{CPU}\n" in result.stdout
    assert "length 3 received 2,000\n" in result.stdout
    assert list(load(b)) == sent
    assert account(result.stdout)["sent"] == 2000


def test_chains_on_null(tree):
    result = perigee("-p", tree, "--port", f"{CARD}=null", "nic_chain", CARD, CPU,
                     0.1, 1, 5, 0, 20)
    assert result.returncode == 0, result.stderr
    runs = numbers(r"^length (\d+) received ([\d,]+)$", result.stdout)
    assert [length for length, _ in runs] == [1, 5, 0, 20]
    assert all(received > 1000 for _, received in runs)
    a = account(result.stdout)
    assert a["received"] == a["sent"] + a["freed"] + a["in links"]


def test_a_chain_on_an_interface(tree, namespace):
    here, there = namespace("p"), namespace("t")
    veth(here, "left", there, "right")
    sent = packets(500)
    command = here.command(PERIGEE, "-p", tree, "--port", f"{CARD}=packet:left",
                           "nic_chain", CARD, CPU, 4, 5)
    with Wire(there, "right") as wire, running(*command) as program:
        probes = wire.wait_for_echo(program)
        assert wire.exchange(sent) == sent
        assert program.finish() == 0
    assert account(program.said)["sent"] == 500 + probes


def test_bad_parameters_end_it(tree):
    result = perigee("-p", tree, "nic_chain", CARD)
    assert (result.returncode, result.stderr) == (1, "")
    assert result.stdout.startswith("Usage: nic_chain <pciaddr>")


def test_a_card_that_is_not_there(tree):
    result = perigee("-p", tree, "nic_chain", CARD, CPU, 1, 1)
    assert result.returncode == 2
    assert re.search(f"app 'intel': port '{CARD}': there is no PCI device", result.stderr)
    assert "traceback" not in result.stderr


# DPDKDevice ---------------------------------------------------------------------


def test_a_dpdk_device_by_its_port_string(tree, tmp_path):
    sent = packets(1000)
    a, b = save(tmp_path / "a.pcap", sent), tmp_path / "b.pcap"
    result = perigee("-p", tree, "device_echo", f"pcap:rx={a},tx={b}", 10, 0.3)
    assert result.returncode == 0, result.stderr
    assert list(load(b)) == sent
    assert account(result.stdout)["sent"] == 1000


READER_THAT_NEVER_FREES = """
local pcap, memory = require("pcap"), require("memory")
local packet, link = require("core.packet"), require("core.link")
local Reader = {}
function Reader:new(file)
  return setmetatable({reader = pcap:newReader(file), pool = memory.createMemPool()},
    {__index = Reader})
end
function Reader:pull()
  for _ = 1, engine.pull_npackets do
    local buf = self.reader:readSingle(self.pool, 1024)
    self.done = not buf
    if not buf then return end
    link.transmit(self.output.output, packet.from_pointer(buf:getBytes(), buf:getSize()))
  end
end
local c = config.new()
config.app(c, "reader", Reader, main.parameters[1])
config.app(c, "writer", require("apps.pcap.pcap").PcapWriter, main.parameters[2])
config.link(c, "reader.output -> writer.input")
engine.configure(c)
engine.main{done = function () return engine.app_table.reader.done end}
"""


def test_a_reader_of_libmoons_that_never_frees(tmp_path):
    """As that of "Accelerating Snabb Programs": its pool has 2,047 buffers."""
    sent = [random.Random(i).randbytes(60) for i in range(9000)]
    (tmp_path / "reader.lua").write_text(READER_THAT_NEVER_FREES)
    result = perigee("snsh", tmp_path / "reader.lua", save(tmp_path / "a.pcap", sent),
                     tmp_path / "b.pcap")
    assert result.returncode == 0, result.stderr
    assert list(load(tmp_path / "b.pcap")) == sent
    said = result.stdout + result.stderr
    assert said.count("all 2047 buffers of the pool are in use") == 1


def test_a_dpdk_device_by_its_number(tree, tmp_path):
    sent = packets(1000)
    a, b = save(tmp_path / "a.pcap", sent), tmp_path / "b.pcap"
    result = perigee("--eal", f"--vdev=net_pcap0,rx_pcap={a},tx_pcap={b}", "-p", tree,
                     "device_echo", 0, 2, 0.3)
    assert result.returncode == 0, result.stderr
    assert list(load(b)) == sent


def test_another_port_in_the_place_of_a_number(tree, tmp_path):
    sent = packets(1000)
    a, b = save(tmp_path / "a.pcap", sent), tmp_path / "b.pcap"
    result = perigee("-p", tree, "--port", f"0=pcap:rx={a},tx={b}", "device_echo", 0, 2,
                     0.3)
    assert result.returncode == 0, result.stderr
    assert list(load(b)) == sent


# The rest of the engine ---------------------------------------------------------


def test_libmoons_modules_beside_snabbs(tree, tmp_path):
    # As in "Accelerating Snabb Programs": the tree has its own core, and a driver.
    for name in "core/app.lua", "core/shm.lua", "apps/dpdk_device/dpdk_device.lua":
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text("error('not for Perigee')\n")
    sent = [frame[:1000] for frame in packets(300)]
    a, b = save(tmp_path / "a.pcap", sent), tmp_path / "b.pcap"
    result = perigee("-p", tree, "--port", f"0=pcap:rx={a},tx={b}", "moon_count", a, 0)
    assert result.returncode == 0, result.stderr
    assert list(load(b)) == sent
    assert "counted 300 packets" in result.stdout
    result = perigee("-p", tree, "moon_count")
    assert result.returncode == 1
    assert "usage: moon_count SAVEFILE DEVICE" in result.stdout



@pytest.mark.fast
def test_apps_with_many_links(tree, tmp_path):
    sent = packets(1500)
    a, b = save(tmp_path / "a.pcap", sent), tmp_path / "b.pcap"
    result = perigee("-p", tree, "branches", a, b, 3)
    assert result.returncode == 0, result.stderr
    assert collections.Counter(load(b)) == collections.Counter(sent * 4)
    assert "crossed 4500 special 1500\n" in result.stdout
    assert account(result.stdout)["freed"] == 6000
    links = numbers(r"^ +([\d,]+) sent on .* -> join\.\w+ ", result.stdout)
    assert links == [(1500,)] * 4


@pytest.mark.fast
def test_what_the_engine_calls(tree):
    result = perigee("-p", tree, "lifecycle")
    assert result.returncode == 0, result.stderr
    steps = dict(re.findall(r"== (.*)\n((?:(?!==).*\n)*)", result.stdout))
    assert steps.pop("end").startswith("unlink t input extra\nstop t\npackets: ")
    assert account(result.stdout)["in links"] == 0
    assert steps == {
        "start": "new a\nlink a input input\n",
        "nothing": "",
        "reconfigure": "reconfig a to A\n",
        "second link": "link A input extra\nticked true pushed true\n",
        "less links": "unlink A input input\n",
        "another class": "stop A\nnew s\nlink s input extra\n",
        "another argument": "stop s\nnew t\nlink t input extra\n",
        "link to nowhere": "error link 'source.b -> b.extra': there is no app 'b'; "
                           "the apps are: a, source\nstill runs: true\n",
    }


def test_timers_and_ends(tree):
    result = perigee("-p", tree, "moments", "one", "--two")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        "parameters one,--two", "new from text", "called: true once: 1",
        "no more than 21 breaths at 100 Hz: true", "reports of load 1", "freed true",
        "stop from text"]


# Lua ------------------------------------------------------------------------------

SNABB = pathlib.Path(os.environ.get("SNABB", ".")) / "src/snabb"
CALLS = """
local functions = dofile("%s/test/lua/testing/lua_functions.lua")
print(table.concat(functions.lines{"lua52"}, "\\n"))
"""


@pytest.mark.skipif(not SNABB.is_file(), reason="SNABB=DIR names no built checkout of Snabb")
def test_functions_of_lua_do_what_they_do_in_snabb(tmp_path):
    script = tmp_path / "calls.lua"
    script.write_text(CALLS % ROOT)
    own = perigee("-p", tmp_path, "snsh", script)
    upstream = run(SNABB, "snsh", script)
    assert own.returncode == upstream.returncode == 0, own.stderr + upstream.stderr
    assert own.stdout.count("->") > 50
    # Snabb's assert tells its own place.
    assert own.stdout == re.sub(r"core/main.lua:\d+", "call:1", upstream.stdout)
