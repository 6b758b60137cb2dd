# SPDX-License-Identifier: Apache-2.0
"""Random lies of memif peers (lying_memif.py), of a fixed seed and another. PERIGEE_LONG=1:
100,000 of them."""

import os
import random
import re
import sys
import time

from helpers.command import ROOT, running
from helpers.memif_echo import events, exchange, running_server
from helpers.memif_peer import connected
from helpers.report import account

LONG = bool(os.environ.get("PERIGEE_LONG"))
LIES, LIVES, TIMEOUT_S = (100_000, 400, 3600) if LONG else (3_000, 12, 300)
FIXED_SEED = 37


def lie_at_random(tmp_path, seed):
    with running_server(tmp_path) as server:
        server.wait_for("echoing")
        with connected(tmp_path / "socket") as honest:
            honest.start(number=1)
            with running(sys.executable, ROOT / "test" / "lying_memif.py",
                         tmp_path / "socket", LIES, LIVES, seed) as liar:
                ends, exchanged = time.monotonic() + TIMEOUT_S, 0
                while liar.read(0.01):
                    exchange(honest)
                    exchanged += 1
                    assert server.read(), (seed, server.said)
                    assert time.monotonic() < ends, (seed, liar.said)
                assert liar.finish() == 0, (seed, liar.said, server.said)
            assert exchanged > 10
        assert server.interrupt() == 0, server.said
    lies, lives = map(int, re.search(r"(\d+) lies in (\d+) lives", liar.said).groups())
    assert lies >= LIES and lives >= LIVES
    assert sum(events(server.said).values()) > 0
    a = account(server.said)
    assert a["received"] == a["sent"] + a["in links"] + a["freed"] + a["dropped by ports"]


def test_lies_of_a_fixed_seed(tmp_path):
    lie_at_random(tmp_path, FIXED_SEED)


def test_lies_of_another_seed(tmp_path):
    lie_at_random(tmp_path, random.randrange(2**31))
