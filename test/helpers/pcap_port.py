# SPDX-License-Identifier: Apache-2.0
"""Numbered frames, and what comes of them in a pcap port."""

import struct

from helpers.command import perigee
from helpers.report import port_statistics


def frames(count):
    return [struct.pack("!Q", i).rjust(20, b"\2").ljust(60 + i % 7, b"\3")
            for i in range(count)]


def echoed(port, *more, **kwargs):
    """What echo's report says of the port, which must have come to its end."""
    result = perigee("echo", port, *more, **kwargs)
    assert result.returncode == 0, result.stderr
    return port_statistics(result.stdout)[port]
