# SPDX-License-Identifier: Apache-2.0
"""`click --cpus` and `-j`: copies of a configuration on several CPUs, where it allows
that."""

import json
import os
import random
import re

import pytest
import scapy.all
from scapy.all import IP, TCP, UDP, Ether, Raw

from helpers.command import PERIGEE, perigee, run, running, wait_until

MIRROR = "FromDPDKDevice(0) -> c :: Counter -> EtherMirror -> ToDPDKDevice(0)"
DEVICE = ("--device", "0=null:size=60")
CPUS = sorted(os.sched_getaffinity(0))

two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="it takes two CPUs")


def busy(pid):
    """The apps through which packets pass."""
    result = perigee("top", "--once", "--json", "-i", "300ms", pid)
    if result.returncode:
        return set()
    return {app["name"] for app in json.loads(result.stdout)[0]["apps"] if app["output"] > 0}


@two_cpus
@pytest.mark.parametrize("words", [("--cpus", f"{CPUS[0]},{CPUS[-1]}"), ("-j", "2")],
                         ids=["cpus", "j"])
def test_copies_run_on_both(words):
    with running(PERIGEE, "click", *words, *DEVICE, "-e", MIRROR) as click:
        click.wait_for_engine()
        wait_until(lambda: {"click_1/c", "click_2/c"} <= busy(click.pid), "both copies")
        threads = {path for path in os.listdir(f"/proc/{click.pid}/task")}
        assert len(threads) > 2
        assert click.interrupt() == 0


@pytest.mark.parametrize("words, text, why", [
    ((), "FromDPDKDevice(1) -> Script(TYPE PACKET, return 0) -> Discard",
     "Script@2 :: Script: it runs for each packet, in one row"),
    ((), "Idle -> Discard; DriverManager(wait 0.1, stop)", "it receives from no device"),
    ((), "FromDPDKDevice(1) -> n :: NumberPacket -> Discard",
     "n :: NumberPacket: packets are numbered in one row"),
], ids=["script", "device", "numbers"])
def test_others_run_on_one_which_is_said(words, text, why, tmp_path):
    capture = tmp_path / "none.pcap"
    capture.write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    result = run(PERIGEE, "click", "--cpus", f"{CPUS[0]},{CPUS[0] + 1}", *DEVICE,
                 "--device", f"1=pcap:rx={capture}", *words, "-e", text, timeout=60)
    assert result.returncode == 0, result.stderr
    assert f"warning: it runs on one CPU: {why}\n" in result.stderr


NAT = """
nat :: IPRewriter(pattern 192.0.2.1 1024-65535 - - 0 0, CAPACITY 1001);
FromDevice(in) -> Strip(14) -> c :: Counter -> CheckIPHeader -> nat
  -> s :: IPClassifier(dst tcp port 80, -);
s [0] -> EtherEncap(0x0800, 2:0:0:0:0:2, 2:0:0:0:0:3) -> Queue -> ToDevice(out);
s [1] -> EtherEncap(0x0800, 2:0:0:0:0:2, 2:0:0:0:0:3) -> other :: ToDevice(other);
"""


def flows(path):
    """By what doesn't change of a flow, the payloads in the order of the file."""
    found = {}
    for packet in scapy.all.PcapReader(str(path)):
        l4 = packet[2]
        assert packet[IP].src == "192.0.2.1"
        payload = bytes(packet[Raw])
        found.setdefault((payload[:4], packet[IP].dst, type(l4), l4.dport), []).append(
            (payload, l4.sport))
    return found


@two_cpus
@pytest.mark.parametrize("words", [("--cpus", f"{CPUS[0]},{CPUS[-1]}"), ("-j", "2")],
                         ids=["cpus", "j"])
