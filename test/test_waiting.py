# SPDX-License-Identifier: Apache-2.0
"""What a terminal shows of work that takes over a second; a pipe gets nothing of it."""

import os
import pty
import subprocess

import pytest
from scapy.all import Ether, wrpcap

from helpers.command import PERIGEE

FIND_LIMIT = ["loadtest", "find-limit", "--sizes", "60", "-b", "1e7", "-p", "1e7",
              "-D", "1.6s", "--warm-up", "0", "A", "B", "ring:x", "B", "A", "ring:x"]


def on_terminal(*args):
    """Standard output, and what came to a terminal that is standard error."""
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen([PERIGEE, *map(str, args)], stdout=subprocess.PIPE,
                                   stderr=theirs)
        os.close(theirs)
        said = b""
        try:
            while data := os.read(ours, 65536):
                said += data
        except OSError:  # all have closed it
            pass
        output = process.communicate()[0].decode()
        assert process.returncode == 0, (output, said)
        return output, said.decode()
    finally:
        os.close(ours)


def test_a_trial(tmp_path):
    output, said = on_terminal(*FIND_LIMIT)
    assert "\r\x1b[Ktrial at 0.01 Gbit/s: 1 of 2 s" in said
    assert said.endswith("\r\x1b[K") and "trial at" not in output
    result = subprocess.run([PERIGEE, *FIND_LIMIT], capture_output=True, text=True,
                            check=True)
    assert "trial at" not in result.stdout + result.stderr


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A file of 2 million packets, by its bytes over and over."""
    path = tmp_path_factory.mktemp("waiting") / "large.pcap"
    wrpcap(str(path), [Ether() / bytes(46)] * 1000)
    data = path.read_bytes()
    with open(path, "ab") as file:
        for _ in range(1999):
            file.write(data[24:])
    return path


def test_reading(large):
    output, said = on_terminal("spread", "--on", "2", "--packets", "2000000", large)
    assert "2000000 packets" in output
    # It may be done within a second; what it showed is erased.
    assert said == "" or f"\r\x1b[Kreading {large}: " in said and said.endswith("\r\x1b[K")
