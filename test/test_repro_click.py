# SPDX-License-Identifier: Apache-2.0
"""Small configurations of Click, each the least that failed of one of others' that was run
on Perigee, with what is right."""

import re
import struct

import pytest

from helpers import capture
from helpers.command import PERIGEE, perigee


def click(text, *options):
    """Run a configuration; the finished process."""
    return perigee("click", *options, "-e", text)


def values(result):
    """The lines with a number of what `-h` printed."""
    return [int(line) for line in re.findall(r"^\d+$", result.stdout, re.MULTILINE)]


def test_an_address_of_an_interface_that_has_another(namespace):
    there = namespace("click")
    there.ip("link", "add", "eth0", "type", "veth", "peer", "name", "eth1")
    there.ip("addr", "add", "192.168.7.7/24", "dev", "eth0")
    result = there.run(PERIGEE, "click", "-e", """AddressInfo(HERE 100.0.0.1 eth0);
Idle -> r :: ARPResponder(HERE) -> Discard; DriverManager(print r.table, stop)""")
    address = there.check("cat", "/sys/class/net/eth0/address").strip()
    assert result.stdout == f"100.0.0.1/32 {address.upper().replace(':', '-')}\n"


@pytest.mark.parametrize("queue", ["-> Queue(100000)", ""])
def test_files_of_different_lengths(tmp_path, queue):
    for name, count in ("long", 2500), ("short", 3), ("none", 0):
        capture.save(tmp_path / f"{name}.pcap", [bytes(60)] * count)
    result = click(f"""FromDevice(a) -> i :: Counter {queue}
  -> o :: Counter -> {'Unqueue ->' if queue else ''} Discard;
FromDevice(b) -> s :: Counter -> Discard; FromDevice(c) -> n :: Counter -> Discard""",
                   *(word for name, file in zip("abc", ("long", "short", "none"))
                     for word in ("--device", f"{name}=pcap:rx={tmp_path}/{file}.pcap")),
                   "-h", "i.count", "-h", "o.count", "-h", "s.count", "-h", "n.count")
    assert values(result) == [2500, 2500, 3, 0], result.stderr


def test_a_file_for_two_devices(tmp_path):
    port = f"pcap:rx={capture.save(tmp_path / 'f.pcap', [bytes(60)] * 700)}"
    result = click("FromDevice(a) -> i :: Counter -> Discard;"
                   "FromDevice(b) -> j :: Counter -> Discard",
                   "--device", f"a={port}", "--device", f"b={port}",
                   "-h", "i.count", "-h", "j.count")
    assert values(result) == [700, 700], result.stderr


def test_a_queue_by_its_position():
    result = click("FromDPDKDevice(0, 0) -> ToDPDKDevice(0, 0); Script(wait 1ms, stop)",
                   "--port", "0=null")
    assert (result.returncode, result.stderr) == (0, "")


def test_a_context_with_a_mask_alone():
    result = click("""InfiniteSource(LENGTH 20, LIMIT 1, STOP true) -> CTXManager
  -> d :: CTXDispatcher(12/0/ffffffff) -> c :: Counter -> Discard; d[1] -> Discard""",
                   "-h", "c.count")
    assert values(result) == [1], result.stderr


def fragments(size, part=1480):
    """The fragments of a UDP datagram of `size` bytes."""
    data = struct.pack("!HHHH", 5000, 53, size + 8, 0) + bytes(size)
    frames = []
    for at in range(0, len(data), part):
        piece = data[at:at + part]
        more = 0x2000 if at + part < len(data) else 0
        header = struct.pack("!BBHHHBBH4B4B", 0x45, 0, 20 + len(piece), 7,
                             more | at // 8, 64, 17, 0, 10, 0, 0, 1, 9, 9, 9, 9)
        frames.append(bytes(12) + b"\x08\x00" + header + piece)
    return frames


def test_fragments_and_a_nat(tmp_path):
    """Alone it says what is missing; with it the datagram passes, whole and in fragments."""
    port = capture.save(tmp_path / "f.pcap", fragments(4000))
    for before, behind, count in ("", "", 1), ("-> IPReassembler", "-> IPFragmenter(1500)", 3):
        result = click(f"""FromDevice(a) -> Strip(14) -> SetIPChecksum -> CheckIPHeader
  {before} -> rw :: IPRewriter(pattern 1.2.3.4 1024-65535 - - 0 0) {behind}
  -> IPClassifier(src host 1.2.3.4) -> c :: Counter -> Discard""",
                       "--device", f"a=pcap:rx={port}", "-h", "c.count")
        assert values(result) == [count], result.stderr
        assert ("IPReassembler" in result.stderr) == (before == "")


@pytest.mark.parametrize("tool", ["flatten", "align", "check", "combine", "devirtualize",
                                  "fastclassifier", "pretty", "uncombine", "undead",
                                  "xform"])
def test_options_that_a_tool_of_clicks_has_not(tool):
    result = perigee(f"click-{tool}", "--no-such-option")
    assert result.returncode != 0 and "--no-such-option" in result.stderr


@pytest.mark.parametrize("element, keyword", [
    ("IPRewriter", "UDP_TIMEOUT"), ("ICMPPingRewriter", "TIMEOUT"),
    ("ControlSocket", "LOCALHOST")])
def test_keywords_are_explained(element, keyword):
    page = perigee("click", "--explain", element).stdout
    assert re.search(rf"^ +{keyword} +(seconds|bool) .*by keyword only", page,
                     re.MULTILINE), page
