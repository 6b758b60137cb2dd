# SPDX-License-Identifier: Apache-2.0
"""What `perigee lwaftr` reads and writes: configurations, also as they change, packets
and tables."""

import os
import re

import pytest
from scapy.all import rdpcap

from helpers.capture import save
from helpers.command import PERIGEE, ROOT, perigee, run
from helpers.lwaftr_check import INNER, Lwaftr


@pytest.fixture
def generated(tmp_path):
    """The path of a configuration with 1,008 softwires, and options for ports that give
    packets for it over and over."""
    conf, v4, v6 = (tmp_path / name for name in ("g.conf", "4.pcap", "6.pcap"))
    result = perigee("lwaftr", "generate", "-o", conf, "-4", v4, "-6", v6, "-n", 500,
                     "193.5.1.0", 16, "fc00::100", "fc00:1:2:3:4:5:0:7e", 6)
    assert result.returncode == 0, result.stderr
    ports = [f"--vdev=net_pcap{i},rx_pcap={path},infinite_rx=1"
             for i, path in enumerate((v4, v6))]
    return conf, ["--eal", ports[0], "--eal", ports[1]]


def test_changes_and_swaps_lose_no_packet(generated):
    """1,000 changes of softwires a second, and the same table read anew and swapped in,
    while packets pass."""
    conf, ports = generated
    result = perigee(*ports, "run", ROOT / "bench/lua/lwaftr_changes.lua", conf, 0.5)
    assert result.returncode == 0, result.stderr
    lines = dict(line.split(" ", 1) for line in result.stdout.splitlines())
    made, _, packets, _, lost = lines["changes"].split()
    assert int(made) >= 500 and int(packets) > 0 and int(lost) == 0
    assert len(lines["swaps"].split()) == 5
    assert lines["softwires"].startswith("1008 ")


def test_changes_by_another_cpu_disturb_no_packet(generated):
    """All packets go the fast ways, though the table changes while they are looked up."""
    conf, ports = generated
    cpu = max(os.sched_getaffinity(0))
    result = perigee(*ports, "run", ROOT / "test/lwaftr_changes_elsewhere.lua", conf, 1,
                     cpu)
    assert result.returncode == 0, result.stderr
    counts = {name: int(n) for name, n in map(str.split, result.stdout.splitlines())}
    assert counts.pop("changes") > 0
    for a, b in (("inet/in-ipv4-packets", "inet/out-ipv6-packets"),
                 ("b4/in-ipv6-packets", "b4/out-ipv4-packets")):
        assert counts.pop(a) == counts.pop(b) > 0
    assert all(name.startswith("nic") for name in counts), counts


def test_generates_a_table_and_packets_for_it(tmp_path):
    conf, v4, v6 = tmp_path / "g.conf", tmp_path / "4.pcap", tmp_path / "6.pcap"
    result = perigee("lwaftr", "generate", "-o", conf, "-4", v4, "-6", v6, "-n", 50,
                     "193.5.1.100", 3, "fc00::100", "fc00:1:2:3:4:5:0:7e", 6)
    assert result.returncode == 0, result.stderr
    assert conf.read_text().count("softwire {") == 3 * 63
    counters = tmp_path / "c.lua"
    out4, out6 = tmp_path / "o4.pcap", tmp_path / "o6.pcap"
    result = perigee("lwaftr", "check", "-r", conf, v4, v6, out4, out6, counters)
    assert result.returncode == 0, result.stderr
    assert len(rdpcap(str(out4))) == len(rdpcap(str(out6))) == 50


@pytest.mark.parametrize("arguments, said", [
    ([], "lwaftr needs a command; see `perigee lwaftr --help`"),
    (["chek"], "lwaftr has no command 'chek'; is 'check' meant?"),
    (["check", "/none.conf", "a", "b", "c", "d"], "the configuration can't be read: "
     "/none.conf: No such file or directory"),
    (["generate", "1.2.3", "1", "::1", "::2", "6"],
     "ipv4: '1.2.3' isn't an IPv4 address such as 192.0.2.1"),
    (["generate", "1.2.3.4", "1", "::1", "::2", "6", "11"],
     "psid_length 6 and shift 11 are more than 16 bits"),
    (["generate", "255.255.255.255", "2", "::1", "::2", "6"],
     "there aren't 2 addresses from 255.255.255.255 on"),
    (["generate", "-o", "/none/a", "1.2.3.4", "1", "::1", "::2", "6"],
     "can't write /none/a: No such file or directory"),
    (["generate", "-o", "/dev/full", "1.2.3.4", "1", "::1", "::2", "6"],
     "can't write /dev/full: No space left on device")])
def test_refuses_in_a_sentence(arguments, said):
    result = perigee("lwaftr", *arguments)
    assert result.returncode in (1, 2)
    assert said in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize("source, said", [
    ("tr '\\0' '{' < /dev/zero", "/dev/stdin:1: '{' is here, where a name should be"),
    ("tr '\\0' x < /dev/zero", "/dev/stdin:1: a word or text that begins here has more "
     "than a megabyte"),
    ("echo 'softwire-config {'", "/dev/stdin:2: the end is here, where a name or '}' "
     "should be"),
    ("cat /dev/null", "the configuration has no instance")])
def test_refuses_files_of_any_size(tmp_path, source, said):
    """Endless ones, too, of which no more is read than is wrong."""
    files = [tmp_path / name for name in "abcd"]
    save(files[0], [])
    save(files[1], [])
    result = run("sh", "-c", f"{source} | '{PERIGEE}' lwaftr check /dev/stdin \"$@\"",
                 "sh", *files)
    assert (result.returncode, result.stderr) == (2, f"perigee: {said}\n")
    assert not files[2].exists() and not files[3].exists()


def test_says_what_it_cannot_write(tmp_path):
    lwaftr = Lwaftr(tmp_path)
    conf = lwaftr.folder / "a.conf"
    lwaftr(v4=[INNER])
    v4, v6 = lwaftr.folder / "in4.pcap", lwaftr.folder / "in6.pcap"
    for outputs in (["/dev/null", "/dev/full", "/dev/null"],
                    ["/dev/null", "/dev/null", "/dev/full"]):
        result = perigee("lwaftr", "check", "-r", conf, v4, v6, *outputs)
        assert result.returncode == 1
        assert re.fullmatch("perigee: .*can't .*No space left on device\n",
                            result.stderr), result.stderr


def test_bench_writes_rates_of_the_last_part_of_a_second(tmp_path):
    conf, v4, v6 = (tmp_path / name for name in ("g.conf", "4.pcap", "6.pcap"))
    result = perigee("lwaftr", "generate", "-o", conf, "-4", v4, "-6", v6, "-n", 50,
                     "193.5.1.0", 1, "fc00::100", "fc00:1:2:3:4:5:0:7e", 6)
    assert result.returncode == 0, result.stderr
    result = perigee("lwaftr", "bench", "-D", "600ms", conf, v4, v6)
    assert result.returncode == 0, result.stderr
    heading, *lines = result.stdout.splitlines()
    assert heading.startswith("Time (s),Decap. MPPS")
    assert lines and all(float(rate) > 0 for line in lines for rate in line.split(","))
