# SPDX-License-Identifier: Apache-2.0
"""`perigee nfv` (doc/nfv.md): virtual machines' ends stand for them (nfv_guests.lua),
capture files for the network."""

import os
import re
import signal
import struct

import pytest
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from helpers.capture import load, save
from helpers.command import PERIGEE, ROOT, perigee, running, wait_until
from helpers.report import account

GUESTS = ROOT / "test" / "nfv_guests.lua"
A, B, REMOTE = "52:54:00:00:00:00", "52:54:00:00:00:01", "52:54:00:00:00:99"
A6, B6 = "fe80::5054:ff:fe00:0", "fe80::5054:ff:fe00:1"


def frame(layer, n=0, source=A, destination=B, size=0):
    """A frame of IPv6 with the number behind."""
    return bytes(Ether(src=source, dst=destination) / IPv6(src=A6, dst=B6) / layer
                 / (n.to_bytes(4, "big") + bytes(size)))


def udp(n=0, source=A, destination=B, size=0, dport=7):
    return frame(UDP(sport=9, dport=dport), n, source, destination, size)


def stream(count):
    """Numbered frames that differ in nothing else: Scapy takes a millisecond each."""
    one = udp()
    return [one[:62] + n.to_bytes(4, "big") for n in range(count)]


def lua(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {lua(v)}" for k, v in value.items()) + " }"
    return {True: "true", False: "false"}.get(value) or \
        (f'"{value}"' if isinstance(value, str) else str(value))


def config(*ports):
    return "return {\n" + "".join(f"  {lua(port)},\n" for port in ports) + "}\n"


def port(name, **more):
    return {"port_id": name, "mac_address": {"A": A, "B": B}.get(name), **more} \
        if name in "AB" else {"port_id": name, **more}


class Bench:
    """A folder with the configuration, the sockets and the files of the guests."""

    def __init__(self, folder):
        self.folder, self.config = folder, folder / "nfv.cfg"

    def write(self, *ports):
        new = self.folder / "new.cfg"
        new.write_text(config(*ports))
        os.rename(new, self.config)

    def send(self, name, packets):
        save(self.folder / f"{name}.in.pcap", packets)

    def got(self, name):
        """What has come to the guest so far; nothing of a packet being written."""
        path = self.folder / f"{name}.out.pcap"
        try:
            return list(load(path)) if path.exists() else []
        except (AssertionError, struct.error):
            return []

    def nfv(self, nic="soft", *options):
        return running(PERIGEE, "nfv", "traffic", "-l", 0, "--server", *options, nic,
                       self.config, self.folder / "%s.sock")

    def guests(self, *names, rate=0, role="client"):
        return running(PERIGEE, "run", GUESTS, self.folder, role, rate, *names)

    def wait_for(self, name, count, *processes, timeout=60):
        def came():
            for process in processes:
                assert process.runs_for(0.05), process.said
            return len(self.got(name)) >= count
        wait_until(came, f"{count} packets at {name}", timeout=timeout)
        return self.got(name)

    def exchange(self, count, name="B", ready=None, nic="soft"):
        """Run until so many packets have come to the guest; the packets."""
        with self.nfv(nic) as nfv:
            nfv.wait_for("nfv traffic:")
            if ready:
                nfv.wait_for(*ready)
            with self.guests("A", "B") as guests:
                got = self.wait_for(name, count, nfv, guests)
                assert guests.interrupt() == 0, guests.said
            assert nfv.interrupt() == 0, nfv.said
        self.account = account(nfv.said)
        self.said = nfv.said
        return got


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def test_the_same_vlan_and_jumbo_frames(bench):
    """Guest to guest, nothing to the network; frames of all sizes up to 9,000 bytes."""
    bench.write(port("A", vlan=43), port("B", vlan=43))
    sent = [udp(n, size=n * 45) for n in range(198)] + [udp(198, size=9000 - 66)]
    bench.send("A", sent)
    assert bench.exchange(len(sent), nic=f"pcap:tx={bench.folder}/nic.pcap") == sent
    assert len(sent[-1]) == 9000
    assert list(load(bench.folder / "nic.pcap")) == []


