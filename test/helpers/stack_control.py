# SPDX-License-Identifier: Apache-2.0
"""Blocks of what bridges, routers and hosts tell one another: LLC and spanning tree,
LLDP, PPPoE discovery, ICMP errors, multicast groups, VRRP, OSPF."""

from scapy.all import (
    IP, LLC, SNAP, STP, Dot3, ICMP, ByteField, IPv6, ICMPv6MLQuery2,
    ICMPv6MLReport, ICMPv6MLReport2, ICMPv6PacketTooBig, Packet, PPPoED, ShortField,
    conf)
from scapy.contrib.igmpv3 import IGMPv3, IGMPv3gr, IGMPv3mq, IGMPv3mr
from scapy.contrib.lldp import LLDPDUEndOfLLDPDU, LLDPDUSystemName
from scapy.contrib.ospf import OSPF_Hdr, OSPF_Hello
from scapy.layers.inet6 import ICMPv6MLDMultAddrRec
from scapy.layers.ppp import PPPoETag
from scapy.layers.vrrp import VRRP, VRRPv3

from helpers.stack_blocks import Block, Extra, random_ip6, random_value
from helpers.stack_link import ADDRESSES, UNKNOWN

conf.contribs["LLDP"].strict_mode_disable()  # else each frame must be complete


class Version1Length(Packet):
    """What rapid spanning tree adds to a BPDU, which Scapy lacks."""

    name = "Version 1 Length"
    fields_desc = [ByteField("length", 0)]


class ChangeNotification(Packet):
    """IEEE 802.1D-2004, clause 9.3.2, which Scapy lacks."""

    name = "TCN BPDU"
    fields_desc = [ShortField("proto", 0), ByteField("version", 0),
                   ByteField("bpdutype", 0x80)]


class SystemName(LLDPDUSystemName):
    """Without the padding that Scapy puts behind the TLVs of a short frame."""

    name = "System name"

    def post_build(self, header, payload):
        """The header with the payload, no more."""
        return header + payload


def fixed(value, bits=8):
    """A kind that always has this value."""
    return lambda rng: (bits, value)


def one_of(*values):
    """A kind of eight bits that has one of these values."""
    return lambda rng: (8, rng.choice(values))


def seconds(attribute):
    """A target for a time in 1/256 s, which Scapy takes as a fraction."""
    return lambda layers, value: setattr(layers[0], attribute, value / 256)


BPDU = {
    "ProtocolID": (fixed(0, 16), "proto"),
    "Flags": (8, "bpduflags"), "RootPriority": (16, "rootid"),
    "RootMac": ("mac", "rootmac"), "RootPathCost": (32, "pathcost"),
    "BridgePriority": (16, "bridgeid"), "BridgeMac": ("mac", "bridgemac"),
    "PortID": (16, "portid"), "MessageAge": (16, seconds("age")),
    "MaxAge": (16, seconds("maxage")), "HelloTime": (16, seconds("hellotime")),
    "ForwardDelay": (16, seconds("fwddelay"))}


def value_of(attribute, index=0, item=0):
    """An extra that is a `value` of random bytes, which Scapy has as `attribute`."""
    def extra(rng):
        content = rng.randbytes(rng.choice((0, 1, 4, 9)))
        return Extra({"value": content}, attributes={f"{index}.{attribute}": content},
                     item=item)
    return extra


def sources(kind, attribute, index, item):
    """An extra of addresses of sources."""
    def extra(rng):
        if kind == "ip4":
            chosen = [random_value(rng, "ip4")[1] for _ in range(rng.randint(0, 3))]
            content = b"".join(bytes(map(int, one.split("."))) for one in chosen)
        else:
            chosen = [random_ip6(rng) for _ in range(rng.randint(0, 2))]
            content = b"".join(bytes(IPv6(src=one))[8:24] for one in chosen)
        return Extra({"sources": content}, item=item,
                     attributes={f"{index}.{attribute}": chosen})
    return extra


