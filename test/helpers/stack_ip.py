# SPDX-License-Identifier: Apache-2.0
"""Blocks of IPv4, IPv6 and its extension headers, and IPsec."""

from scapy.all import (
    IP, HBHOptUnknown, IPOption_EOL, IPOption_NOP, IPOption_Router_Alert, IPOption_RR,
    IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting, IPv6ExtHdrSegmentRouting, PadN, RouterAlert)
from scapy.layers.ipsec import AH, ESP

from helpers.stack_blocks import Block, Extra, random_ip6, random_value

# What may follow a header that has a next header field of IP. Whichever follows IPv6 at
# once, any IPv6 header, and any IP header.
AFTER_IP6 = ("ip6 first", "ip6", "ip")
AFTER_EXTENSION = ("ip6", "ip")
UNKNOWN = 253  # for experiments (RFC 3692)
NO_NEXT = 59   # RFC 8200, section 4.7


def ip4_options(rng):
    """IPv4 options, padded to four bytes."""
    options = [rng.choice((
        IPOption_NOP(), IPOption_Router_Alert(alert=rng.getrandbits(16)),
        IPOption_RR(routers=[random_value(rng, "ip4")[1] for _ in range(2)])))
        for _ in range(rng.choice((0, 0, 1, 3)))]
    options += [IPOption_EOL()] * (-sum(map(len, options)) % 4)
    return Extra({"options": b"".join(map(bytes, options))},
                 attributes={"options": options})


def ip6_options(rng):
    """Options of 6 + 8 n bytes; the first six are a field of Perigee's."""
    options = [RouterAlert(value=rng.getrandbits(16)), PadN(optdata=b"")]
    if rng.random() < 0.5:
        options += [HBHOptUnknown(otype=0x1e, optdata=rng.randbytes(6)),
                    PadN(optdata=bytes(rng.choice((6, 14))))]
    content = b"".join(map(bytes, options))
    return Extra({"moreOptions": content[6:]},
                 fields={"Options": ("bytes", content[:6])},
                 attributes={"options": options, "autopad": 0})


def addresses(rng, at_least):
    """A list of addresses, and its bytes."""
    chosen = [random_ip6(rng) for _ in range(rng.randint(at_least, 3))]
    header = IPv6ExtHdrRouting(addresses=chosen)
    return chosen, bytes(header)[8:]


def routing_data(rng):
    """Addresses behind a routing header of an unknown type."""
    chosen, content = addresses(rng, 0)
    return Extra({"data": content}, attributes={"addresses": chosen})


def segments(rng):
    """The segments of an SRH."""
    chosen, content = addresses(rng, 1)
    return Extra({"segments": content}, attributes={"addresses": chosen},
                 fields={"LastEntry": (8, len(chosen) - 1)})


def srh_flags(layers, value):
    """The eight flag bits, which are five fields of Scapy's."""
    for attribute, shift, mask in (("unused1", 7, 1), ("protected", 6, 1),
                                   ("oam", 5, 1), ("alert", 4, 1), ("hmac", 3, 1),
                                   ("unused2", 0, 7)):
        setattr(layers[0], attribute, value >> shift & mask)


