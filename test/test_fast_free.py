# SPDX-License-Identifier: Apache-2.0
"""Packets that were sent are given back without a look at each where a driver can do
that (RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE), and Perigee knows that it may: native/fast_free.c
makes such a driver of DPDK's null device."""

import os
import re
import shlex

import pytest

from helpers.capture import random_frames, save
from helpers.command import ROOT, check, perigee
from helpers.report import account, number

FREED = r"freed fast: (\d+), that it might not: (\d+)"
DEVICE = "--eal", "--no-huge --vdev=net_null0"
PLAIN = "--eal", "--no-huge"
ECHO = """
local c = config.new()
config.app(c, "port", require("apps.port.port").Port, "null")
config.link(c, "port.output -> port.input")
engine.configure(c)
engine.main{duration = 0.1}
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    library = tmp_path_factory.mktemp("driver") / "fast_free.so"
    flags = shlex.split(check("pkg-config", "--cflags", "libdpdk"))
    check("cc", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror", *flags, "-o",
          library, ROOT / "test" / "native" / "fast_free.c")
    return library


def freed(driver, *args, **kwargs):
    """What perigee says, and how many packets were freed fast; each of them might be."""
    result = perigee(*args, env={**os.environ, "LD_PRELOAD": str(driver)}, **kwargs)
    assert result.returncode == 0, result.stderr
    packets, wrong = map(int, re.search(FREED, result.stderr).groups())
    assert wrong == 0
    return result, packets


@pytest.mark.parametrize("options", [PLAIN, ("--check", *PLAIN)], ids=["plain", "check"])
def test_what_is_sent_is_freed_fast(driver, options):
    result, packets = freed(driver, *options, "echo", "null", "1", "0.3")
    assert packets > 0
    assert account(result.stdout)["sent"] == packets


@pytest.mark.parametrize("port, fast", [("0", True), ("0,fast_free=0", False),
                                        ("0,offload=1", True)])
def test_a_port_may_say_no(driver, port, fast):
    _, packets = freed(driver, *DEVICE, "echo", port, "1", "0.3")
    assert (packets > 0) == fast


def test_not_where_packets_are_sent_by_reference(driver, tmp_path):
    file = save(tmp_path / "in.pcap", random_frames(100))
    result, packets = freed(driver, *PLAIN, "replay", "--topspeed", "--loop", "50", file,
                            "null")
    assert number(r"replay: ([\d,]+) packets", result.stdout) == 5000
    assert packets == 0


def test_copies_for_ports_that_were_open_before(driver, tmp_path):
    file = save(tmp_path / "in.pcap", random_frames(100))
    result, packets = freed(driver, *PLAIN, "run", ROOT / "test" / "fast_free.lua", file)
    assert "sent: 100000\n" in result.stdout
    assert packets == 100000


@pytest.mark.parametrize("pool, fast", [
    ("", True), ('require("core.native").pg_numa_pretend(2, 3, 0)', False),
    ('require("memory").createMemPool{n = 512}', False)],
    ids=["one", "of two nodes", "of libmoon's"])
def test_not_with_several_pools(driver, tmp_path, pool, fast):
    script = tmp_path / "echo.lua"
    script.write_text(pool + ECHO)
    _, packets = freed(driver, *PLAIN, "snsh", script)
    assert (packets > 0) == fast