def addresses(rng, authentication=b"", attributes=()):
    """An extra of VRRP's addresses and what follows them."""
    chosen = [random_value(rng, "ip4")[1] for _ in range(rng.randint(1, 3))]
    content = b"".join(bytes(map(int, one.split("."))) for one in chosen)
    return Extra({"addresses": content + authentication},
                 fields={"AddressCount": (8, len(chosen))},
                 attributes={"addrlist": chosen, "ipcount": len(chosen),
                             **dict(attributes)})


def addresses2(rng):
    """VRRP's addresses with the authentication data of version 2."""
    first, second = rng.getrandbits(32), rng.getrandbits(32)
    return addresses(rng, first.to_bytes(4, "big") + second.to_bytes(4, "big"),
                     {"auth1": first, "auth2": second})


def neighbors(rng):
    """OSPF's neighbours."""
    chosen = [random_value(rng, "ip4")[1] for _ in range(rng.randint(0, 3))]
    content = b"".join(bytes(map(int, one.split("."))) for one in chosen)
    return Extra({"neighbors": content}, attributes={"neighbors": chosen})


TAG_TYPES = (0x0101, 0x0102, 0x0103, 0x0104, 0x0201)
TAG = {"Type": (lambda rng: (16, rng.choice(TAG_TYPES)), "tag_type")}
RECORD = {"Type": (8, "rtype"), "AuxLength": (fixed(0), "auxdlen")}
QUOTED = {"TOS": (8, "1.tos"), "ID": (16, "1.id"), "TTL": (8, "1.ttl"),
          "Src": ("ip4", "1.src"), "Dst": ("ip4", "1.dst"),
          "Protocol": (fixed(17), "1.proto")}
VRRP_FIELDS = {"Type": (4, "type"), "RouterID": (8, "vrid"),
               "Priority": (8, "priority")}


def indexed(index, fields):
    """The fields, of the item of that index."""
    return {f"{index}.{name}": value for name, value in fields.items()}


def in_layer(index, fields):
    """The fields, with targets in the layer of that index."""
    return {name: (kind, f"{index}.{target}")
            for name, (kind, target) in fields.items()}


