# SPDX-License-Identifier: Apache-2.0
"""Random packets for the oracle: each is a list of blocks with values, told to Perigee
(a request for stack_oracle.lua) and built by Scapy."""

import importlib
import pathlib

from scapy.all import IP, TCP, UDP, IPv6, Raw
from scapy.layers.inet import in4_chksum
from scapy.layers.inet6 import _ICMPv6, _IPv6ExtHdr, in6_chksum

from helpers.stack_blocks import Extra, assign, canonical, encode, random_value

MODULES = [importlib.import_module(f"helpers.{path.stem}")
           for path in sorted(pathlib.Path(__file__).parent.glob("stack_*.py"))
           if path.stem not in ("stack_blocks", "stack_cases")]
BLOCKS = {block.name: block for module in MODULES
          for block in getattr(module, "BLOCKS", ())}
HEADERS = 8         # most headers of a random packet
PAYLOAD_BYTES = 64  # most bytes behind them
SHORTEST_FRAME = 60  # IEEE 802.3: shorter ones are padded


def followers(block):
    """The blocks that may follow it."""
    return [other for other in BLOCKS.values() if other.follows(block) is not False]


def chain(rng, headers):
    """A random legal list of blocks with that many headers, or a few less where none
    fits."""
    chosen = [BLOCKS[rng.choice(("eth", "eth", "eth.vlan", "eth.qinq"))]]
    while True:
        room = headers - sum(len(block.items) for block in chosen)
        choice = [block for block in followers(chosen[-1]) if len(block.items) <= room]
        if not choice:
            break
        carriers = [block for block in choice
                    if block.kinds and len(block.items) < room]
        chosen.append(rng.choice(carriers or choice))
    while chosen[-1].leaf is None:  # it can't be the last
        chosen.pop()
    return chosen


def way_to(name, rng):
    """A list of blocks that ends with the one named."""
    ways = [[BLOCKS[start]] for start in ("eth", "eth.vlan", "eth.qinq")]
    seen = set()
    while ways:
        way = ways.pop(0)
        if way[-1].name == name:
            return way
        if way[-1].name not in seen:
            seen.add(way[-1].name)
            following = followers(way[-1])
            rng.shuffle(following)
            ways += [way + [block] for block in following]
    raise AssertionError(f"no header leads to {name}")


def finish(way, rng):
    """The way, continued until it may end."""
    way = list(way)
    while way[-1].leaf is None:
        way.append(rng.choice(followers(way[-1])))
    return way


class Case:
    """A packet: `request` for Perigee, `scapy` (the packet), `headers` (what resolving
    it must find: name, subtype and fields of each)."""

    def __init__(self, blocks, rng, payload=None):
        self.items, self.fill, self.calls = [], {}, []
        self.headers, self.variables, layers = [], [], []
        for block, following in zip(blocks, [*blocks[1:], None]):
            layers += self.add(block, following, rng)
        size = rng.choice((0, 1, rng.randint(2, PAYLOAD_BYTES)))
        self.payload = rng.randbytes(size) if blocks[-1].payload else b""
        if payload is not None:
            self.payload = payload
        self.scapy = layers[0]
        for layer in layers[1:]:
            self.scapy = self.scapy / layer
        if self.payload:
            self.scapy = self.scapy / Raw(self.payload)
        complete_checksums(self.scapy)
        self.length = len(self.scapy)
        self.padding = bytes(max(0, SHORTEST_FRAME - self.length) * rng.choice((0, 1)))
        self.bytes = bytes(self.scapy) + self.padding

    def add(self, block, following, rng):
        """Add a block and values for its fields; its Scapy layers."""
        layers = [layer() for layer in block.layers]
        extra = block.extra(rng) if block.extra else Extra()
        first = len(self.items)
        for item in block.items:
            name, _, subtype = item.partition(".")
            taken = any(other["protocol"] == name for other in self.items)
            label = f"{name}{len(self.items)}" if taken else name
            self.items.append({"protocol": name, "label": label, "subType": subtype})
            self.headers.append({"name": name, "subType": subtype, "fields": {}})
        self.items[first]["chosen"] = extra.chosen
        for member, content in extra.variable.items():
            owner = first + extra.item
            self.items[owner]["length"] = len(content)
            if not extra.calls:
                self.variables.append([owner, member, content.hex()])
            self.headers[owner]["variable"] = {member: content.hex()}
        for field, (kind, target) in block.fields.items():
            kind, value = random_value(rng, kind)
            assign(layers, target, value)
            self.give(first, field, kind, value)
        if following:
            value = following.follows(block)
            if value is not None:
                assign(layers, block.selector, value)
                self.leave_selector(block, first, value)
        else:
            for field, (kind, value, target) in (block.leaf or {}).items():
                assign(layers, target, value)
                self.give(first, field, kind, value)
        for field, (kind, value) in extra.fields.items():
            self.give(first, field, kind, value)
        for attribute, value in extra.attributes.items():
            assign(layers, attribute, value)
        self.calls += [[first, *call] for call in extra.calls]
        return layers

    def give(self, first, field, kind, value):
        """Set a field of Perigee's, and expect it."""
        index, _, field = field.rpartition(".")
        index = first + int(index or 0)
        self.fill.setdefault(str(index), {})[field] = encode(kind, value)
        self.headers[index]["fields"][field] = canonical(kind, value)

    def leave_selector(self, block, first, value):
        """Perigee itself is to set what says which header follows."""
        for field, (_, target) in block.fields.items():
            if "0." + str(target) == block.selector:
                del self.fill[str(first)][field]
                self.headers[first]["fields"][field] = str(value)

    @property
    def request(self):
        """The case for stack_oracle.lua."""
        return {"items": self.items, "fill": self.fill, "variables": self.variables,
                "calls": self.calls, "payload": self.payload.hex(),
                "length": self.length, "padding": len(self.padding),
                "scapy": self.bytes.hex()}

    def __str__(self):
        return "/".join(item["protocol"] + (item["subType"] and "." + item["subType"])
                        for item in self.items)


def complete_checksums(packet):
    """Scapy leaves out the checksum with a pseudo header when the layer below isn't IP
    itself, as AH isn't. Set it, innermost first."""
    layers = []
    layer = packet
    while layer:
        layers.append(layer)
        layer = layer.payload
    for layer in reversed(layers):
        attribute = "cksum" if isinstance(layer, _ICMPv6) else "chksum"
        below = layer.underlayer
        if not isinstance(layer, (UDP, TCP, _ICMPv6)):
            continue
        if below is None or isinstance(below, (IP, IPv6, _IPv6ExtHdr)):
            continue
        while not isinstance(below, (IP, IPv6)):
            below = below.underlayer
        setattr(layer, attribute, 0)
        content = bytes(layer)
        number = {UDP: 17, TCP: 6}.get(type(layer), 58)
        if isinstance(below, IP):
            value = in4_chksum(number, below, content)
        else:
            value = in6_chksum(number, layer.underlayer, content)
        setattr(layer, attribute, value or (0xffff if number == 17 else 0))
