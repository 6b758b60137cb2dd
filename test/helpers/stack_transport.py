# SPDX-License-Identifier: Apache-2.0
"""Blocks of what IP carries: UDP, TCP, SCTP, GRE, ICMP, IGMP, neighbour discovery."""

from scapy.all import (
    GRE, ICMP, SCTP, TCP, UDP, ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6ND_NA,
    ICMPv6ND_NS, ICMPv6ND_RA, ICMPv6ND_Redirect, ICMPv6ND_RS, ICMPv6NDOptSrcLLAddr)
from scapy.contrib.igmp import IGMP
from scapy.layers.sctp import (
    SCTPChunkCookieEcho, SCTPChunkData, SCTPChunkInit, SCTPChunkInitAck, SCTPChunkSACK)

from helpers.stack_blocks import Block, Extra

PORTS = {"SrcPort": ("port", "sport"), "DstPort": ("port", "dport")}


TCP_OPTIONS = {  # Scapy's name: Perigee's method, bytes, what it takes of the value
    "MSS": ("setMssOption", 4, lambda value: [value]),
    "NOP": ("setNopOption", 1, lambda value: []),
    "WScale": ("setWSOption", 3, lambda value: [value]),
    "SAckOK": ("setSackPermittedOption", 2, lambda value: []),
    "Timestamp": ("setTSOption", 10, list)}


def tcp_options(rng):
    """TCP options, padded to four bytes with end of list: as bytes or by methods."""
    options = rng.sample([
        ("MSS", rng.getrandbits(16)), ("NOP", None), ("WScale", rng.randint(0, 14)),
        ("SAckOK", b""), ("Timestamp", (rng.getrandbits(32), rng.getrandbits(32)))],
        rng.choice((0, 0, 1, 3, 5)))
    content = bytes(TCP(options=options))[20:]
    calls, offset = [], 0
    for name, value in options if rng.random() < 0.5 else ():
        method, size, arguments = TCP_OPTIONS[name]
        calls.append([method, offset, *arguments(value)])
        offset += size
    return Extra({"options": content}, attributes={"options": options}, calls=calls)


def gre_fields(rng):
    """Any of GRE's optional fields."""
    key, sequence, checksum = (rng.random() < 0.4 for _ in range(3))
    fields, attributes = {}, {"chksum_present": int(checksum)}
    if key:
        fields["Key"] = (32, rng.getrandbits(32))
        attributes |= {"key_present": 1, "key": fields["Key"][1]}
    if sequence:
        fields["Sequence"] = (32, rng.getrandbits(32))
        attributes |= {"seqnum_present": 1, "sequence_number": fields["Sequence"][1]}
    return Extra(chosen=[*fields, *(["Checksum"] if checksum else [])], fields=fields,
                 attributes=attributes)


def gre_sequence(rng):
    """GRE's sequence number, which ERSPAN II needs."""
    number = rng.getrandbits(32)
    return Extra(chosen=["Sequence"], fields={"Sequence": (32, number)},
                 attributes={"seqnum_present": 1, "sequence_number": number})


def gre_reserved(layers, value):
    """The nine reserved bits, which are three fields of Scapy's."""
    layers[0].strict_route_source = value >> 8
    layers[0].recursion_control = value >> 5 & 7
    layers[0].flags = value & 31


def fixed(value, bits=8):
    """A kind that always has this value."""
    return lambda rng: (bits, value)


def chunk_value(attribute, header):
    """An extra of an SCTP chunk's value, and the padding that its length leaves out."""
    def extra(rng):
        content = rng.randbytes(rng.choice((0, 1, 3, 8, 18)))
        return Extra({"value": content + bytes(-len(content) % 4)},
                     attributes={attribute: content},
                     fields={"Length": (16, header + len(content))})
    return extra


def blocks(rng):
    """Gaps and duplicates of an SCTP SACK chunk."""
    gaps = [(rng.getrandbits(16), rng.getrandbits(16))
            for _ in range(rng.randint(0, 2))]
    doubles = [rng.getrandbits(32) for _ in range(rng.randint(0, 2))]
    content = b"".join(a.to_bytes(2, "big") + b.to_bytes(2, "big") for a, b in gaps)
    content += b"".join(one.to_bytes(4, "big") for one in doubles)
    return Extra({"blocks": content},
                 attributes={"gap_ack_list": [f"{a}:{b}" for a, b in gaps],
                             "dup_tsn_list": doubles},
                 fields={"GapCount": (16, len(gaps)),
                         "DuplicateCount": (16, len(doubles))})


CHUNK = {"Type": (fixed(10), "type"), "Flags": (8, "flags")}
INIT = {"Flags": (8, "flags"), "InitiateTag": (32, "init_tag"),
        "Window": (32, "a_rwnd"), "OutboundStreams": (16, "n_out_streams"),
        "InboundStreams": (16, "n_in_streams"), "InitialTSN": (32, "init_tsn")}


def discovery(name, layer, kind, fields):
    """A block of a neighbour discovery message; options may follow, nothing else."""
    return Block(name, ["icmp6", name], [layer],
                 {"Type": (fixed(kind), "type"), "Code": (8, "code"),
                  **{f"1.{field}": value for field, value in fields.items()}},
                 ids={"ip6": 58}, carries=(None, ("option",)), payload=False)


