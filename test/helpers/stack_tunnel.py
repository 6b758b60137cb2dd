# SPDX-License-Identifier: Apache-2.0
"""Blocks of tunnels: VXLAN, Geneve, GTP-U, L2TPv3, NSH."""

from scapy.all import IntField, LongField, Packet
from scapy.contrib.erspan import ERSPAN_II, ERSPAN_III, ERSPAN_PlatformSpecific
from scapy.contrib.geneve import GENEVE, GeneveOptions
from scapy.contrib.gtp import GTP_U_Header
from scapy.contrib.nsh import NSH
from scapy.layers.vxlan import VXLAN

from helpers.stack_blocks import Block, Extra


class L2TPv3(Packet):
    """Over IP, with a cookie of 64 bits: RFC 3931, section 4.1.1. Scapy has the one
    over UDP alone."""

    name = "L2TPv3"
    fields_desc = [IntField("session", 0), LongField("cookie", 0)]


def vxlan_flags(rng):
    """Flags without those that give the reserved bits another meaning (VXLAN GPE and
    group policy, of which Scapy knows)."""
    return 8, rng.getrandbits(8) & 0x7b


def geneve_options(rng):
    """Geneve options; up to 15 words, as Scapy masks the length with 0x2f."""
    options = [GeneveOptions(classid=rng.getrandbits(16), type=rng.getrandbits(8),
                             data=rng.randbytes(4 * rng.randint(0, 3)))
               for _ in range(rng.choice((0, 0, 1, 3)))]
    content = b"".join(bytes(option) for option in options)
    return Extra({"options": content}, attributes={"options": options})


def gtp_word(rng):
    """GTP-U's optional word, or none: then no flag is set."""
    flags = {"S": rng.getrandbits(1), "PN": rng.getrandbits(1), "E": rng.getrandbits(1)}
    if not any(flags.values()):
        return Extra({"options": b""})
    sequence, number = rng.getrandbits(16), rng.getrandbits(8)
    content = bytes([sequence >> 8, sequence & 255, number, 0])
    return Extra({"options": content},
                 attributes={**flags, "seq": sequence, "npdu": number, "next_ex": 0},
                 fields={"Sequence": (1, flags["S"]), "NPdu": (1, flags["PN"]),
                         "Extension": (1, flags["E"])})


def nsh_context(rng):
    """Context of MD type 1, or none of MD type 2."""
    if rng.random() < 0.5:
        return Extra({"context": b""}, attributes={"mdtype": 2},
                     fields={"MDType": (4, 2)})
    context = rng.randbytes(16)
    return Extra({"context": context}, fields={"MDType": (4, 1)},
                 attributes={"mdtype": 1, "context_header": context})


def platform(rng):
    """The optional words of ERSPAN III."""
    first, second, third = rng.getrandbits(6), rng.getrandbits(26), rng.getrandbits(32)
    return Extra(chosen=["PlatformID"],
                 fields={"PlatformID": (6, first), "PlatformInfo": (26, second),
                         "PlatformInfo2": (32, third)},
                 attributes={"o": 1, "1.platf_id": first, "1.info1": second,
                             "1.info2": third})


ERSPAN3 = {"Version": (lambda rng: (4, 2), "ver"), "VlanTag": (12, "vlan"),
           "ClassOfService": (3, "cos"), "Bad": (2, "bso"), "Truncated": (1, "t"),
           "SessionID": (10, "session_id"), "Timestamp": (32, "timestamp"),
           "SecurityGroup": (16, "sgt_other"), "EthernetFrame": (1, "p"),
           "FrameType": (5, "ft"), "HardwareID": (6, "hw"), "Direction": (1, "d"),
           "Granularity": (2, "gra")}

BLOCKS = [
    Block("vxlangpe", ["vxlangpe"], [VXLAN],
          {"Flags": (lambda rng: (8, 0x0c), "flags"), "Reserved": (16, "reserved0"),
           "VNI": (24, "vni"), "Reserved2": (8, "reserved2")},
          ids={"udp": 4790}, carries=("0.NextProtocol", ("gpe",)),
          leaf={"NextProtocol": (8, 0xfe, "NextProtocol")}),
    Block("erspan", ["erspan"], [ERSPAN_II],
          {"Version": (lambda rng: (4, 1), "ver"), "VlanTag": (12, "vlan"),
           "ClassOfService": (3, "cos"), "Encapsulation": (2, "en"),
           "Truncated": (1, "t"), "SessionID": (10, "session_id"),
           "Reserved": (12, "reserved"), "Index": (20, "index")},
          ids={"erspan": 0x88be}, carries=(None, ("frame",)), leaf=None),
    Block("erspan3", ["erspan3"], [ERSPAN_III], ERSPAN3, ids={"gre": 0x22eb},
          carries=(None, ("frame",)), leaf=None),
    Block("erspan3 with platform", ["erspan3"], [ERSPAN_III, ERSPAN_PlatformSpecific],
          ERSPAN3, ids={"gre": 0x22eb}, carries=(None, ("frame",)), leaf=None,
          extra=platform),
    Block("vxlan", ["vxlan"], [VXLAN],
          {"Flags": (vxlan_flags, "flags"), "Reserved": (24, "reserved1"),
           "VNI": (24, "vni"), "Reserved2": (8, "reserved2")},
          ids={"udp": 4789}, carries=(None, ("frame",)), leaf=None),
    Block("geneve", ["geneve"], [GENEVE],
          {"Version": (2, "version"), "Control": (1, "oam"),
           "Critical": (1, "critical"), "Reserved": (6, "reserved"), "VNI": (24, "vni"),
           "Reserved2": (8, "reserved2")},
          ids={"udp": 6081}, carries=("0.proto", ("ether", "gre")),
          leaf={"Protocol": (16, 0x88b5, "proto")}, extra=geneve_options),
    Block("gtpu", ["gtpu"], [GTP_U_Header],
          {"Version": (3, "version"), "ProtocolType": (1, "PT"),
           "Reserved": (1, "reserved"), "TEID": (32, "teid")},
          ids={"udp": 2152}, carries=(None, ("raw",)),
          leaf={"MessageType": (8, 26, "gtp_type")}, extra=gtp_word),
    Block("l2tpv3", ["l2tpv3"], [L2TPv3],
          {"SessionID": (lambda rng: (32, rng.randint(1, 2**32 - 1)), "session"),
           "Cookie": (64, "cookie")},
          ids={"ip": 115}, carries=(None, ("frame",)),
          leaf={"SessionID": (32, 0, "session")}),
    Block("nsh", ["nsh"], [NSH],
          {"Version": (2, "ver"), "OAM": (1, "oam"), "Reserved": (1, "unused1"),
           "TTL": (6, "ttl"), "Reserved2": (4, "unused2"), "SPI": (24, "spi"),
           "SI": (8, "si")},
          ids={"ether": 0x894f, "nsh": 4, "gpe": 4}, carries=("0.nextproto", ("nsh",)),
          leaf={"NextProtocol": (8, 0xfe, "nextproto")}, extra=nsh_context),
]