def test_another_vlan_and_the_network(bench):
    """Nothing passes between VLANs; tags are put on and taken off at the port."""
    bench.write(port("A", vlan=24), port("B", vlan=42))
    bench.send("A", [udp(1), udp(2, destination=REMOTE), udp(3, destination="ff:" * 5
                                                             + "ff")])
    inside = udp(5, source=REMOTE)
    tagged = [bytes(Ether(src=REMOTE, dst=B) / Dot1Q(vlan=vlan, prio=3)
                    / IPv6(inside[14:])) for vlan in (24, 42, 43)]
    save(bench.folder / "rx.pcap", tagged + [inside])
    nic = f"pcap:rx={bench.folder}/rx.pcap,tx={bench.folder}/tx.pcap"
    assert bench.exchange(1, nic=nic) == [inside]
    out = [Ether(data) for data in load(bench.folder / "tx.pcap")]
    assert [p[Dot1Q].vlan for p in out] == [24, 24, 24]
    assert [bytes(p[UDP].payload)[:4] for p in out] == \
        [n.to_bytes(4, "big") for n in (1, 2, 3)]
    assert bytes(Ether(src=A, dst=REMOTE) / out[1][IPv6]) == udp(2, destination=REMOTE)


@pytest.mark.parametrize("key", ["rx_police", "tx_police"])
def test_policing(bench, key):
    """A bucket holds what comes in a second, and is full at first."""
    bench.write(port("A", **({key: 1e-4} if key == "tx_police" else {})),
                port("B", **({key: 1e-4} if key == "rx_police" else {})))
    packets = [udp(n, size=1000) for n in range(500)]  # 533 kB; the rate is 12.5 kB/s
    bench.send("A", packets)
    got = bench.exchange(11)
    assert got[:11] == packets[:11] and len(got) < 400
    assert account(bench.said)["received"] >= 500


def test_a_filter(bench):
    bench.write(port("A", egress_filter="not udp port 8"),
                port("B", ingress_filter="ip6 and udp and dst portrange 7-9"))
    ports = [6, 7, 8, 9, 10]
    bench.send("A", [udp(p, dport=p) for p in ports] + [frame(TCP(dport=7)), udp(99)])
    assert bench.exchange(3) == [udp(7, dport=7), udp(9, dport=9), udp(99)]


def test_a_stateful_filter(bench):
    """B may connect to nobody, but answers who has connected to it."""
    bench.write(port("A"), port("B", ingress_filter="tcp dst port 12345",
                                egress_filter="icmp6", stateful_filter=True))
    bench.send("A", [frame(TCP(sport=5, dport=12345))])
    answer = bytes(Ether(src=B, dst=A) / IPv6(src=B6, dst=A6)
                   / TCP(sport=12345, dport=5))
    other = bytes(Ether(src=B, dst=A) / IPv6(src=B6, dst=A6)
                  / TCP(sport=12345, dport=6))
    with bench.nfv() as nfv:
        nfv.wait_for("nfv traffic:")
        with bench.guests("A") as a, bench.guests("B") as b:
            bench.wait_for("B", 1, nfv, a, b)
            bench.send("B", [other, answer])
            assert b.interrupt() == 0
            with bench.guests("B") as again:
                assert bench.wait_for("A", 1, nfv, a, again) == [answer]
        assert nfv.interrupt() == 0, nfv.said


def tunnel(local, remote, session):
    return {"type": "L2TPv3", "local_ip": local, "remote_ip": remote, "session": session,
            "local_cookie": "deadbeef", "remote_cookie": "deadbeef", "next_hop": remote}


KEYS = {"transmit_key": "deadbeef" * 4, "transmit_salt": "deadbeef",
        "receive_key": "beefdead" * 4, "receive_salt": "beefdead"}
BACK = {"transmit_key": "beefdead" * 4, "transmit_salt": "beefdead",
        "receive_key": "deadbeef" * 4, "receive_salt": "deadbeef"}


def crypto(keys):
    return {"type": "esp-aes-128-gcm", "spi": 0x42, **keys}


def test_a_tunnel(bench):
    """Snabb's own tunnel.ports: two guests, each behind the other's tunnel."""
    bench.write(port("A", vlan=43, tunnel=tunnel(A6, B6, 16)),
                port("B", vlan=43, tunnel=tunnel(B6, A6, 16)))
    sent = [udp(n, destination=REMOTE, size=n * 10) for n in range(100)]
    bench.send("A", sent)
    assert bench.exchange(100, ready=("Resolved next-hop", 60, 2)) == sent


