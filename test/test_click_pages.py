# SPDX-License-Identifier: Apache-2.0
"""The examples on the pages of elements (`perigee click --explain`) that have devices or
sockets, or messages of the configuration itself, run as a user runs them. The others run
in click/click/pages/examples_spec.lua."""

import re
import struct

import pytest

from helpers.command import PERIGEE, ROOT, perigee

EXAMPLES = ROOT / "click/click/pages/examples"
FAILS = {"Error"}


def examples(family):
    """What is below each name."""
    text = (EXAMPLES / f"{family}.txt").read_text()
    return dict(re.findall(r"^(\w+)\n((?: .*\n)+)", text, re.MULTILINE))


BELOW = {**examples("apps"), **examples("control"), **examples("devices"),
         **{name: examples("standard")[name] for name in ("Error", "Message")}}


def unindented(block):
    return "".join(line[4:] + "\n" for line in block.splitlines())


@pytest.fixture
def place(tmp_path):
    """A folder with a capture file of three packets, in.pcap, and a line of tcpdump's,
    in.txt."""
    (tmp_path / "in.txt").write_text(
        "977492832.612442 10.0.0.1.1234 > 10.0.0.2.22: S 10:10(0) win 5840\n")
    record = struct.pack("<IIII", 1000, 0, 60, 60) + bytes(60)
    (tmp_path / "in.pcap").write_bytes(
        struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1) + 3 * record)
    return tmp_path


@pytest.fixture
def machine(namespace):
    """A namespace with two interfaces that are joined, and a way for multicast."""
    inside = namespace()
    inside.ip("link", "add", "eth0", "type", "veth", "peer", "name", "eth1")
    for name in ("eth0", "eth1"):
        inside.ip("link", "set", name, "up")
    inside.ip("route", "add", "239.0.0.0/8", "dev", "lo")
    return inside


@pytest.mark.parametrize("name", BELOW)
def test_the_example_prints_what_its_page_says(name, machine, place):
    text, _, prints = BELOW[name].partition("  prints\n")
    text = unindented(text)
    if name == "KernelFilter":  # it calls this program, and nothing else may change
        text = text.replace("eth1);", "eth1, IPTABLES_COMMAND /bin/true);", 1)
    result = machine.run("sh", "-c", '"$0" click -e "$1" 2>&1', PERIGEE, text, cwd=place)
    assert result.returncode == (1 if name in FAILS else 0), result.stdout
    said = re.sub(" +$", "", result.stdout, flags=re.MULTILINE)
    assert said == unindented(prints), result.stdout


@pytest.mark.parametrize("name", ["Counter", "FromDPDKDevice"])
def test_examples_are_on_pages(name):
    page = perigee("click", "--explain", name).stdout
    family = "standard" if name == "Counter" else "devices"
    assert f"\nExample\n{examples(family)[name]}" in page
