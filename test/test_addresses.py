# SPDX-License-Identifier: Apache-2.0
"""Addresses are parsed, printed and counted as Python's ipaddress does it."""

import ipaddress
import random

from helpers.command import ROOT, perigee

SCRIPT = ROOT / "test" / "addresses.lua"


def texts(rng):
    """Addresses of many shapes, and texts that are a character away from one."""
    for _ in range(1500):
        words = [rng.choice([0, 0, 0xFFFF, rng.getrandbits(16)]) for _ in range(8)]
        address = ipaddress.IPv6Address(b"".join(w.to_bytes(2, "big") for w in words))
        yield rng.choice([str(address), address.exploded, str(address).upper()])
        yield str(ipaddress.IPv4Address(rng.getrandbits(32)))
        wrong = list(rng.choice([str(address), "192.0.2.255"]))
        at = rng.randrange(len(wrong))
        rng.choice([lambda: wrong.pop(at), lambda: wrong.insert(at, wrong[at]),
                    lambda: wrong.insert(at, rng.choice(" :.0f1g/-")),
                    lambda: wrong.append(" ")])()
        yield "".join(wrong)
    yield from ["", ":", "::", ":::", "1::2::3", "::1.2.3.4", "::ffff:1.2.3.4",
                "1.2.3.4:5", "1.2.3", "1.2.3.4.5", "0x1.2.3.4", "01.2.3.4", "::1/64"]


def shown(address):
    """As RFC 5952 recommends (section 5: addresses that hold an IPv4 one)."""
    if address.version == 6 and address.ipv4_mapped:
        return f"::ffff:{address.ipv4_mapped}"
    return str(address)


def expected(text, n):
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return ["none"] * 3
    most = 1 << address.max_prefixlen
    return [shown(type(address)((int(address) + k) % most)) for k in (0, n, -n)]


def test_as_python_does():
    rng = random.Random(1)
    asked = [(text, rng.choice([1, -1, rng.randint(-2**53, 2**53)]))
             for text in texts(rng)]
    result = perigee("snsh", SCRIPT,
                     input="".join(f"{text}\t{n}\n" for text, n in asked))
    assert result.returncode == 0, result.stderr
    said = [line.split("\t") for line in result.stdout.splitlines()]
    assert len(said) == len(asked)
    for (text, n), got in zip(asked, said):
        assert got == expected(text, n), (text, n)


def addresses(rng):
    """Each way in which groups can be zero, and others by chance."""
    for zeros in range(256):
        for _ in range(8):
            yield b"".join((0 if zeros >> i & 1 else rng.choice([0xFFFF, rng.getrandbits(16)])
                            ).to_bytes(2, "big") for i in range(8))
    for _ in range(2000):
        yield rng.randbytes(16)


def test_all_writers_say_the_same():
    asked = list(addresses(random.Random(2)))
    result = perigee("snsh", ROOT / "test" / "address_texts.lua",
                     input="".join(a.hex() + "\n" for a in asked))
    assert result.returncode == 0, result.stderr
    said = [line.split("\t") for line in result.stdout.splitlines()]
    wanted = []
    for a in asked:
        wanted += [[shown(ipaddress.IPv6Address(a))] * 4,
                   [str(ipaddress.IPv4Address(a[12:]))] * 4]
    assert said == wanted