def test_crypto_in_a_tunnel(bench):
    bench.write(port("A", vlan=43, tunnel=tunnel(A6, B6, 16), crypto=crypto(KEYS)),
                port("B", vlan=43, tunnel=tunnel(B6, A6, 16), crypto=crypto(BACK)))
    sent = [udp(n, destination=REMOTE, size=n * 10) for n in range(100)]
    bench.send("A", sent)
    assert bench.exchange(100, ready=("Resolved next-hop", 60, 2)) == sent


def test_crypto_is_what_scapy_understands(bench):
    """ESP in transport mode with extended sequence numbers; replays are dropped."""
    from scapy.layers.ipsec import ESP, SecurityAssociation
    def association(name):
        return SecurityAssociation(
            ESP, spi=0x42, crypt_algo="AES-GCM", esn_en=True, esn=0,
            crypt_key=bytes.fromhex(KEYS[f"{name}_key"] + KEYS[f"{name}_salt"]))
    bench.write(port("A", crypto=crypto(KEYS)))
    sent = [udp(n, destination=REMOTE, size=n) for n in range(20)]
    bench.send("A", sent)
    back = [udp(n, source=REMOTE, destination=A, size=n) for n in range(20)]
    theirs, packets = association("receive"), []
    for data in back:
        sealed = theirs.encrypt(Ether(data)[IPv6])
        packets.append(bytes(Ether(src=REMOTE, dst=A) / sealed))
    broken = bytearray(packets[0])
    broken[-1] ^= 1
    save(bench.folder / "rx.pcap", [bytes(broken)] + packets + packets)
    nic = f"pcap:rx={bench.folder}/rx.pcap,tx={bench.folder}/tx.pcap"
    with bench.nfv(nic) as nfv:
        nfv.wait_for("nfv traffic:")
        with bench.guests("A") as guest:
            assert bench.wait_for("A", 20, nfv, guest) == back
            tx = bench.folder / "tx.pcap"
            wait_until(lambda: tx.stat().st_size > 20 * 120, "what A sends")
        assert nfv.interrupt() == 0
    assert bench.got("A") == back
    ours = association("transmit")
    opened = [ours.decrypt(Ether(data)[IPv6]) for data in load(tx)]
    assert [bytes(Ether(src=A, dst=REMOTE) / p) for p in opened] == sent


def numbers(packets):
    return [int.from_bytes(data[62:66], "big") for data in packets]