def test_a_nat_of_files_is_divided(words, tmp_path):
    capture = tmp_path / "in.pcap"
    chance = random.Random(2)
    packets = []
    for k in range(3000):
        flow = chance.randrange(150)
        l4 = (TCP, UDP)[flow % 2](sport=3000 + flow, dport=(80, 53)[flow // 2 % 2])
        packets.append(Ether(src="02:00:00:00:00:0a", dst="02:00:00:00:00:01")
                       / IP(src=f"10.0.0.{flow}", dst=f"198.51.100.{flow % 7}") / l4
                       / Raw(b"%04d %06d" % (flow, k)))
    scapy.all.wrpcap(str(capture), packets)
    seen = []
    for options in ((), words):
        result = run(PERIGEE, "click", *options, "--device", f"in=pcap:rx={capture}",
                     "--device", f"out=pcap:tx={tmp_path}/out", "--device",
                     f"other=pcap:tx={tmp_path}/other", "-h", "c.count", "-h", "nat.size",
                     "-h", "nat.capacity", "-h", "nat.mapping_failures", "-h", "c.class",
                     "-e", NAT, timeout=120)
        assert result.returncode == 0, result.stderr
        assert "it runs on one CPU" not in result.stderr
        assert re.findall(r"^(?:\d+|Counter)$", result.stdout, re.M) == [
            "3000", "150", "1001", "0", "Counter"], result.stdout + result.stderr
        seen.append((flows(tmp_path / "out"), flows(tmp_path / "other")))
    for one, two in zip(*seen):
        assert one.keys() == two.keys()
        for flow, sent in one.items():
            assert [payload for payload, _ in two[flow]] == [payload for payload, _ in sent]
            assert len({port for _, port in two[flow]}) == 1
    used = [{(flow[1:], sent[0][1]) for flow, sent in side.items()} for side in seen[1]]
    assert len(used[0]) == len(seen[1][0]) and len(used[1]) == len(seen[1][1])


@two_cpus
def test_handlers_are_those_of_one_router(tmp_path):
    capture = tmp_path / "in.pcap"
    scapy.all.wrpcap(str(capture), [Ether() / IP(src=f"10.0.0.{k}") / UDP() / Raw(b"x")
                                    for k in range(100)])
    handlers = ["Counter.count", "Discard@4.count", "version", "list", "config",
                "IPClassifier.cache_hits_ratio", "FromDevice.hw_count",
                "FromDevice.carrier", "FromDevice.count"]
    options = [word for name in handlers for word in ("-h", name)]
    said = []
    for cpus in (f"{CPUS[0]}", f"{CPUS[0]},{CPUS[-1]}"):
        result = run(PERIGEE, "click", "--cpus", cpus, "--device", f"i=pcap:rx={capture}",
                     *options, "-e", "FromDevice(i) -> Counter -> IPClassifier(-) -> "
                     "Discard", timeout=60)
        assert (result.returncode, result.stderr) == (0, ""), result.stdout + result.stderr
        said.append(result.stdout)
    assert "Counter@2.count:\n100\n" in said[0], said[0]
    assert "FromDevice@1.hw_count:\n100\n" in said[0], said[0]
    assert said[0] == said[1]


SCRIPTED = """
FromDevice(i) -> c :: Counter -> s :: Switch(0) -> d :: Discard; s [1] -> Discard;
p :: Script(TYPE PASSIVE, return $(add $(c.count) 7));
DriverManager(wait_stop, print "$(c.count) at $(s.switch)", write c.reset, write s.switch 1,
  print "$(c.count) at $(s.switch)", print $(p.run), print d.count, wait 0.05s, stop)
"""


@two_cpus
def test_a_script_speaks_to_all_copies(tmp_path):
    capture = tmp_path / "in.pcap"
    scapy.all.wrpcap(str(capture), [Ether() / IP(src=f"10.0.0.{k}") / UDP() / Raw(b"x")
                                    for k in range(100)])
    said = []
    for cpus in (f"{CPUS[0]}", f"{CPUS[0]},{CPUS[-1]}"):
        result = run(PERIGEE, "click", "--cpus", cpus, "--device", f"i=pcap:rx={capture}",
                     "-h", "d.count", "-h", "p.run", "-e", SCRIPTED, timeout=60)
        assert (result.returncode, result.stderr) == (0, ""), result.stdout + result.stderr
        said.append(result.stdout)
    assert said[0] == ("100 at 0\n0 at 1\n7\n100\nd.count:\n100\n\n"
                       "p.run:\n7\n\n"), said[0]
    assert said[0] == said[1]


@two_cpus
def test_a_script_or_a_signal_ends_all_copies():
    words = (PERIGEE, "click", "-j", "2", *DEVICE, "-e")
    result = run(*words, f"{MIRROR}; Script(wait 0.1s, stop)", timeout=60)
    assert (result.returncode, result.stderr) == (0, ""), result.stdout + result.stderr
    with running(*words, f"{MIRROR}; DriverManager(pause)") as click:
        click.wait_for_engine()
        wait_until(lambda: {"click_1/c", "click_2/c"} <= busy(click.pid), "both copies")
        assert click.interrupt() == 0, click.said


@two_cpus
def test_plan_says_how_each_element_is_divided(tmp_path):
    words = ("plan", "--no-source", "click", "--cpus", f"{CPUS[0]},{CPUS[-1]}", *DEVICE)
    chain = ("FromDPDKDevice(0) -> Strip(14) -> CheckIPHeader -> m :: FlowIPManagerIMP -> "
             "f :: FlowCounter -> {} -> Discard")
    result = run(PERIGEE, *words, "-e", chain.format("c :: Counter"), timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == (f"a copy of the router on each of the CPUs {CPUS[0]}, {CPUS[-1]}; each "
                        "gets the packets of its flows, by addresses and ports"), result.stdout
    assert ("  by flow: packets of two addresses and ports, both ways, to one copy: "
            "m :: FlowIPManagerIMP, f :: FlowCounter") in lines
    assert "  null: a queue for each copy" in lines
    assert f"on CPU {CPUS[-1]}: click_2" in lines
    result = run(PERIGEE, *words, "-e", chain.format("n :: NumberPacket"), timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "  not divided: packets are numbered in one row: n :: NumberPacket" in \
        result.stdout.splitlines(), result.stdout


@two_cpus
def test_a_file_on_two_cpus_ends(tmp_path):
    capture = tmp_path / "none.pcap"
    capture.write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    result = run(PERIGEE, "click", "--cpus", f"{CPUS[0]},{CPUS[-1]}", "--device",
                 f"0=pcap:rx={capture}", "-e", "FromDPDKDevice(0) -> Discard", timeout=60)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""


def test_a_list_that_is_none_is_refused():
    result = run(PERIGEE, "click", "--cpus", "0-x", "-e", "Idle -> Discard")
    assert result.returncode != 0
    assert "give CPUs such as 1-4 or 0,2" in result.stderr


ROUTER = """
table :: ARPTable; c :: Classifier(12/0806 20/0002, 12/0800);
q :: ARPQuerier(10.0.0.1/16, 02:00:00:00:00:01, TABLE table);
FromDevice(in) -> c; c[0] -> [1]q; out :: ToDevice(out);
c[1] -> Strip(14) -> CheckIPHeader -> GetIPAddress(16) -> q -> n :: Counter
-> Queue(2000) -> out;
q[1] -> Queue(2000) -> ToDevice(asked);
"""


@two_cpus
def test_answers_to_arp_are_told_to_all_copies(tmp_path):
    """Packets that wait in all copies leave as on one CPU when one has the answer."""
    me, chance, packets = "02:00:00:00:00:01", random.Random(3), []
    for k in range(1500):
        if k % 40 == 39:  # the same answer again and again, and later new ones
            host = chance.randrange(k // 20)
            packets.append(Ether(dst=me) / scapy.all.ARP(
                op=2, psrc=f"10.0.1.{host}", hwsrc=f"02:00:00:00:01:{host:02x}"))
        packets.append(Ether() / IP(src=f"10.2.0.{k % 250}", dst=f"10.0.1.{k % 70}")
                       / UDP(sport=k) / Raw(b"%06d" % k))
    for host in range(70):
        packets.append(Ether(dst=me) / scapy.all.ARP(
            op=2, psrc=f"10.0.1.{host}", hwsrc=f"02:00:00:00:01:{host:02x}"))
    capture = tmp_path / "in.pcap"
    scapy.all.wrpcap(str(capture), packets)
    seen, said = [], []
    for cpus in (f"{CPUS[0]}", f"{CPUS[0]},{CPUS[-1]}"):
        result = run(PERIGEE, "click", "--cpus", cpus, "--device", f"in=pcap:rx={capture}",
                     "--device", f"out=pcap:tx={tmp_path}/out", "--device",
                     f"asked=pcap:tx={tmp_path}/asked", "-h", "n.count", "-h", "table.count",
                     "-h", "q.length", "-h", "q.responses", "-h", "q.table",
                     "-e", ROUTER, timeout=120)
        assert (result.returncode, result.stderr) == (0, ""), result.stdout + result.stderr
        said.append(re.sub(r" [\d.]+$", "", result.stdout, flags=re.M))
        sent = [bytes(p) for p in scapy.all.PcapReader(f"{tmp_path}/out")]
        asked = [bytes(p) for p in scapy.all.PcapReader(f"{tmp_path}/asked")]
        seen.append((sorted(sent), set(asked)))
        assert len(sent) == 1500, f"{len(sent)} sent: {result.stdout}"
    assert seen[0][0] == seen[1][0], said
    # A copy that has heard an answer before its first packet needs no query.
    assert len(seen[0][1]) == 70 and seen[1][1] <= seen[0][1], said
    assert sorted(said[0].splitlines()) == sorted(said[1].splitlines())


SWITCH = """
s :: EtherSwitch; FromDevice(a) -> s -> Queue(2000) -> ToDevice(b);
FromDevice(b) -> [1]s[1] -> Queue(2000) -> ToDevice(a);
"""


@two_cpus
def test_a_switch_of_two_ports_is_divided(tmp_path):
    """Both copies know all stations, and each packet leaves by the other port, once."""
    files = []
    for port in (0, 1):
        files.append(tmp_path / f"in{port}.pcap")
        scapy.all.wrpcap(str(files[port]), [
            Ether(src=f"02:00:00:00:0{port}:{k % 40:02x}",
                  dst=f"02:00:00:00:0{1 - port}:{k % 37:02x}")
            / IP(src=f"10.{port}.0.{k % 40}", dst=f"10.{1 - port}.0.{k % 37}") / UDP(sport=k)
            / Raw(b"%06d" % k) for k in range(1000)])
    said, seen = [], []
    for cpus in (f"{CPUS[0]}", f"{CPUS[0]},{CPUS[-1]}"):
        devices = [word for port, name in enumerate("ab") for word in (
            "--device", f"{name}=pcap:rx={files[port]},tx={tmp_path}/out{port}")]
        result = run(PERIGEE, "click", "--cpus", cpus, *devices, "-h", "s.table",
                     "-e", SWITCH, timeout=120)
        assert (result.returncode, result.stderr) == (0, ""), result.stdout + result.stderr
        said.append(result.stdout)
        seen.append([sorted(bytes(p) for p in scapy.all.PcapReader(f"{tmp_path}/out{port}"))
                     for port in (0, 1)])
        assert [len(sent) for sent in seen[-1]] == [1000, 1000], result.stdout
    assert seen[0] == seen[1]
    assert sum(line.startswith("02-") for line in said[0].splitlines()) == 80, said
    assert said[0] == said[1]
