# SPDX-License-Identifier: Apache-2.0
"""Blocks of the link layer: Ethernet, VLAN tags, ARP, MPLS, PPPoE, LACP, PTP."""

from scapy.all import (
    ARP, BitField, ByteField, Dot1AD, Dot1Q, Ether, LongField, Packet, PPPoE,
    ShortField, IntField, XBitField)
from scapy.contrib.lacp import LACP
from scapy.contrib.mpls import MPLS
from scapy.contrib.slowprot import SlowProtocol

from helpers.stack_blocks import Block

UNKNOWN = 0x88b5  # an EtherType for local experiments: no header follows it


class TwoBytePPP(Packet):
    """Scapy's PPP sends a protocol number below 256 in one byte, as if the two sides
    had agreed on compression; PPPoE sends two (RFC 2516, section 7)."""

    name = "PPP"
    fields_desc = [ShortField("proto", 0x21)]


class PTP(Packet):
    """The common header of IEEE 1588-2008, clause 13.3, which this Scapy lacks."""

    name = "PTP"
    fields_desc = [
        BitField("transport", 0, 4), BitField("type", 0, 4),
        BitField("reserved0", 0, 4), BitField("version", 2, 4),
        ShortField("length", None), ByteField("domain", 0), ByteField("reserved1", 0),
        ShortField("flags", 0), LongField("correction", 0), IntField("reserved2", 0),
        XBitField("oui", 0, 24), XBitField("uuid", 0, 40), ShortField("port", 0),
        ShortField("sequence", 0), ByteField("control", 0), ByteField("interval", 0)]

    def post_build(self, header, payload):
        """The length is that of the whole message."""
        if self.length is None:
            length = len(header) + len(payload)
            header = header[:2] + length.to_bytes(2, "big") + header[4:]
        return header + payload


def tag(layer, name, prefix=""):
    """The fields of a VLAN tag."""
    return {f"{prefix}Pcp": (3, f"{layer}.prio"), f"{prefix}Dei": (1, f"{layer}.id"),
            name: (12, f"{layer}.vlan")}


ADDRESSES = {"Dst": ("mac", "dst"), "Src": ("mac", "src")}


def state(side, word):
    """The fields of one side's information in a LACPDU."""
    return {
        f"{word}Type": (8, f"1.{side}_type"), f"{word}Length": (8, f"1.{side}_length"),
        f"{word}SysPriority": (16, f"1.{side}_system_priority"),
        f"{word}SysId": ("mac", f"1.{side}_system"),
        f"{word}Key": (16, f"1.{side}_key"),
        f"{word}PortPriority": (16, f"1.{side}_port_priority"),
        f"{word}PortId": (16, f"1.{side}_port_number"),
        f"{word}State": (8, f"1.{side}_state"),
        f"{word}Reserved": (24, lambda layers, value: setattr(
            layers[1], f"{side}_reserved", value.to_bytes(3, "big")))}


BLOCKS = [
    Block("eth", ["eth"], [Ether], ADDRESSES,
          ids={"start": None, "gre": 0x6558, "mpls": 1, "frame": None, "nsh": 3,
               "gpe": 3},
          carries=("0.type", ("ether", "link")), leaf={"Type": (16, UNKNOWN, "type")}),
    Block("eth.vlan", ["eth.vlan"], [Ether, Dot1Q],
          {**ADDRESSES, **tag(1, "VlanTag")},
          ids={"start": None, "frame": None}, carries=("1.type", ("ether", "link")),
          leaf={"Type": (16, UNKNOWN, "1.type")}),
    Block("eth.qinq", ["eth.qinq"], [Ether, Dot1AD, Dot1Q],
          {**ADDRESSES, **tag(1, "OuterVlanTag", "Outer"),
           **tag(2, "InnerVlanTag", "Inner")},
          ids={"start": None, "frame": None}, carries=("2.type", ("ether", "tag")),
          leaf={"Type": (16, UNKNOWN, "2.type")}),
    Block("vlan", ["vlan"], [Dot1Q], tag(0, "VlanTag"), ids={"tag": 0x8100},
          carries=("0.type", ("ether", "tag")), leaf={"Type": (16, UNKNOWN, "type")}),
    Block("arp", ["arp"], [ARP],
          {"HardwareAddressType": (lambda rng: (16, 1), "hwtype"),
           "ProtoAddressType": (lambda rng: (16, 0x0800), "ptype"),
           "Operation": (16, "op"), "HardwareSrc": ("mac", "hwsrc"),
           "HardwareDst": ("mac", "hwdst"), "ProtoSrc": ("ip4", "psrc"),
           "ProtoDst": ("ip4", "pdst"),
           "HardwareAddressLength": (lambda rng: (8, 6), "hwlen"),
           "ProtoAddressLength": (lambda rng: (8, 4), "plen")},
          ids={"ether": 0x0806}),
    Block("mpls", ["mpls"], [MPLS],
          {"Label": (20, "label"), "TrafficClass": (3, "cos"), "TTL": (8, "ttl")},
          ids={"ether": 0x8847, "ppp": 0x0281, "mpls": 0, "ip": 137, "nsh": 5},
          carries=("0.s", ("mpls",)), leaf=None),
    Block("pppoe", ["pppoe", "ppp"], [PPPoE, TwoBytePPP],
          {"SessionID": (16, "sessionid")},
          ids={"ether": 0x8864}, carries=("1.proto", ("ppp",)),
          leaf={"1.Protocol": (16, 0xc021, "1.proto")}),
    Block("lacp", ["lacp"], [SlowProtocol, LACP],
          {"Subtype": (lambda rng: (8, 1), "0.subtype"), "Version": (8, "1.version"),
           **state("actor", "Actor"), **state("partner", "Partner"),
           "CollectorType": (8, "1.collector_type"),
           "CollectorLength": (8, "1.collector_length"),
           "CollectorMaxDelay": (16, "1.collector_max_delay"),
           "CollectorReserved": ("bytes:12", "1.collector_reserved"),
           "TerminatorType": (8, "1.terminator_type"),
           "TerminatorLength": (8, "1.terminator_length"),
           "Reserved": ("bytes:50", "1.reserved")},
          ids={"ether": 0x8809}),
    Block("ptp", ["ptp"], [PTP],
          {"TransportSpecific": (4, "transport"), "MessageType": (4, "type"),
           "Reserved0": (4, "reserved0"), "Version": (4, "version"),
           "Domain": (8, "domain"), "Reserved": (8, "reserved1"),
           "Flags": (16, "flags"), "Correction": (63, "correction"),
           "Reserved2": (32, "reserved2"), "Oui": (24, "oui"), "Uuid": (40, "uuid"),
           "NodePort": (16, "port"), "SequenceID": (16, "sequence"),
           "Control": (8, "control"), "LogMessageInterval": (8, "interval")},
          ids={"ether": 0x88f7, "udp": 319}),
]