def icv(rng):
    """An integrity check value, of a multiple of four bytes."""
    content = rng.randbytes(4 * rng.randint(0, 6))
    return Extra({"icv": content},
                 attributes={"icv": content, "payloadlen": len(content) // 4 + 1})


def zero(_):
    """A field of eight bits that is 0."""
    return 8, 0


def offset(rng):
    """The offset of a fragment that isn't the first."""
    return 13, rng.randint(1, 8191)


def udp(_):
    """UDP's number, though no header of UDP follows."""
    return 8, 17


def few(rng):
    """How many segments are left: while it isn't 0, pseudo headers have the last
    address of the way (RFC 8200, section 8.1)."""
    return 8, rng.randint(0, 2)


def spi(rng):
    """Not 0, which isn't sent (RFC 4303, section 2.1); Scapy 2.6 reads that as no ESP."""
    return 32, random_value(rng, 32)[1] or 1


def extension(name, layer, fields, number, extra, kind="ip6"):
    """A block of an IPv6 extension header."""
    return Block(name, [name.partition(" ")[0]], [layer], fields, ids={kind: number},
                 extra=extra, carries=("0.nh", AFTER_EXTENSION),
                 leaf={"NextHeader": (8, NO_NEXT, "nh")})


BLOCKS = [
    Block("ip4", ["ip4"], [IP],
          {"TOS": (8, "tos"), "ID": (16, "id"), "Flags": (3, "flags"),
           "TTL": (8, "ttl"), "Src": ("ip4", "src"), "Dst": ("ip4", "dst")},
          ids={"ether": 0x0800, "ip": 4, "ppp": 0x21, "mpls": 1, "nsh": 1,
               "raw": None, "gpe": 1},
          carries=("0.proto", ("ip4", "ip")), extra=ip4_options,
          leaf={"Protocol": (8, UNKNOWN, "proto")}),
    Block("ip6", ["ip6"], [IPv6],
          {"TrafficClass": (8, "tc"), "FlowLabel": (20, "fl"), "TTL": (8, "hlim"),
           "Src": ("ip6", "src"), "Dst": ("ip6", "dst")},
          ids={"ether": 0x86dd, "ip": 41, "ppp": 0x57, "mpls": 1, "nsh": 2,
               "raw": None, "gpe": 2},
          carries=("0.nh", AFTER_IP6), leaf={"NextHeader": (8, NO_NEXT, "nh")}),
    Block("ip4 later fragment", ["ip4"], [IP],
          {"ID": (16, "id"), "Fragment": (offset, "frag"), "Src": ("ip4", "src"),
           "Dst": ("ip4", "dst"), "Protocol": (udp, "proto")},
          ids={"ether": 0x0800, "ip": 4}),
    Block("ip6 later fragment", ["fragment"], [IPv6ExtHdrFragment],
          {"Offset": (offset, "offset"), "Identification": (32, "id"),
           "NextHeader": (udp, "nh")}, ids={"ip6": 44}),
    extension("hopopts", IPv6ExtHdrHopByHop, {}, 0, ip6_options, kind="ip6 first"),
    extension("destopts", IPv6ExtHdrDestOpt, {}, 60, ip6_options),
    extension("fragment", IPv6ExtHdrFragment,
              {"Reserved": (8, "res1"), "Reserved2": (2, "res2"),
               "MoreFragments": (1, "m"), "Identification": (32, "id")}, 44, None),
    extension("routing", IPv6ExtHdrRouting,
              {"RoutingType": (lambda rng: (8, rng.randint(5, 255)), "type"),
               "SegmentsLeft": (zero, "segleft"), "Reserved": (32, "reserved")},
              43, routing_data),
    extension("srh", IPv6ExtHdrSegmentRouting,
              {"SegmentsLeft": (few, "segleft"), "Flags": (8, srh_flags),
               "Tag": (16, "tag")}, 43, segments),
    extension("routing with a way to go", IPv6ExtHdrRouting,
              {"RoutingType": (lambda rng: (8, rng.choice((0, 2))), "type"),
               "SegmentsLeft": (few, "segleft"), "Reserved": (32, "reserved")},
              43, routing_data),
    Block("ah", ["ah"], [AH],
          {"Reserved": (16, "reserved"), "SPI": (32, "spi"), "SQN": (32, "seq")},
          ids={"ip": 51}, carries=("0.nh", ("ip",)), extra=icv,
          leaf={"NextHeader": (8, NO_NEXT, "nh")}),
    Block("esp", ["esp"], [ESP],
          {"SPI": (spi, "spi"), "SQN": (32, "seq"),
           "IV": (64, lambda layers, value: setattr(
               layers[0], "data", value.to_bytes(8, "big")))},
          ids={"ip": 50}),
]
