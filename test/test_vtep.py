# SPDX-License-Identifier: Apache-2.0
"""`perigee vtep` against the Linux kernel's VXLAN devices, over AF_PACKET and AF_XDP.

    station 10.9.0.1 -- left | perigee vtep | right -- underlay bridge -- remotes
                                                       192.0.2.2 with vxlan0 10.9.0.2, ...
"""

import json
import re
import signal

import pytest
from scapy.layers.inet import IP, IPOption, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN

from helpers.capture import load, save
from helpers.command import PERIGEE, perigee, running, tool, wait_until
from helpers.network import Wire, veth
from helpers.report import account, drops

KINDS = ["packet", "xdp"]
V4 = {"own": "192.0.2.1", "remote": "192.0.2.{}", "length": 24}
V6 = {"own": "2001:db8::1", "remote": "2001:db8::{}", "length": 64}


class Site:
    """A station behind Perigee's end point, and `remotes` others behind the kernel's,
    each a namespace; all on one underlay network (a bridge)."""

    def __init__(self, make, kind, remotes=1, underlay=V4, vnis=(42,), checksum=None):
        self.kind, self.underlay, self.vnis = kind, underlay, vnis
        self.station, self.middle, self.net = make("s"), make("m"), make("n")
        self.offloads = kind == "packet"
        veth(self.middle, "left", self.station, "net", offloads=self.offloads)
        veth(self.middle, "right", self.net, "own", offloads=self.offloads)
        self.net.ip("link", "add", "lan", "type", "bridge")
        self.net.ip("link", "set", "own", "master", "lan")
        self.net.ip("link", "set", "lan", "up")
        mtu = 1450 if underlay is V4 else 1430
        self.station.ip("link", "set", "net", "mtu", str(mtu))
        self.station.ip("address", "add", "10.9.0.1/24", "dev", "net")
        self.remotes = []
        for n in range(2, 2 + remotes):
            self.remotes.append(self.remote(make(f"r{n}"), n, checksum))

    def remote(self, host, n, checksum):
        veth(self.net, f"to{n}", host, "under", offloads=self.offloads)
        self.net.ip("link", "set", f"to{n}", "master", "lan")
        host.check("sysctl", "-qw", "net.ipv6.conf.under.disable_ipv6=0")
        address = self.underlay["remote"].format(n)
        options = ["nodad"] if ":" in address else []
        host.ip("address", "add", f"{address}/{self.underlay['length']}", "dev", "under",
                *options)
        for i, vni in enumerate(self.vnis):
            host.ip("link", "add", f"vxlan{i}", "type", "vxlan", "id", str(vni),
                    "dstport", "4789", "local", address, *(checksum or []))
            if not self.offloads:
                host.check("ethtool", "-K", f"vxlan{i}", "tx", "off", "gso", "off", "tso",
                           "off", "gro", "off")
            host.check("bridge", "fdb", "append", "00:00:00:00:00:00", "dev",
                       f"vxlan{i}", "dst", self.underlay["own"])
            host.ip("link", "set", f"vxlan{i}", "up")
            host.ip("address", "add", f"10.{9 + i}.0.{n}/24", "dev", f"vxlan{i}")
        return host

    def start(self, *options):
        words = ["--inner", f"{self.kind}:left", "--outer", f"{self.kind}:right",
                 "--address", f"{self.underlay['own']}/{self.underlay['length']}",
                 "--vni", self.vnis[0]]
        for i, vni in enumerate(self.vnis[1:], 1):
            words += ["--vlan", f"{10 + i}={vni}"]
        for n in range(2, 2 + len(self.remotes)):
            words += ["--remote", self.underlay["remote"].format(n)]
        return running(*self.middle.command(PERIGEE, "vtep", *words, *options))


def ping(host, to, *options):
    return host.run("ping", "-n", "-W", "2", *options, to)


