# SPDX-License-Identifier: Apache-2.0
"""What a change of configuration costs the packets of another process: it is told
as blocked time, lost packets / offered rate."""

import re

import pytest

from helpers.capture import save
from helpers.command import PERIGEE, ROOT, perigee, running, wait_until
from helpers.report import account

RATE_PPS = 50_000
COUNT = 50_000


def offered(tmp_path):
    """Send COUNT packets at RATE_PPS to the socket; how many it took."""
    file = tmp_path / "a.pcap"
    save(file, [bytes(60 + i % 40) for i in range(1000)])
    result = perigee("replay", file, f"memif:{tmp_path / 'socket'}",
                     "--rate", f"{RATE_PPS}pps", "--loop", COUNT // 1000)
    assert result.returncode == 0, result.stderr
    dropped = re.search(r"^dropped: ([\d,]+)", result.stdout, re.M).group(1)
    return COUNT - int(dropped.replace(",", ""))


@pytest.mark.parametrize("change", ["elsewhere", "path"])
def test_a_change_blocks_and_loses_nothing_unsaid(tmp_path, change):
    port = f"memif:{tmp_path / 'socket'},role=server"
    script = ROOT / "test" / "reconfigure.lua"
    with running(PERIGEE, "run", script, port, change) as receiver:
        wait_until(lambda: (tmp_path / "socket").exists(), "the socket")
        sent = offered(tmp_path)
        wait_until(lambda: not receiver.read(), "the receiver's end")
        said = receiver.said
    received = int(re.search(r"^received (\d+), changes 20$", said, re.M).group(1))
    sums = account(said)
    lost = COUNT - received
    print(f"{change}: {lost} lost, blocked for {lost / RATE_PPS * 1e3:.2f} ms")
    assert re.search(r"^configured 20 times while running: .* ms at most", said, re.M)
    assert sums["received"] == received == sent
    assert sums["held by apps"] == 0
    # The sink frees all but what was in links that went away, which are freed too.
    assert sums["freed"] == received
    if change == "elsewhere":
        assert lost == 0
