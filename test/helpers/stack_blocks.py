# SPDX-License-Identifier: Apache-2.0
"""How a header of Perigee's stacks is said in Scapy. A Block is one or a few headers of
Perigee that are one or a few layers of Scapy; a family of blocks is a module stack_*.py
beside this one with a list BLOCKS."""

import ipaddress


class Extra:
    """What a block's `extra(rng)` adds to one case: a variable member's bytes, optional
    fields, and values that are the same in both (fields) or Scapy's alone (attributes).
    `calls` are of methods that write the variable member, instead of its bytes."""

    def __init__(self, variable=None, chosen=(), fields=(), attributes=(), calls=(),
                 item=0):
        self.item = item                 # the header that has the variable member
        self.variable = variable or {}   # {member: bytes}
        self.chosen = list(chosen)       # names of optional fields, of the first header
        self.fields = dict(fields)       # {Perigee's field: (kind, value)}
        self.attributes = dict(attributes)  # {Scapy's attribute: value}
        self.calls = list(calls)         # [method, arguments...] of the first header


class Block:
    """name: of the block; items: Perigee's headers, "name" or "name.subType"; layers:
    Scapy's classes.

    fields: {field: (kind, target)}. field is "Name", or "1.Name" in the second item.
    kind: a number of bits, "mac", "ip4", "ip6", "bytes:N", "port", or a function(rng)
    that returns (kind, value). target: "attribute" ("1.attribute" of the second layer),
    or a function(layers, value).
    carries: (attribute that selects what follows, (kinds of what may follow)).
    ids: {kind: value of the selecting attribute that leads here}.
    leaf: {field: (kind, value, target)} to set when nothing follows (a selector's value
    that is unknown); None: something must follow. payload: may bytes follow?
    extra: function(rng) -> Extra."""

    def __init__(self, name, items, layers, fields, ids, carries=None, leaf=(),
                 payload=True, extra=None):
        self.name, self.items, self.layers = name, items, layers
        self.fields, self.ids, self.extra = fields, ids, extra
        self.selector, self.kinds = carries or (None, ())
        self.leaf = None if leaf is None else dict(leaf)
        self.payload = payload

    def follows(self, other):
        """The value of the other block's selector that leads to this one (None if it
        needs none), or False if this one can't follow it."""
        for kind in other.kinds:
            if kind in self.ids:
                return self.ids[kind]
        return False


def assign(layers, target, value):
    """Set what a target names in a block's Scapy layers."""
    if callable(target):
        target(layers, value)
        return
    index, _, attribute = target.rpartition(".")
    setattr(layers[int(index or 0)], attribute, value)


def random_value(rng, kind):
    """A random (kind, value) in the form Scapy takes."""
    if callable(kind):
        return kind(rng)
    if isinstance(kind, int):
        return kind, rng.choice((0, (1 << kind) - 1, rng.getrandbits(kind),
                                 rng.getrandbits(kind)))
    if kind == "port":  # none that a protocol is known by
        return 16, rng.randint(0xc000, 0xffff)
    if kind == "mac":  # no first digit 4 or 6: under MPLS it would look like IP
        first = rng.choice((0x00, 0x02, 0x10, 0x32, 0xfe))
        rest = [rng.getrandbits(8) for _ in range(5)]
        return kind, ":".join(f"{byte:02x}" for byte in [first] + rest)
    if kind == "ip4":
        return kind, str(ipaddress.IPv4Address(rng.getrandbits(32)))
    if kind == "ip6":
        return kind, random_ip6(rng)
    assert kind.startswith("bytes:"), kind
    return kind, rng.randbytes(int(kind[6:]))


def random_ip6(rng):
    """An IPv6 address, with runs of zeros more often than chance has them."""
    groups = [rng.choice((0, 0, 1, rng.getrandbits(16))) for _ in range(8)]
    value = int("".join(f"{group:04x}" for group in groups), 16)
    if value >> 96 == 0:
        value |= 0x2001 << 112  # not one of ::a.b.c.d: those are printed in two ways
    return str(ipaddress.IPv6Address(value))


def encode(kind, value):
    """A value as the Lua side takes it: a kind and a text."""
    if isinstance(kind, int):
        return ["number", str(value)]
    if kind.startswith("bytes"):
        return ["bytes", value.hex()]
    return ["address", value]


def canonical(kind, value):
    """A value as the Lua side prints it."""
    return encode(kind, value)[1]
