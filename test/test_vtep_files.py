# SPDX-License-Identifier: Apache-2.0
"""`perigee vtep` over capture files, against Scapy; its counters and command line."""

import json
import os
import re
import signal
import time

import pytest
from scapy.layers.inet import IP, IPOption, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN

from helpers.capture import load, save
from helpers.command import PERIGEE, perigee, running, wait_until
from helpers.report import account, drops
from helpers.schema import valid
from helpers.vtep import V4, V6


def flow(n, size):
    return bytes(Ether(dst=f"02:00:00:00:01:{n % 250:02x}", src="02:00:00:00:00:09")
                 / IP(src="10.0.0.1", dst="10.0.0.2", tos=n % 4)
                 / UDP(sport=1000 + n, dport=80) / bytes(size))


FRAMES = [flow(n, 5 * n) for n in range(250)] \
    + [bytes(Ether(dst="ff:ff:ff:ff:ff:ff") / ARP())] \
    + [bytes(Ether() / IPv6() / TCP(dport=n)) for n in range(20)]


def through(tmp_path, underlay, inner, outer, *options):
    """Run an end point on files; what it said, and its two outputs."""
    files = {"inner": inner, "outer": outer}
    words = []
    for name, packets in files.items():
        capture = save(tmp_path / f"{name}.pcap", packets)
        words += [f"--{name}", f"pcap:rx={capture},tx={tmp_path / name}-out.pcap"]
    result = perigee("vtep", *words, "--address",
                     f"{underlay['own']}/{underlay['length']}", "--vni", 42, "--remote",
                     underlay["remote"].format(2) + "@02:00:00:00:00:02", "--mac",
                     "02:00:00:00:00:01", *options)
    assert result.returncode == 0, result.stderr
    account(result.stdout)
    return result.stdout, *(list(load(tmp_path / f"{name}-out.pcap")) for name in files)


@pytest.mark.parametrize("underlay", [V4, V6], ids=["ip4", "ip6"])
def test_scapy_reads_what_is_sent(tmp_path, underlay):
    _, _, sent = through(tmp_path, underlay, FRAMES, [], "--dscp", "10")
    assert len(sent) == len(FRAMES)
    ports = set()
    for frame, data in zip(FRAMES, sent):
        packet = Ether(data)
        assert packet.dst == "02:00:00:00:00:02" and packet.src == "02:00:00:00:00:01"
        ip = packet[1]
        assert (ip.src, ip.dst) == (underlay["own"], underlay["remote"].format(2))
        inner = Ether(frame)
        ecn = inner[IP].tos & 3 if IP in inner else 0
        assert (ip.tos if underlay is V4 else ip.tc) == 10 << 2 | ecn
        udp = ip[UDP]
        assert udp.dport == 4789 and 49152 <= udp.sport
        ports.add(udp.sport)
        assert ip[VXLAN].vni == 42 and ip[VXLAN].flags == 8
        assert bytes(ip[VXLAN].payload) == frame
        # What Scapy makes of the same fields is the same, checksums included.
        remade = packet.copy()
        if underlay is V4:
            assert ip.flags == "DF" and udp.chksum == 0
            del remade[IP].len, remade[IP].chksum, remade[UDP].len
        else:
            assert udp.chksum != 0
            del remade[IPv6].plen, remade[UDP].len, remade[UDP].chksum
        assert bytes(remade) == data
    assert len(ports) > 200


@pytest.mark.parametrize("underlay", [V4, V6], ids=["ip4", "ip6"])
def test_what_scapy_sends_is_read(tmp_path, underlay):
    layer = IP if underlay is V4 else IPv6
    outer = (Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
             / layer(src=underlay["remote"].format(2), dst=underlay["own"]))
    options = {"options": [IPOption(b"\x94\x04\0\0")]} if underlay is V4 else {}
    packets = [outer / UDP(sport=50000, dport=4789) / VXLAN(vni=42, flags="Instance")
               / frame for frame in FRAMES]
    plain = [bytes(p) for p in packets]
    for p in packets:
        p[UDP].chksum = 0
        for name, value in options.items():
            setattr(p[layer], name, value)
    damaged = [data[:-1] + bytes([data[-1] ^ 1]) for data in plain]
    wrong = [bytes(outer / UDP(dport=4789) / VXLAN(vni=7, flags=8) / FRAMES[0]),
             bytes(outer / UDP(dport=4790) / VXLAN(vni=42, flags=8) / FRAMES[0]),
             bytes(outer / UDP(dport=4789, chksum=0) / VXLAN(flags=0) / FRAMES[0])]
    packets = plain + [bytes(p) for p in packets] + damaged + wrong
    said, received, _ = through(tmp_path, underlay, [], packets)
    assert received == FRAMES + FRAMES
    assert drops(said) == {"bad_udp_checksum": len(FRAMES), "unknown_vni": 1,
                           "other_port": 1, "no_vni": 1}


@pytest.mark.parametrize("words, part", [
    ([], "name the inner port: --inner"),
    (["--inner", "null", "--outer", "null"], "name the tunnel's own address"),
    (["--inner", "null", "--outer", "null", "--address", "192.0.2.1"], "write it with"),
    (["--inner", "null", "--outer", "null", "--address", "192.0.2.1/24"], "needs a VNI"),
    (["--vlan", "5"], "'5' isn't a VLAN and its VNI"),
    (["--config", "/nonexistent"], "can't be read: /nonexistent: No such file"),
    (["--config", "/"], "can't be read: /: Is a directory"),
    (["--config", PERIGEE], "can't be read: "),
    (["--report", "0", "--inner", "null", "--outer", "null", "--address",
      "192.0.2.1/24"], "report is a time of more than 0"),
])
def test_wrong_arguments_get_a_sentence(words, part):
    result = perigee("vtep", *words)
    assert result.returncode == 2
    assert part in result.stderr and result.stderr.count("\n") == 1, result.stderr


