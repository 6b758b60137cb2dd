# SPDX-License-Identifier: Apache-2.0
"""What emulators of links use of libmoon's forks."""

import re

from helpers.command import PERIGEE, ROOT, run

SCRIPT = ROOT / "test/moongen/link_emulator.lua"


def test_rings_of_a_size_and_losses():
    result = run(PERIGEE, "moongen", "--port", "0=null", SCRIPT, "0")
    assert result.returncode == 0, result.stderr
    said = result.stdout
    lines = [line.split("\t") for line in said.splitlines() if "\t" in line]
    assert lines == [
        ["packets", "3", "3", "3", "false"], ["taken", "60 61 62", ""], ["left", "true"],
        ["bytes", "3", "3", "300", "300"], ["taken", "100 150 50"], ["empty", "0"],
        ["sent", "true", "time", "true"],
        ["false", "sendWithDelayLoss: argument 3 is a probability, 0 to 1"],
        ["shorter", "80", "14", "80"],
        ["false", "this packet has 0 to 80 bytes to remove, not 81"],
        ["false", "this packet has 0 to 80 bytes to remove, not -1"],
        ["false", "sendToPktsizedRing: argument 1 is nil; it takes a ring (`ring` of what "
                  "pipe made)"],
        ["false", "sendToPktsizedRing: argument 1 is cdata<void *>; it takes a ring (`ring` "
                  "of what pipe made)"],
        ["false", "recvFromPktsizedRing: argument 2 is a table; it takes an array of "
                  "buffers (mem:bufArray())"],
        ["false", "newBytesizedRing: capacity is a whole number from 60 to 4294967296, not "
                  "'10'"],
        ["false", f"{SCRIPT}:98: slot 1 of the array has no buffer"],
        ["counter", "true"],
    ], said
    assert "Ring 1 (3 packets): 3 packets lost: it had no room" in said
    assert "Ring 1 (3 packets): 2 packets lost: not received when the script ended" in said
    assert "Ring 2 (300 bytes): 1001 packets lost: it had no room" in said
    assert not re.search("neither sent nor freed|wrong", said)