def test_reloads_lose_nothing(bench):
    """Ports, filters, limits and VLANs come and go; a wrong file changes nothing."""
    plain = [port("A"), port("B")]
    others = [
        plain + [port("C", vlan=7)],
        [port("A", vlan=9), port("B", vlan=9), port("D", mac_address="2:0:0:0:0:7")],
        [port("A", egress_filter="ip6"), port("B")],
        [port("A", tx_police=5), port("B", ingress_filter="udp", stateful_filter=True)],
        [port("B", rx_police=5), port("A")],
    ]
    bench.write(*plain)
    bench.send("A", stream(20000))
    with bench.nfv() as nfv:
        nfv.wait_for("nfv traffic:")
        with bench.guests("A", "B", rate=2000) as guests:
            bench.wait_for("B", 100, nfv, guests)
            for i, ports in enumerate([*others, plain, *others]):
                bench.write(*ports)
                nfv.wait_for("read again: ", count=i + 1)
                if i % 4 == 1:
                    bench.config.write_text("return {{port_id = 'A', vlam = 1}}")
                    nfv.wait_for("; the graph stays as it was", count=i // 4 + 1)
            assert len(bench.got("B")) < 20000, "all was over before the last change"
            last = len(bench.got("B"))
            bench.wait_for("B", last + 500, nfv, guests)
            got = numbers(bench.got("B"))
            assert got == list(range(len(got)))
            assert guests.interrupt() == 0, guests.said
        assert nfv.interrupt() == 0, nfv.said
    assert re.search(r"nfv.cfg:1: port 'A' has no key 'vlam'; is 'vlan' meant\?", nfv.said)


@pytest.mark.parametrize("role", ["client", "server"])
def test_guests_and_the_switch_are_killed_and_come_back(bench, role):
    """Whoever made a socket: QEMU (server=on), or Perigee (--server)."""
    bench.write(port("A", vlan=3), port("B", vlan=3))
    options = ["--server"] if role == "client" else []

    def nfv():
        return running(PERIGEE, "nfv", "traffic", "-l", 0, *options, "soft",
                       bench.config, bench.folder / "%s.sock")

    def passes(*processes):
        (bench.folder / "B.out.pcap").unlink(missing_ok=True)
        with bench.guests("B", role=role) as b, \
                bench.guests("A", rate=500, role=role) as a:
            got = bench.wait_for("B", 20, a, b, *processes)
            assert numbers(got) == list(range(numbers(got)[0], numbers(got)[-1] + 1))
            assert a.interrupt(signal.SIGKILL) == b.interrupt(signal.SIGKILL)

    bench.send("A", stream(30000))
    with nfv() as first:
        first.wait_for("nfv traffic:")
        passes(first)
        passes(first)
        (bench.folder / "B.out.pcap").unlink()
        with bench.guests("B", role=role) as b, \
                bench.guests("A", rate=500, role=role) as a:
            bench.wait_for("B", 20, a, b, first)
            assert first.interrupt(signal.SIGKILL) == -signal.SIGKILL
            before = len(bench.got("B"))
            with nfv() as second:
                bench.wait_for("B", before + 200, a, b, second)
                assert second.interrupt() == 0, second.said


@pytest.mark.fast
def test_what_is_refused(bench, tmp_path):
    def said(*args):
        result = perigee("nfv", *args)
        assert result.returncode == 2, result.stdout
        assert result.stderr.count("\n") == 1
        return result.stderr
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_text(config(port("A"), port("B")))
    bad.write_text(config(port("A"), port("B", vlan=5000)))
    assert f"{bad}:3: port 'B': vlan: 5000 isn't" in said("traffic", "soft", bad, "x%s")
    assert "can't read" in said("traffic", "soft", tmp_path / "none", "x%s")
    assert "one for 2 ports; write %s" in said("traffic", "soft", good, "x")
    assert "no other % is allowed" in said("traffic", "soft", good, "x%d")
    assert "needs a command" in said()
    assert "is 'traffic' meant?" in said("trafic")
    assert "neutron2snabb" in said("neutron-sync-agent")
    for where, sentence in {"nosuch:x": "isn't a port", "packet:nosuch0": "there is no "
                            "kernel interface"}.items():
        text = said("traffic", where, good, tmp_path / "%s", "--server")
        assert sentence in text and text.startswith(f"perigee: {good}: ")
    text = said("traffic", "soft", good, tmp_path / "none/%s", "--server")
    assert "there is no directory" in text or "none" in text
    result = perigee("snabbnfv", "traffic", "--dry-run", "soft", good, "x%s")
    assert result.stdout == f"{good}: 2 ports, nothing wrong found\n"
    assert "port_id" in perigee("nfv", "traffic", "-H").stdout


def test_more_ports_than_dpdk_has(bench):
    bench.write(*[port(f"vm{n}") for n in range(40)])
    result = perigee("nfv", "traffic", "--server", "soft", bench.config,
                     bench.folder / "%s.sock")
    assert result.returncode == 2
    assert result.stderr == f"perigee: {bench.config}: it has 40 ports; DPDK has room " \
        "for 32 in a process\n"
    assert not list(bench.folder.glob("*.sock"))


def test_random_configurations_pass_tcp(bench, tmp_path):
    spec = tmp_path / "spec"
    spec.write_text("return {ingress_filter = 3, egress_filter = 3, tunnel = true, "
                    "crypto = true, tx_police = 10}")
    sent = [frame(TCP(dport=7), n) for n in range(20)]
    bench.send("A", sent)
    result = perigee("nfv", "fuzz", spec, bench.config)
    assert result.returncode == 0, result.stderr
    assert bench.exchange(20, ready=("Resolved next-hop", 60, 2)) == sent
    spec.write_text("return {ingress_filters = 3}")
    assert "'ingress_filter' or 'egress_filter' meant?" in \
        perigee("nfv", "fuzz", spec, "x").stderr


def test_the_benchmark(bench):
    bench.write(port("A"))
    bench.send("A", [udp(destination=REMOTE)] * 20000)
    with bench.nfv("null", "-B", "200") as nfv:
        nfv.wait_for("benchmark")
        with bench.guests("A", rate=2000) as guest:
            assert nfv.finish() == 0, nfv.said
            assert guest.interrupt() == 0
    assert re.search(r"^Rate\(Mpps\):\t[\d.]+$", nfv.said, re.M), nfv.said


VIF = """{"zone_host": "%s", "zone_port": "%s", "zone_vlan": 243, "zone_ip": "2006::16",
"binding:profile": {"rx_police_gbps": 3.0, "packetfilter": "stateless", "tunnel_type":
"L2TPv3", "l2tpv3_remote_ip": "1::8", "l2tpv3_session": 16, "l2tpv3_local_cookie": "616263",
"l2tpv3_remote_cookie": "646566", "l2tpv3_next_hop": "2::2"}}""".replace("\n", " ")


def dump(folder, **tables):
    """A dump of Neutron's database, as mysqldump --tab writes it."""
    folder.mkdir()
    for name, rows in tables.items():
        (folder / f"{name}.txt").write_text(
            "".join("\t".join(row) + "\n" for row in rows))


def test_neutron2snabb(tmp_path):
    def row(group, direction, *rest):
        return ["t", "id", group, "\\N", direction, *rest]
    rules = [row("g1", "ingress", "IPv4", "tcp", "1000", "2000", "10.0.0.0/8"),
             row("g1", "ingress", "IPv6", "icmpv6", "128", "\\N", "\\N"),
             row("g2", "ingress", "IPv6", "132", "\\N", "\\N", "\\N"),
             row("g2", "egress", "IPv4", "\\N", "\\N", "\\N", "\\N"),
             row("g3", "egress", "IPv6", "udp", "53", "\\N", "\\N")]
    bindings = [["p1", "h", "vhostuser", "normal", "{}", VIF % ("here", "port0")],
                ["p2", "h", "ovs", "normal", "{}", "{}"],
                ["p3", "h", "vhostuser", "normal", "{}", VIF % ("there", "port0")]]
    ports = [["t", p, "name\\tx", "net", f"fa:16:3e:00:00:0{i}", "1", "ACTIVE", "", ""]
             for i, p in enumerate(["p1", "p2", "p3", "p4"])]
    tables = {"ports": ports, "ml2_port_bindings": bindings, "securitygrouprules": rules,
              "securitygroupportbindings": [["p1", "g1"], ["p1", "g2"]]}
    dump(tmp_path / "dump", **tables)
    out = tmp_path / "out"
    out.mkdir()
    result = perigee("nfv", "neutron2snabb", tmp_path / "dump", out, "here")
    assert result.returncode == 0, result.stderr
    assert os.listdir(out) == ["port0"] and result.stdout == f"Created {out}/port0\n"
    text = (out / "port0").read_text()
    assert ('ingress_filter = "((arp or (ip and tcp and dst portrange 1000-2000 and '
            'src net 10.0.0.0/8)) or (ip6 and icmp6 and ip6[40] = 128) or '
            '(ip6 and ip6 proto 132))"') in text
    assert 'egress_filter = "(arp or ip)"' in text
    assert "vlan = 243" in text and "rx_police = 3" in text and "session = 16" in text
    result = perigee("nfv", "traffic", "--dry-run", "soft", out / "port0", "x%s")
    assert result.stdout.endswith("1 port, nothing wrong found\n"), result.stderr
    # What is wrong is told, with its place, and nothing is written.
    bindings[0][5] = bindings[0][5].replace("243", "4095")
    dump(tmp_path / "wrong", **tables)
    result = perigee("nfv", "neutron2snabb", tmp_path / "wrong", tmp_path, "here")
    assert result.returncode == 2 and not (tmp_path / "port0").exists()
    assert result.stderr == f"perigee: {tmp_path}/wrong/ports.txt:1: port 'p1': vlan: " \
        "4095 isn't a whole number from 0 to 4094\n"
    result = perigee("nfv", "neutron2snabb", tmp_path / "dump", out, "elsewhere")
    assert "no vhost-user port for the host 'elsewhere'" in result.stderr
