# SPDX-License-Identifier: Apache-2.0
"""What can't be done is refused with one sentence and exit status 2."""

import os
import re

import pytest

from helpers.command import PERIGEE, perigee, run, running
from helpers.network import Wire, veth

TWO_PORTS = """
local Port = require("apps.port.port").Port
local c = config.new()
config.app(c, "one", Port, %r)
config.app(c, "two", Port, %r)
local ok, err = pcall(engine.configure, c)
print(#engine.app_table, next(engine.app_table))
error(err, 0)
"""


def assert_refused(result, pattern):
    assert result.returncode == 2, result.stderr
    assert re.fullmatch(f"perigee: .*{pattern}.*\n", result.stderr), result.stderr
    assert result.stdout == ""


@pytest.mark.fast
@pytest.mark.parametrize("args, sentence", [
    (["ecko", "null"], "there is no program 'ecko'; is 'echo' meant?; `perigee` lists the programs"),
    (["../echo"], "there is no program '../echo'"),
    (["--fast", "echo", "null"], "unknown option '--fast'; `perigee --help` lists"),
    (["-p"], "option '-p' needs a value"),
    (["-p", "/missing", "echo"], "-p /missing: there is no such directory"),
    (["--packets", "few", "echo"], "--packets few: give a number from 1024"),
    (["--packets", "12", "echo"], "--packets 12: give a number from 1024"),
    (["--port", "0000:01:00.0", "echo"], "isn't ADDRESS=PORT"),
    (["--port", "eth0=null", "echo"], "'eth0' isn't a PCI address"),
    (["--port", "01:00.0=nil", "echo"], "'nil' isn't a port"),
    (["echo"], "see `perigee echo --help`"),
    (["echo", "--fast", "null"], "unknown option '--fast'"),
    (["echo", "null", "many"], "'many' isn't a whole number from 0 to"),
    (["echo", "null", "1", "long"], "'long' isn't a duration"),
    (["echo", "null", "1", "2", "3"], "too many arguments"),
    (["echo", "nil"], "'nil' isn't a port; a port is null"),
    (["echo", "null:size=9"], "size must be"),
    (["echo", "pcap:rx=/missing.pcap"], "there is no file '/missing.pcap'"),
    (["echo", "pcap:tx=/missing/b.pcap"], "there is no directory '/missing/'"),
    (["echo", "pcap:tx=out.pcap.gz"], "tx isn't compressed; give it a name without .gz"),
    (["echo", "pcap:rx=/dev/null,loop=1"], "'/dev/null' can't be read again at its end"),
    (["echo", "packet:missing0"], "there is no kernel interface 'missing0'; there are"),
    (["echo", "xdp:missing0"], "there is no kernel interface 'missing0'; there are"),
    (["echo", "0000:7f:1f.7"], "there is no PCI device 0000:7f:1f.7; PCI network"),
    (["echo", "7"], "DPDK has no ports; bind a network card to vfio-pci"),
    (["echo", "virtio-user:/missing/s"], "there is no directory '/missing/'"),
    (["run"], "run needs a file"),
    (["run", "/missing.lua"], "cannot open /missing.lua"),
    (["snsh", "-l", "no.module"], "can't load 'no.module': there is no module of that"),
])
def test_it_is_refused(args, sentence):
    assert_refused(perigee(*args), re.escape(sentence))


@pytest.mark.fast
@pytest.mark.skipif(os.path.exists("/dev/netmap"), reason="this kernel has netmap")
@pytest.mark.parametrize("name", ["eth0", "vale0:a", "a{1"])
def test_a_netmap_port_without_the_module(name):
    for program in ["echo", f"netmap:{name}"], ["capture", f"netmap:{name}", "never.pcap"]:
        assert_refused(perigee(*program), re.escape(
            f"port 'netmap:{name}': there is no /dev/netmap, as the kernel's module netmap "
            "isn't loaded; build it for this kernel (https://github.com/luigirizzo/netmap), "
            "and load it with: modprobe netmap"))
    assert not os.path.exists("never.pcap")


def test_a_place_for_shared_memory_that_cannot_be():
    result = run(PERIGEE, "echo", "null",
                 env={**os.environ, "SNABB_SHM_ROOT": "/proc/nope"})
    assert result.returncode == 1
    assert re.fullmatch("perigee: can't make the shared memory directory, which "
                        "SNABB_SHM_ROOT names: /proc/nope: .*\n", result.stderr)


def test_a_memif_that_nobody_serves(tmp_path):
    result = perigee("echo", f"memif:{tmp_path}/socket")
    assert result.returncode == 1
    assert f"nobody answers at '{tmp_path}/socket'; start the process" in result.stderr
    assert "traceback" not in result.stderr


# Interfaces ---------------------------------------------------------------------


@pytest.fixture
def pair(namespace):
    here, there = namespace("p"), namespace("t")
    veth(here, "left", there, "right")
    return here, there


@pytest.mark.parametrize("kind", ["packet", "xdp"])
def test_the_interface_of_the_default_route(namespace, kind):
    here = namespace("h")
    here.has_default_route_over("left")
    assert_refused(run(*here.machine(PERIGEE, "echo", f"{kind}:left")),
                   "the default route goes over 'left'.*use another interface")


def test_an_interface_that_is_down(pair):
    here, _ = pair
    here.ip("link", "set", "left", "down")
    assert_refused(here.run(PERIGEE, "echo", "packet:left"),
                   "'left' is down; bring it up with: ip link set left up")


def test_a_tap_that_is_no_tap(pair):
    here, _ = pair
    assert_refused(here.run(PERIGEE, "echo", "tap:left"), "'left' that isn't a TAP")


@pytest.mark.parametrize("one, two", [
    ("packet:left", "packet:left"), ("packet:left", "xdp:left"),
    ("xdp:left", "xdp:left"), ("tap:tap0", "tap:tap0"),
])
def test_one_interface_for_two_apps(pair, tmp_path, one, two):
    here, _ = pair
    script = tmp_path / "two.lua"
    script.write_text(TWO_PORTS % (one, two))
    result = here.run(PERIGEE, "run", script)
    assert result.stdout == "0\tnil\n"
    assert result.returncode == 2, result.stderr
    assert re.fullmatch("perigee: apps 'one' and 'two' .*\n", result.stderr)


@pytest.mark.fast
def test_one_file_for_two_apps(tmp_path):
    script = tmp_path / "two.lua"
    port = f"pcap:tx={tmp_path / 'out.pcap'}"
    script.write_text(TWO_PORTS % (port, port))
    result = perigee("run", script)
    assert result.returncode == 2
    assert re.fullmatch("perigee: apps 'one' and 'two' .*\n", result.stderr)


def test_an_interface_that_another_process_has_by_xdp(pair):
    here, there = pair
    with running(*here.command(PERIGEE, "echo", "xdp:left")) as first, \
            Wire(there, "right") as wire:
        wire.wait_for_echo(first)
        second = here.run(PERIGEE, "echo", "xdp:left", 1, 1)
        assert second.returncode == 1
        assert "port 'xdp:left': another process has that queue of the interface" \
            in second.stderr
        frames = [bytes([n]) * 60 for n in range(10)]
        assert wire.exchange(frames) == frames
        assert first.interrupt() == 0