BLOCKS = [
    Block("eth.dot3", ["eth.dot3"], [Dot3], ADDRESSES,
          ids={"start": None, "frame": None}, carries=(None, ("802.2",)), leaf=None),
    Block("llc", ["llc"], [LLC],
          {"SSAP": (8, "ssap"),
           "Control": (lambda rng: (8, rng.getrandbits(8) | 3), "ctrl")},
          ids={"802.2": None}, carries=("0.dsap", ("llc",)),
          leaf={"DSAP": (8, 0xfe, "dsap")}),
    Block("snap", ["snap"], [SNAP], {"OUI": (fixed(0, 24), "OUI")}, ids={"llc": 0xaa},
          carries=("0.code", ("ether",)), leaf={"Type": (16, UNKNOWN, "code")}),
    Block("stp", ["stp"], [STP],
          {**BPDU, "Version": (8, "version"), "Type": (fixed(0), "bpdutype")},
          ids={"llc": 0x42}),
    Block("stp.rst", ["stp.rst"], [STP, Version1Length],
          {**BPDU, "Version": (fixed(2), "version"), "Type": (fixed(2), "bpdutype"),
           "Version1Length": (8, "1.length")}, ids={"llc": 0x42}),
    Block("stp.tcn", ["stp.tcn"], [ChangeNotification],
          {"ProtocolID": (fixed(0, 16), "proto"), "Version": (8, "version"),
           "Type": (fixed(0x80), "bpdutype")}, ids={"llc": 0x42}),
    Block("lldp", ["lldp"], [SystemName], {"Type": (fixed(5, 7), "_type")},
          ids={"ether": 0x88cc, "lldp": None}, carries=(None, ("lldp", "lldp end")),
          leaf=None, extra=value_of("system_name")),
    Block("lldp end", ["lldp"], [LLDPDUEndOfLLDPDU],
          {"Type": (fixed(0, 7), "_type")},
          ids={"lldp end": None}),
    Block("pppoe discovery", ["pppoe", "pppoetag"], [PPPoED, PPPoETag],
          {"Code": (one_of(0x09, 0x07, 0x19, 0x65, 0xa7), "code"),
           "SessionID": (16, "sessionid"), **indexed(1, in_layer(1, TAG))},
          ids={"link": 0x8863}, carries=(None, ("tag of pppoe",)), payload=False,
          extra=value_of("tag_value", 1, 1)),
    Block("pppoetag", ["pppoetag"], [PPPoETag], TAG, ids={"tag of pppoe": None},
          carries=(None, ("tag of pppoe",)), payload=False,
          extra=value_of("tag_value")),
    Block("icmp unreachable", ["icmp", "icmperror", "ip4"], [ICMP, IP],
          {"Type": (fixed(3), "type"), "Code": (8, "code"),
           "1.Pointer": (8, "reserved"), "1.LengthWords": (8, "length"),
           "1.NextHopMtu": (16, "nexthopmtu"), **indexed(2, QUOTED)},
          ids={"ip4": 1}, payload=False),
    Block("icmp parameter problem", ["icmp", "icmperror", "ip4"], [ICMP, IP],
          {"Type": (fixed(12), "type"), "1.Pointer": (8, "ptr"),
           "1.NextHopMtu": (16, "unused"), **indexed(2, QUOTED)},
          ids={"ip4": 1}, payload=False),
    Block("icmp redirect", ["icmp", "icmpredirect", "ip4"], [ICMP, IP],
          {"Type": (fixed(5), "type"), "Code": (8, "code"),
           "1.Gateway": ("ip4", "gw"), **indexed(2, QUOTED)},
          ids={"ip4": 1}, payload=False),
    Block("icmp6 too big", ["icmp6", "icmp6error", "ip6"], [ICMPv6PacketTooBig, IPv6],
          {"Type": (fixed(2), "type"), "1.Mtu": (32, "mtu"), "2.Src": ("ip6", "1.src"),
           "2.Dst": ("ip6", "1.dst"), "2.TTL": (8, "1.hlim"),
           "2.NextHeader": (fixed(17), "1.nh")}, ids={"ip6": 58}, payload=False),
    Block("igmp3 query", ["igmp", "igmp3query"], [IGMPv3, IGMPv3mq],
          {"Type": (fixed(0x11), "type"), "MaxRespTime": (8, "mrcode"),
           "Group": ("ip4", "1.gaddr"), "1.Reserved": (4, "1.resv"),
           "1.Suppress": (1, "1.s"), "1.Robustness": (3, "1.qrv"),
           "1.QueryInterval": (8, "1.qqic")},
          ids={"ip4": 2}, payload=False, extra=sources("ip4", "srcaddrs", 1, 1)),
    Block("igmp3 report", ["igmp.report3", "igmp3record"], [IGMPv3, IGMPv3mr, IGMPv3gr],
          {"Type": (fixed(0x22), "type"), "Reserved": (8, "mrcode"),
           "Reserved2": (16, "1.res2"),
           "RecordCount": (lambda rng: (16, rng.randint(1, 9)), "1.numgrp"),
           **indexed(1, in_layer(2, RECORD)), "1.Group": ("ip4", "2.maddr")},
          ids={"ip4": 2}, carries=(None, ("igmp record",)), payload=False,
          extra=sources("ip4", "srcaddrs", 2, 1)),
    Block("igmp3record", ["igmp3record"], [IGMPv3gr],
          {**RECORD, "Group": ("ip4", "maddr")}, ids={"igmp record": None},
          carries=(None, ("igmp record",)), payload=False,
          extra=sources("ip4", "srcaddrs", 0, 0)),
    Block("mld", ["icmp6", "mld"], [ICMPv6MLReport],
          {"Type": (one_of(130, 131, 132), "type"), "Code": (8, "code"),
           "1.MaxRespDelay": (16, "mrd"), "1.Reserved": (16, "reserved"),
           "1.Group": ("ip6", "mladdr")}, ids={"ip6": 58}, payload=False),
    Block("mld2 query", ["icmp6", "mld", "mld2query"], [ICMPv6MLQuery2],
          {"Type": (fixed(130), "type"), "Code": (8, "code"),
           "1.MaxRespDelay": (16, "mrd"), "1.Reserved": (16, "reserved"),
           "1.Group": ("ip6", "mladdr"), "2.Reserved": (4, "Resv"),
           "2.Suppress": (1, "S"), "2.Robustness": (3, "QRV"),
           "2.QueryInterval": (8, "QQIC")},
          ids={"ip6": 58}, payload=False, extra=sources("ip6", "sources", 0, 2)),
    Block("mld2 report", ["icmp6", "mld2report", "mld2record"],
          [ICMPv6MLReport2, ICMPv6MLDMultAddrRec],
          {"Type": (fixed(143), "type"), "Code": (8, "res"),
           "1.Reserved": (16, "reserved"),
           "1.RecordCount": (lambda rng: (16, rng.randint(1, 9)), "records_number"),
           "2.Type": (8, "1.rtype"), "2.Group": ("ip6", "1.dst")},
          ids={"ip6": 58}, carries=(None, ("mld record",)), payload=False,
          extra=sources("ip6", "sources", 1, 2)),
    Block("mld2record", ["mld2record"], [ICMPv6MLDMultAddrRec],
          {"Type": (8, "rtype"), "Group": ("ip6", "dst")}, ids={"mld record": None},
          carries=(None, ("mld record",)), payload=False,
          extra=sources("ip6", "sources", 0, 0)),
    Block("vrrp", ["vrrp"], [VRRPv3],
          {**VRRP_FIELDS, "Version": (fixed(3, 4), "version"), "Reserved": (4, "res"),
           "Interval": (12, "adv")}, ids={"ip4": 112}, payload=False, extra=addresses),
    Block("vrrp.v2", ["vrrp.v2"], [VRRP],
          {**VRRP_FIELDS, "Version": (fixed(2, 4), "version"),
           "AuthType": (8, "authtype"), "Interval": (8, "adv")},
          ids={"ip4": 112}, payload=False, extra=addresses2),
    Block("ospf", ["ospf"], [OSPF_Hdr],
          {"RouterID": ("ip4", "src"), "AreaID": ("ip4", "area"),
           "AuthType": (fixed(0, 16), "authtype"),
           "Authentication": (fixed(0, 64), "authdata")},
          ids={"ip4": 89}, carries=("0.type", ("ospf",)),
          leaf={"Type": (8, 9, "type")}),
    Block("ospf.authenticated", ["ospf.authenticated"], [OSPF_Hdr],
          {"RouterID": ("ip4", "src"), "AreaID": ("ip4", "area"),
           "AuthType": (fixed(1, 16), "authtype"), "Checksum": (16, "chksum"),
           "Authentication": (64, "authdata")},
          ids={"ip4": 89}, carries=("0.type", ("ospf",)),
          leaf={"Type": (8, 9, "type")}),
    Block("ospfhello", ["ospfhello"], [OSPF_Hello],
          {"Mask": ("ip4", "mask"), "HelloInterval": (16, "hellointerval"),
           "Options": (8, "options"), "Priority": (8, "prio"),
           "DeadInterval": (32, "deadinterval"), "DesignatedRouter": ("ip4", "router"),
           "BackupRouter": ("ip4", "backup")},
          ids={"ospf": 1}, payload=False, extra=neighbors),
]