def test_a_line_now_and_then():
    """What --report prints, with the number of entries: one is static."""
    result = perigee("vtep", "--inner", "null", "--outer", "null", "--address",
                     "192.0.2.1/24", "--vni", "42", "--remote",
                     "192.0.2.2@02:00:00:00:00:02", "--static",
                     "42,02:00:00:00:00:03,192.0.2.2", "--duration", "300ms", "--report",
                     "50ms")
    assert result.returncode == 0, result.stderr
    assert re.search(r"^vtep: in \d+ \(.*decapsulated 0 \(0 pps\), 1 entries",
                     result.stdout + result.stderr, re.M)


def test_counters_of_vnis_and_remotes(tmp_path):
    """What each VNI and remote has carried, against what was sent and received."""
    frames = [flow(n, 5 * n) for n in range(100)]
    tagged = [bytes(Ether(dst="ff:ff:ff:ff:ff:ff") / Dot1Q(vlan=7) / IP() / bytes(40))] * 3
    outer = Ether(dst="02:00:00:00:00:01") / IP(src="192.0.2.3", dst="192.0.2.1")
    packets = [bytes(outer / UDP(dport=4789) / VXLAN(vni=43, flags=8) / frame)
               for frame in frames[:40]]
    file, state = tmp_path / "results.json", tmp_path / "state.json"
    said, _, sent = through(
        tmp_path, V4, frames + tagged, packets, "--vlan", "7=43", "--json", file,
        "--state", state, "--remote", "192.0.2.3@02:00:00:00:00:03",
        "--static", "42,02:00:00:00:01:05,192.0.2.2")
    results = valid("vtep", file.read_text())

    def traffic(data):
        return {"packets": len(data), "bytes": sum(map(len, data))}

    untagged = [frame[:12] + frame[16:] for frame in tagged]
    known = [frame for frame in frames if frame[5] == 5]
    flooded = [frame for frame in frames if frame[5] != 5]
    one, two = results["vnis"]
    assert (one["vni"], one["vlan"], two["vni"], two["vlan"]) == (42, 0, 43, 7)
    assert one["encapsulated"] == traffic(known + 2 * flooded)
    assert one["flooded"] == traffic(flooded)
    assert two["encapsulated"] == traffic(2 * untagged)
    assert two["decapsulated"] == traffic(frames[:40])
    first, second = results["remotes"]
    assert first["address"] == "192.0.2.2" and first["mac"] == "02:00:00:00:00:02"
    assert first["encapsulated"] == traffic(known + flooded + untagged)
    assert second["encapsulated"] == second["flooded"] == traffic(flooded + untagged)
    assert second["decapsulated"] == traffic(frames[:40])
    assert first["decapsulated"] == traffic([])
    total = sum(v["encapsulated"]["packets"] for v in results["vnis"])
    assert total == len(sent) == sum(r["encapsulated"]["packets"]
                                     for r in results["remotes"])
    assert f"VNI 43: encapsulated 6 ({traffic(2 * untagged)['bytes']} bytes), " in said
    assert "remote 192.0.2.3: encapsulated 102 " in said
    entries = valid("vtep", state.read_text())["entries"]
    assert {(e["vni"], e["mac"], e["remote"], e["static"]) for e in entries} == {
        (42, "02:00:00:00:01:05", "192.0.2.2", True),
        (43, "02:00:00:00:00:09", "192.0.2.3", False)}


def test_json_alone_to_stdout_and_what_cannot_be_written():
    words = ["vtep", "--inner", "null", "--outer", "null", "--address", "192.0.2.1/24",
             "--vni", 42, "--remote", "192.0.2.2@02:00:00:00:00:02", "--duration", "0.1"]
    results = valid("vtep", perigee(*words, "--json", "-").stdout)
    assert results["vnis"][0]["vni"] == 42 and results["remotes"][0]["named"]
    full = os.stat("/dev/full")
    for option in "--json", "--state":
        result = perigee(*words, option, "/no/such/file")
        assert result.returncode == 2
        assert f"{option}: '/no/such/file' can't be written: " in result.stderr
    result = perigee(*words, "--state", "-")
    assert result.returncode == 2
    assert "--state: '-' is standard output, to which this can't go" in result.stderr
    result = perigee(*words, "--state", "/dev/full")
    assert result.returncode == 1
    assert "can't write /dev/full: No space left on device" in result.stderr
    assert os.path.samestat(os.stat("/dev/full"), full)


def test_a_signal_comes_before_it_runs(tmp_path):
    """While its configuration is opened and read, from a pipe here: it is read again
    later."""
    file, new, shm = tmp_path / "vtep.lua", tmp_path / "new.lua", tmp_path / "shm"
    new.write_text('return {inner = "null", outer = "null", address = "192.0.2.1/24", '
                   'remotes = {"192.0.2.2"}, vnis = {[42] = 0}}')
    os.mkfifo(file)
    environment = {**os.environ, "SNABB_SHM_ROOT": str(shm)}
    with running(PERIGEE, "vtep", "--config", file, env=environment) as program:
        wait_until((shm / str(program.pid) / "reloads").exists, "that it takes SIGHUP")
        for _ in range(20):  # some of them while it waits for a writer
            program.send(signal.SIGHUP)
            time.sleep(0.01)
        assert program.runs_for(0.3), program.said  # else nobody would read the pipe
        with open(file, "w", encoding="ascii") as pipe:  # waits for the reader
            pipe.write(new.read_text())
            os.rename(new, file)
            program.send(signal.SIGHUP)
        program.wait_for("vtep: 192.0.2.1", count=2)
        assert program.interrupt() == 0, program.said
