# SPDX-License-Identifier: Apache-2.0
"""The examples and the README: what they show is what happens."""

import collections
import re

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether

from helpers.capture import load, random_frames, save
from helpers.command import ROOT, perigee, run
from helpers.report import account, drops, port_statistics

EXAMPLES = ROOT / "examples"
README = (ROOT / "README.md").read_text()


def example(name, *args):
    result = perigee("run", EXAMPLES / name, *args)
    assert result.returncode == 0, result.stderr
    return result.stdout


# first.lua ----------------------------------------------------------------------


def sizes_reported(said):
    rows = re.findall(r"^(\d+) packets of (\d+) bytes$", said, re.MULTILINE)
    return {int(size): int(count) for count, size in rows}


@pytest.mark.fast
def test_first_counts_sizes(tmp_path):
    packets = random_frames(3000, longest=100)
    said = example("first.lua", f"pcap:rx={save(tmp_path / 'a.pcap', packets)}")
    assert sizes_reported(said) == collections.Counter(map(len, packets))
    assert account(said)["freed"] == 3000


BLOCKS = re.findall(r"^```lua\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_first_is_the_readmes_program(tmp_path):
    block = BLOCKS[0]
    file = (EXAMPLES / "first.lua").read_text()
    assert file.split("\n", 1) == ["-- SPDX-License-Identifier: Apache-2.0", block]
    program = tmp_path / "program.lua"
    program.write_text(block)
    capture = save(tmp_path / "a.pcap", [bytes(60)] * 5 + [bytes(90)])
    result = perigee("run", program, f"pcap:rx={capture}")
    assert result.returncode == 0, result.stderr
    assert sizes_reported(result.stdout) == {60: 5, 90: 1}


def test_the_readme_has_no_other_program():
    assert len(BLOCKS) == 1, "test the README's other programs too"


# bridge.lua ---------------------------------------------------------------------


@pytest.mark.fast
def test_bridge_joins_two_ports(tmp_path):
    left, right = random_frames(1000), random_frames(700)
    a, b = save(tmp_path / "a", left), save(tmp_path / "b", right)
    said = example("bridge.lua", f"pcap:rx={a},tx={tmp_path / 'to-a'}",
                   f"pcap:rx={b},tx={tmp_path / 'to-b'}")
    assert list(load(tmp_path / "to-a")) == right
    assert list(load(tmp_path / "to-b")) == left
    assert account(said)["sent"] == 1700


def test_bridge_ends_after_its_seconds():
    said = example("bridge.lua", "null", "null:size=100", "0.05")
    assert account(said)["sent"] > 1000


# drop.lua -----------------------------------------------------------------------


def ipv4(ttl, **fields):
    return Ether() / IP(src="10.0.0.1", dst="10.0.0.2", ttl=ttl, **fields) / UDP()


def test_drop_passes_ipv4_and_names_every_drop(tmp_path):
    passing = [ipv4(ttl, id=i) for i, ttl in enumerate([2, 64, 255] * 100)]
    dropped = [ipv4(1), ipv4(0), Ether(type=0x86dd) / bytes(40), Ether() / bytes(19),
               Ether() / Dot1Q() / IP() / UDP(), ipv4(1)]
    packets = [bytes(p) for p in dropped[:3] + passing + dropped[3:]]
    out = tmp_path / "out.pcap"
    said = example("drop.lua", f"pcap:rx={save(tmp_path / 'in.pcap', packets)}",
                   f"pcap:tx={out}")
    assert drops(said) == {"ttl_expired": 3, "not_ipv4": 2, "truncated": 1}
    for packet in passing:
        packet[IP].ttl -= 1
    assert list(load(out)) == [bytes(packet) for packet in passing]


def test_drop_keeps_checksums_right_for_every_sum(tmp_path):
    # The identification field runs through all values of the header's sum.
    header = bytearray(bytes(Ether() / IP(src="0.0.0.0", dst="0.0.0.0", ttl=9)))
    sent = []
    for identification in range(0x10000):
        header[18:20] = identification.to_bytes(2, "big")
        header[24:26] = bytes(2)
        header[24:26] = internet_checksum(header[14:34]).to_bytes(2, "big")
        sent.append(bytes(header))
    out = tmp_path / "out.pcap"
    example("drop.lua", f"pcap:rx={save(tmp_path / 'in.pcap', sent)}", f"pcap:tx={out}")
    received = list(load(out))
    assert len(received) == len(sent)
    for before, after in zip(sent, received):
        expected = bytearray(before)
        expected[22] = 8
        expected[24:26] = bytes(2)
        expected[24:26] = internet_checksum(expected[14:34]).to_bytes(2, "big")
        assert after == expected, before.hex()


def internet_checksum(data):
    """RFC 1071."""
    total = sum(int.from_bytes(data[i:i + 2], "big") for i in range(0, len(data), 2))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


# generate.lua -------------------------------------------------------------------


def test_generate_makes_valid_packets(tmp_path):
    out = tmp_path / "out.pcap"
    said = example("generate.lua", f"pcap:tx={out}", 2048)
    assert said == f"sent 2,048 packets to pcap:tx={out}\n"
    packets = list(load(out))
    assert [len(p) for p in packets[:12]] == [60, 590, 60, 590, 60, 60, 1514, 60, 590,
                                              60, 590, 60]
    assert len(packets) == 2048
    flows = collections.Counter()
    for data in packets:
        packet = Ether(data)
        assert internet_checksum(data[14:34]) == 0
        assert packet[IP].len == len(data) - 14
        assert packet[UDP].len == len(data) - 34
        flows[packet[UDP].sport] += 1
    assert set(flows.values()) == {2} and len(flows) == 1024


@pytest.mark.parametrize("name, args", [
    ("bridge.lua", []), ("bridge.lua", ["null"]), ("bridge.lua", ["null", "null", "x"]),
    ("drop.lua", ["null"]), ("generate.lua", []), ("generate.lua", ["null", "many"]),
])
def test_wrong_arguments_get_a_sentence(name, args):
    result = perigee("run", EXAMPLES / name, *args)
    assert result.returncode == 2
    assert re.fullmatch(r"perigee: give .*\n", result.stderr)


# snabb --------------------------------------------------------------------------


def test_bounce_swaps_addresses_and_keeps_the_rest(tmp_path):
    packets, out = random_frames(500), tmp_path / "out.pcap"
    a = save(tmp_path / "a.pcap", packets)
    result = perigee("-p", EXAMPLES / "snabb", "--port",
                     f"0000:01:00.0=pcap:rx={a},tx={out}", "bounce", "01:00.0", "0.5")
    assert result.returncode == 0, result.stderr
    assert list(load(out)) == [p[6:12] + p[:6] + p[12:] for p in packets]


# The documents' commands and tables ---------------------------------------------


def test_demo_prints_what_the_readme_shows(scratch):
    demo = scratch / "build/demo"
    result = run("bash", ROOT / "tools/demo", demo)
    assert result.returncode == 0, result.stderr
    shown = README.split("The demo ends with\n\n")[1].split("\n\nand before")[0]
    ends = result.stdout[result.stdout.index("Through a chain"):]

    def shape(text):
        text = re.sub(r"\(/\S*/(?=build/)", "(", text)
        text = re.sub(r"[\d,]+\.\d+ [kMG]?pps", "RATE", text)
        return re.sub(r"\d+\.\d+ cycles", "N cycles", text)

    lines = [line[4:] for line in shown.splitlines()]
    assert shape(ends).splitlines() == shape("\n".join(lines)).splitlines()
    sent = list(load(demo / "in.pcap"))
    assert len(sent) == 200_000
    assert sent == list(load(demo / "out.pcap"))
    for port, statistics in port_statistics(result.stdout).items():
        assert statistics["ipackets"] == statistics["opackets"] == 200_000, port
    assert sizes_reported(re.sub("^    ", "", README, flags=re.MULTILINE)) == \
        collections.Counter(map(len, sent))


def documented_commands():
    text = (EXAMPLES / "README.md").read_text()
    return re.findall(r"`(\./perigee [^`]*)`", text)


@pytest.mark.parametrize("command", documented_commands())
def test_commands_of_the_examples_readme_run(command, tmp_path):
    capture = save(tmp_path / "in.pcap", random_frames(100))
    command = command.replace("/tmp/", f"{tmp_path}/")
    command = command.replace("build/demo/in.pcap", str(capture))
    result = run("sh", "-c", command, cwd=ROOT)
    assert result.returncode == 0, result.stderr


def first_column(heading):
    section = README.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.*?) \|", section, re.MULTILINE)
    return " ".join(rows[1:])


@pytest.mark.fast
def test_readme_lists_all_programs():
    listed = set(re.findall(r"`(\w+)[^`]*`", first_column("Programs")))
    programs = perigee().stdout.split("Programs:\n")[1]
    assert listed == set(re.findall(r"^  (\S+)", programs, re.MULTILINE))


@pytest.mark.fast
def test_readme_lists_all_kinds_of_port():
    listed = set(re.findall(r"`([\w-]+)(?=[:`])", first_column("Ports")))
    kinds = perigee("ports", "--kinds").stdout
    there = set(re.findall(r"^  ([\w-]+)(?=[:\[ ])", kinds, re.MULTILINE))
    assert listed == there


def test_bounce_runs_on_two_cpus():
    """Snabb's driver apps get a queue for each copy, as Port does."""
    result = perigee("-p", "examples/snabb", "--port", "0000:01:00.0=null", "bounce",
                     "01:00.0", "2", "--cpus", "0-1", cwd=ROOT)
    assert result.returncode == 0, result.stderr
    assert re.search(r"[1-9][\d,]* sent on nic.tx -> swap.input", result.stdout)
