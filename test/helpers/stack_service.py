# SPDX-License-Identifier: Apache-2.0
"""Blocks of what UDP carries between hosts: DNS, DHCP, BFD, sFlow, IPFIX."""

from fractions import Fraction

from scapy.all import (
    BOOTP, DHCP, DNS, DNSQR, IntField, IP6Field, IPField, Packet, ShortField, StrField)
from scapy.contrib.bfd import BFD
from scapy.layers.dhcp6 import DHCP6, DHCP6_RelayForward
from scapy.layers.ntp import NTPHeader
from scapy.layers.rtp import RTP

from helpers.stack_blocks import Block, Extra


class Section(Packet):
    """Bytes at the end of a header."""

    name = "Section"
    fields_desc = [StrField("content", b"")]


def sflow(address):
    """The head of a datagram of sFlow version 5, which Scapy lacks."""
    class SFlow(Packet):
        """sflow_version_5.txt, section 5."""

        name = "sFlow"
        fields_desc = [
            IntField("version", 5), IntField("kind", 1 if address is IPField else 2),
            address("agent", None), IntField("sub", 0), IntField("seq", 0),
            IntField("uptime", 0), IntField("samples", 0), StrField("content", b"")]
    return SFlow


class IPFIX(Packet):
    """RFC 7011, section 3.1: the length is that of the whole message, where Scapy's
    NetflowHeaderV10 leaves out the version."""

    name = "IPFIX"
    fields_desc = [ShortField("version", 10), ShortField("length", 0),
                   IntField("exported", 0), IntField("seq", 0), IntField("domain", 0)]

    def post_build(self, header, payload):
        """Set the length."""
        length = len(header) + len(payload)
        return header[:2] + length.to_bytes(2, "big") + header[4:] + payload


def question(rng):
    """DNS questions, none or one, as the body."""
    if rng.random() < 0.3:
        return Extra({"body": b""}, attributes={"qd": None},
                     fields={"QDCount": (16, 0)})
    name = "".join(rng.choice("abcz09") for _ in range(rng.randint(1, 40)))
    query = DNSQR(qname=f"{name}.example.", qtype=rng.choice((1, 28, 255)))
    return Extra({"body": bytes(query)}, attributes={"qd": query},
                 fields={"QDCount": (16, 1)})


def dhcp_options(rng):
    """DHCP options; the magic cookie before them is Perigee's header's."""
    options = [("message-type", rng.randint(1, 8)), ("server_id", "192.0.2.1"),
               ("lease_time", rng.getrandbits(32)), "end"]
    return Extra({"options": bytes(DHCP(options=options))},
                 attributes={"1.options": options, "0.options": b"c\x82Sc"})


def bfd_section(rng):
    """BFD's authentication section: any bytes here."""
    content = rng.randbytes(rng.choice((0, 0, 8, 28)))
    return Extra({"authSection": content},
                 attributes={"len": 24 + len(content), "1.content": content})


def samples(rng):
    """All that follows an sFlow header."""
    content = rng.randbytes(rng.randint(0, 40))
    return Extra({"payload": content}, attributes={"content": content})


def bfd_flag(bit):
    """A target that sets a bit of BFD's flags."""
    def assign(layers, value):
        layers[0].flags = (layers[0].flags.value & ~(1 << bit)) | value << bit
    return assign


def chaddr(first, last):
    """A target that sets bytes of DHCP's 16 bytes for a hardware address."""
    def assign(layers, value):
        if isinstance(value, str):
            value = bytes.fromhex(value.replace(":", ""))
        all_of_it = bytes(layers[0].chaddr or b"").ljust(16, b"\0")
        layers[0].chaddr = all_of_it[:first] + value + all_of_it[last:]
    return assign


def dhcp_flags(shift, bits):
    """A target that sets bits of DHCP's flags."""
    def assign(layers, value):
        mask = ((1 << bits) - 1) << shift
        layers[0].flags = layers[0].flags.value & ~mask | value << shift
    return assign


def content(member):
    """An extra of any bytes at the end of a header."""
    def extra(rng):
        chosen = rng.randbytes(rng.choice((0, 4, 11)))
        return Extra({member: chosen}, attributes={"1.content": chosen})
    return extra


def contributors(rng):
    """RTP's contributing sources."""
    chosen = [rng.getrandbits(32) for _ in range(rng.choice((0, 0, 1, 15)))]
    return Extra({"sources": b"".join(one.to_bytes(4, "big") for one in chosen)},
                 attributes={"sync": chosen})


def fixed_point(attribute, bits):
    """A target that Scapy takes as a number with that many bits of a fraction."""
    return lambda layers, value: setattr(layers[0], attribute,
                                         Fraction(value, 1 << bits))


def reference_id(layers, value):
    """NTP's reference, which Scapy has as an address."""
    layers[0].id = ".".join(str(byte) for byte in value.to_bytes(4, "big"))


SFLOW = {"SubAgentId": (32, "sub"), "Seq": (32, "seq"), "Uptime": (32, "uptime"),
         "NumSamples": (32, "samples")}

