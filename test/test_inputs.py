# SPDX-License-Identifier: Apache-2.0
"""Small inputs that others' programs boiled down to, from a folder that isn't a part of
this tree: INPUTS=DIR, with the folders snabb, moongen and click in it, names it. Each has
what is right beside it here. Those that need a checkout of Snabb want SNABB=DIR, too."""

import os
import pathlib
import re
import struct

import pytest

from helpers import capture
from helpers.command import PERIGEE, perigee, run

FOLDER = pathlib.Path(os.environ.get("INPUTS", "/nonexistent"))
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="needs the folder of inputs: INPUTS=DIR")


@pytest.fixture
def input_of(tmp_path):
    """A function that copies an input, with its WORKDIR named; the copy's path."""
    def copy(name):
        text = (FOLDER / name).read_text().replace("WORKDIR", str(tmp_path))
        for folder in "t", "out":
            (tmp_path / folder).mkdir(exist_ok=True)
        file = tmp_path / pathlib.Path(name).name
        file.write_text(text)
        return file
    return copy


def snabb(file, *arguments):
    return perigee("snsh", file, *arguments)


# Snabb ------------------------------------------------------------------------------

def test_assert_returns_its_value(input_of):
    lines = snabb(input_of("snabb/assert.lua")).stdout.splitlines()
    assert lines[0] == "1" and all(line.startswith("true") for line in lines[1:])


def test_tables_of_routes_that_are_built_twice(input_of):
    lines = snabb(input_of("snabb/dxr.lua")).stdout.splitlines()
    assert len(lines) == 4
    for line in lines:  # key 0 means no prefix: the trie says nil
        none = "nil" if line.startswith("LPM4_trie") else "0"
        assert line.split("\t")[1:] == ["once", none, "twice", none, "4", "2"], line


def test_lpm_arrays_that_grow(input_of):
    for _ in range(3):
        assert snabb(input_of("snabb/lpm_alloc.lua")).stdout == "ok\n"


def test_links_in_circles(input_of):
    result = run("bash", input_of("snabb/symlink_hang.sh"),
                 env={**os.environ, "PERIGEE": str(PERIGEE)})
    assert result.stdout == "started\nrc 0 (124: hung)\n"


def test_order_of_calls(input_of):
    binary = os.environ.get("SNABB_BINARY")
    if not binary:
        pytest.skip("needs Snabb itself: SNABB_BINARY=FILE")
    file = input_of("snabb/06_order.lua")
    ours = snabb(file, "600").stdout.splitlines()
    theirs = run(binary, "snsh", file, "600").stdout.splitlines()
    assert ours == [line for line in theirs if re.match(r"\d+\t", line)]


def test_the_taps_address(input_of):
    if os.geteuid() != 0:
        pytest.skip("makes a TAP, as root")
    file = input_of("snabb/tap_dst_mac.lua")
    said = run("unshare", "--net", "--mount", "sh", "-c",
               f"mount -t sysfs s /sys; '{PERIGEE}' snsh '{file}'").stdout
    address, forwarding = said.splitlines()[-2:]
    assert f"> {address}," in said and forwarding == "1"


# libmoon and MoonGen ----------------------------------------------------------------

def moongen(ports, file, *arguments):
    options = [word for number, port in enumerate(ports)
               for word in ("--port", f"{number}={port}")]
    return perigee("moongen", *options, file, *arguments)


def test_a_cpu_that_is_not_there(input_of):
    result = moongen([], input_of("moongen/core5.lua"))
    assert result.returncode == 0 and "ran\n" in result.stdout


def test_positional_packet_create(input_of):
    result = moongen([], input_of("moongen/packet_create_positional.lua"))
    assert result.returncode == 0 and "ok\n" in result.stdout


def test_fill_beyond_the_buffer(input_of):
    result = moongen(["null"], input_of("moongen/big_payload_segv.lua"), "0", "9562")
    assert result.returncode == 1
    assert "9562" in result.stderr and "traceback" not in result.stderr


def test_icmp6_checksum(input_of, tmp_path):
    moongen([f"pcap:tx={tmp_path}/o.pcap"], input_of("moongen/icmp6_checksum.lua"), "0")
    [frame] = capture.load(tmp_path / "o.pcap")
    # The pseudo header (RFC 8200, section 8.1), then ICMPv6.
    covered = frame[22:54] + struct.pack("!II", len(frame) - 54, 58) + frame[54:]
    total = sum(struct.unpack(f"!{len(covered) // 2}H", covered))
    while total > 0xffff:
        total = (total & 0xffff) + (total >> 16)
    assert total == 0xffff


def test_rates_of_try_send(input_of):
    said = moongen(["null"], input_of("moongen/try_send_rate.lua"), "0").stdout
    [total] = re.findall(r"total (\d+) packets", said)
    assert int(total) <= 1.1 * 3 * 100e6 / 8 / 64  # 100 Mbit/s of 64 bytes for 3 s


def test_the_rate_of_a_device_of_which_one_queue_is_used(input_of, tmp_path):
    said = moongen([f"pcap:tx={tmp_path}/o.pcap"], input_of("moongen/dev_rate.lua"),
                   "0").stdout
    [total] = re.findall(r"total (\d+) packets", said)
    most = 4 * 10e6 / 8 / 125  # 10 Mbit/s for 4 s
    assert 0.6 * most <= int(total) <= 1.1 * most


def test_eight_receivers_of_a_ring(input_of):
    result = moongen(["ring:r", "ring:r"], input_of("moongen/ring_rss_pool.lua"), "8")
    assert result.returncode == 0 and "empty" not in result.stderr
    sent, received = re.search(r"sent\s+(\d+)U?L?L?\s+received and freed\s+(\d+)",
                               result.stdout).groups()
    [missed] = re.findall(r"imissed\s+(\d+)", result.stdout)
    assert int(sent) == int(received) + int(missed) == 20000


# Click ------------------------------------------------------------------------------

def test_capture_files_of_different_lengths(input_of, tmp_path):
    for name in "d3-3.pcap", "d3-3000.pcap":
        (tmp_path / name).write_bytes((FOLDER / "click" / name).read_bytes())
    result = run("bash", input_of("click/d3-first-file-ends.sh"), PERIGEE)
    assert re.findall(r"^\d+$", result.stdout + result.stderr, re.M) == [
        "3000", "3000", "0"]


def test_one_capture_file_for_two_devices(input_of, tmp_path):
    name = "d3-3000.pcap"
    (tmp_path / name).write_bytes((FOLDER / "click" / name).read_bytes())
    result = run("bash", input_of("click/d4-same-file-twice.sh"), PERIGEE)
    assert re.findall(r"^\d+$", result.stdout + result.stderr, re.M) == ["3000", "3000"]


def test_queues_by_position(input_of):
    result = perigee("click", "--port", "0=null", input_of("click/d6-positional-queue.click"))
    assert (result.returncode, result.stderr) == (0, "")


def test_dynamic_rules_of_contexts(input_of):
    result = perigee("click", input_of("click/d7-ctxdispatcher-dynamic.click"))
    assert result.returncode == 0 and "A: " in result.stderr


def test_addresses_of_an_interface(input_of, namespace):
    there = namespace("a")
    there.ip("link", "add", "eth0", "type", "veth", "peer", "name", "eth1")
    there.ip("addr", "add", "192.168.7.7/24", "dev", "eth0")
    result = there.run(PERIGEE, "click", input_of("click/d2-addressinfo-ip-iface.click"))
    assert result.returncode == 0, result.stderr
    assert "100.0.0.1" in result.stdout and "192.168.7.7" not in result.stdout
