# SPDX-License-Identifier: Apache-2.0
"""Runs of perigee generate: their results, and their packets."""

import json

from scapy.layers.l2 import Ether

from helpers.capture import load
from helpers.command import perigee


def generate(*args):
    """The results of a run, from its JSON."""
    result = perigee("generate", *args, "--json", "-")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def generated(path, *args):
    """The packets of a run, as bytes."""
    results = generate("--port", f"pcap:tx={path}", *args)
    packets = list(load(path))
    assert results["sent"]["packets"] == len(packets)
    assert results["sent"]["bytes"] == sum(map(len, packets))
    return packets


def rebuilt(data):
    """The packet with all its lengths and checksums computed by Scapy."""
    packet = Ether(data)
    layer = packet
    while layer:
        for field in "chksum", "len", "plen":
            if field in layer.fields:
                del layer.fields[field]
        layer = layer.payload
    return bytes(packet)