BLOCKS = [
    Block("dns", ["dns"], [DNS],
          {"Id": (16, "id"), "QR": (1, "qr"), "OPCode": (4, "opcode"), "AA": (1, "aa"),
           "TC": (1, "tc"), "RD": (1, "rd"), "RA": (1, "ra"), "Z": (1, "z"),
           "AD": (1, "ad"), "CD": (1, "cd"), "RCode": (4, "rcode"),
           "ANCount": (16, "ancount"), "NSCount": (16, "nscount"),
           "ARCount": (16, "arcount")},
          ids={"udp": 53}, payload=False, extra=question),
    Block("dhcp", ["dhcp"], [BOOTP, DHCP],
          {"Op": (8, "op"), "HardwareType": (8, "htype"), "HardwareLength": (8, "hlen"),
           "Hops": (8, "hops"), "TransactionID": (32, "xid"), "Seconds": (16, "secs"),
           "Broadcast": (1, dhcp_flags(15, 1)), "Reserved": (15, dhcp_flags(0, 15)),
           "ClientIP": ("ip4", "ciaddr"), "YourIP": ("ip4", "yiaddr"),
           "ServerIP": ("ip4", "siaddr"), "RelayIP": ("ip4", "giaddr"),
           "ClientMac": ("mac", chaddr(0, 6)),
           "ClientPadding": ("bytes:10", chaddr(6, 16)),
           "ServerName": ("bytes:64", "sname"), "File": ("bytes:128", "file")},
          ids={"udp": 67}, payload=False, extra=dhcp_options),
    Block("bfd", ["bfd"], [BFD, Section],
          {"Version": (3, "version"), "Diagnostic": (5, "diag"), "State": (2, "sta"),
           "Poll": (1, bfd_flag(5)), "Final": (1, bfd_flag(4)),
           "ControlPlaneIndependent": (1, bfd_flag(3)),
           "Authentication": (1, bfd_flag(2)), "Demand": (1, bfd_flag(1)),
           "Multipoint": (1, bfd_flag(0)), "DetectMult": (8, "detect_mult"),
           "MyDiscriminator": (32, "my_discriminator"),
           "YourDiscriminator": (32, "your_discriminator"),
           "DesiredMinTxInterval": (32, "min_tx_interval"),
           "RequiredMinRxInterval": (32, "min_rx_interval"),
           "RequiredMinEchoRxInterval": (32, "echo_rx_interval")},
          ids={"udp": 3784}, extra=bfd_section),
    Block("sflow", ["sflow"], [sflow(IPField)], {**SFLOW, "AgentIp": ("ip4", "agent")},
          ids={"udp": 6343}, payload=False, extra=samples),
    Block("sflow.ip6", ["sflow.ip6"], [sflow(IP6Field)],
          {**SFLOW, "AgentIp": ("ip6", "agent")},
          ids={"udp": 6343}, payload=False, extra=samples),
    Block("dhcp6", ["dhcp6"], [DHCP6, Section],
          {"MessageType": (lambda rng: (8, rng.randint(1, 11)), "msgtype"),
           "TransactionID": (24, "trid")},
          ids={"udp": 547}, payload=False, extra=content("options")),
    Block("dhcp6.relay", ["dhcp6.relay"], [DHCP6_RelayForward, Section],
          {"MessageType": (lambda rng: (8, rng.choice((12, 13))), "msgtype"),
           "HopCount": (8, "hopcount"), "LinkAddress": ("ip6", "linkaddr"),
           "PeerAddress": ("ip6", "peeraddr")},
          ids={"udp": 547}, payload=False, extra=content("options")),
    Block("ntp", ["ntp"], [NTPHeader],
          {"Leap": (2, "leap"), "Version": (3, "version"), "Mode": (3, "mode"),
           "Stratum": (lambda rng: (8, rng.randint(2, 16)), "stratum"),
           "Poll": (lambda rng: (8, rng.randint(0, 17)), "poll"),
           "Precision": (lambda rng: (8, rng.randint(0, 127)), "precision"),
           "RootDelay": (32, fixed_point("delay", 16)),
           "RootDispersion": (32, fixed_point("dispersion", 16)),
           "ReferenceID": (32, reference_id),
           "ReferenceTime": (64, fixed_point("ref", 32)),
           "OriginTime": (64, fixed_point("orig", 32)),
           "ReceiveTime": (64, fixed_point("recv", 32)),
           "TransmitTime": (64, fixed_point("sent", 32))}, ids={"udp": 123}),
    Block("rtp", ["rtp"], [RTP],
          {"Version": (lambda rng: (2, 2), "version"), "Padding": (1, "padding"),
           "Extension": (1, "extension"), "Marker": (1, "marker"),
           "PayloadType": (7, "payload_type"), "Sequence": (16, "sequence"),
           "Timestamp": (32, "timestamp"), "SSRC": (32, "sourcesync")},
          ids={"udp": 5004}, extra=contributors),
    Block("ipfix", ["ipfix"], [IPFIX],
          {"ExportTime": (32, "exported"), "Seq": (32, "seq"),
           "ObservationDomain": (32, "domain")}, ids={"udp": 4739}),
]