def wait_for_ping(host, to, program):
    def answers():
        assert program.read(), program.said
        return ping(host, to, "-c", "1").returncode == 0
    wait_until(answers, f"a first ping to {to}", timeout=30)


def assert_pings(host, to, *options):
    result = ping(host, to, "-c", "5", "-i", "0.05", *options)
    assert " 0% packet loss" in result.stdout, result.stdout


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("underlay", [V4, V6], ids=["ip4", "ip6"])
def test_ping_both_ways(namespace, kind, underlay):
    site = Site(namespace, kind, underlay=underlay)
    other, = site.remotes
    with site.start() as program:
        wait_for_ping(site.station, "10.9.0.2", program)
        assert_pings(site.station, "10.9.0.2")
        assert_pings(other, "10.9.0.1")
        # The largest frame that fits the underlay's 1,500 bytes, and one of 1,400.
        largest = 1500 - (50 if underlay is V4 else 70) - 28
        for size in 0, 1400 - (0 if underlay is V4 else 28), largest:
            assert_pings(site.station, "10.9.0.2", "-s", str(size), "-M", "do")
            assert_pings(other, "10.9.0.1", "-s", str(size))
        # The end point is a host too.
        assert_pings(other, underlay["own"])
        assert program.interrupt() == 0, program.said
    account(program.said)
    # The kernel's bridge and hosts say this and that to groups.
    assert set(drops(program.said)) <= {"unresolved", "other_mac", "other_protocol"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", [[], ["--reverse"]], ids=["out", "in"])
def test_a_tcp_transfer(namespace, kind, direction):
    site = Site(namespace, kind)
    other, = site.remotes
    with site.start() as program, \
            running(*other.command("iperf3", "-s", "-1", "--forceflush")) as server:
        wait_for_ping(site.station, "10.9.0.2", program)
        server.wait_for("Server listening")
        result = site.station.run("iperf3", "-c", "10.9.0.2", "-n", "20M", "--json",
                                  "--connect-timeout", "5000", *direction)
        assert result.returncode == 0, result.stdout
        end = json.loads(result.stdout)["end"]
        assert end["sum_sent"]["bytes"] >= 20 * 1000**2
        assert end["sum_received"]["bytes"] > 10 * 1000**2
        assert program.interrupt() == 0, program.said
    account(program.said)


def frames_to_kernel(host):
    """VXLAN packets that a remote has received, by the kernel's count of UDP."""
    said = host.check("nstat", "-asz", "UdpInDatagrams")
    return int(re.search(r"UdpInDatagrams\s+(\d+)", said)[1])


@pytest.mark.parametrize("kind", KINDS)
def test_learning_and_flooding_with_two_remotes(namespace, kind):
    site = Site(namespace, kind, remotes=2)
    two, three = site.remotes
    with site.start() as program:
        for n in 2, 3:
            wait_for_ping(site.station, f"10.9.0.{n}", program)
        # Known by now: what is for one doesn't go to the other.
        before = frames_to_kernel(three)
        assert_pings(site.station, "10.9.0.2")
        assert frames_to_kernel(three) - before <= 2  # an ARP request, maybe
        # What comes from a tunnel isn't flooded to others: two doesn't reach three.
        assert ping(two, "10.9.0.3", "-c", "1").returncode != 0
        # Broadcasts reach both.
        before = [frames_to_kernel(host) for host in (two, three)]
        ping(site.station, "10.9.0.255", "-b", "-c", "3", "-i", "0.05")
        after = [frames_to_kernel(host) for host in (two, three)]
        assert all(b - a >= 3 for a, b in zip(before, after)), (before, after)
        # A station that moves is found where it is.
        mac = json.loads(two.ip("-json", "link", "show", "vxlan0"))[0]["address"]
        two.ip("link", "set", "vxlan0", "down")
        three.ip("link", "set", "vxlan0", "down")
        three.ip("link", "set", "vxlan0", "address", mac, "up")
        three.ip("address", "add", "10.9.0.2/24", "dev", "vxlan0")
        assert ping(three, "10.9.0.1", "-c", "1").returncode == 0
        assert_pings(site.station, "10.9.0.2")
        assert program.interrupt() == 0, program.said
    account(program.said)
    assert re.search(r"^  moved [1-9]", program.said, re.MULTILINE), program.said


@pytest.mark.parametrize("kind", KINDS)
def test_vlans_and_their_vnis(namespace, kind):
    """VLAN 11 of the inner port is another VNI; its frames have the tag there alone."""
    site = Site(namespace, kind, vnis=(42, 16777215))
    other, = site.remotes
    with site.start() as program:
        wait_for_ping(site.station, "10.9.0.2", program)
        with Wire(site.station, "net") as wire:
            ask = (Ether(src="02:00:00:00:00:0a", dst="ff:ff:ff:ff:ff:ff")
                   / Dot1Q(vlan=11) / ARP(hwsrc="02:00:00:00:00:0a", psrc="10.10.0.1",
                                          pdst="10.10.0.2"))
            wire.send(bytes(ask))
            answers = iter(lambda: wire.receive(5), None)
            answer = next(a for a in map(Ether, answers) if Dot1Q in a and ARP in a)
            assert answer[Dot1Q].vlan == 11
            assert answer[ARP].op == 2 and answer[ARP].psrc == "10.10.0.2"
            mac = json.loads(other.ip("-json", "link", "show", "vxlan1"))[0]["address"]
            assert answer[ARP].hwsrc == mac
        assert program.interrupt() == 0, program.said
    account(program.said)


@pytest.mark.parametrize("options", [["--udp-checksum", "on"], ["--udp-checksum", "off"]],
                         ids=["summed", "zero"])
def test_udp_checksums_are_the_kernels(namespace, options):
    zero = ["udp6zerocsumrx"] if options[1] == "off" else ["noudp6zerocsumrx"]
    site = Site(namespace, "packet", underlay=V6, checksum=zero)
    with site.start(*options) as program:
        wait_for_ping(site.station, "10.9.0.2", program)
        assert program.interrupt() == 0, program.said


def test_what_does_not_fit_is_dropped_by_name(namespace):
    site = Site(namespace, "packet")
    with site.start() as program:
        wait_for_ping(site.station, "10.9.0.2", program)
        site.station.ip("link", "set", "net", "mtu", "1500")
        result = ping(site.station, "10.9.0.2", "-c", "3", "-i", "0.05", "-W", "1",
                      "-s", "1423", "-M", "do")
        assert result.returncode != 0
        assert_pings(site.station, "10.9.0.2", "-s", "1422", "-M", "do")
        assert program.interrupt() == 0, program.said
    assert drops(program.said)["too_big"] == 3


# Changing while it runs -----------------------------------------------------------


def config(path, **changes):
    """Write a configuration file; values are Lua."""
    lines = {"inner": '"packet:left"', "outer": '"packet:right"',
             "address": '"192.0.2.1/24"', "vnis": "{[42] = 0}",
             "remotes": '{"192.0.2.2"}', **changes}
    path.write_text("return {%s}" % ", ".join(f"{k} = {v}" for k, v in lines.items()))


def test_a_reload_loses_no_packet_of_what_stays(namespace, tmp_path):
    site = Site(namespace, "packet", remotes=2, vnis=(42, 43))
    file, state = tmp_path / "vtep.lua", tmp_path / "state.json"
    config(file)
    command = site.middle.command(PERIGEE, "vtep", "--config", file, "--state", state)
    with running(*command) as program:
        wait_for_ping(site.station, "10.9.0.2", program)
        assert ping(site.station, "10.9.0.3", "-c", "1").returncode != 0
        with running(*site.station.command(tool("ping"), "-n", "-i", "0.002", "-c",
                                           "2500", "10.9.0.2")) as pings:
            for n in range(12):
                three, other = ', "192.0.2.3"', "[43] = 11, [%d] = 100" % (100 + n)
                config(file, vnis="{[42] = 0, %s}" % (other if n % 2 else ""),
                       remotes='{"192.0.2.2"%s}' % (three if n % 3 == 2 else ""))
                program.send(signal.SIGHUP)
                program.wait_for("vtep: ", count=n + 2)
                assert pings.runs_for(0.1), "the pings ended too early"
            assert pings.finish() == 0
        assert "2500 received, 0% packet loss" in pings.said, pings.said
        # The last one named the second remote, and VNI 43.
        wait_for_ping(site.station, "10.9.0.3", program)
        program.send(signal.SIGUSR1)
        wait_until(state.exists, "the state")
        seen = json.loads(state.read_text())
        assert [v["vni"] for v in seen["vnis"]] == [42, 43, 111]
        assert [r["address"] for r in seen["remotes"]] == ["192.0.2.2", "192.0.2.3"]
        for host, remote in zip(site.remotes, ["192.0.2.2", "192.0.2.3"]):
            mac = json.loads(host.ip("-json", "link", "show", "vxlan0"))[0]["address"]
            [entry] = [e for e in seen["entries"] if e["mac"] == mac and e["vni"] == 42]
            assert entry["remote"] == remote and not entry["static"]
            assert entry["age"] <= 300
        vni = seen["vnis"][0]
        assert vni["encapsulated"]["packets"] > 2500 < vni["decapsulated"]["packets"]
        assert program.interrupt() == 0, program.said
    account(program.said)
    assert "moved" not in program.said


def test_a_wrong_file_leaves_the_old_configuration(namespace, tmp_path):
    site = Site(namespace, "packet")
    file = tmp_path / "vtep.lua"
    config(file)
    command = site.middle.command(PERIGEE, "vtep", "--config", file)
    with running(*command) as program:
        wait_for_ping(site.station, "10.9.0.2", program)
        wrong = [("return {", "unexpected symbol"), ("return {vni = 4}", "is 'vnis'"),
                 (None, "mtu can't change while it runs (from '1500' to '9000')"),
                 ("", "doesn't return a table")]
        for n, (text, sentence) in enumerate(wrong, 1):
            if text is None:
                config(file, mtu=9000)
            else:
                file.write_text(text)
            program.send(signal.SIGHUP)
            program.wait_for("; the configuration stays as it was\n", count=n)
            assert sentence in program.said
        config(file, inner='"null"')
        program.send(signal.SIGHUP)
        program.wait_for("inner can't change while it runs (from 'packet:left' to "
                         "'null'): start it anew; the configuration stays as it was")
        assert program.said.count("vtep: 192.0.2.1") == 1
        assert_pings(site.station, "10.9.0.2")
        assert program.interrupt() == 0, program.said


# Against Scapy, over capture files ------------------------------------------------


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
    results = json.loads(file.read_text())

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
    entries = json.loads(state.read_text())["entries"]
    assert {(e["vni"], e["mac"], e["remote"], e["static"]) for e in entries} == {
        (42, "02:00:00:00:01:05", "192.0.2.2", True),
        (43, "02:00:00:00:00:09", "192.0.2.3", False)}


def test_json_alone_to_stdout_and_what_cannot_be_written():
    words = ["vtep", "--inner", "null", "--outer", "null", "--address", "192.0.2.1/24",
             "--vni", 42, "--remote", "192.0.2.2@02:00:00:00:00:02", "--duration", "0.1"]
    results = json.loads(perigee(*words, "--json", "-").stdout)
    assert results["vnis"][0]["vni"] == 42 and results["remotes"][0]["named"]
    for option in "--json", "--state":
        result = perigee(*words, option, "/no/such/file")
        assert result.returncode == 1
        assert "can't write /no/such/file" in result.stderr
