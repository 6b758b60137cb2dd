# SPDX-License-Identifier: Apache-2.0
"""What a configuration did, for tools/clickcompare: the packets that left by each device,
in order; what handlers said at the end; and what Print and IPPrint printed."""

import collections
import re
import struct

# Handlers that say the same after the same packets, however long it took.
HANDLERS = ["count", "byte_count", "drops", "dropped", "drop_details", "length",
            "capacity", "size", "packets", "table_size", "nmappings",
            "mapping_failures", "fragments", "queries", "responses", "flow_count", "program",
            "table"]
SAID = re.compile(rf"^(\S+)\.({'|'.join(HANDLERS)}):\n", re.MULTILINE)
PRINTED = re.compile(r"\d+ \| [0-9a-f]{2}|\d+ > \d+\.\d+\.\d+\.\d+|\d+\.\d+ > \d+\.|"
                     r"who-has|is-at")
TIME = re.compile(r"\d+\.\d{6,9}")
# What elements say of packets as they go.
CHATTER = re.compile(r"header check failed|bad input packet|warning: |batch mode|"
                     r"compatible with batch|Batching|has \d+ routes|expensive Packet", re.I)
# Names of elements that have none of their own, or are in a device's stand-in.
OWN = re.compile(r"@\d+|/")


def without_chance(frame):
    """An IPv4 packet, with an Ethernet header or without, without what depends on a port
    that a rewriter has chosen by chance (ports or identifier, and checksum), or is
    encrypted (ESP), with a key's start that is chosen so."""
    ip = 0 if frame[:1] == b"\x45" else 14
    while ip and frame[ip - 2:ip] == b"\x81\x00":
        ip += 4
    if ip and frame[ip - 2:ip] != b"\x08\x00" or len(frame) < ip + 28 \
            or frame[ip + 6] & 0x1f or frame[ip + 7]:
        return frame
    at = ip + 4 * (frame[ip] & 15)
    cuts = {6: [(0, 4), (16, 18)], 17: [(0, 4), (6, 8)], 1: [(2, 6)],
            50: [(8, len(frame) - at)]}.get(frame[ip + 9], [])
    for first, last in cuts:
        frame = frame[:at + first] + bytes(last - first) + frame[at + last:]
    return frame


def is_query(frame):
    """An ARP request: how often one is sent again goes by the clock."""
    return frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\1"


def flow_of(frame):
    """What the packets of a flow of IPv4 have alike; None of others, and of errors."""
    if frame[12:14] != b"\x08\x00" or len(frame) < 42 or frame[23] not in (6, 17):
        return None
    at = 14 + 4 * (frame[14] & 15)
    return frame[23:24] + frame[26:34] + frame[at:at + 4]


def packets(path, view=bytes):
    """The packets of a capture file, as `view` has them, in order; of equal ARP requests
    only the first."""
    found, queries = [], set()
    data = path.read_bytes() if path.exists() else b""
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    at = 24
    while at + 16 <= len(data):
        size = struct.unpack_from(order + "I", data, at + 8)[0]
        packet = view(data[at + 16:at + 16 + size])
        if packet not in queries:
            found.append(packet)
        if is_query(packet):
            queries.add(packet)
        at += 16 + size
    return found


def only(ours, theirs, subject):
    """Lines: what only one has, of two lists."""
    mine, other = collections.Counter(ours), collections.Counter(theirs)
    for who, more in (("Perigee", mine - other), ("the original", other - mine)):
        for thing, count in sorted(more.items()):
            yield f"{subject}: only {who} has {count} of {thing}"


def flows(frames):
    """{flow: its frames in order}."""
    found = collections.defaultdict(list)
    for frame in frames:
        if flow_of(frame):
            found[flow_of(frame)].append(frame)
    return found


def packet_differences(names, mine, theirs, view):
    """Lines: packets that only one sends by these devices, and flows in another order."""
    for name in names:
        ours, other = (packets(place / f"out-{name}.pcap", view) for place in (mine, theirs))
        lines = list(only([frame.hex() for frame in ours], [frame.hex() for frame in other],
                          f"packets to {name}"))
        yield from lines
        if not lines:
            first, second = flows(ours), flows(other)
            changed = [flow for flow in first if first[flow] != second[flow]]
            if changed:
                yield (f"packets to {name}: {len(changed)} of {len(first)} flows are in "
                       "another order")


def handlers(text):
    """{"element.handler": value} of what -h printed; tables in an order of their own."""
    found, ends = {}, list(SAID.finditer(text))
    for match, following in zip(ends, [*ends[1:], None]):
        value = text[match.end():following.start() if following else len(text)]
        lines = TIME.sub("T", value.strip()).split("\n")
        found[f"{match[1]}.{match[2]}"] = "\n".join(
            sorted(lines) if match[2] == "table" else lines)
    return found


def handler_differences(mine, theirs, view):
    """Lines: values that differ, and handlers that only the original has."""
    ours, other = handlers(mine), handlers(theirs)
    for name, value in other.items():
        if OWN.search(name) or view is without_chance and name.endswith(".table"):
            continue
        if name not in ours:
            yield f"handlers: Perigee has no {name}"
        elif ours[name] != value:
            yield f"handlers: {name} is {ours[name]!r} on Perigee, {value!r} on the original"


def print_differences(mine, theirs):
    """Lines: what only one printed of packets."""
    ours, other = ([TIME.sub("T", line) for line in text.splitlines() if PRINTED.search(line)]
                   for text in (mine, theirs))
    return only(ours, other, "prints")
