# SPDX-License-Identifier: Apache-2.0
"""`perigee lwaftr check` on packets from Scapy, and packets for its softwires."""

from scapy.all import IP, UDP, Ether, IPv6, rdpcap

from helpers.capture import save
from helpers.command import perigee

LWAFTR4, LWAFTR6, BR = "10.0.1.1", "fc00::100", "fc00::200"
EXTERNAL, INTERNAL = "02:aa:aa:aa:aa:01", "02:aa:aa:aa:aa:02"
HOP4, HOP6 = "02:99:99:99:99:04", "02:99:99:99:99:06"
# Softwires: two of a shared address, and one of a whole one.
SHARED, WHOLE = "192.0.2.1", "192.0.2.2"
B4, SECOND_B4, WHOLE_B4 = "2001:db8::1", "2001:db8::2", "2001:db8::3"
PORT, SECOND_PORT = 1024 * 5 + 7, 1024 * 9 + 1  # PSIDs 5 and 9 of 6 bits
PEER = "198.51.100.7"

CONF = """
softwire-config {
  binding-table {
    softwire { ipv4 192.0.2.1; psid 5; b4-ipv6 2001:db8::1; br-address fc00::200;
      port-set { psid-length 6; } }
    softwire { ipv4 192.0.2.1; psid 9; b4-ipv6 2001:db8::2; br-address fc00::200;
      port-set { psid-length 6; } }
    softwire { ipv4 192.0.2.2; psid 0; b4-ipv6 2001:db8::3; br-address fc00::200;
      port-set { psid-length 0; } }
  }
  external-interface { %s }
  internal-interface { flow-label 77; mtu 1500; %s }
  instance { device test; queue { id 0;
    external-interface { ip 10.0.1.1; mac 02:aa:aa:aa:aa:01;
      next-hop { mac 02:99:99:99:99:04; } }
    internal-interface { ip fc00::100; mac 02:aa:aa:aa:aa:02;
      next-hop { mac 02:99:99:99:99:06; } } } }
}
"""


class Lwaftr:
    """Sends packets through; `counters` are those of the last time."""

    def __init__(self, folder, external="", internal=""):
        self.folder = folder
        (folder / "a.conf").write_text(CONF % (external, internal))

    def __call__(self, v4=(), v6=()):
        return self.frames(*([bytes(Ether(dst=INTERNAL, src=HOP6) / packet)
                              for packet in packets] for packets in (v4, v6)))

    def frames(self, v4=(), v6=()):
        names = ["in4", "in6", "out4", "out6"]
        files = [self.folder / f"{name}.pcap" for name in names]
        save(files[0], v4)
        save(files[1], v6)
        counters = self.folder / "counters.lua"
        result = perigee("lwaftr", "check", "-r", self.folder / "a.conf", *files,
                         counters)
        assert result.returncode == 0, result.stderr
        self.counters = {
            line.split('"')[1]: int(line.split("=")[1].strip(" ,\n"))
            for line in counters.read_text().splitlines() if '"' in line}
        return [list(rdpcap(str(path))) for path in files[2:]]


def aged(packet, by=1):
    """The IPv4 packet with its time to live counted down."""
    packet = packet.copy()
    packet.ttl -= by
    del packet.chksum
    return packet


def tunnel(packet, b4=B4, br=BR):
    return IPv6(src=b4, dst=br) / packet


def to_b4(packet, b4):
    return bytes(Ether(dst=HOP6, src=INTERNAL) /
                 IPv6(src=BR, dst=b4, fl=77, tc=packet.tos, hlim=255, nh=4) /
                 aged(packet))


def sent(frames):
    return [bytes(frame) for frame in frames]


def from_peer(payload, to=SHARED, **kwargs):
    return IP(bytes(IP(src=PEER, dst=to, **kwargs) / payload))


INNER = from_peer(UDP(dport=PORT) / b"0123456789")
BACK = IP(bytes(IP(src=SHARED, dst=PEER) / UDP(sport=PORT) / b"back"))