BLOCKS = [
    Block("udp", ["udp"], [UDP], PORTS, ids={"ip": 17},
          carries=("0.dport", ("udp",))),
    Block("tcp", ["tcp"], [TCP],
          {**PORTS, "SeqNumber": (32, "seq"), "AckNumber": (32, "ack"),
           "Reserved": (4, lambda layers, value: (
               setattr(layers[0], "reserved", value >> 1),
               setattr(layers[0], "flags", layers[0].flags.value & 255
                       | (value & 1) << 8))),
           "Flags": (8, lambda layers, value: setattr(
               layers[0], "flags", layers[0].flags.value & 256 | value)),
           "Window": (16, "window"), "UrgentPointer": (16, "urgptr")},
          ids={"ip": 6}, extra=tcp_options),
    Block("sctp", ["sctp"], [SCTP], {**PORTS, "VerificationTag": (32, "tag")},
          ids={"ip": 132}, carries=(None, ("chunk",)), payload=False),
    Block("sctpchunk", ["sctpchunk"], [SCTPChunkCookieEcho], CHUNK, ids={"chunk": None},
          carries=(None, ("chunk",)), payload=False, extra=chunk_value("cookie", 4)),
    Block("sctpchunk.data", ["sctpchunk.data"], [SCTPChunkData],
          {"Reserved": (4, "reserved"), "Immediate": (1, "delay_sack"),
           "Unordered": (1, "unordered"), "Beginning": (1, "beginning"),
           "Ending": (1, "ending"), "TSN": (32, "tsn"), "StreamID": (16, "stream_id"),
           "StreamSequence": (16, "stream_seq"), "ProtocolID": (32, "proto_id")},
          ids={"chunk": None}, carries=(None, ("chunk",)), payload=False,
          extra=chunk_value("data", 16)),
    Block("sctpchunk.init", ["sctpchunk.init"], [SCTPChunkInit], INIT,
          ids={"chunk": None}, carries=(None, ("chunk",)), payload=False),
    Block("sctpchunk.initack", ["sctpchunk.initack"], [SCTPChunkInitAck],
          {**INIT, "Type": (fixed(2), "type")},
          ids={"chunk": None}, carries=(None, ("chunk",)), payload=False),
    Block("sctpchunk.sack", ["sctpchunk.sack"], [SCTPChunkSACK],
          {"Flags": (8, "flags"), "CumulativeTSN": (32, "cumul_tsn_ack"),
           "Window": (32, "a_rwnd")}, ids={"chunk": None}, extra=blocks,
          carries=(None, ("chunk",)), payload=False),
    Block("gre", ["gre"], [GRE], {"Reserved1": (9, gre_reserved)}, ids={"ip": 47},
          carries=("0.proto", ("ether", "gre", "tag")), extra=gre_fields,
          leaf={"ProtoType": (16, 0x88b5, "proto")}),
    Block("gre for ERSPAN", ["gre"], [GRE], {}, ids={"ip": 47}, leaf=None,
          carries=("0.proto", ("erspan",)), extra=gre_sequence),
    Block("icmp", ["icmp", "echo"], [ICMP],
          {"Type": (lambda rng: (8, rng.choice((0, 8))), "type"), "Code": (8, "code"),
           "1.Id": (16, "id"), "1.Sequence": (16, "seq")}, ids={"ip4": 1}),
    Block("igmp", ["igmp"], [IGMP],
          {"Type": (lambda rng: (8, rng.choice((0x11, 0x16, 0x17, 0x99))), "type"),
           "MaxRespTime": (8, "mrcode"), "Group": ("ip4", "gaddr")},
          ids={"ip4": 2}, payload=False),
    Block("echo request", ["icmp6", "echo"], [ICMPv6EchoRequest],
          {"Type": (fixed(128), "type"), "Code": (8, "code"), "1.Id": (16, "id"),
           "1.Sequence": (16, "seq")}, ids={"ip6": 58}),
    Block("echo reply", ["icmp6", "echo"], [ICMPv6EchoReply],
          {"Type": (fixed(129), "type"), "Code": (8, "code"), "1.Id": (16, "id"),
           "1.Sequence": (16, "seq")}, ids={"ip6": 58}),
    discovery("rs", ICMPv6ND_RS, 133, {"Reserved": (32, "res")}),
    discovery("ra", ICMPv6ND_RA, 134,
              {"CurHopLimit": (8, "chlim"), "Managed": (1, "M"),
               "OtherConfig": (1, "O"), "RouterLifetime": (16, "routerlifetime"),
               "Reserved": (6, lambda layers, value: (
                   setattr(layers[0], "H", value >> 5),
                   setattr(layers[0], "prf", value >> 3 & 3),
                   setattr(layers[0], "P", value >> 2 & 1),
                   setattr(layers[0], "res", value & 3))),
               "ReachableTime": (32, "reachabletime"),
               "RetransTimer": (32, "retranstimer")}),
    discovery("ns", ICMPv6ND_NS, 135,
              {"Reserved": (32, "res"), "Target": ("ip6", "tgt")}),
    discovery("na", ICMPv6ND_NA, 136,
              {"Router": (1, "R"), "Solicited": (1, "S"), "Override": (1, "O"),
               "Reserved": (29, "res"), "Target": ("ip6", "tgt")}),
    discovery("redirect", ICMPv6ND_Redirect, 137,
              {"Reserved": (32, "res"), "Target": ("ip6", "tgt"),
               "Dst": ("ip6", "dst")}),
    Block("ndopt", ["ndopt"], [ICMPv6NDOptSrcLLAddr],
          {"Type": (lambda rng: (8, rng.choice((1, 2))), "type"),
           "Address": ("mac", "lladdr")},
          ids={"option": None}, carries=(None, ("option",)), payload=False),
]
