# SPDX-License-Identifier: Apache-2.0
"""What `perigee nfv` (doc/nfv.md) does with packets: virtual machines' ends stand for
them, capture files for the network."""

import pytest
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from helpers.capture import load, save
from helpers.command import wait_until
from helpers.nfv import A, A6, B, B6, REMOTE, Bench, frame, port, udp
from helpers.report import account


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
